"""One agent in a custom loop: the same run as the simulator's, and only the feedback that its model allows."""

import threading
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.designs import PROBLEMS, design
from tests.runtime.cases import check_equals

from droculo import Scales, feedback, networks, oracles, simulate
from droculo.algorithms import DMFW, DOBGA
from droculo.precision import double
from droculo.runtime import Agent, MemoryTransport, Transport, gather
from droculo.runtime.agent import FIRST_BLOCKS
from droculo.runtime.transports.memory import Hub

A2 = PROBLEMS["A2"]
PAIR = networks.from_graph(networks.path(2))
ALONE = networks.from_graph(networks.single())
BOLD = Scales(step=10.0)
ORACLE = jax.jit(lambda agent, t, x, order: A2.answer(agent, t, x, order, jax.random.key(0)), static_argnums=3)


class WithEarned(feedback.OnePoint):
    """One-point feedback that also uses the values that actions earn."""

    hears_earned: ClassVar[bool] = True

    def tally(self, answers, v, alone=True, earned=None):
        return super().tally(answers + jnp.sum(earned) / 10, v, alone)


class GradientAndEarned(feedback.Gradient):
    """Gradients, and the values that actions earn."""

    hears_earned: ClassVar[bool] = True


def with_signal(algorithm, kind):
    """The algorithm with another signal, which keeps the fields of its own."""
    fields = vars(algorithm.feedback.signal)
    return eqx.tree_at(lambda algorithm: algorithm.feedback.signal, algorithm, kind(**fields))


def designed(model):
    """Short runs: what an agent asks and tells differs from model to model, and not from round to round."""
    if model == "DMFW":
        return DMFW.design(A2.setting, horizon=6, inner=5, scales=BOLD)
    if model == "DOBGA":
        return DOBGA.design(A2.setting, horizon=8, scales=BOLD)
    if model == "earned":
        return with_signal(design("A2", "bandit", horizon=18), WithEarned)
    return design("A2", model, horizon=18, oracle=oracles.FrankWolfe())


def world(me, t, points, order):
    """What only agent `me` knows."""
    with double():
        said = [
            np.asarray(ORACLE(jnp.asarray(me), jnp.asarray(t), jnp.asarray(x), order)) for x in np.atleast_2d(points)
        ]
    return said[0] if points.ndim == 1 else np.stack(said)


def play(agent, until=None):
    """Rounds until the end, or until this one."""
    while not agent.done and agent.round != until:
        t = agent.round
        _, query = agent.ask()
        agent.tell(None if query is None else world(agent.partition.me, t, query, agent.algorithm.feedback.order))


@pytest.mark.parametrize("model", ["DOBGA", "semi_bandit", "bandit", "two_point", "DMFW", "earned"])
def test_agents_in_loops_of_their_own_equal_the_simulator(model):
    algorithm = designed(model)
    hub, parts = Hub(), [None, None]

    def live(me):
        with Agent(algorithm, PAIR, me, MemoryTransport(hub, me, (1 - me,)), key=3) as agent:
            play(agent)
            parts[me] = agent.part()

    threads = [threading.Thread(target=live, args=(me,)) for me in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
    together, run = gather(algorithm, parts), simulate(A2, algorithm, PAIR, key=3)
    np.testing.assert_allclose(together.trajectory.actions, run.actions, rtol=0, atol=1e-12)
    for name, cost in run.ledger.counts.items():
        assert np.array_equal(together.trajectory.ledger.counts[name], cost), name
    assert (together.faults.failed_links, together.faults.disagreements) == (0, 0)
    assert together.faults.missed_rounds.tolist() == [0, 0]


@pytest.mark.parametrize("model", ["semi_bandit", "bandit"])
def test_agents_without_a_horizon_play_on_and_on(model):
    """Through blocks and slots that grow, and stop for a look within them."""
    algorithm = design("A2", model, horizon=None, theta=0.5, oracle=oracles.FrankWolfe())
    spans = algorithm.timetable.until(150)
    late = max(b for b in range(len(spans.number) - 1) if spans.slots[b] > 1 and spans.slot[b] > spans.slot[0])
    first, slot, end = int(spans.first[late]), int(spans.slot[late]), int(spans.end[late])
    stops = (1, first + 1, first + slot, end + 1)
    hub, parts = Hub(), {}

    def live(me):
        with Agent(algorithm, PAIR, me, MemoryTransport(hub, me, (1 - me,)), key=3) as agent:
            for stop in stops:
                play(agent, until=stop)
                assert not agent.done
                parts[stop, me] = agent.part()
            agent.ask()  # what was asked for and not told is no part of the run
            parts["asked", me] = agent.part()

    threads = [threading.Thread(target=live, args=(me,)) for me in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
    for stop in (*stops, "asked"):
        rounds = stops[-1] if stop == "asked" else stop
        run = simulate(A2, algorithm, PAIR, key=3, rounds=rounds)
        together = gather(algorithm, [parts[stop, me] for me in range(2)], rounds=rounds)
        check_equals(together, run)


class NoNeighbours(Transport):
    """An agent alone."""

    def meet(self, first, every, oldest=0, last=0):
        return first

    def exchange(self, number, outgoing, shapes):
        return {}

    def close(self):
        pass


def alone(algorithm, **options):
    chosen = designed(algorithm) if isinstance(algorithm, str) else algorithm
    return Agent(chosen, ALONE, 0, NoNeighbours(0, ()), key=0, **options)


def test_an_agent_tells_what_every_action_earned():
    """In rounds without a question the query is the action, and in the others the value of the action answers it."""
    agent = alone("earned")
    asked = []
    while not agent.done:
        action, query = agent.ask()
        assert np.array_equal(query, action)
        with pytest.raises(ValueError, match="got no answer"):
            agent.tell()
        asked.append(len(agent._asked.questions))
        agent.tell(0.5)
    assert set(asked) == {0, 1}


def test_gradients_together_with_values_are_refused():
    algorithm = with_signal(design("A2", "semi_bandit", horizon=18), GradientAndEarned)
    with pytest.raises(ValueError, match="an agent tells one kind of number"):
        alone(algorithm)


def test_a_bandit_cannot_obtain_a_gradient():
    agent = alone("bandit")
    asked = 0
    while asked == 0:
        action, query = agent.ask()
        if query is None:
            agent.tell()
            continue
        asked += 1
        assert np.array_equal(action, query)  # it is told only about what it plays
        with pytest.raises(
            ValueError, match=r"one value, and no gradient for each of 1 question\(s\); got an array of shape \(5,\)"
        ):
            agent.tell(np.ones(5))
        with pytest.raises(ValueError, match="is not finite"):
            agent.tell(np.nan)
        with pytest.raises(ValueError, match="got no answer"):
            agent.tell()
        agent.tell(0.5)  # the mistakes above changed nothing
    assert agent.round > 0


def test_what_is_out_of_turn_is_said():
    agent = alone("semi_bandit")
    with pytest.raises(RuntimeError, match="call ask"):
        agent.tell(1.0)
    moves = []
    while not any(move.query is None for move in moves):
        moves.append(agent.ask())
        with pytest.raises(RuntimeError, match="was asked for already"):
            agent.ask()
        if moves[-1].query is None:
            with pytest.raises(ValueError, match="nothing was asked in round"):
                agent.tell(np.ones(5))
            agent.tell()
        else:
            with pytest.raises(ValueError, match="a gradient of 5 numbers"):
                agent.tell(1.0)
            agent.tell(np.ones(5))
    play(agent)
    with pytest.raises(RuntimeError, match="rounds were played"):
        agent.ask()


def test_the_transport_must_be_that_of_the_agent():
    with pytest.raises(ValueError, match=r"process 0 of this network has the neighbours \(1,\)"):
        Agent(design("A2", "bandit"), PAIR, 0, NoNeighbours(0, ()), key=0)


def test_an_agent_that_was_killed_goes_on_from_its_folder(tmp_path):
    spans = design("A2", "semi_bandit").timetable.blocks(6)
    begun, last = int(spans.first[3]), int(spans.first[5]) + 1  # a horizon within a block
    algorithm = design("A2", "semi_bandit", horizon=last, oracle=oracles.FrankWolfe())
    whole = alone(algorithm)
    play(whole)
    first = alone(algorithm, folder=tmp_path)
    play(first, until=begun + 1)  # and then it is killed, in the middle of a block
    again = alone(algorithm, folder=tmp_path)
    assert again.round == begun
    play(again)
    assert np.array_equal(
        gather(again.algorithm, [again.part()]).trajectory.actions,
        gather(whole.algorithm, [whole.part()]).trajectory.actions,
    )
    with pytest.raises(ValueError, match="belongs to a run with another"):
        alone("bandit", folder=tmp_path)


def test_an_agent_with_many_blocks_goes_on_from_its_folder(tmp_path):
    """More than it looks up at first."""
    algorithm = design("A2", "full_information", horizon=None, theta=1.0, oracle=oracles.FrankWolfe())
    rounds = FIRST_BLOCKS + 6
    first = alone(algorithm, folder=tmp_path)
    play(first, until=FIRST_BLOCKS + 3)
    again = alone(algorithm, folder=tmp_path)
    assert again.round == FIRST_BLOCKS + 3
    play(again, until=rounds)
    run = simulate(A2, algorithm, ALONE, key=0, rounds=rounds)
    found = gather(algorithm, [again.part()], rounds=rounds).trajectory
    np.testing.assert_allclose(found.actions, run.actions, rtol=0, atol=1e-12)


def test_an_agent_that_has_played_all_rounds_is_done_when_it_is_started_again(tmp_path):
    algorithm = DOBGA.design(A2.setting, horizon=FIRST_BLOCKS + 6)
    play(alone(algorithm, folder=tmp_path))
    again = alone(algorithm, folder=tmp_path)
    assert again.done
    assert again.round == algorithm.horizon
    assert len(again.part().entries) == algorithm.horizon
