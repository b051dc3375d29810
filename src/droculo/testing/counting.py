"""Counting calls of a set's oracles and uses of an agent's ports inside compiled code, under vmap, in loops, on any driver."""

import threading
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.custom_batching import custom_vmap

from droculo.algorithms import Algorithm
from droculo.algorithms.contract import Answers, Keys, OracleCalls, Ports, Slot, SlotPlay
from droculo.sets import Set
from droculo.sets.contract import Cut
from droculo.sets.membership import slack
from droculo.sets.vertices import Vertex
from droculo.testing.points import kinds, of_base


class Calls(NamedTuple):
    """The calls that were made, by kind. A zero direction is no LOO call: finished agents of a batch send it."""

    loo_calls: int
    projections: int
    separations: int


class CallCounter:
    """The calls that are reported to it, by kind: `Calls`, or another named tuple of whole numbers.

    Compared by identity, so that compiled code can hold it.
    """

    def __init__(self, kinds: type[Any] = Calls) -> None:
        self._kinds = kinds
        self._lock = threading.Lock()
        self._made = np.zeros(len(kinds._fields), np.int64)

    def take(self) -> Any:
        """The calls made since the last `take()`; waits for what is still running."""
        jax.effects_barrier()  # type: ignore[no-untyped-call]
        with self._lock:
            made, self._made = self._made, np.zeros_like(self._made)
        return self._kinds(*made.tolist())

    def report(self, kind: str, made: Array) -> Array:
        """From inside compiled code: count the True entries of `made`, and return it.

        Use what it returns, so that the report is not removed as dead code. A batch reports once, whatever its axes.
        """

        def on_host(each: Array) -> None:
            with self._lock:
                self._made[self._kinds._fields.index(kind)] += np.count_nonzero(each)

        @custom_vmap
        def call(each: Array) -> Array:
            jax.debug.callback(on_host, each)  # the one side effect that a batched while loop may have
            return each

        @call.def_vmap
        def of_batch(size: int, batched: Any, each: Array) -> tuple[Array, bool]:
            return call(each), True

        return call(made)


class CountingSet(Set):
    """The same set, whose oracles report every call to `counter`. Make it with `counting`."""

    base: Set
    counter: CallCounter = eqx.field(static=True)

    geometry = of_base("geometry")
    has_fast_contains = of_base("has_fast_contains")
    contains = of_base("contains")

    def argmax(self, direction: Array) -> Array:
        return self.base.argmax(self._asked(direction))

    def vertex(self, direction: Array) -> Vertex:
        return self.base.vertex(self._asked(direction))

    def project(self, y: Array) -> Array:
        return self.base.project(self._reported("projections", y))

    def separate(self, x: Array) -> Cut:
        return self.base.separate(self._reported("separations", x))

    def _asked(self, direction: Array) -> Array:
        asked = self.counter.report("loo_calls", jnp.any(direction != 0))
        return jnp.where(asked, direction, jnp.zeros_like(direction))

    def _reported(self, kind: str, x: Array) -> Array:
        """x, once the call is reported. (The condition depends on x, so that every agent of a batch reports.)"""
        x = jnp.asarray(x)
        made = self.counter.report(kind, jnp.any(jnp.isnan(x)) | True)
        return jnp.where(made, x, jnp.nan)


def counting(tree: Any) -> tuple[Any, CallCounter]:
    """`tree` (a set, an algorithm, a problem, ...) with every set in it counting its calls, and their common counter.

    The copy computes the same values and can be compiled, batched and looped over like the original.

    >>> from droculo import sets
    >>> simplex, counter = counting(sets.Simplex(3))
    >>> directions = jnp.array([[1.0, 2.0, 0.0], [0.0, 0.0, 0.0], [3.0, 1.0, 0.0]])
    >>> jax.jit(jax.vmap(simplex.argmax))(directions).tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    >>> counter.take()
    Calls(loo_calls=2, projections=0, separations=0)

    Wrappers count as one set: of a `Shrunk` set only the outer oracle reports. A batch that is split into chunks of
    equal length repeats its last agent in the last chunk, and these calls are counted too; see `oracles.batching`.
    """
    counter = CallCounter()

    def counted(leaf: Any) -> Any:
        return CountingSet(leaf, counter) if isinstance(leaf, Set) else leaf

    return jax.tree.map(counted, tree, is_leaf=lambda leaf: isinstance(leaf, Set)), counter


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
    timetable = of_base("timetable")
    feedback = of_base("feedback")
    exchanges = of_base("exchanges")
    message = of_base("message")
    domain = of_base("domain")
    init = of_base("init")
    decision = of_base("decision")
    credible = of_base("credible")

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
        right = algorithm.feedback.order
        assert order == right, f"the algorithm asks questions of order {order}, and its feedback is of order {right}."
        shape, expected = played.actions.shape, (slot.most, algorithm.domain.dim)
        assert shape == expected, f"a slot has one action for each round, an array of shape {expected}; got {shape}."
        shape = (slot.most,) if played.earned is None else played.earned.shape
        message = f"`earned` names the rounds of the slot's {slot.most} actions; got shape {shape}."
        assert shape == (slot.most,), message
        number = played.rounds - slot.start
        # True if the slot is played; it depends on points and rounds, and so is reported for every agent and every slot of a batch.
        asked = (jnp.all(jnp.isfinite(played.points), axis=-1) | (number == number)) & (slot.length > 0)
        outside = asked & ((number < 0) | (number >= slot.length))
        report = algorithm.counter.report
        reported = report("questions", asked) | report("outside_slot", outside)
        if algorithm.feedback.kind.played:
            there = played.actions[jnp.clip(number, 0, slot.most - 1)]
            # Two ways to compile one sum may round differently.
            distance = jnp.max(jnp.abs(there - played.points), axis=-1)
            reported |= report("not_played", asked & (distance > slack(distance.dtype, algorithm.domain)))
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
