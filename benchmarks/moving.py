"""Worlds that move, at times that no agent is told: the default beside the best of fixed steps, and how soon it recovers.

.venv/bin/python benchmarks/moving.py            # theta = 1/2 and 1, T = 4096, three seeds
.venv/bin/python benchmarks/moving.py --quick    # one seed

N = 8 agents on a ring, with gradients. Three planted problems whose best point is known in every round, in three worlds each: one that
switches every T/6 rounds, one that switches twice, and one that drifts slowly all the time. The fixed steps are 3^-2 to 3^7 times that of
the theorem, with its equal blocks and with growing ones; the best of them is chosen afterwards for each row.
"""

import dataclasses
import math
from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from targets import Part, Target, on_all_cores, run_alone, table

from droculo import Droculo, feedback, measure, networks, problems, simulate
from droculo.algorithms import FixedStep
from droculo.algorithms.schedules import schedule
from droculo.problems import PeriodicWeights, Switching

N, DIM, T = 8, 10, 4096
LADDER = tuple(3.0**power for power in range(-2, 8))
#: seeds of the worlds that were looked at while the rule was chosen, and of those that were drawn afterwards
CHOSEN, FRESH = (5, 7, 41), (61, 62)
KINDS = ("top-b, A2", "top-b, A1", "water-filling")
WORLDS = ("six phases", "three phases", "drifting")
THETAS = (0.5, 1.0)
#: an agent has recovered in the first block that earns, of the moving optimum, at most this much less than before the switch
NEAR = 0.05


class Row(NamedTuple):
    """What one world gave."""

    kind: str
    world: str
    theta: float
    seed: int
    share: float  # of the moving optimum, over all rounds
    after: float  # the same, from the first switch on
    best: float  # the share of the best fixed step
    best_after: float
    recovery: list[tuple[int, int]]  # (block of the switch, blocks until recovered) of every switch


def weights_of(world: str, low: float, high: float, rng: np.random.Generator) -> problems.Adversary:
    """Weights between low and high (a little beyond for single agents), which move as the world does."""

    def tables(number: int) -> np.ndarray:
        common = rng.uniform(low, high, (number, 1, DIM))
        return np.abs(common + rng.uniform(-0.2, 0.2, (number, N, DIM)) * (high - low))

    if world == "drifting":
        speed, phase = rng.uniform(1, 2, (1, DIM)) * 2 * np.pi / T, rng.uniform(0, 2 * np.pi, (1, DIM))
        everywhere = np.ones((N, DIM))
        return PeriodicWeights(tables(1)[0], (high - low) * everywhere, speed * everywhere, phase * everywhere)
    phases = {"six phases": 6, "three phases": 3}[world]
    return Switching(tables(phases), every=-(-T // phases))


def problem_of(kind: str, world: str, seed: int) -> problems.Problem:
    rng = np.random.default_rng(seed)
    if kind == "water-filling":
        return problems.WaterFilling(weights_of(world, 0.5, 3.0, rng), rng.uniform(1, 4, DIM), 3.0)
    return problems.TopB(weights_of(world, 10.0, 14.0, rng), 3, face=kind.endswith("A1"))


def starts_of(problem: Any, world: str) -> np.ndarray:
    """Where the phases of the world begin; a world that drifts has no phases."""
    return problem.weights.starts(T) if world != "drifting" else np.zeros(1, int)


def row_of(task: tuple[str, str, float, int]) -> Row:
    kind, world, theta, seed = task
    problem, network = problem_of(kind, world, seed), networks.from_graph(networks.ring(N))
    model, starts = feedback.full_information(), starts_of(problem, world)
    first = int(starts[1]) if len(starts) > 1 else 0
    windows = None if world == "drifting" else starts

    def shares(agent: Droculo, at: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Reward and the moving optimum's, in the rounds up to each of these times."""
        run = simulate(problem, agent, network, key=0, rounds=T, progress=False, quick=False)
        found = measure.dynamic(problem, run, windows=windows, at=list(at), alpha=1.0)
        rate = np.repeat(found.windows.totals / found.windows.lengths, found.windows.lengths)
        optimum = np.cumsum(rate)[found.times - 1]
        return optimum - found.curve.mean(axis=-1), optimum

    def whole_and_after(agent: Droculo) -> tuple[float, float]:
        earned, optimum = shares(agent, [first, T] if first else [T])
        return earned[-1] / optimum[-1], (earned[-1] - earned[0] * (first > 0)) / (
            optimum[-1] - optimum[0] * (first > 0)
        )

    plan = schedule(problem.setting, model, horizon=T, theta=theta)
    fixed = []
    for scale in LADDER:
        longer = dataclasses.replace(plan, step_size=plan.step_size * scale, tolerance=plan.tolerance * 0.01)
        steps = FixedStep(longer.step_size, longer.tolerance)
        fixed.append(whole_and_after(Droculo.from_schedule(problem.setting, model, longer)))
        fixed.append(whole_and_after(Droculo.design(problem.setting, model, theta=theta, steps=steps)))
    agent = Droculo.design(problem.setting, model, theta=theta)
    ends = agent.timetable.until(T).end
    earned, optimum = shares(agent, ends)
    of_blocks = np.diff(earned, prepend=0) / np.diff(optimum, prepend=0)
    recovery = [recovered(of_blocks, int(np.searchsorted(ends, start, side="right"))) for start in starts[1:]]
    (best, _), best_after = max(fixed), max(after for _, after in fixed)
    share, after = whole_and_after(agent)
    return Row(kind, world, theta, seed, share, after, best, best_after, recovery)


def recovered(of_blocks: np.ndarray, block: int) -> tuple[int, int]:
    """(number of the block in which the switch lies, blocks from there to the first that is as good as before, itself included)."""
    level = of_blocks[max(0, block - 3) : block].mean()
    good = np.flatnonzero(of_blocks[block + 1 :] >= level - NEAR)
    return block + 1, int(good[0]) + 1 if len(good) else len(of_blocks) - block


def allowed(block: int) -> float:
    """After how many blocks docs/adaptive.md reckons that an agent has recovered from a change in this block: h rises from -3 to 0 within
    3 b/(kappa b0) blocks, and after that steps of R/sqrt(b) go as far as 3 R within 3 sqrt(b)."""
    return 3 * block / (2.0 * 8.0) + 3 * math.sqrt(block)


def targets_of(rows: Sequence[Row]) -> list[Target]:
    """Those of every theta, on worlds that were looked at and on those that were not."""
    found = []
    for theta, fresh in product(THETAS, (False, True)):
        some = [row for row in rows if row.theta == theta and (row.seed in FRESH) == fresh]
        if not some:
            continue
        what = f"moving, theta = {theta:g}, {'fresh' if fresh else 'chosen on'}"
        found.append(
            Target(f"{what}: reward / best fixed step's, worst", min(r.share / r.best for r in some), at_least=0.95)
        )
        for kind in KINDS:
            six = [r.after for r in some if r.world == "six phases" and r.kind == kind]
            after = f"{what}: share of the moving optimum after the first of five switches, {kind}, worst"
            found.append(Target(after, min(six), at_least=0.96))
        late = max(blocks / allowed(block) for r in some for block, blocks in r.recovery)
        found.append(Target(f"{what}: blocks until recovered / those of docs/adaptive.md, worst", late, at_most=1.0))
    return found


def measure_moving(quick: bool = False) -> Part:
    """All rows; `quick`: of one seed."""
    seeds = FRESH if quick else (*CHOSEN, *FRESH)
    rows = on_all_cores(row_of, list(product(KINDS, WORLDS, THETAS, seeds)))
    shown = []
    for kind, world, theta in product(KINDS, WORLDS, THETAS):
        some = [r for r in rows if (r.kind, r.world, r.theta) == (kind, world, theta)]
        blocks = [blocks for r in some for _, blocks in r.recovery]
        numbers = [
            float(np.mean([getattr(r, name) for r in some])) for name in ("share", "best", "after", "best_after")
        ]
        recovery = f"{np.median(blocks):g} ({max(blocks)})" if blocks else "-"
        shown.append([kind, world, f"{theta:g}", *(f"{number:.3f}" for number in numbers), recovery])
    text = (
        f"Worlds that move: share of what the best point of every round (where weights drift) or phase earns, T = {T}, {N} agents on a "
        f"ring, gradients, mean over {len(seeds)} worlds each. The best fixed step is chosen afterwards, for each column, from {len(LADDER)} "
        f"steps with equal and with growing blocks; the default is told nothing. The last column counts blocks from a switch to the first "
        f"block that earns at most {NEAR:.0%} less of the optimum than before it, median and worst. Worlds of seeds "
        f"{', '.join(map(str, CHOSEN))} were looked at while the rule was chosen, {', '.join(map(str, FRESH))} was not.\n\n"
        + table(
            ["problem", "world", "theta", "default", "best fixed", "default, after a switch", "best fixed", "blocks"],
            shown,
        )
    )
    return Part("Worlds that move", ".venv/bin/python benchmarks/moving.py", text, targets_of(rows))


if __name__ == "__main__":
    run_alone(measure_moving, __doc__, "one seed")
