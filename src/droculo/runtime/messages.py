"""Messages as rows: an agent's tree of arrays becomes one row of numbers, or of bytes, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.flatten_util import ravel_pytree

#: kinds of numbers that travel as they are
_PLAIN = (np.dtype(np.float64), np.dtype(np.float32))


class Message(Protocol):
    """How the trees of one exchange travel and are averaged."""

    def row(self, tree: Any) -> Array:
        """An agent's tree as a row."""

    def tree(self, row: Array) -> Any:
        """The tree of a row that was received."""

    def finite(self, rows: Array) -> Array | bool:
        """True for the rows without NaN and infinity. Transports check rows of numbers, and cannot look into bytes."""

    def cleared(self, rows: Array, finite: Array) -> Array:
        """The rows, with zeros for those that are not finite: a weight of zero does not take NaN away."""

    def mixed(self, rows: Array, average: Callable[[Array], Array]) -> Any:
        """What `average` makes of all rows, for every agent of the process."""

    def alone(self, row: Array) -> Any:
        """The same for an agent without neighbours."""

    def result(self, mixed: Any) -> Any:
        """The tree of one agent that `mix` returns."""


def message_of(tree: Any) -> Message:
    """A message whose arrays all have the run's precision is a row of such numbers, any other one a row of bytes."""
    kinds = {np.dtype(jnp.asarray(leaf).dtype) for leaf in jax.tree.leaves(tree)}
    return Numbers(tree) if len(kinds) <= 1 and kinds <= set(_PLAIN) else Bytes(tree)


class Numbers:
    """Arrays of one kind of numbers, averaged as one row."""

    def __init__(self, tree: Any):
        self.tree = ravel_pytree(tree)[1]

    def row(self, tree: Any) -> Array:
        return ravel_pytree(tree)[0]

    def finite(self, rows: Array) -> bool:
        return True

    def cleared(self, rows: Array, finite: Array) -> Array:
        return rows

    def mixed(self, rows: Array, average: Callable[[Array], Array]) -> Array:
        return average(rows)

    def alone(self, row: Array) -> Array:
        return row

    def result(self, mixed: Array) -> Any:
        return self.tree(mixed)


class Bytes:
    """Arrays of several kinds, for example a vector and the bytes of another that was quantized. Each array is averaged by
    itself; the average of whole numbers is a floating-point number, as in the simulator.

    >>> message = message_of((jnp.ones(2, jnp.float32), jnp.arange(3, dtype=jnp.uint8)))
    >>> row = message.row((jnp.ones(2, jnp.float32), jnp.arange(3, dtype=jnp.uint8)))
    >>> len(row), message.tree(row)[1].tolist()
    (11, [0, 1, 2])
    """

    def __init__(self, tree: Any):
        leaves, self.structure = jax.tree.flatten(tree)
        arrays = [jnp.asarray(leaf) for leaf in leaves]
        self.like = [(array.shape, np.dtype(array.dtype)) for array in arrays]
        self.ends = np.cumsum([array.size * array.dtype.itemsize for array in arrays])

    def row(self, tree: Any) -> Array:
        return jnp.concatenate([_bytes(jnp.asarray(leaf)) for leaf in jax.tree.leaves(tree)])

    def tree(self, row: Array) -> Any:
        parts = jnp.split(row, self.ends[:-1])
        leaves = [_array(part, shape, dtype) for part, (shape, dtype) in zip(parts, self.like, strict=True)]
        return jax.tree.unflatten(self.structure, leaves)

    def finite(self, rows: Array) -> Array:
        def one(row: Array) -> Array:
            floats = [leaf for leaf in jax.tree.leaves(self.tree(row)) if jnp.issubdtype(leaf.dtype, jnp.inexact)]
            return jnp.all(jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in floats] or [jnp.asarray(True)]))

        return jax.vmap(one)(rows)

    def cleared(self, rows: Array, finite: Array) -> Array:
        return jnp.where(finite[:, None], rows, jnp.zeros_like(rows))

    def mixed(self, rows: Array, average: Callable[[Array], Array]) -> Any:
        return jax.tree.map(average, jax.vmap(self.tree)(rows))

    def alone(self, row: Array) -> Any:
        return jax.tree.map(
            lambda leaf: leaf if jnp.issubdtype(leaf.dtype, jnp.inexact) else leaf * 1.0, self.tree(row)
        )

    def result(self, mixed: Any) -> Any:
        return mixed


def _bytes(array: Array) -> Array:
    if array.dtype == jnp.bool_:
        return array.astype(jnp.uint8).ravel()
    return jax.lax.bitcast_convert_type(array, jnp.uint8).ravel()


def _array(row: Array, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    if dtype == np.bool_:
        return row.reshape(shape) > 0
    if dtype.itemsize == 1:
        return jax.lax.bitcast_convert_type(row, dtype).reshape(shape)
    return jax.lax.bitcast_convert_type(row.reshape(-1, dtype.itemsize), dtype).reshape(shape)
