"""Time per block of very many agents, on whatever JAX runs on: CPU, or a GPU where there is one.

.venv/bin/python benchmarks/accelerator.py --agents 100000 1000000 --out docs/results

With `--out` the rows of this device take their place in OUT/performance/accelerator.json, beside those of others, and the page
is made anew; it ends with an error if a target is missed. JAX_PLATFORMS=cpu takes the CPU where there is a GPU.

N agents on a random 6-regular graph (three random cycles), d = 32, {0 <= x <= 1, sum x <= 8}, gradients, 32 rounds to a
block, float32. "bytes" are the fewest that a block can move: every agent's state read and written once, its neighbours' y
and its functions' data read once. They are compared with what a plain copy moves in the same time on the same device.

Functions' data come in two ways: "computed" weights drift, every one a cosine of four numbers (10^8 to a block at N = 10^5); "read"
weights lie in memory, a table for each round, as those of applications do.
"""

import argparse
import json
import os
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from bench import write_page
from targets import Target, table

from droculo import Droculo, Record, feedback, networks, oracles, problems
from droculo.algorithms.schedules import Schedule
from droculo.engine.block import World, begin
from droculo.engine.compiling import program
from droculo.engine.plan import Piece, Played, shape_of
from droculo.engine.run import cast
from droculo.networks import Network
from droculo.problems.adversaries import Switching
from droculo.simulator.stretch import stretch

DIM, BUDGET, BLOCK, DEGREE = 32, 8, 32, 6
#: blocks before the first that is timed; the schedule is for twice as many
WARM = 20
#: of the corrective oracle's memory; at d = 32 a GPU's default is 32, a CPU's 52
PLACES = (16, 32)
#: a block on a GPU has to be within so many times what a copy of its bytes takes
DEFAULT, MOST = "corrective, 32 places", 5
COMPUTED, READ = "computed", "read"


class Nothing(oracles.InfeasibleProjection):
    """Leaves y where it is: what a block costs without its oracle."""

    def project(self, domain, x0, y0, tolerance, memory):
        y = y0 / jnp.maximum(1, jnp.linalg.norm(y0) / domain.radius)
        return oracles.Projection(x0, y, jnp.zeros((), jnp.int32), jnp.ones((), bool), memory)


class Functions(NamedTuple):
    """A problem, and how many (N, d) tables of its data a block reads."""

    problem: problems.TopB
    tables: int


def functions(agents: int, way: str) -> Functions:
    """Top-b quadratics whose weights drift, or lie in memory, with a table for every round of a block."""
    if way == COMPUTED:  # from base, height, speed and phase
        return Functions(problems.TopB.random(agents=agents, dim=DIM, budget=BUDGET, seed=0), 4)
    rng = np.random.default_rng(0)
    weights = DIM - 1 + 4 * rng.random((agents, DIM), np.float32) + 4 * rng.random((BLOCK, agents, DIM), np.float32)
    return Functions(problems.TopB(Switching(weights, every=1), BUDGET), BLOCK)


def six_neighbours(agents: int) -> Network:
    """Three random cycles through all agents. A link drawn twice counts once."""
    rng = np.random.default_rng(0)
    rings = [rng.permutation(agents) for _ in range(DEGREE // 2)]
    ends = np.concatenate([np.stack([ring, np.roll(ring, 1)], axis=1) for ring in rings])
    return networks.from_edges(agents, np.unique(np.sort(ends, axis=1), axis=0))


def copy_speed(numbers: int = 1 << 30) -> float:
    """Bytes per second that a plain copy reads and writes."""
    if jax.default_backend() == "cpu":
        numbers >>= 6
    plus = jax.jit(lambda a: a + 1)
    one = jnp.zeros(numbers, jnp.float32)
    return 2 * 4 * numbers / _median(lambda a: plus(a), one)


def _median(function, *args, repeats: int = 7) -> float:
    jax.block_until_ready(function(*args))
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        jax.block_until_ready(function(*args))
        seconds.append(time.perf_counter() - began)
    return float(np.median(seconds))


def per_block(played: Functions, network: Network, oracle, blocks: int) -> dict[str, float]:
    """Milliseconds of a block, once the run has got going, by `blocks` of them."""
    problem = played.problem
    total = 2 * WARM * BLOCK
    radius, bound = float(problem.set.radius), float(problem.setting.bounds.gradient)
    plan = Schedule(  # not the defaults, which may change: so figures of different times can be compared
        horizon=total, block=BLOCK, slot=1, step_size=3 * radius / (bound * np.sqrt(BLOCK * total)),
        tolerance=0.1 * radius**2 * BLOCK / total, delta=0.0,
    )  # fmt: skip
    algorithm = Droculo.from_schedule(problem.setting, feedback.full_information(), plan, oracle=oracle)
    parts = jax.tree.map(lambda leaf: cast(leaf, np.dtype(np.float32)), (problem, algorithm, network))
    world = World(*parts, jnp.arange(network.n_agents), jnp.asarray(total))
    states = begin(world, 1)
    spans, played_here = algorithm.timetable.until(total), Played(total, Record(every=0), network.n_agents)
    (shape,) = shape_of(algorithm, played_here, [Piece(spans, 0, total)])
    keys = jax.random.split(jax.random.key(0), 1)

    def go(states, first, number):
        return program(stretch, quick=False)(
            world,
            shape,
            states,
            keys,
            jax.tree.map(lambda each: jnp.asarray(np.roll(each, -first)), spans),
            jnp.asarray(number),
        )

    began = time.perf_counter()
    states, _, _ = jax.block_until_ready(go(states, 0, WARM))
    first = time.perf_counter() - began
    seconds = []
    for _ in range(3):
        began = time.perf_counter()
        after, bill, _ = jax.block_until_ready(go(states, WARM, blocks))
        seconds.append((time.perf_counter() - began) / blocks)
    n = network.n_agents
    state = sum(leaf.nbytes for leaf in jax.tree.leaves(states))
    moved = 2 * state + 4 * n * DIM * (DEGREE + played.tables)  # neighbours' y; the functions
    x = np.asarray(after.x[0])
    return {
        "milliseconds": 1e3 * float(np.median(seconds)),
        "compile_seconds": first,
        "bytes": float(moved),
        "loo_calls": float(np.mean(np.asarray(bill.costs["loo_calls"]))) / blocks,
        "not_converged": float(np.sum(np.asarray(bill.costs["not_converged"]))),
        "feasible": bool(x.min() >= -1e-5 and x.max() <= 1 + 1e-5 and x.sum(axis=1).max() <= BUDGET + 1e-3),
    }


def save(found: dict, out: Path) -> list[str]:
    """Put this device's rows into the section of the page, beside those of other devices. Which targets are missed."""
    path = out / "performance" / "accelerator.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    devices = json.loads(path.read_text())["devices"] if path.exists() else []
    devices = [other for other in devices if other["device"] != found["device"]] + [found]
    rows, spent, targets = [], {}, []
    for one in devices:
        name, gpu = one["device"], one["device"] != "cpu"
        for row in one["rows"]:
            at = row["agents"], row["weights"], row["oracle"]
            spent.setdefault(at, {})[name] = row["milliseconds"]
            share = row["milliseconds"] / row["copy_milliseconds"]
            speed = 1e-6 * row["bytes"] / row["milliseconds"]
            ends = "all" if row["not_converged"] == 0 else f"all but {row['not_converged']:.0f}"
            rows.append([name, *at, row["milliseconds"], 1e-6 * row["bytes"], speed, share, row["loo_calls"], ends])
            if row["oracle"] == "none" or not gpu:
                continue
            which = f"{name}, N = {row['agents']}, {row['weights']}, {row['oracle']}"
            targets.append(
                Target(f"projections that ended not_converged, or x outside of K ({which})", _bad(row), at_most=0)
            )
            if row["oracle"] != "sharp" or row["weights"] == READ:
                targets.append(Target(f"times what a copy of its bytes takes ({which})", share, at_most=MOST))
    ratios = [
        [*at, each["cpu"] / milliseconds]
        for at, each in spent.items()
        for device, milliseconds in each.items()
        if device != "cpu" and "cpu" in each
    ]
    copies = "; ".join(f"{one['device']} {one['copy_bytes_per_second'] / 1e9:.0f} GB/s" for one in devices)
    commands = "; ".join(f"{one['device']} ({one['host']}): `{one['command']}`" for one in devices)
    head = [
        "device", "N", "weights", "oracle", "ms a block", "MB that a block must move", "GB/s", "times what a copy takes", "LOO calls",
        "tolerance met",
    ]  # fmt: skip
    text = (
        "N agents, six neighbours each, d = 32, b = 8, 32 rounds to a block, gradients, float32. A plain copy "
        f'moves: {copies}. Weights are "{COMPUTED}", each a cosine of its round (10^8 a block at N = 10^5), or "{READ}" from a table '
        f'for every round. "none" is a block without its oracle: 32 gradients of every agent, and the exchange. {DEFAULT} is a GPU\'s '
        f"default. On a GPU every row with an oracle has to be within {MOST} times a copy, but for sharp with computed weights, "
        f"which is not: what takes so long there is in the row without an oracle. {commands}.\n\n"
        f"{table(head, rows)}\n\n{table(['N', 'weights', 'oracle', 'GPU against the CPU above'], ratios)}"
    )
    section = {
        "title": "Accelerator",
        "command": ".venv/bin/python benchmarks/accelerator.py --agents 100000 1000000 --out docs/results",
        "text": text,
        "targets": [{"line": target.line, "met": target.met} for target in targets],
        "with": f"droculo {version('droculo')}",
        "devices": devices,
    }
    path.write_text(json.dumps(section, indent=1) + "\n")
    write_page(out)
    return [target.line for target in targets if not target.met]


def _bad(row: dict) -> float:
    """How many projections of the last stretch were not met; or one more than that if a decision is outside of K."""
    return row["not_converged"] + (not row["feasible"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agents", type=int, nargs="+", default=[100_000])
    parser.add_argument("--blocks", type=int, default=20)
    parser.add_argument("--places", type=int, nargs="*", default=PLACES, help="of the corrective oracle's memory")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    speed = copy_speed()
    device = jax.devices()[0].device_kind
    print(f"{device}: a plain copy moves {speed / 1e9:.0f} GB/s", flush=True)
    rows = []
    for agents in given.agents:
        network = six_neighbours(agents)
        memories = {f"corrective, {size} places": oracles.ActiveSet(size=size) for size in given.places}
        for way in (COMPUTED, READ):
            played = functions(agents, way)
            for name, oracle in ({"none": Nothing(), "sharp": oracles.FrankWolfe()} | memories).items():
                row = per_block(played, network, oracle, given.blocks)
                least = 1e3 * row["bytes"] / speed
                rows.append({"agents": agents, "weights": way, "oracle": name, **row, "copy_milliseconds": least})
                print(
                    f"N={agents:>8} {way} {name:24s} {row['milliseconds']:9.3f} ms a block, {row['milliseconds'] / least:6.1f} "
                    f"times its bytes at copy speed ({least:.3f} ms); {row['loo_calls']:.2f} LOO calls, not_converged "
                    f"{row['not_converged']:.0f}, feasible {row['feasible']}, first {row['compile_seconds']:.1f} s",
                    flush=True,
                )
    if given.out:
        command = " ".join([".venv/bin/python", "benchmarks/accelerator.py", *sys.argv[1:]])
        host = f"{os.cpu_count()} cores"
        found = {"device": device, "host": host, "command": command, "copy_bytes_per_second": speed, "rows": rows}
        missed = save(found, given.out)
        if missed:
            sys.exit("\nTargets missed:\n" + "\n".join(missed))


if __name__ == "__main__":
    main()
