"""What it costs to know nothing: certified regret of the adaptive, anytime default, beside the best of fixed steps.

.venv/bin/python benchmarks/efficiency.py            # theta = 1/2 at T = 2^10, 2^12, 2^14, and theta = 1 at 2^10 and 2^12
.venv/bin/python benchmarks/efficiency.py --quick    # the shortest horizons

N = 8 agents on a ring. The fixed steps are the five of a ladder, 1/9, 1/3, 1, 3 and 9 times a step that was found by scanning thirty
problems and that knows the bounds and the horizon; each is played with the theorems' equal blocks, and with growing blocks. The
default knows neither. One family of instances may have been looked at while its rule was chosen; the others were drawn afterwards.
"""

from collections.abc import Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import numpy as np
from targets import Part, Target, on_all_cores, run_alone, table

from droculo import Droculo, Scales, feedback, networks, problems, simulate
from droculo.algorithms import FixedStep
from droculo.algorithms.schedules import schedule
from droculo.experiments import planted
from droculo.feedback.table import look_up
from droculo.measure import Sample, certificate

N = 8
LADDER = (1 / 9, 1 / 3, 1.0, 3.0, 9.0)
SAMPLE = Sample(agents=2, functions=N, rounds=512)
#: seeds of the instances that may have been looked at, and of those that were drawn when the rule was settled
CHOSEN, FRESH = (1, 21), (22,)
#: a certificate this share of the reward above the best fixed step's counts as no worse
SAME = 0.01
#: smaller ratios count as this in means, or a few certificates near zero would decide them
LEAST = 0.01


class Row(NamedTuple):
    """One problem with one feedback: certified regret a round."""

    fresh: bool
    problem: str
    case: str
    model: str
    theta: float
    horizon: int
    equal: float  # the best fixed step with equal blocks
    growing: float  # the best fixed step with growing blocks
    default: float
    reward: float

    def ratio(self, reference: float) -> float:
        """To the best fixed step; at most 1 where the difference is negligible."""
        ratio = self.default / reference if reference > 0 else np.inf
        return min(ratio, 1.0) if self.default - reference <= SAME * abs(self.reward) else ratio


@cache
def instances(seed: int) -> dict[str, tuple[problems.Problem, Sequence[str]]]:
    """Name -> problem, and the feedback models that it is played with."""

    def drawn(kind: Any, **given: Any) -> problems.Problem:
        made: problems.Problem = kind.random(agents=N, seed=seed, **given)
        return made

    lowest = 9 + np.random.default_rng(seed).uniform(0, 4, (N, 10))
    weights = problems.IIDWeights(lowest, lowest + 4, seed=seed)
    full, both = ("full information",), ("full information", "semi-bandit")
    noisy = ("zeroth order", "bandit")
    return {
        "top-b, face": (drawn(problems.TopB, dim=10, budget=3, face=True), (*full, "two-point")),
        "top-b, i.i.d., face": (problems.TopB(weights, 3, face=True), (*full, "bandit")),
        "set functions, face": (drawn(problems.SetFunctions, dim=9, budget=3, face=True), full),
        "coverage, face": (drawn(problems.Coverage, dim=10, elements=30, budget=3, face=True), full),
        "weak quadratic, face": (drawn(problems.WeakQuadratic, dim=8, budget=3, face=True), full),
        "top-b": (drawn(problems.TopB, dim=10, budget=3), (*both, *noisy)),
        "top-b, i.i.d.": (problems.TopB(weights, 3), full),
        "coverage": (drawn(problems.Coverage, dim=10, elements=30, budget=3), (*both, *noisy)),
        "set functions": (drawn(problems.SetFunctions, dim=9, budget=3), full),
        "influence": (problems.Influence.davis(agents=N, seed=seed), full),
        "lists of items": (problems.Recommendation.synthetic(agents=N, seed=seed), full),
        "monotone NQP": (problems.NQP.monotone(agents=N, dim=10, constraints=5, seed=seed), full),
        "local top-b": (planted.local_top_b(agents=N, dim=8, seed=seed), full),
        "cut": (drawn(problems.PlantedCut, left=4, right=6), (*full, "bandit")),
        "directed cuts": (drawn(problems.SetFunctions, dim=10, budget=4, monotone=False, face=True), (*full, "zeroth order")),
        "mutual information, face": (drawn(problems.MutualInformation, sites=10, budget=4, face=True), full),
        "NQP": (problems.NQP.random(agents=N, dim=8, constraints=4, seed=seed, case="A3"), full),
        "cut, down-closed": (drawn(problems.PlantedCut, left=4, right=6, down_closed=True), both),
        "pricing": (problems.Pricing.random(stores=N, products=10, seed=seed), full),
        "mutual information": (drawn(problems.MutualInformation, sites=10, budget=4), full),
        "inventory, A4": (drawn(problems.Inventory, products=8, supplies=8, case="A4"), full),
        "inventory, d = 6": (drawn(problems.Inventory, products=10, supplies=6), (*full, "bandit", "two-point")),
        "inventory, d = 8": (drawn(problems.Inventory, products=8, supplies=8), full),
        "water-filling": (drawn(problems.WaterFilling, dim=10, budget=3.0), (*full, "bandit")),
        "sensors": (drawn(problems.LogDetSensors, sites=10, budget=3, concave=True), (*full, "bandit")),
    }  # fmt: skip


def signal(model: str) -> feedback.Feedback:
    made: feedback.Feedback = getattr(feedback, model.replace(" ", "_").replace("-", "_"))()
    return made


def scanned(problem: problems.Problem, model: str, theta: float) -> float:
    """The middle of the ladder: the multiple of the theorem's step that a scan found for this kind of problem."""
    values, spread = signal(model).kind.values, 9.0 ** (1 - theta)
    case = problem.linearization.case
    if case == "concave":
        return {0: 1.5, 2: 10.0, 1: 100 * spread / 3}[values]
    if values == 1:
        return 300.0
    return {0: 10.0, 2: 30.0}[values] * (1.0 if case == "A4" else spread)


def read(problem: problems.Problem, agent: Droculo, horizon: int) -> tuple[float, float]:
    """Certified regret and reward a round."""
    keys = jax.random.split(jax.random.key(0), 2)
    network = networks.from_graph(networks.ring(N))
    run = simulate(problem, agent, network, key=keys, rounds=horizon, progress=False, quick=False)
    found = certificate(problem, run, sample=SAMPLE)
    return float(np.mean(found.bound)) / horizon, float(np.mean(found.rewards)) / horizon


def rows_of(horizons: Sequence[tuple[float, int]], task: tuple[int, str, str]) -> list[Row]:
    """The rows of one problem with one feedback, for pairs (theta, horizon)."""
    seed, name, model = task
    problem, _ = instances(seed)[name]
    most = float(look_up(problem.linearization, signal(model), 0.0).theta_max)
    exact = 1.0 if problem.set.curved else 0.01
    found = []
    for theta, T in horizons:
        at = min(theta, most)
        setting, model_of = problem.setting, signal(model)
        scales = [Scales(step=scanned(problem, model, theta) * m, tolerance=exact) for m in LADDER]
        plans = [schedule(setting, model_of, horizon=T, theta=at, scales=s) for s in scales]
        equal = [read(problem, Droculo.from_schedule(setting, model_of, plan), T)[0] for plan in plans]
        steps = [FixedStep(plan.step_size, plan.tolerance) for plan in plans]
        growing = [read(problem, Droculo.design(setting, model_of, theta=at, steps=step), T)[0] for step in steps]
        default, reward = read(problem, Droculo.design(setting, model_of, theta=at), T)
        case = problem.linearization.case
        best = min(equal), min(growing)
        found.append(Row(seed in FRESH, name, case, model, theta, T, *best, default, reward))
    return found


def mean(ratios: Sequence[float]) -> float:
    """The geometric mean."""
    return float(np.exp(np.mean(np.log(np.maximum(ratios, LEAST)))))


def by_class(rows: Sequence[Row], reference: str) -> dict[tuple[str, str], list[float]]:
    """(case, feedback) -> ratios."""
    found: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        found.setdefault((row.case, row.model), []).append(row.ratio(getattr(row, reference)))
    return dict(sorted(found.items()))


def targets_of(rows: Sequence[Row]) -> list[Target]:
    """By theta, and by what is known of the instances."""
    found = []
    for theta, most in ((0.5, 0.3), (1.0, 0.7)):
        for fresh in (False, True):
            for values in (False, True):
                some = [
                    r for r in rows if (r.theta, r.fresh) == (theta, fresh) and (signal(r.model).order == 0) == values
                ]
                if not some:
                    continue
                what = f"efficiency, theta = {theta:g}, {'fresh' if fresh else 'chosen on'}, {'values' if values else 'gradients'}"
                equal, growing = [r.ratio(r.equal) for r in some], [r.ratio(r.growing) for r in some]
                limits = (1.0, 2.0, None, None) if values else (most, 1.5, 0.7, 1.8)
                steep = [r.ratio(r.equal) for r in some if r.case == "A1"]
                flat = [r.ratio(r.equal) for r in some if r.case != "A1"] if not values else equal
                found.append(
                    Target(f"{what}: mean, best fixed step with equal blocks = 1", mean(equal), at_most=limits[0])
                )
                if flat:
                    found.append(Target(f"{what}: worst", max(flat), at_most=limits[1]))
                if steep and not values:
                    found.append(Target(f"{what}: worst of A1", max(steep), at_most=2.0))
                if limits[2] is not None:
                    found.append(
                        Target(f"{what}: mean, best with growing blocks = 1", mean(growing), at_most=limits[2])
                    )
                    found.append(Target(f"{what}: worst, with growing blocks", max(growing), at_most=limits[3]))
    return found


def measure(quick: bool = False) -> Part:
    """All rows; `quick`: the shortest horizons."""
    horizons = (
        [(0.5, 2**10), (1.0, 2**10)]
        if quick
        else [(0.5, 2**10), (0.5, 2**12), (0.5, 2**14), (1.0, 2**10), (1.0, 2**12)]
    )
    tasks = [
        (seed, name, model) for seed in (*CHOSEN, *FRESH) for name, (_, ms) in instances(seed).items() for model in ms
    ]
    return part_of([row for listed in on_all_cores(partial(rows_of, horizons), tasks) for row in listed])


def part_of(rows: Sequence[Row]) -> Part:
    """The tables and the targets."""
    horizons = sorted({row.horizon for row in rows})
    shown: list[list[Any]] = []
    for theta in (0.5, 1.0):
        some = [row for row in rows if row.theta == theta]
        equal, growing = by_class(some, "equal"), by_class(some, "growing")
        shown += [
            [f"{theta:g}", *key, len(ratios), mean(ratios), max(ratios), mean(growing[key]), max(growing[key])]
            for key, ratios in equal.items()
        ]
    worst = sorted(rows, key=lambda row: -row.ratio(row.equal))[:8]
    text = (
        f"Certified regret of `Droculo.design(setting, feedback, theta=...)`, which knows neither horizon nor bounds, relative to the "
        f"best of five fixed steps (a factor of 81 between the shortest and the longest), chosen afterwards for each row, with equal "
        f"blocks of the known horizon, and with growing blocks. N = {N} agents on a ring, two seeds, T from {horizons[0]} to "
        f"{horizons[-1]}. Below 1: knowing nothing costs less than nothing. A difference of less than {SAME:.0%} of the "
        f"reward counts as none. Means are geometric, ratios below {LEAST:g} count as that. Instances of seeds "
        f"{', '.join(map(str, CHOSEN))} may have been looked at while the rule was chosen; those of {', '.join(map(str, FRESH))} were drawn when it was settled.\n\n"
        + table(
            ["theta", "case", "feedback", "rows", "mean, equal", "worst, equal", "mean, growing", "worst, growing"],
            shown,
        )
        + "\n\nThe rows that do worst beside the best fixed step with equal blocks:\n\n"
        + table(
            ["problem", "case", "feedback", "theta", "T", "best fixed", "default", "reward"],
            [[r.problem, r.case, r.model, f"{r.theta:g}", r.horizon, r.equal, r.default, r.reward] for r in worst],
        )
    )
    return Part("Knowing nothing", ".venv/bin/python benchmarks/efficiency.py", text, targets_of(rows))


if __name__ == "__main__":
    run_alone(measure, __doc__, "the shortest horizons")
