"""Counting the calls of a set's oracles inside compiled code, under vmap, in loops and beside native code."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.custom_batching import custom_vmap

from droculo.sets import Cut, Set
from droculo.sets.vertices import Vertex
from droculo.testing.points import of_base


class Calls(NamedTuple):
    """The calls that were made, by kind. A zero direction is no LOO call: finished agents of a batch send it."""

    loo_calls: int
    projections: int
    separations: int


class CallCounter:
    """The calls that are reported to it, by kind: `Calls`, or another named tuple of whole numbers.

    Compared by identity, so that compiled code can hold it. `take()` waits for what is still running, returns the calls since
    it was last asked, and starts again at zero.
    """

    def __init__(self, kinds: type[Any] = Calls) -> None:
        self._kinds = kinds
        self._lock = threading.Lock()
        self._made = np.zeros(len(kinds._fields), np.int64)

    def take(self) -> Any:
        """The calls made since the last `take()`."""
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

    The copy computes the same values and can be compiled, batched and looped over like the original. An algorithm
    whose bill is checked:

        counted, counter = counting(algorithm)
        state, bill = jax.jit(counted.update)(ports, state, total)
        assert counter.take().loo_calls == int(bill.loo_calls.sum())

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
