"""What better draws and an adaptive step win: regret a round of the paper's choices and of our defaults, as the horizon grows.

.venv/bin/python benchmarks/efficiency.py            # T = 2^12, 2^14, 2^16 (half an hour on two cores, of compilation)
.venv/bin/python benchmarks/efficiency.py --quick    # T = 2^10, 2^12

N = 8 agents on a ring, theta = 1/2; the second group at T = 2^12 and theta = 1 too. Problems of the first
group may have been looked at while the constants of the adaptive step were chosen; the second group are other instances. "Before" has
the paper's schedule and its estimator (independent draws, no control variate).
"""

import argparse
from collections.abc import Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import networkx as nx
import numpy as np
from numpy.typing import NDArray
from targets import Part, Target, on_all_cores, table

from droculo import Droculo, feedback, networks, oracles, problems, simulate
from droculo.algorithms import IndependentDraws, SendXY
from droculo.feedback.table import look_up
from droculo.measure import Sample, best_fixed_point, certificate, regret

N, DIM, THETA = 8, 10, 0.5
#: the certificate's: all eight functions of these rounds, the same rounds before and after
SAMPLE = Sample(agents=4, functions=N, rounds=512)
CHOSEN, VALIDATED = "chosen on", "validated on"
ONE_VALUE = ("zeroth order", "bandit")
#: what a row may lose, as a share of its reward, beyond two standard errors: with one rule for all problems some lose a little
SAME = 0.01
#: "before" stands still if its certified regret falls by no more than this share of it, and its regret by no more than `SAME`
STILL = 0.05

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

    @property
    def idle(self) -> bool:
        """Whether "before" stands still: regret and certified regret a round are the same at all horizons.

        Such a row is held to regret alone. Where the surrogate hardly slopes, the starting point has a small certificate, which one
        who does not learn keeps, while one who sets out pays with noise first."""
        regrets, certified = ([getattr(r, field).mean() for r in self.before] for field in ("regret", "certified"))
        stays = max(regrets) - min(regrets) <= SAME * abs(self.before[0].reward.mean())
        return bool(len(self.horizons) > 1 and stays and max(certified) - min(certified) <= STILL * max(certified))

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


@cache
def yardsticks() -> list[Yardstick]:
    def drawn(kind: Any, seed: int, **given: Any) -> problems.Problem:
        made: problems.Problem = kind.random(agents=N, seed=seed, **given)
        return made

    lowest = DIM - 1 + np.random.default_rng(3).uniform(0, 4, (N, DIM))
    iid = problems.TopB(problems.IIDWeights(lowest, lowest + 4, seed=3), 3, face=True)
    top_b = drawn(problems.TopB, 0, dim=DIM, budget=3)
    face = drawn(problems.TopB, 0, dim=DIM, budget=3, face=True)
    cut = drawn(problems.PlantedCut, 1, left=4, right=6)
    water = drawn(problems.WaterFilling, 0, dim=DIM, budget=3.0)
    coverage = drawn(problems.Coverage, 1, dim=DIM, elements=30, budget=3)
    weak = drawn(problems.WeakQuadratic, 2, dim=8, budget=3)
    NQP = problems.NQP.monotone(agents=N, dim=DIM, constraints=5, seed=2)
    cuts = drawn(problems.SetFunctions, 4, dim=DIM, budget=4, monotone=False, face=True)
    sensors = drawn(problems.LogDetSensors, 5, sites=DIM, budget=3, concave=True)
    monotone = drawn(problems.SetFunctions, 11, dim=DIM, budget=4, face=True)
    influence = problems.Influence.davis(agents=N, seed=11)
    lists = problems.Recommendation.synthetic(agents=N, seed=11)
    mutual = drawn(problems.MutualInformation, 11, sites=DIM, budget=4, face=True)
    prices = problems.Pricing.random(stores=N, products=DIM, seed=11)
    stock = drawn(problems.Inventory, 11, products=DIM, supplies=6)
    new_stock = drawn(problems.Inventory, 31, products=8, supplies=8)
    new_sensors = drawn(problems.LogDetSensors, 31, sites=12, budget=4, concave=True)
    new_coverage = drawn(problems.Coverage, 31, dim=12, elements=40, budget=4, face=True)
    tight = problems.WorstCase.random("A2", agents=N, pairs=5, seed=31)
    new_influence = problems.Influence.davis(agents=N, budget=4, seed=31)
    caves = problems.Revenue.on_graph(nx.connected_caveman_graph(3, 4), agents=N, budget=4, seed=31, case="A3")
    new_mutual = drawn(problems.MutualInformation, 31, sites=DIM, budget=4)
    bent_stock = drawn(problems.Inventory, 31, products=8, supplies=8, case="A4")
    newer_water = drawn(problems.WaterFilling, 41, dim=12, budget=4.0)
    newer_stocks = [drawn(problems.Inventory, 41, products=P, supplies=d) for P, d in ((8, 8), (10, 6))]
    newer_sensors = drawn(problems.LogDetSensors, 41, sites=DIM, budget=4, concave=True)

    values, gradients = ("zeroth order", "bandit", "two-point"), ("full information", "semi-bandit")
    return [
        Yardstick(CHOSEN, "top-b, drifting", face, values),
        Yardstick(CHOSEN, "top-b, drifting", top_b, (*values, *gradients)),
        Yardstick(CHOSEN, "planted cut", cut, ONE_VALUE),
        Yardstick(CHOSEN, "water-filling", water, ("bandit", "semi-bandit")),
        Yardstick(CHOSEN, "coverage", coverage, (*ONE_VALUE, "full information")),
        Yardstick(CHOSEN, "weak quadratic, d = 8", weak, ("zeroth order",)),
        Yardstick(CHOSEN, "monotone NQP", NQP, ("zeroth order", "semi-bandit")),
        Yardstick(CHOSEN, "top-b, i.i.d.", iid, ("bandit", "two-point")),
        Yardstick(CHOSEN, "directed cuts", cuts, ("zeroth order",)),
        Yardstick(CHOSEN, "sensors, log det", sensors, ("bandit",)),
        Yardstick(CHOSEN, "set functions", monotone, ("semi-bandit",)),
        Yardstick(CHOSEN, "influence, d = 14", influence, ("full information",)),
        Yardstick(CHOSEN, "lists of items, d = 16", lists, ("semi-bandit",)),
        Yardstick(CHOSEN, "mutual information", mutual, ("full information",)),
        Yardstick(CHOSEN, "pricing", prices, ("full information",)),
        Yardstick(CHOSEN, "inventory, d = 6", stock, ("bandit", "two-point", "semi-bandit")),
        Yardstick(CHOSEN, "inventory 31, d = 8", new_stock, ("semi-bandit",)),
        Yardstick(CHOSEN, "sensors 31, log det, d = 12", new_sensors, ("semi-bandit",)),
        # Every case with every feedback. A4 takes gradients only; for A1 and concave functions, which are asked where they are
        # played, full information is semi-bandit.
        Yardstick(VALIDATED, "coverage, d = 12", new_coverage, (*values, "semi-bandit")),
        Yardstick(VALIDATED, "tight pairs", tight, (*values, *gradients)),
        Yardstick(VALIDATED, "influence, d = 14, b = 4", new_influence, ("bandit", "full information")),
        Yardstick(VALIDATED, "free samples, d = 12", caves, (*values, *gradients)),
        Yardstick(VALIDATED, "mutual information", new_mutual, gradients),
        Yardstick(VALIDATED, "inventory 31, d = 8", bent_stock, ("full information",)),
        Yardstick(VALIDATED, "water-filling, d = 12", newer_water, ("zeroth order", "semi-bandit")),
        Yardstick(VALIDATED, "inventory 41, d = 8", newer_stocks[0], ("bandit", "two-point", "semi-bandit")),
        Yardstick(VALIDATED, "inventory 41, d = 6", newer_stocks[1], ("semi-bandit",)),
        Yardstick(VALIDATED, "sensors 41, log det", newer_sensors, (*values, "semi-bandit")),
    ]


def signal(model: str) -> feedback.Feedback:
    made: feedback.Feedback = getattr(feedback, model.replace(" ", "_").replace("-", "_"))()
    return made


def largest(problem: problems.Problem, model: str, theta: float) -> float:
    """`theta`, or less where the theorem does not go as far."""
    return min(theta, float(look_up(problem.linearization, signal(model), 0.0).theta_max))


def before(problem: problems.Problem, model: str, horizon: int, theta: float) -> Droculo:
    """`algorithms.published` but for its oracle."""
    asked = signal(model)
    if isinstance(asked.signal, feedback.OnePoint):
        asked = eqx.tree_at(lambda f: f.signal, asked, feedback.OnePoint(control_variate=False))
    return Droculo.prescribed(
        problem.setting, asked, horizon=horizon, theta=theta, oracle=oracles.ActiveSet(), exchange=SendXY(), draws=IndependentDraws(),
    )  # fmt: skip


def after(problem: problems.Problem, model: str, horizon: int, theta: float) -> Droculo:
    return Droculo.design(problem.setting, signal(model), horizon=horizon, theta=theta)


def comparator(problem: problems.Problem, horizon: int) -> problems.Comparator:
    """The best fixed point. The functions of an NQP come in turn: what is earned in one turn is earned again and again."""
    if not isinstance(problem, problems.NQP):
        return best_fixed_point(problem, horizon, N)
    turn = problem.matrices.shape[1]
    assert horizon % turn == 0
    found = best_fixed_point(problem, turn, N)
    return found._replace(total=found.total * horizon / turn, gap=found.gap * horizon / turn)


def read(problem: problems.Problem, agent: Droculo, best: problems.Comparator) -> Reading:
    horizon = agent.horizon
    keys = jax.random.split(jax.random.key(0), 2 if horizon >= 2**16 else 4)
    run = simulate(problem, agent, networks.from_graph(networks.ring(N)), key=keys, progress=False)
    bound = certificate(problem, run, sample=SAMPLE).bound.mean(axis=1)
    found = regret(problem, run, comparator=best, at=[horizon])
    return Reading(bound / horizon, found.total.mean(axis=1) / horizon, found.rewards.mean(axis=1) / horizon)


def rows_of(horizons: Sequence[int], theta: float, index: int) -> list[Row]:
    """The rows of one problem."""
    group, name, problem, models = yardsticks()[index]
    best = [comparator(problem, horizon) for horizon in horizons]
    listed = []
    for model in models:
        at = largest(problem, model, theta)
        readings = [
            [read(problem, make(problem, model, T, at), point) for T, point in zip(horizons, best, strict=True)]
            for make in (before, after)
        ]
        listed.append(Row(group, name, problem.linearization.case, model, best[0].kind, horizons, *readings))
    return listed


def rows(horizons: Sequence[int], theta: float, groups: Sequence[str]) -> list[Row]:
    """Those of all problems of these groups."""
    chosen = [index for index, yardstick in enumerate(yardsticks()) if yardstick.group in groups]
    return [row for listed in on_all_cores(partial(rows_of, horizons, theta), chosen) for row in listed]


def of_the_idle(listed: Sequence[Row]) -> str:
    """Which rows are not held to their certificate, why, and what became of it."""
    idle = [row for row in listed if row.idle]
    if not idle:
        return ""
    rose = [row for row in idle if row.losses("certified").max() > 0]
    named = "; ".join(
        f"{row.name} (by up to {-100 * row.gains('certified').min():.1f} % of the reward)" for row in rose
    )
    return (
        f"{len(idle)} rows are held to regret alone, those where before stands still: its regret a round is the same at all "
        f"horizons, up to {100 * SAME:g} % of the reward, and so is its certificate, up to {100 * STILL:g} % of itself. The starting "
        "point can have a small certificate, which one who does not learn keeps, while one who sets out pays with noise first. The "
        f"certificate rose in {len(rose)} of them{': ' + named if rose else ''}.\n\n"
    )


def of_the_losers(listed: Sequence[Row]) -> str:
    """Which rows make use of what they may lose."""
    lost = [
        f"{row.name}: {what} by {100 * row.losses(field).max():.2f} %"
        for field, what in (("certified", "certified regret"), ("regret", "regret"))
        for row in listed
        if row.losses(field).max() > 0 and not (field == "certified" and row.idle)
    ]
    return f"{len(lost)} use that: {'; '.join(lost)}." if lost else "None does."


def by_class(listed: Sequence[Row]) -> dict[tuple[str, str], float]:
    """(case, feedback) -> certified regret after / before: the geometric mean over rows that were validated on, and horizons."""
    found: dict[tuple[str, str], list[float]] = {}
    for row in listed:
        if row.group == VALIDATED:
            old, new = (np.array([r.certified.mean() for r in readings]) for readings in (row.before, row.after))
            assert min(old.min(), new.min()) > 0, f"certificates below zero have no ratio: {row.name}, {old}, {new}"
            found.setdefault((row.case, row.model), []).extend(new / old)
    return {key: float(np.exp(np.mean(np.log(ratios)))) for key, ratios in sorted(found.items())}


def measure(quick: bool = False) -> Part:
    """All rows; `quick`: two shorter horizons."""
    powers = (10, 12) if quick else (12, 14, 16)
    listed = rows([2**power for power in powers], THETA, (CHOSEN, VALIDATED))
    often = rows([2 ** powers[0]], 1.0, (VALIDATED,))  # an exchange in every round, or as often as the theorem allows
    classes, often_classes = by_class(listed), by_class(often)
    targets = [
        Target(
            f"efficiency, {VALIDATED}, theta = {at}: {case}, {model}: certified regret, after / before",
            ratio,
            at_most=1,
        )
        for at, found in (("1/2", classes), ("1", often_classes))
        for (case, model), ratio in found.items()
    ]
    for field, what in (("certified", "certified regret"), ("regret", "regret")):
        most = max(float(row.losses(field).max()) for row in often)
        targets.append(
            Target(f"efficiency, {VALIDATED}, theta = 1: {what}, most lost of the reward", most, at_most=SAME)
        )
    shares, tables = {}, []
    for field, what in (("certified", "certified regret"), ("regret", "regret")):
        judged = [row for row in listed if field == "regret" or not row.idle]
        noisy = [row for row in judged if row.model in ONE_VALUE]
        for row in judged:
            note = f"efficiency, {row.group}: {row.name}: {what}, after less before less 2 standard errors, of the reward, worst T"
            targets.append(Target(note, float(row.losses(field).max()), at_most=SAME))
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
    head_of_classes = ["case", "feedback", "theta = 1/2", f"theta = 1 or the largest allowed, T = 2^{powers[0]}"]
    each = [[row.problem, row.case, row.model, *row.cells("certified"), *row.cells("regret")] for row in often]
    text = (
        f"N = {N} agents on a ring, d = {DIM}, theta = 1/2, {'four seeds' if quick else 'four seeds, two at T = 2^16'}. Each "
        "cell is before → after, a round, the mean over agents and seeds; less is better. (!): worse by more than two standard "
        "errors over seeds.\n\n"
        "Before: the paper's schedule (`Droculo.prescribed`), independent draws, no control variate, (x, y) sent. It is "
        "`algorithms.published` but for the oracle, which is the corrective one on both sides: the paper's own takes very many "
        "LOO calls at these horizons. Constants, tolerance and estimator stay the paper's; the corrective oracle keeps the "
        "same contract and leaves x and y nearer to the true projection, so it can only favour them. After: the defaults.\n\n"
        f'Problems marked "{CHOSEN}" may have been looked at while the constants of the adaptive step were chosen. Those marked '
        f'"{VALIDATED}" are other instances, some of them of the same families. Every class '
        "of functions with every feedback must have less certified regret there (A4 takes gradients only; for A1 and concave "
        "functions full information is semi-bandit). A row may lose as much as two standard errors and "
        f"{100 * SAME:g} % of its reward. {of_the_losers(listed)} At theta = 1: {of_the_losers(often)}\n\n"
        f'Certified regret after / before, on "{VALIDATED}", the geometric mean over problems and horizons:\n\n'
        f"{table(head_of_classes, [[*key, ratio, often_classes[key]] for key, ratio in classes.items()])}\n\n"
        f"Certified regret, from {SAMPLE.agents} agents and {SAMPLE.rounds} rounds, the same before and after:\n\n"
        f"{tables[0]}\n\n"
        f"{of_the_idle(listed)}"
        "alpha-regret over all rounds and agents. Below zero: better than the guarantee's share of the best fixed point. "
        '(A "found" comparator is the best that a search came upon; the difference of two regrets does not depend on it.)'
        f"\n\n{tables[1]}\n\n"
        f"With one value a round, {100 * shares['certified']:.0f}% of the rows that are held to it have less certified regret after "
        f"than before at T = 2^{powers[-1]}, and {100 * shares['regret']:.0f}% of all rows less regret.\n\n"
        f'With theta = 1, or the largest that the theorem allows, T = 2^{powers[0]}, on "{VALIDATED}":\n\n'
        f"{table(['problem', 'case', 'feedback', 'certified regret', 'regret'], each)}"
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
