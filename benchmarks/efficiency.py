"""What better draws and constants win: regret a round of the paper's choices and of our defaults, as the horizon grows.

.venv/bin/python benchmarks/efficiency.py            # T = 2^12, 2^14, 2^16 (twenty minutes, of compilation)
.venv/bin/python benchmarks/efficiency.py --quick    # T = 2^10, 2^12

N = 8 agents on a ring, theta = 1/2. The default constants were first chosen on some problems and
validated on others; the present rule for gradients and two values was settled with all of them in view. "Before" has the paper's constants and its estimator (independent draws, no control variate).
"""

import argparse
from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np
from numpy.typing import NDArray
from targets import Part, Target, table
from tqdm import tqdm

from droculo import Droculo, Scales, feedback, networks, oracles, problems, simulate
from droculo.measure import Sample, best_fixed, certificate, regret

N, DIM, THETA = 8, 10, 0.5
#: the certificate's: all eight functions of these rounds, the same rounds before and after
SAMPLE = Sample(agents=4, functions=N, rounds=512)
CHOSEN, VALIDATED = "chosen on", "validated on"
ONE_VALUE = ("zeroth order", "bandit")
#: here the starting point itself has a certificate that is hard to beat: the surrogate hardly slopes there. Whoever does not
#: learn keeps it, as "before" does, and whoever sets out pays with noise first. Held to regret alone.
STILL = ("planted cut",)

Numbers = NDArray[np.float64]


class Yardstick(NamedTuple):
    """A problem, and the feedback models that it is played with."""

    group: str
    name: str
    problem: problems.Problem
    models: Sequence[str]


class Reading(NamedTuple):
    """Numbers of one run a round, one for each seed (means over agents)."""

    certified: Numbers
    regret: Numbers
    reward: Numbers


class Row(NamedTuple):
    """One problem with one feedback: readings before and after, for each horizon."""

    group: str
    problem: str
    case: str
    model: str
    kind: str  # what is known of the comparator
    horizons: Sequence[int]
    before: Sequence[Reading]
    after: Sequence[Reading]

    @property
    def name(self) -> str:
        return f"{self.problem}, {self.case}, {self.model}"

    def gains(self, field: str) -> Numbers:
        """(horizons,): by how much regret fell, as a share of the reward."""
        return np.array([(b.mean() - a.mean()) / scale for b, a, scale in self._pairs(field)])

    def losses(self, field: str) -> Numbers:
        """(horizons,): by how much more than two standard errors it rose, as a share of the reward; below zero if not."""
        return np.array([(a.mean() - b.mean() - 2 * error(a, b)) / scale for b, a, scale in self._pairs(field)])

    def cells(self, field: str) -> list[str]:
        """Before and after for each horizon, with a mark where it rose by more than two standard errors."""
        shown = [f"{b.mean():.3g} → {a.mean():.3g}" for b, a, _ in self._pairs(field)]
        return [cell + (" (!)" if loss > 0 else "") for cell, loss in zip(shown, self.losses(field), strict=True)]

    def _pairs(self, field: str) -> list[tuple[Numbers, Numbers, float]]:
        both = zip(self.before, self.after, strict=True)
        return [(getattr(b, field), getattr(a, field), abs(float(b.reward.mean()))) for b, a in both]


def error(one: Numbers, other: Numbers) -> float:
    """The standard error of the difference of two means over seeds."""
    return float(np.sqrt(one.var(ddof=1) / len(one) + other.var(ddof=1) / len(other)))


def yardsticks() -> list[Yardstick]:
    rng = np.random.default_rng(3)
    lowest = DIM - 1 + rng.uniform(0, 4, (N, DIM))
    drawn = problems.Independent(lowest, lowest + 4, seed=3)
    every = ("zeroth order", "bandit", "two-point", "full information", "semi-bandit")
    return [
        Yardstick(
            CHOSEN, "top-b, drifting", problems.TopB.random(agents=N, dim=DIM, budget=3, seed=0, face=True),
            ("bandit", "zeroth order", "two-point"),
        ),
        Yardstick(CHOSEN, "top-b, drifting", problems.TopB.random(agents=N, dim=DIM, budget=3, seed=0), every),
        Yardstick(CHOSEN, "planted cut", problems.PlantedCut.random(agents=N, left=4, right=6, seed=1), ONE_VALUE),
        Yardstick(
            CHOSEN, "water-filling", problems.WaterFilling.random(agents=N, dim=DIM, budget=3.0, seed=0),
            ("bandit", "semi-bandit"),
        ),
        Yardstick(
            VALIDATED, "coverage", problems.Coverage.random(agents=N, dim=DIM, elements=30, budget=3, seed=1),
            ("zeroth order", "bandit", "full information"),
        ),
        Yardstick(
            VALIDATED, "weak quadratic, d = 8", problems.WeakQuadratic.random(agents=N, dim=8, budget=3, seed=2),
            ("zeroth order",),
        ),
        Yardstick(
            VALIDATED, "monotone NQP", problems.NQP.monotone(agents=N, dim=DIM, constraints=5, seed=2),
            ("zeroth order", "semi-bandit"),
        ),
        Yardstick(VALIDATED, "top-b, i.i.d.", problems.TopB(drawn, 3, face=True), ("bandit", "two-point")),
        Yardstick(
            VALIDATED, "directed cuts",
            problems.SetFunctions.random(agents=N, dim=DIM, budget=4, seed=4, monotone=False, face=True), ("zeroth order",),
        ),
        Yardstick(
            VALIDATED, "sensors, log det",
            problems.LogDetSensors.random(agents=N, sites=DIM, budget=3, seed=5, concave=True),
            ("bandit",),
        ),
    ]  # fmt: skip


def signal(model: str) -> feedback.Feedback:
    made: feedback.Feedback = getattr(feedback, model.replace(" ", "_").replace("-", "_"))()
    return made


def before(problem: problems.Problem, model: str, horizon: int) -> Droculo:
    """`Droculo.published` but for its oracle."""
    asked = signal(model)
    if isinstance(asked.signal, feedback.OnePoint):
        asked = eqx.tree_at(lambda f: f.signal, asked, feedback.OnePoint(control_variate=False))
    return Droculo.design(
        problem.setting, asked, horizon=horizon, theta=THETA, oracle=oracles.Corrective(), lean=False, even=False,
        scales=Scales.theorem(),
    )  # fmt: skip


def after(problem: problems.Problem, model: str, horizon: int) -> Droculo:
    return Droculo.design(problem.setting, signal(model), horizon=horizon, theta=THETA)


def comparator(problem: problems.Problem, horizon: int) -> problems.Comparator:
    """The best fixed point. The functions of an NQP come in turn, so what it earns in one turn is earned again and again."""
    if not isinstance(problem, problems.NQP):
        return best_fixed(problem, horizon, N)
    turn = problem.matrices.shape[1]
    assert horizon % turn == 0
    found = best_fixed(problem, turn, N)
    return found._replace(total=found.total * horizon / turn, gap=found.gap * horizon / turn)


def read(problem: problems.Problem, agent: Droculo, best: problems.Comparator) -> Reading:
    horizon = agent.horizon
    keys = jax.random.split(jax.random.key(0), 2 if horizon >= 2**16 else 4)
    run = simulate(problem, agent, networks.connect(networks.ring(N)), key=keys, progress=False)
    bound = certificate(problem, run, sample=SAMPLE).bound.mean(axis=1)
    found = regret(problem, run, comparator=best, at=[horizon])
    return Reading(bound / horizon, found.total.mean(axis=1) / horizon, found.rewards.mean(axis=1) / horizon)


def rows(horizons: Sequence[int]) -> list[Row]:
    listed = []
    for group, name, problem, models in tqdm(yardsticks(), disable=None):
        best = [comparator(problem, horizon) for horizon in horizons]
        for model in models:
            readings = [
                [read(problem, make(problem, model, T), point) for T, point in zip(horizons, best, strict=True)]
                for make in (before, after)
            ]
            listed.append(Row(group, name, problem.linearization.case, model, best[0].kind, horizons, *readings))
    return listed


def measure(quick: bool = False) -> Part:
    """All rows; `quick`: two shorter horizons."""
    powers = (10, 12) if quick else (12, 14, 16)
    listed = rows([2**power for power in powers])
    targets, shares, tables = [], {}, []
    for field, what in (("certified", "certified regret"), ("regret", "regret")):
        judged = [row for row in listed if field == "regret" or row.problem not in STILL]
        noisy = [row for row in judged if row.model in ONE_VALUE]
        for row in judged:
            note = f"efficiency, {row.group}: {row.name}: {what}, after less before less 2 standard errors, worst T"
            targets.append(Target(note, float(row.losses(field).max()), at_most=0))
        least = min(float(row.gains(field).min()) for row in judged)
        targets.append(
            Target(f"efficiency: {what}, most that any row loses of its reward", max(0.0, -least), at_most=0.02)
        )
        shares[field] = float(np.mean([row.gains(field)[-1] > 0 for row in noisy]))
        note = f"efficiency: {what}, share of one-value rows that are better after, T = 2^{powers[-1]}"
        targets.append(Target(note, shares[field], at_least=0.9))
        head = ["group", "problem", "case", "feedback", *(f"T = 2^{power}" for power in powers)]
        if field == "regret":
            head.append("comparator")
        shown: list[list[Any]] = [
            [row.group, row.problem, row.case, row.model, *row.cells(field), *([row.kind] if field == "regret" else [])]
            for row in listed
        ]
        tables.append(table(head, shown))
    text = (
        f"N = {N} agents on a ring, d = {DIM}, theta = 1/2, {'four seeds' if quick else 'four seeds, two at T = 2^16'}. Each "
        "cell is before → after, a round, the mean over agents and seeds; less is better. (!): worse by more than two standard "
        "errors over seeds.\n\n"
        "Before: the paper's constants (`Scales.theorem()`), independent draws, no control variate, (x, y) sent. It is "
        "`Droculo.published` but for the oracle, which is the corrective one on both sides: the paper's own takes very many "
        "LOO calls at these horizons. Constants, tolerance and estimator stay the paper's; the corrective oracle keeps the "
        "same contract and leaves x and y nearer to the true projection, so it can only favour them. After: the defaults.\n\n"
        'The constants were first chosen on the problems marked "chosen on" alone. The present rule for gradients and two values '
        "(by case and theta) was settled with all rows in view, so for it the others are no independent check.\n\n"
        f"Certified regret, from {SAMPLE.agents} agents and {SAMPLE.rounds} rounds, the same before and after:\n\n"
        f"{tables[0]}\n\n"
        f"The rows of {', '.join(STILL)} are not held to the certificate, only to regret: the starting point has a small certificate "
        "there, which an agent that does not learn keeps (before: its regret does not fall with T), while one that learns pays for "
        "its noise first, and earns more all the same.\n\n"
        "alpha-regret over all rounds and agents. Below zero: better than the guarantee's share of the best fixed point. "
        '(A "found" comparator is the best that a search came upon; the difference of two regrets does not depend on it.)'
        f"\n\n{tables[1]}\n\n"
        f"With one value a round, {100 * shares['certified']:.0f}% of the rows that are held to it have less certified regret after "
        f"than before at T = 2^{powers[-1]}, and {100 * shares['regret']:.0f}% of all rows less regret."
    )
    numbers = {
        f"{row.group}: {row.name}": {
            field: {
                str(T): [float(getattr(b, field).mean()), float(getattr(a, field).mean())]
                for T, b, a in zip(row.horizons, row.before, row.after, strict=True)
            }
            for field in Reading._fields
        }
        for row in listed
    }
    return Part("Statistical efficiency", ".venv/bin/python benchmarks/efficiency.py", text, targets, numbers)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two shorter horizons")
    part = measure(parser.parse_args().quick)
    print(part.text)
    print()
    for target in part.targets:
        print(target.line)


if __name__ == "__main__":
    main()
