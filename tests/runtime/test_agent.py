"""One agent in one's own loop: the same run as the simulator's, and only the feedback that its model allows."""

import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.designs import PROBLEMS, design

from droculo import networks, simulate
from droculo.algorithms import DMFW
from droculo.precision import double
from droculo.runtime import Agent, Hub, MemoryTransport, Transport, gather

A2 = PROBLEMS["A2"]
PAIR = networks.from_graph(networks.path(2))
ALONE = networks.from_graph(networks.single())
ORACLE = jax.jit(lambda agent, t, x, order: A2.answer(agent, t, x, order, jax.random.key(0)), static_argnums=3)


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


@pytest.mark.parametrize("model", ["semi_bandit", "bandit", "two_point", "DMFW"])
def test_agents_in_loops_of_their_own_equal_the_simulator(model):
    algorithm = DMFW.design(A2.setting, horizon=6, inner=5) if model == "DMFW" else design("A2", model)
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


class Nobody(Transport):
    """An agent alone."""

    def meet(self, first, every, oldest=0, last=0):
        return first

    def exchange(self, number, outgoing, shapes):
        return {}

    def close(self):
        pass


def alone(model, **options):
    return Agent(design("A2", model), ALONE, 0, Nobody(0, ()), key=0, **options)


def test_a_bandit_cannot_obtain_a_gradient():
    agent = alone("bandit")
    asked = 0
    while asked == 0:
        action, query = agent.ask()
        if query is None:
            agent.tell()
            continue
        asked += 1
        assert np.array_equal(action, query)  # it hears only of what it plays
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
        Agent(design("A2", "bandit"), PAIR, 0, Nobody(0, ()), key=0)


def test_an_agent_that_was_killed_goes_on_from_its_folder(tmp_path):
    whole = alone("full_information")
    play(whole)
    block = whole.algorithm.block * whole.algorithm.slot
    first = alone("full_information", folder=tmp_path)
    play(first, until=3 * block + 1)  # and then it is gone, in the middle of a block
    again = alone("full_information", folder=tmp_path)
    assert again.round == 3 * block
    play(again)
    assert np.array_equal(
        gather(again.algorithm, [again.part()]).trajectory.actions,
        gather(whole.algorithm, [whole.part()]).trajectory.actions,
    )
    with pytest.raises(ValueError, match="belongs to a run with another"):
        alone("bandit", folder=tmp_path)
