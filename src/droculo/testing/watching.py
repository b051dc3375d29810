"""An algorithm whose ports report what passes through them, inside compiled code and on any driver."""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from droculo.algorithms import Algorithm, Answers, Keys, OracleCalls, Ports, Slot, SlotPlay
from droculo.sets.membership import slack
from droculo.testing.counting import CallCounter
from droculo.testing.points import kinds, of_base


class Traffic(NamedTuple):
    """What all agents did with their ports: how often, and how often against the rules."""

    exchanges: int
    not_credible: int  # exchanges with a message that `credible` would discard
    questions: int
    outside_slot: int  # questions about a round that is not in the slot
    not_played: int  # questions at points that were not played, although the feedback requires it


class Watched(Algorithm):
    """The same algorithm; every use of a port is reported to `counter`, a `CallCounter(Traffic)`.

    What can be seen while it is traced is asserted at once: shapes and types of messages and plays, the order of questions.
    """

    base: Algorithm
    counter: CallCounter = eqx.field(static=True)

    horizon = of_base("horizon")
    block = of_base("block")
    slot = of_base("slot")
    feedback = of_base("feedback")
    exchanges = of_base("exchanges")
    message = of_base("message")
    domain = of_base("domain")
    init = of_base("init")
    decision = of_base("decision")
    credible = of_base("credible")
    slot_at = of_base("slot_at")

    def play(self, ports: Ports, state: Any, slot: Slot) -> tuple[Any, SlotPlay]:
        return self.base.play(_WatchedPorts(self, ports, slot), state, slot)

    def update(self, ports: Ports, state: Any, total: Any, keys: Keys) -> tuple[Any, OracleCalls]:
        return self.base.update(_WatchedPorts(self, ports, None), state, total, keys)


class _WatchedPorts:
    """The ports of one call of `play` (with its slot) or of `update` (without)."""

    def __init__(self, watched: Watched, ports: Ports, slot: Slot | None):
        self.watched, self.ports, self.slot = watched, ports, slot

    def ask(self, played: SlotPlay, order: int) -> Answers:
        algorithm, slot = self.watched, self.slot
        assert slot is not None, "update() must not call ports.ask()."
        assert order == algorithm.feedback.order, (
            f"the algorithm asks questions of order {order}, and its feedback is of order {algorithm.feedback.order}."
        )
        expected = (slot.length, algorithm.domain.dim)
        assert played.actions.shape == expected, (
            f"a slot has one action for each round, an array of shape {expected}; got {played.actions.shape}."
        )
        assert played.earned is None or played.earned.shape == (slot.length,), (
            f"`earned` names the rounds of the slot's {slot.length} actions; got shape {played.earned.shape}."
        )
        number = played.rounds - slot.start
        # True; it depends on points and rounds, and so is reported for every agent and every slot of a batch.
        asked = jnp.all(jnp.isfinite(played.points), axis=-1) | (number == number)
        outside = asked & ((number < 0) | (number >= slot.length))
        report = algorithm.counter.report
        reported = report("questions", asked) | report("outside_slot", outside)
        if algorithm.feedback.kind.played:
            there = played.actions[jnp.clip(number, 0, slot.length - 1)]
            # Two ways to compile one sum may round differently.
            distance = jnp.max(jnp.abs(there - played.points), axis=-1)
            reported |= report("not_played", distance > slack(distance.dtype, algorithm.domain))
        return self.ports.ask(_after(reported, played), order)

    def mix(self, tree: Any, index: int | Array = 0) -> Any:
        algorithm = self.watched
        assert self.slot is None, "play() must not call ports.mix()."
        declared, sent = kinds(algorithm.message), kinds(tree)
        assert declared == sent, f"the algorithm declares messages of {declared} and sent {sent}."
        finite = [jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(tree)]
        credible = jnp.asarray(algorithm.credible(tree, index)) & jnp.all(jnp.asarray(finite))
        report = algorithm.counter.report
        reported = report("not_credible", ~credible) | report("exchanges", credible | True)
        return self.ports.mix(_after(reported, tree), index)


def _after(reported: Array, tree: Any) -> Any:
    """`tree`, made to depend on reports: unused ones are removed as dead code."""
    return jax.tree.map(lambda leaf: jnp.where(jnp.any(reported), leaf, leaf), tree)
