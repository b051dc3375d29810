"""Time per agent-round: the library against the same algorithm in NumPy, against exact projection, and how it grows.

.venv/bin/python benchmarks/speed.py            # about five minutes
.venv/bin/python benchmarks/speed.py --quick

All are run in one process, in turns; the ratios are between medians. Compilation is reported apart: each design is run once
before it is timed. The NumPy versions (benchmarks/baselines) do the same job with the same prescribed step: one agent after the other,
and all agents at once, the latter written for speed (who is finished drops out, inverses are updated by outer products). How time
grows is measured with the default, whose step adapts itself.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from baselines import batched, per_agent
from baselines.exact import Exact
from targets import Part, Target, table

from droculo import Droculo, Record, Scales, feedback, measure, networks, problems, simulate

NOTHING = Record(every=0)
#: of the step that the NumPy versions know: with the theorem's own agents hardly move
LONG = Scales(step=10.0, tolerance=0.01)


def world(agents: int, dim: int) -> tuple[problems.Problem, networks.Network]:
    problem = problems.TopB.random(agents=agents, dim=dim, budget=max(1, dim // 4), seed=0)
    graph = networks.ring(agents) if agents < 1000 else networks.random_regular(agents, 6)
    return problem, networks.from_graph(graph)


def prescribed(horizon: int, oracle: Any = None) -> tuple[Any, Any, Any]:
    problem, network = world(20, 20)
    agent = Droculo.prescribed(
        problem.setting, feedback.full_information(), horizon=horizon, theta=1.0, oracle=oracle, scales=LONG
    )
    return problem, agent, network


def seconds_of(function: Callable[[], Any]) -> float:
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


def against_numpy(quick: bool) -> tuple[str, list[Target], dict[str, float]]:
    rounds, turns = (256, 1) if quick else (4096, 3)
    parts, projected = prescribed(rounds), prescribed(rounds, Exact())
    runs = {
        "droculo": lambda: simulate(*parts, key=0, progress=False, quick=False),
        "droculo, exact projection instead of the oracle": lambda: simulate(
            *projected, key=0, progress=False, quick=False
        ),
        "batched NumPy": lambda: batched.run(*parts, rounds, 0),
        "NumPy, agent by agent": lambda: per_agent.run(*parts, rounds, 0),
    }
    first = seconds_of(runs["droculo"])
    seconds_of(runs["droculo, exact projection instead of the oracle"])
    spent: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(turns):
        for name, go in runs.items():
            spent[name].append(seconds_of(go) / rounds / 20 * 1e6)
    each = {name: float(np.median(times)) for name, times in spent.items()}
    ours = each["droculo"]
    ratios = {name: value / ours for name, value in each.items()}
    regrets = [
        float(np.mean(measure.certificate(p[0], simulate(*p, key=0, progress=False, quick=False)).bound))
        for p in (parts, projected)
    ]
    rows = [[name, value, ratios[name]] for name, value in each.items()]
    text = (
        f"N = 20 on a ring, d = 20, T = {rounds}, theta = 1 (a projection and an exchange in every round), top-b problem, "
        f"gradients, the prescribed step times {LONG.step:g}.\n\n{table(['', 'microseconds per agent-round', 'against droculo'], rows)}\n\n"
        f"The first run took {first - ours * rounds * 20e-6:.1f} s more: compilation. The certified regret is "
        f"{regrets[0] / regrets[1]:.4f} times that of exact projection. On this set the projection has a closed form, cheaper than "
        "any oracle method: projection-free methods pay where it has none."
    )
    targets = [
        Target("speed against NumPy, agent by agent", ratios["NumPy, agent by agent"], at_least=20, noise=0.15),
        Target("speed against batched NumPy", ratios["batched NumPy"], at_least=5, noise=0.15),
        Target("certified regret against exact projection", regrets[0] / regrets[1], at_most=1.02),
    ]
    return text, targets, ratios


def per_agent_round(agents: int, dim: int, horizon: int, theta: float, turns: int = 3) -> float:
    problem, network = world(agents, dim)
    agent = Droculo.design(problem.setting, feedback.full_information(), horizon=horizon, theta=theta)
    parts = problem, agent, network
    simulate(*parts, key=0, progress=False, quick=False, record=NOTHING)
    times = [
        seconds_of(lambda: simulate(*parts, key=1, progress=False, quick=False, record=NOTHING)) for _ in range(turns)
    ]
    return float(np.median(times)) / agents / horizon * 1e6


def growth(quick: bool) -> tuple[str, list[Target]]:
    horizons = [2**10, 2**12] if quick else [2**12, 2**14, 2**16]
    by_horizon = [per_agent_round(20, 20, T, 0.5) for T in horizons]
    dims = [10, 20] if quick else [10, 20, 40, 80]
    by_dim = [per_agent_round(20, d, 4096, 0.5) for d in dims]
    sizes = [20, 200] if quick else [20, 200, 2000, 20_000, 100_000]
    by_size = [per_agent_round(n, 20, 4096 if n <= 200 else 256, 0.5, 1 if n > 2000 else 3) for n in sizes]
    sections = [
        ("T", horizons, by_horizon, "N = 20, d = 20, theta = 1/2"),
        ("d", dims, by_dim, "N = 20, T = 4096, theta = 1/2"),
        ("N", sizes, by_size, "d = 20, theta = 1/2; T = 4096 up to N = 200, then 256"),
    ]
    text = "\n\n".join(
        f"{where}:\n\n" + table([name, *map(str, at)], [["microseconds per agent-round", *values]])
        for name, at, values, where in sections
    )
    big = [v for n, v in zip(sizes, by_size, strict=True) if n >= 2000] or by_size
    return text, [
        Target(
            "cost per agent-round, longest T against shortest", by_horizon[-1] / by_horizon[0], at_most=1, noise=0.25
        ),
        Target("cost per agent-round, largest N against N = 2000", big[-1] / big[0], at_most=1, noise=0.35),
    ]


def measure_speed(quick: bool = False) -> Part:
    text, targets, ratios = against_numpy(quick)
    more, others = growth(quick)
    command = ".venv/bin/python benchmarks/speed.py"
    return Part("Speed", command, f"{text}\n\n{more}", [] if quick else [*targets, *others], dict(ratios))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    part = measure_speed(parser.parse_args().quick)
    print(part.text, *(target.line for target in part.targets), sep="\n")


if __name__ == "__main__":
    main()
