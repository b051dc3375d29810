"""What it costs not to know the horizon: the same rule with growing blocks, beside equal blocks of the length that T asks for.

.venv/bin/python benchmarks/horizon.py            # T = 2^8, 2^10, ..., 2^16
.venv/bin/python benchmarks/horizon.py --quick    # the two shortest horizons

N = 8 agents on a ring, gradients, theta = 1/2: at theta = 1 all blocks have one round, whether T is known or not.
"""

import dataclasses
from itertools import product

from efficiency import instances, mean, read, signal
from targets import Part, Target, on_all_cores, run_alone, table

from droculo import Droculo
from droculo.algorithms import Equal

PROBLEMS = ("set functions, face", "top-b", "coverage", "cut", "pricing", "inventory, d = 6", "water-filling")
HORIZONS = tuple(2**power for power in range(8, 17, 2))
SEED = 12
#: a certificate that is higher by less than this share of the reward counts as equal
SAME = 0.001


def ratio(task: tuple[str, int]) -> float:
    """Certified regret without knowing T, relative to knowing it."""
    name, T = task
    problem, _ = instances(SEED)[name]
    agent = Droculo.design(problem.setting, signal("full information"), theta=0.5)
    length = round(T**0.5)
    knowing = dataclasses.replace(agent, timetable=Equal(length, 1, T), horizon=T)
    (mine, reward), (theirs, _) = read(problem, agent, T), read(problem, knowing, T)
    return 1.0 if abs(mine - theirs) <= SAME * abs(reward) else max(mine, 0.0) / theirs


def measure(quick: bool = False) -> Part:
    """All horizons; `quick`: the two shortest."""
    horizons = HORIZONS[:2] if quick else HORIZONS
    tasks = list(product(PROBLEMS, horizons))
    found = dict(zip(tasks, on_all_cores(ratio, tasks), strict=True))
    text = (
        "Certified regret of the default, which does not know T and whose blocks grow, relative to the same rule with equal blocks of "
        f"T^(1/2) rounds: theta = 1/2, gradients, instances of seed {SEED}. A difference of less than {SAME:.1%} of the reward counts as none.\n\n"
        + table(["problem", *(f"T = {T}" for T in horizons)], [[p, *(found[p, T] for T in horizons)] for p in PROBLEMS])
    )
    targets = [
        Target(f"horizon, {name}: certified regret without knowing T / knowing it, worst", max(found[name, T] for T in horizons), at_most=1.1)
        for name in PROBLEMS
    ]  # fmt: skip
    targets.append(Target("horizon: the same, mean", mean(list(found.values())), at_most=1.1))
    return Part("Not knowing the horizon", ".venv/bin/python benchmarks/horizon.py", text, targets)


if __name__ == "__main__":
    run_alone(measure, __doc__, "the two shortest horizons")
