"""What real processes cost: microseconds per exchange over MPI and over Zenoh, beside the bare libraries.

.venv/bin/python benchmarks/processes.py            # two processes, and 10,000 agents on two ranks (three minutes)
.venv/bin/python benchmarks/processes.py --quick

Two processes on one machine, one agent of d = 10 coordinates each, in turns within one job:

- bare: the same bytes through mpi4py (`Neighbor_alltoallv`) or eclipse-zenoh (`put`, and wait for the other's) alone;
- transport: `Transport.exchange`, which adds frames, checks, the agreement on links and the meter;
- from compiled code: an exchange within DMFW's update (2 K exchanges a block), with the ordered callback;
- a block: one round of DOBGA, with its exchange, its projection, and what Python does between two blocks.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from targets import Part, Target, table

D, TURNS = 10, 5


def timed(rounds: int, once: Callable[[int], None]) -> float:
    """Microseconds of one call, the median of `TURNS` turns."""
    took, number = [], 0
    for _ in range(TURNS):
        began = time.perf_counter()
        for _ in range(rounds):
            once(number)
            number += 1
        took.append((time.perf_counter() - began) / rounds * 1e6)
    return float(np.median(took))


def in_a_run(transport_to: Callable[[Any], Any], me: int, quick: bool) -> tuple[float, float]:
    """Microseconds of an exchange from compiled code, and of a whole block."""
    from droculo import Record, networks, problems
    from droculo.algorithms import DMFW, DOBGA
    from droculo.runtime import assign_agents, partition, run_process

    problem = problems.TopB.random(agents=2, dim=D, budget=3, seed=0)
    pair = networks.from_graph(networks.path(2))
    place = partition(pair, assign_agents(2, 2), me)

    def seconds_a_block(algorithm: Any) -> float:
        ends: list[float] = []
        run_process(
            problem, algorithm, pair, place, transport_to(place), key=0, record=Record(every=0), quick=False,
            progress=lambda done, rounds: ends.append(time.perf_counter()),
        )  # fmt: skip
        return float(np.median(np.diff(ends)))

    inner = 50
    walk = seconds_a_block(DMFW.design(problem.setting, horizon=20 if quick else 60, inner=inner))
    block = seconds_a_block(DOBGA.design(problem.setting, horizon=200 if quick else 3000))
    return 1e6 * walk / (2 * inner), 1e6 * block


def over_mpi(quick: bool) -> dict[str, float]:
    from mpi4py import MPI

    from droculo.runtime import MPITransport

    world, rounds = MPI.COMM_WORLD, 200 if quick else 2000
    me, other = world.Get_rank(), 1 - world.Get_rank()
    graph = world.Create_dist_graph_adjacent([other], [other])
    row, received = np.ones((1, D)), np.empty(D)
    transport = MPITransport(world, (other,))
    transport.meet(0, 1)
    found = {
        "bare": timed(rounds, lambda number: graph.Neighbor_alltoallv([row, [D]], [received, [D]])),
        "transport": timed(rounds, lambda number: transport.exchange(number, {other: row}, {other: (1, D)})),
    }
    transport.close()
    compiled, block = in_a_run(lambda place: MPITransport(world, place.neighbours), me, quick)
    return {**found, "compiled": compiled, "block": block}


def over_zenoh(quick: bool, me: int, where: dict[int, str]) -> dict[str, float]:
    import zenoh

    from droculo.runtime import ZenohTransport
    from droculo.runtime.transports.endpoints import opened

    other, rounds = 1 - me, 200 if quick else 2000
    session = opened(zenoh, where[me], [where[0]] if me else [], None, None)
    arrived = threading.Semaphore(0)
    listening = session.declare_subscriber(f"bare/{me}", lambda sample: arrived.release())
    publisher = session.declare_publisher(
        f"bare/{other}", congestion_control=zenoh.CongestionControl.BLOCK, express=True
    )
    while not publisher.matching_status.matching:
        time.sleep(0.05)
    time.sleep(0.5)
    data = np.ones(D).tobytes()

    def bare(number: int) -> None:
        publisher.put(data)
        arrived.acquire()

    found = {"bare": timed(rounds, bare)}
    time.sleep(0.5)
    listening.undeclare()
    session.close()

    def transport_to(name: str) -> Any:
        return ZenohTransport(me, where, (other,), run=name)

    row, transport = np.ones((1, D)), transport_to("transport")
    transport.meet(0, 1)
    found["transport"] = timed(rounds, lambda number: transport.exchange(number, {other: row}, {other: (1, D)}))
    transport.close()
    names = iter(("walk", "block"))
    compiled, block = in_a_run(lambda place: transport_to(next(names)), me, quick)
    return {**found, "compiled": compiled, "block": block}


def many_agents(quick: bool) -> dict[str, float]:
    """DROCULO with all agents of a random 6-regular graph on the ranks of this job."""
    from mpi4py import MPI

    from droculo import Droculo, Record, feedback, networks, oracles, problems
    from droculo.algorithms.contract import message_bytes
    from droculo.runtime import MPITransport, assign_agents, partition, run_process

    world, agents, d = MPI.COMM_WORLD, 1000 if quick else 10_000, 20
    problem = problems.TopB.random(agents=agents, dim=d, budget=5, seed=0)
    network = networks.from_graph(networks.random_regular(agents, 6))
    algorithm = Droculo.design(
        problem.setting, feedback.full_information(), horizon=1024, theta=0.5, oracle=oracles.FrankWolfe()
    )
    place = partition(network, assign_agents(agents, world.Get_size()), world.Get_rank())
    waiting = Waiting(MPITransport(world, place.neighbours))
    ends: list[float] = []
    part = run_process(
        problem, algorithm, network, place, waiting.transport, key=0, record=Record(every=0), quick=False,
        progress=lambda done, rounds: ends.append(time.perf_counter()),
    )  # fmt: skip
    blocks = len(part.entries)
    messages = sum(int(entry.costs[0].sum()) for entry in part.entries)
    return {
        "agents": agents,
        "blocks": blocks,
        "milliseconds a block": 1e3 * float(np.median(np.diff(ends))),
        "milliseconds an exchange": 1e3 * float(np.median(waiting.took)),
        "rows over the wire": part.meter.bytes / (message_bytes(algorithm)) / blocks,
        "messages of agents": messages / blocks,
        "seconds": part.seconds,
    }


class Waiting:
    """How long a transport's exchanges take, waiting for the other rank included."""

    def __init__(self, transport: Any):
        self.transport, self.took = transport, []  # type: ignore[var-annotated]
        exchange = transport.exchange

        def measured(*given: Any) -> Any:
            began = time.perf_counter()
            found = exchange(*given)
            self.took.append(time.perf_counter() - began)
            return found

        transport.exchange = measured


def _job(what: str, quick: bool) -> dict[str, float]:
    """Two processes of this script; the first one's last line is its answer."""
    own = [sys.executable, str(Path(__file__)), "--worker", what, *(["--quick"] if quick else [])]
    if what == "zenoh":
        from droculo.experiments.over_zenoh import Deployment

        where = json.dumps(Deployment.loopback(2).endpoints)
        second = subprocess.Popen([*own, "--me", "1", "--where", where], stdout=subprocess.DEVNULL)
        said = subprocess.run([*own, "--me", "0", "--where", where], capture_output=True, text=True, check=True).stdout
        second.wait()
    else:
        mpiexec = str(Path(sys.executable).parent / "mpiexec")
        said = subprocess.run([mpiexec, "-n", "2", *own], capture_output=True, text=True, check=True).stdout
    found: dict[str, float] = json.loads(said.strip().splitlines()[-1])
    return found


def measure_processes(quick: bool = False) -> Part:
    """All of it, as a section of the page."""
    mpi, zenoh, many = (_job(what, quick) for what in ("mpi", "zenoh", "many"))
    head = ["microseconds", "bare library", "transport", "from compiled code", "a block (round of DOBGA)"]
    rows = [
        [name, *(f"{found[key]:.0f}" for key in ("bare", "transport", "compiled", "block"))]
        for name, found in (("MPI (mpi4py, MPICH)", mpi), ("Zenoh (TCP, loopback)", zenoh))
    ]
    text = (
        f"Two processes, one agent each, d = {D}, medians of {TURNS} turns.\n\n{table(head, rows)}\n\n"
        f"{many['agents']:.0f} agents of a random 6-regular graph in two blocks on 2 ranks, d = 20, DROCULO at theta = 1/2, "
        f"T = 1024: {many['milliseconds a block']:.1f} ms a block of {1024 / many['blocks']:.0f} rounds on average, of which "
        f"{many['milliseconds an exchange']:.1f} ms is the exchange of {many['rows over the wire']:.0f} rows with the other rank "
        f"(its waiting included; agents of a rank exchange {many['messages of agents']:.0f} messages in all); the whole run "
        f"{many['seconds']:.0f} s with compilation."
    )
    targets = [
        Target("MPI: transport over bare library", mpi["transport"] / mpi["bare"], at_most=10, noise=0.3),
        Target("Zenoh: transport over bare library", zenoh["transport"] / zenoh["bare"], at_most=3, noise=0.3),
    ]
    return Part("Real processes", "benchmarks/processes.py", text, targets, {"mpi": mpi, "zenoh": zenoh, "many": many})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--worker", choices=["mpi", "zenoh", "many"])
    parser.add_argument("--me", type=int)
    parser.add_argument("--where", type=json.loads)
    given = parser.parse_args()
    if given.worker is None:
        part = measure_processes(given.quick)
        print(part.text, *(target.line for target in part.targets), sep="\n")
    elif given.worker == "zenoh":
        found = over_zenoh(given.quick, given.me, {int(me): at for me, at in given.where.items()})
        print(json.dumps(found))
    else:
        from mpi4py import MPI

        found = over_mpi(given.quick) if given.worker == "mpi" else many_agents(given.quick)
        if MPI.COMM_WORLD.Get_rank() == 0:
            print(json.dumps(found))


if __name__ == "__main__":
    main()
