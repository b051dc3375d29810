"""Real processes play what the simulator plays: the same actions, and a meter that equals the wire."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.runtime.cases import CASES, KEY, endpoints, simulated

from droculo import simulate
from droculo.runtime import assign_agents, gather, partition
from droculo.runtime.driver import ProcessRun, layout_of
from droculo.runtime.transports.base import Meter

ROOT = Path(__file__).parent.parent.parent
PROCESSES = 4


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    """All cases, by four processes."""
    out = tmp_path_factory.mktemp("played")
    mpiexec = str(Path(sys.executable).parent / "mpiexec")
    member = [sys.executable, "-m", "tests.runtime.member", str(out), json.dumps(endpoints(PROCESSES))]
    done = subprocess.run(
        [mpiexec, "-n", str(PROCESSES), *member], cwd=ROOT, capture_output=True, text=True, timeout=400
    )
    assert done.returncode == 0, done.stderr
    return out


@pytest.fixture(params=["mpi", "zenoh"])
def played(request, everything):
    return everything / request.param


def parts_of(folder, algorithm, network, processes):
    homes = assign_agents(network.n_agents, processes)
    for me in range(processes):
        place = partition(network, homes, me)
        layout = layout_of(algorithm, place)
        meter = Meter(**json.loads((folder / f"{me}.json").read_text()))
        yield ProcessRun(place, tuple(layout.split((folder / f"{me}.bin").read_bytes())), meter, 0.0, layout)


@pytest.mark.parametrize("name", CASES)
def test_processes_equal_the_simulator(played, name):
    _, algorithm, network = CASES[name]
    parts = list(parts_of(played / name, algorithm, network, PROCESSES))
    together, expected = gather(algorithm, parts), simulated(name)
    found = together.trajectory
    np.testing.assert_allclose(found.actions, expected.actions, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.decisions, expected.decisions, rtol=0, atol=1e-12)
    for name, cost in expected.ledger.counts.items():
        assert np.array_equal(found.ledger.counts[name], cost), name
    # One agent in each process: what the meter says is what went over the wire.
    assert [part.meter.frames for part in parts] == expected.ledger.messages.tolist()
    assert [part.meter.bytes for part in parts] == expected.ledger.bytes.tolist()
    faults = together.faults
    assert (faults.failed_links, faults.disagreements, faults.missed_rounds.sum(), faults.refused) == (0, 0, 0, {})


def test_the_comparison_can_fail(played):
    """Another seed is another run, and a lost block is missed."""
    problem, algorithm, network = CASES["full_information"]
    parts = list(parts_of(played / "full_information", algorithm, network, PROCESSES))
    other = simulate(problem, algorithm, network, key=KEY + 1)
    assert np.abs(gather(algorithm, parts).trajectory.actions - other.actions).max() > 1e-3
    last = parts[2]
    parts[2] = ProcessRun(last.partition, last.entries[:-1], last.meter, 0.0, last.layout)
    assert gather(algorithm, parts).faults.missed_rounds.tolist()[2] > 0
