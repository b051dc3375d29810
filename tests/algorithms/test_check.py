"""`check_algorithm` passes an honest algorithm, and notices every rule that is broken."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.designs import PROBLEMS, RING, N

from droculo import feedback, networks
from droculo.algorithms import Algorithm, Equal, Growing, Timetable
from droculo.algorithms.contract import OracleCalls, SilentPorts, SlotPlay, numbers
from droculo.feedback import Feedback
from droculo.sets import Set
from droculo.testing import check_algorithm

PROBLEM = PROBLEMS["A2"]


class Honest(Algorithm):
    """Decentralized Frank-Wolfe in slots of two rounds. State: the decision, the mixed sum of gradients, the block."""

    domain: Set
    feedback: Feedback = eqx.field(default_factory=feedback.semi_bandit)
    timetable: Timetable = Equal(block=1, slot=2, horizon=16)
    horizon: int | None = eqx.field(static=True, default=16)
    exchanges: int = eqx.field(static=True, default=1)

    @property
    def message(self):
        return numbers(self.domain.dim), numbers(self.domain.dim)

    def init(self):
        x = jnp.asarray(self.domain.center)
        return x, jnp.zeros_like(x), jnp.zeros((), x.dtype)

    def decision(self, state):
        return state[0]

    def point(self, state, slot):
        return state[0]

    def played(self, state, slot):
        actions = jnp.broadcast_to(state[0], (slot.most, self.domain.dim))
        return SlotPlay(actions, slot.start[None], self.point(state, slot)[None])

    def play(self, ports, state, slot):
        played = self.played(state, slot)
        return ports.ask(played, 1).asked[0], played

    def talk(self, ports, state):
        return ports.mix((state[0], state[1]))

    def corner(self, slope):
        return self.domain.argmax(slope)

    def update(self, ports, state, total, keys):
        x, slope = self.talk(ports, state)
        slope = slope + total
        x = x + (self.corner(slope) - x) / jnp.sqrt(state[2] + 2)
        return (x, slope, state[2] + 1), OracleCalls(loo_calls=jnp.ones((), jnp.int32))


class HearsNothing(Honest):
    def play(self, ports, state, slot):
        share, played = super().play(ports, state, slot)
        return 0 * share + 1, played


class TalksTwice(Honest):
    def talk(self, ports, state):
        ports.mix((state[0], state[1]))
        return super().talk(ports, state)


class SendsMore(Honest):
    @property
    def message(self):
        return numbers(self.domain.dim)


class SendsInSecret(Honest):
    """Messages that it would not believe of a neighbour."""

    def credible(self, tree, index=0):
        return jnp.sum(tree[1]) <= 0


class AsksTheOracleTwice(Honest):
    def corner(self, slope):
        return (self.domain.argmax(slope) + self.domain.argmax(slope + 1)) / 2


class AsksAhead(Honest):
    """About a round of the next slot, which it has not reached."""

    def played(self, state, slot):
        played = super().played(state, slot)
        return SlotPlay(played.actions, played.rounds + slot.length, played.points)


class AsksElsewhere(Honest):
    def point(self, state, slot):
        return state[0] / 2


class AsksMoreThanItShows(Honest):
    """Half of its questions are not among what it says that it played."""

    def play(self, ports, state, slot):
        played = self.played(state, slot)
        more = SlotPlay(played.actions, jnp.tile(played.rounds, 2), jnp.tile(played.points, (2, 1)))
        return jnp.mean(ports.ask(more, 1).asked, axis=0), played


class ForgetsARound(Honest):
    def played(self, state, slot):
        played = super().played(state, slot)
        return SlotPlay(played.actions[:1], played.rounds, played.points)


class AsksForValues(Honest):
    def play(self, ports, state, slot):
        played = self.played(state, slot)
        return ports.ask(played, 0).asked[0] * jnp.ones(self.domain.dim), played


class TalksWhileItPlays(Honest):
    def play(self, ports, state, slot):
        ports.mix((state[0], state[1]))
        return super().play(ports, state, slot)


class KnowsItsPlace(Honest):
    """Behaves according to the number of its node in the network."""

    def talk(self, ports, state):
        place = 0 if isinstance(ports, SilentPorts) else jax.lax.axis_index("agents") / N
        x, slope = super().talk(ports, state)
        return x, slope + place * jnp.arange(self.domain.dim)


class ChangesItsTypes(Honest):
    def update(self, ports, state, total, keys):
        new, bill = super().update(ports, state, total, keys)
        return (*new[:2], new[2].astype(jnp.float32)), bill


class Leaves(Honest):
    def corner(self, slope):
        return 3 * self.domain.argmax(slope)


class Restless(Honest):
    """Draws random numbers outside of its keys. (In single precision: a callback's thread need not have double.)"""

    def corner(self, slope):
        like = jax.ShapeDtypeStruct(slope.shape, np.float32)
        noise = jax.pure_callback(
            lambda s: GENERATOR.random(s.shape, np.float32), like, slope, vmap_method="expand_dims"
        )
        return super().corner(slope + 100 * noise)


GENERATOR = np.random.default_rng(0)


def test_an_honest_algorithm_passes():
    check_algorithm(PROBLEM, Honest(PROBLEM.set), RING)


@pytest.mark.parametrize(
    ("broken", "error", "message"),
    [
        (HearsNothing, AssertionError, "nothing is learned"),
        (TalksTwice, AssertionError, "declares 1 exchanges an update, 512 in all, and made 1024"),
        (SendsMore, AssertionError, "declares messages of"),
        (SendsInSecret, AssertionError, r"would not believe of a neighbour \(credible\)"),
        (AsksTheOracleTwice, AssertionError, "reports 512 LOO calls and made 1024"),
        (AsksAhead, AssertionError, "512 of 512 questions are about a round outside their slot"),
        (AsksElsewhere, AssertionError, "only about points that it played; 512 of 512 questions are about others"),
        (AsksMoreThanItShows, AssertionError, "512 questions are in the ledger, and 1024 were asked"),
        (ForgetsARound, AssertionError, r"a slot has one action for each round, an array of shape \(2, 5\)"),
        (AsksForValues, AssertionError, "asks questions of order 0, and its feedback is of order 1"),
        (TalksWhileItPlays, AssertionError, r"play\(\) must not call ports.mix"),
        (Restless, AssertionError, "the same key gave another run"),
        (KnowsItsPlace, AssertionError, "renaming the agents changed an action"),
        (ChangesItsTypes, AssertionError, "an update changes the state's types"),
        (Leaves, ValueError, "lie outside"),
    ],
)
def test_a_broken_rule_is_noticed(broken, error, message):
    with pytest.raises(error, match=message):
        check_algorithm(PROBLEM, broken(PROBLEM.set), RING)


def test_blocks_that_grow_and_a_horizon_that_is_not_known():
    """22 rounds end within a block, and 23 in the middle of a slot of it."""
    growing = Growing(0.5, 0.5)
    assert growing.until(22).slot[-1] == 2
    agent = Honest(PROBLEM.set, timetable=growing, horizon=None)
    with pytest.raises(ValueError, match="say how many rounds"):
        check_algorithm(PROBLEM, agent, RING)
    for rounds in (22, 23):
        assert not growing.until(rounds).complete[-1]
        check_algorithm(PROBLEM, agent, RING, rounds=rounds)
    with pytest.raises(AssertionError, match="about a round outside their slot"):
        check_algorithm(PROBLEM, AsksAhead(PROBLEM.set, timetable=growing, horizon=None), RING, rounds=22)


def test_links_that_fail():
    check_algorithm(PROBLEM, Honest(PROBLEM.set), networks.Failing(RING, 0.3))
