"""Processes that die: survivors continue, restarted processes rejoin, a job of ranks continues from its checkpoint."""

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from tests.designs import PROBLEMS
from tests.runtime.forked import Forked

from droculo import Record, Scales, measure, networks, simulate
from droculo.algorithms import DOBGA
from droculo.engine.breaches import BREACHES
from droculo.engine.costs import COUNTED
from droculo.engine.fingerprint import fingerprint
from droculo.experiments import load
from droculo.experiments.cell import build
from droculo.experiments.over_zenoh import Deployment
from droculo.experiments.processes import folder_of, read_run
from droculo.runtime import MemoryTransport, assign_agents, gather, partition, run_process
from droculo.runtime.driver import layout_of
from droculo.runtime.journal import Entry, Journal, Layout, read_entries
from droculo.runtime.transports.memory import Hub

#: how many runs to try, each with three deaths
RUNS = int(os.environ.get("DROCULO_KILLS", "1"))
AGENTS, DEATHS = 4, 3
#: an algorithm that compiles quickly
QUICK = DOBGA.design(PROBLEMS["A2"].setting, horizon=20, scales=Scales(step=10.0))
#: agents of DOBGA compile fastest, and have a block in every round
SPEC = f"""
problems = {{ name = "top-b", agents = {AGENTS}, dim = 6 }}
networks = "ring"
algorithms = {{ name = "dobga", step = 10 }}
horizons = 240
"""


@pytest.mark.parametrize("number", range(RUNS))
def test_survivors_finish_and_the_dead_come_back(tmp_path, number):
    """Processes over Zenoh, three of which are killed at random moments, one after the other, and started again."""
    chance = random.Random(number)
    victims = chance.sample(range(AGENTS), DEATHS)
    file, field = tmp_path / "spec.toml", tmp_path / "field.toml"
    file.write_text(SPEC)
    field.write_text(Deployment.loopback(AGENTS, pace=0.1, patience=10.0).written())
    spec = load(file)
    (cell,) = spec.cells
    key, seed = cell.key(spec.folder), cell.seeds[0]

    def start(me):
        words = ["agent", file, "--over", "zenoh", "--field", field, "--me", me, "--out", tmp_path]
        return forked.start(words, tmp_path / f"{me}.log")

    def written(me):
        journal = folder_of(tmp_path, key, seed, me) / "blocks.bin"
        return journal.stat().st_size if journal.exists() else 0

    with Forked() as forked:
        pids = [start(me) for me in range(AGENTS)]
        for victim in victims:
            wait_for(lambda victim=victim: written(victim) > 0)
            time.sleep(chance.uniform(0.0, 1.0))
            forked.kill(pids[victim])
            before = written(victim)
            time.sleep(chance.uniform(0.0, 1.0))
            pids[victim] = start(victim)
            wait_for(lambda victim=victim, before=before: written(victim) > before)
        for me, pid in enumerate(pids):
            assert forked.wait(pid) == 0, (tmp_path / f"{me}.log").read_text()
    run = read_run(tmp_path, spec, cell, seed, AGENTS)
    _, network, algorithm = build(cell, spec.folder)
    partitions = [partition(network, assign_agents(AGENTS, AGENTS), me) for me in range(AGENTS)]
    journals = [
        list(read_entries(folder_of(tmp_path, key, seed, me), layout_of(algorithm, partitions[me])))
        for me in range(AGENTS)
    ]
    check_faults(run.faults, victims, algorithm)
    for victim in victims:
        check_death(victim, journals, partitions, algorithm)
    check_regret(run, cell, spec, seed, victims)


def check_faults(faults, victims, algorithm):
    """Victims missed rounds and came back; links failed while they were away, and little longer."""
    missed = faults.missed_rounds
    assert np.nonzero(missed)[0].tolist() == sorted(victims)
    assert missed.max() < 0.8 * algorithm.horizon, "it did not come back"
    # Both links of a victim fail at the survivors' ends while it is away, except for the block in which it died, which the other
    # end may have counted; the two ends of a link rarely disagree.
    away = missed.sum() // (algorithm.timetable.block * algorithm.timetable.slot)
    assert 2 * (away - DEATHS) <= faults.failed_links <= 2 * away + 40 * DEATHS
    assert faults.disagreements <= 4 * DEATHS
    assert faults.refused.keys() <= {"wrong round", "another life"}


def check_death(victim, journals, partitions, algorithm):
    """Killing it lost at most the block that it was in: except for the last one, it wrote down what it sent."""
    mine = [entry.block for entry in journals[victim]]
    away = np.nonzero(np.diff([*mine, algorithm.horizon]) > 1)[0][0]
    neighbour = (victim + 1) % AGENTS
    column = partitions[neighbour].neighbours.index(victim)
    heard = [entry.block for entry in journals[neighbour] if entry.counted[0, column] == 1]
    assert max(block for block in heard if block < mine[away + 1]) <= mine[away] + 1


def check_regret(run, cell, spec, seed, victims):
    """Every action is feasible, and the survivor pays little for the deaths."""
    problem, network, algorithm = build(cell, spec.folder)
    points = run.trajectory.actions.reshape(-1, problem.set.dim)
    assert all(bool(problem.set.contains(x, 1e-9)) for x in points[::97])
    lost = measure.regret(problem, run.trajectory).total
    whole = measure.regret(problem, simulate(problem, algorithm, network, key=seed)).total
    cost = (lost - whole) / problem.comparator(algorithm.horizon, np.arange(AGENTS)).total
    survivors = np.delete(np.arange(AGENTS), victims)
    assert cost[survivors].max() < 0.01
    print(f"deaths of {victims}: {run.faults}; regret rose by {cost.round(4).tolist()} of the best reward")


def wait_for(condition, seconds=120):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.02)


#: a rank that plays its half of a run in each of these folders, and leaves what it played
RANK = """
import sys
from pathlib import Path
from mpi4py import MPI
from droculo import networks, problems
from droculo.algorithms import DOBGA
from droculo.runtime import MPITransport, partition, assign_agents, run_process
world = MPI.COMM_WORLD
problem = problems.TopB.random(agents=4, dim=6, budget=2, seed=0)
ring = networks.from_graph(networks.ring(4))
mine = partition(ring, assign_agents(4, 2), world.Get_rank())
algorithm = DOBGA.design(problem.setting, horizon=1000)
for out in map(Path, sys.argv[1:]):
    part = run_process(problem, algorithm, ring, mine, MPITransport(world, mine.neighbours), key=0, folder=out / str(mine.me))
    (out / f"{mine.me}.done").write_bytes(part.layout.join(part.entries))
"""


def test_a_lost_rank_ends_the_job_and_the_job_goes_on_with_the_same_result(tmp_path):
    def launch(*outs):
        words = [str(Path(sys.executable).parent / "mpiexec"), "-n", "2", sys.executable, "-c", RANK, *map(str, outs)]
        return subprocess.Popen(words, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    job = launch(tmp_path / "whole", tmp_path / "killed")
    journal = tmp_path / "killed" / "1" / "blocks.bin"
    wait_for(lambda: journal.exists() and journal.stat().st_size > 20_000)
    (rank,) = [pid for pid in ranks(tmp_path / "killed") if opened(pid, journal)]
    os.kill(rank, signal.SIGKILL)
    assert job.wait(timeout=60) != 0
    assert journal.stat().st_size > 20_000
    assert not list((tmp_path / "killed").glob("*.done"))
    assert launch(tmp_path / "killed").wait(timeout=200) == 0
    for me in range(2):
        one, other = ((tmp_path / name / f"{me}.done").read_bytes() for name in ("whole", "killed"))
        assert len(one) > 160_000
        assert one == other


def ranks(out):
    """The processes of the job that writes to this folder."""
    for process in Path("/proc").iterdir():
        if process.name.isdecimal():
            try:
                words = (process / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if str(out).encode() in words and b"-n" not in words:
                yield int(process.name)


def opened(pid, file):
    try:
        return any(os.readlink(each) == str(file) for each in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return False


class Lying(MemoryTransport):
    """Sends a point far outside of the set in one exchange."""

    def exchange(self, number, outgoing, shapes):
        if number == 3:
            outgoing = {q: rows + 40.0 for q, rows in outgoing.items()}
        return super().exchange(number, outgoing, shapes)


def test_a_point_outside_the_set_is_a_failed_link():
    problem, algorithm = PROBLEMS["A2"], QUICK
    pair = networks.from_graph(networks.path(2))
    hub, parts = Hub(), {}

    def play(me, kind):
        place = partition(pair, assign_agents(2, 2), me)
        parts[me] = run_process(problem, algorithm, pair, place, kind(hub, me, place.neighbours), key=1)

    threads = [threading.Thread(target=play, args=each) for each in ((0, MemoryTransport), (1, Lying))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
    together = gather(algorithm, [parts[0], parts[1]])
    assert parts[0].meter.refused == {"outside the set": 1}
    assert (together.faults.failed_links, together.faults.disagreements) == (1, 1)
    assert parts[0].entries[3].counted.tolist() == [[0]]
    run = simulate(problem, algorithm, pair, key=1)
    first = 4 * algorithm.timetable.block * algorithm.timetable.slot
    np.testing.assert_allclose(together.trajectory.actions[:first], run.actions[:first], atol=1e-12)
    assert together.trajectory.ledger.messages.tolist() == (run.ledger.messages - [1, 0]).tolist()


LAYOUT = Layout(agents=1, dim=2, exchanges=1, neighbours=2, dtype="float64")


def entry(block):
    ones = np.full((1, 2), float(block))
    costs, first = np.full((len(COUNTED), 1), block), np.full((len(BREACHES), 1), block, np.int32)
    return Entry(block, np.array([block]), ones[None], ones, costs, first, np.ones((1, 2), np.int8))


def test_a_journal_that_was_cut_anywhere_keeps_what_is_whole(tmp_path):
    whole = tmp_path / "whole"
    journal = Journal(whole, LAYOUT, fingerprint("me"), states=3)
    journal.begin(0)
    for block in range(4):
        journal.keep(entry(block), [np.array([block])])
    journal.close()
    data = (whole / "blocks.bin").read_bytes()
    size = len(data) // 4
    for cut in range(len(data) + 1):
        assert len(list(LAYOUT.split(data[:cut]))) == cut // size
    again = Journal(whole, LAYOUT, fingerprint("me"), states=3)
    assert [e.block for e in again.entries] == [0, 1, 2, 3]
    assert again.entries[2].actions.tolist() == [[[2.0, 2.0]]]
    assert sorted(again.checkpoints()) == [2, 3, 4]
    (whole / "state-0.bin").write_bytes(b"half")
    assert sorted(again.checkpoints()) == [2, 3]
    again.begin(2)
    again.close()
    once_more = Journal(whole, LAYOUT, fingerprint("me"), states=3)
    assert [e.block for e in once_more.entries] == [0, 1]
    assert sorted(once_more.checkpoints()) == [2]  # a state whose block was forgotten would leave that block out
    with pytest.raises(ValueError, match="belongs to a run with another"):
        Journal(whole, LAYOUT, fingerprint("another"), states=3)
    shutil.rmtree(whole)


def test_a_full_disk_leaves_whole_records(tmp_path, monkeypatch):
    journal = Journal(tmp_path, LAYOUT, fingerprint("me"), states=3)
    journal.begin(0)
    journal.keep(entry(0), [np.array([0])])
    write, room = os.write, [10, 0]

    def short(file, data):
        if not room:
            return write(file, data)
        left = room.pop(0)
        if left == 0:
            raise OSError("no space left on device")
        return write(file, bytes(data)[:left])

    monkeypatch.setattr(os, "write", short)
    with pytest.raises(OSError, match="no space"):
        journal.keep(entry(1), [np.array([1])])
    journal.keep(entry(1), [np.array([1])])  # and later there is room again
    journal.close()
    assert [e.block for e in Journal(tmp_path, LAYOUT, fingerprint("me"), states=3).entries] == [0, 1]


def test_parts_are_put_together_as_they_were_played():
    """With another record or other rounds they would be put together wrongly, and are not."""
    problem, algorithm = PROBLEMS["A2"], QUICK
    alone = networks.from_graph(networks.single())
    place = partition(alone, assign_agents(1, 1), 0)
    part = run_process(problem, algorithm, alone, place, MemoryTransport(Hub(), 0, ()), key=1, record=Record(every=5))
    gather(algorithm, [part], record=Record(every=5))
    for options in ({}, {"record": Record(every=5), "rounds": 7}):
        with pytest.raises(ValueError, match="pass the rounds and the record with which it was played"):
            gather(algorithm, [part], **options)
    with pytest.raises(ValueError, match="no parts"):
        gather(algorithm, [])
    other = networks.from_graph(networks.path(2))
    with pytest.raises(ValueError, match="is one of another network"):
        run_process(problem, algorithm, other, place, MemoryTransport(Hub(), 0, ()), key=1)


def test_another_number_of_rounds_is_another_run(tmp_path):
    problem, algorithm = PROBLEMS["A2"], QUICK
    alone = networks.from_graph(networks.single())
    place = partition(alone, assign_agents(1, 1), 0)

    def play(rounds):
        transport = MemoryTransport(Hub(), 0, ())
        return run_process(problem, algorithm, alone, place, transport, key=1, folder=str(tmp_path), rounds=rounds)

    length = algorithm.timetable.block * algorithm.timetable.slot
    play(length + 1)
    with pytest.raises(ValueError, match="belongs to a run with another"):
        play(length + 2)
