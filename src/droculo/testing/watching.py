"""An algorithm whose ports report what passes through them, inside compiled code and on any driver."""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from droculo.algorithms import Algorithm, Answers, Keys, OracleCalls, Slot, SlotPlay
from droculo.algorithms.contract import Ports
from droculo.feedback import Feedback
from droculo.sets import Set
from droculo.sets.membership import slack
from droculo.testing.counting import CallCounter


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

    @property
    def horizon(self) -> int:
        return self.base.horizon

    @property
    def block(self) -> int:
        return self.base.block

    @property
    def slot(self) -> int:
        return self.base.slot

    @property
    def feedback(self) -> Feedback:
        return self.base.feedback

    @property
    def exchanges(self) -> int:
        return self.base.exchanges

    @property
    def message(self) -> Any:
        return self.base.message

    @property
    def domain(self) -> Set:
        return self.base.domain

    def init(self) -> Any:
        return self.base.init()

    def decision(self, state: Any) -> Array:
        return self.base.decision(state)

    def play(self, ports: Ports, state: Any, slot: Slot) -> tuple[Any, SlotPlay]:
        return self.base.play(_WatchedPorts(self, ports, slot), state, slot)

    def update(self, ports: Ports, state: Any, total: Any, keys: Keys) -> tuple[Any, OracleCalls]:
        return self.base.update(_WatchedPorts(self, ports, None), state, total, keys)

    def credible(self, tree: Any, index: int | Array = 0) -> bool | Array:
        return self.base.credible(tree, index)

    def slot_at(self, start: Array, length: int, keys: Keys) -> Slot:
        return self.base.slot_at(start, length, keys)

    def report(self, kind: str, made: Array) -> Array:
        """Count the True entries of `made`, and return it."""
        return self.counter.report(Traffic._fields.index(kind), made)


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
        reported = algorithm.report("questions", asked) | algorithm.report("outside_slot", outside)
        if algorithm.feedback.kind.played:
            there = played.actions[jnp.clip(number, 0, slot.length - 1)]
            distance = jnp.max(
                jnp.abs(there - played.points), axis=-1
            )  # two ways to compile one sum may round differently
            reported |= algorithm.report("not_played", distance > slack(distance.dtype, algorithm.domain))
        return self.ports.ask(_after(reported, played), order)

    def mix(self, tree: Any, index: int | Array = 0) -> Any:
        algorithm = self.watched
        assert self.slot is None, "play() must not call ports.mix()."
        kinds = [
            [(leaf.shape, jnp.dtype(leaf.dtype).name) for leaf in jax.tree.leaves(message)]
            for message in (algorithm.message, tree)
        ]
        assert kinds[0] == kinds[1], f"the algorithm declares messages of {kinds[0]} and sent {kinds[1]}."
        finite = [jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(tree)]
        credible = jnp.asarray(algorithm.credible(tree, index)) & jnp.all(jnp.asarray(finite))
        reported = algorithm.report("not_credible", ~credible) | algorithm.report("exchanges", credible | True)
        return self.ports.mix(_after(reported, tree), index)


def _after(reported: Array, tree: Any) -> Any:
    """`tree`, made to depend on reports: unused ones are removed as dead code."""
    return jax.tree.map(lambda leaf: jnp.where(jnp.any(reported), leaf, leaf), tree)
