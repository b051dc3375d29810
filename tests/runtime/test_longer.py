"""Processes that are started again in their folders, and asked for more rounds, play the longer run."""

import threading
from collections import deque

import jax.numpy as jnp
import numpy as np
import pytest
from tests.designs import PROBLEMS, design
from tests.runtime.cases import check_equals

from droculo import Record, networks, oracles, problems, simulate
from droculo.algorithms import DOBGA
from droculo.runtime import MemoryTransport, assign_agents, gather, partition, run_process
from droculo.runtime.transports.memory import Hub

A2 = PROBLEMS["A2"]
PAIR = networks.from_graph(networks.path(2))
ALONE = networks.from_graph(networks.single())
AGENT = design("A2", "semi_bandit", horizon=None, theta=0.5, oracle=oracles.FrankWolfe())


def parts(folder, rounds, record=None, algorithm=AGENT):
    """Two processes, each with its folder."""
    hub, found = Hub(), {}

    def play(me):
        place, own = partition(PAIR, assign_agents(2, 2), me), folder / str(me)
        transport = MemoryTransport(hub, me, place.neighbours)
        found[me] = run_process(A2, algorithm, PAIR, place, transport, key=1, rounds=rounds, record=record, folder=own)

    threads = [threading.Thread(target=play, args=(me,)) for me in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
    return [found[me] for me in range(2)]


def alone(folder, rounds, problem=A2, algorithm=AGENT):
    place = partition(ALONE, assign_agents(1, 1), 0)
    transport = MemoryTransport(Hub(), 0, ())
    return run_process(problem, algorithm, ALONE, place, transport, key=1, rounds=rounds, folder=folder)


SPANS = AGENT.timetable.until(60)
#: a block with several slots of several rounds
LATE = next(b for b in range(len(SPANS.number)) if SPANS.slots[b] > 1 and SPANS.slot[b] > 1)
FIRST, END = int(SPANS.first[LATE]), int(SPANS.end[LATE])
#: within a slot, at the end of a block, in the first slot of the next one, later in it, and nothing more
PLACES = [FIRST + 1, END, END + 1, END + 3, END + 3]
assert AGENT.timetable.blocks(LATE + 2).end[-1] > PLACES[-1]


@pytest.mark.parametrize(
    ("record", "places"), [(Record(), PLACES), (Record(every=5), PLACES[::3]), (Record(every=0), PLACES[::3])],
    ids=["all", "some", "none"],
)  # fmt: skip
def test_processes_go_on_with_more_rounds(tmp_path, record, places):
    for rounds in places:
        found = parts(tmp_path / "again", rounds, record)
        assert [entry.block for entry in found[0].entries] == list(range(len(AGENT.timetable.until(rounds).number)))
        together = gather(AGENT, found, rounds=rounds, record=record)
        run = simulate(A2, AGENT, PAIR, key=1, rounds=rounds, record=record)
        check_equals(together, run)
    whole = parts(tmp_path / "whole", places[-1], record)
    for one, other in zip(whole, found, strict=True):
        assert one.layout.join(one.entries) == other.layout.join(other.entries)
        written = [(tmp_path / name / str(one.partition.me) / "blocks.bin").read_bytes() for name in ("whole", "again")]
        assert written[0] == written[1]


def test_fewer_rounds_are_refused_and_nothing_is_lost(tmp_path):
    """Fewer than it was begun with, fewer blocks than were played, and fewer rounds of the last one."""
    alone(tmp_path, 20)
    alone(tmp_path, 31)
    before = (tmp_path / "blocks.bin").read_bytes()
    for rounds in (19, 20, 30):
        with pytest.raises(ValueError, match=f"a run of more than {rounds} rounds: ask for as many, or for more"):
            alone(tmp_path, rounds)
    assert (tmp_path / "blocks.bin").read_bytes() == before


def test_a_known_horizon_has_its_rounds(tmp_path):
    algorithm = DOBGA.design(A2.setting, horizon=8)
    alone(tmp_path, 4, algorithm=algorithm)
    with pytest.raises(ValueError, match="partition or number of rounds"):
        alone(tmp_path, 8, algorithm=algorithm)


def posed(late):
    """The same functions up to round 9, and from then on others, if they are `late`."""
    function = (lambda i, t, x: jnp.where(t > 9, 0.5, 1.0) * x.sum()) if late else (lambda i, t, x: x.sum())
    return problems.from_function(function, A2.set, A2.linearization, agents=4)


def test_functions_that_differ_in_later_rounds_are_another_run(tmp_path):
    """A folder is known by what its problem says in the rounds with which it was begun."""
    alone(tmp_path, 20, posed(late=False))
    alone(tmp_path, 21, posed(late=False))
    with pytest.raises(ValueError, match="belongs to a run with another problem"):
        alone(tmp_path, 21, posed(late=True))


def test_a_black_box_is_asked_about_no_round_that_is_not_played(tmp_path):
    heard = deque()  # no value that the function captures, as a list would be

    def listen(agent, t, x):
        heard.append(t)
        return float(np.log1p(x).sum())

    problem = problems.from_black_box(listen, A2.set, A2.linearization, agents=4)
    algorithm = design("A2", "bandit", horizon=None, theta=0.5)
    for rounds in (3, 26):
        alone(tmp_path, rounds, problem, algorithm)
        last = algorithm.timetable.until(rounds).at(-1)
        slot_end = int(last.first + last.slots * last.slot)  # a slot that is begun is asked about as a whole
        assert 0 <= min(heard) <= max(heard) < slot_end
