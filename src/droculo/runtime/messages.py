"""Messages as rows: an agent's tree of arrays becomes one row of numbers, or of bytes, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.flatten_util import ravel_pytree

#: kinds of numbers that travel as they are
_PLAIN = (np.dtype(np.float64), np.dtype(np.float32))


def message_of(tree: Any) -> Numbers:
    """A message whose arrays all have the run's precision is a row of such numbers, any other one a row of bytes."""
    kinds = {np.dtype(jnp.asarray(leaf).dtype) for leaf in jax.tree.leaves(tree)}
    return Numbers(tree) if len(kinds) <= 1 and kinds <= set(_PLAIN) else Bytes(tree)


class Numbers:
    """How the trees of one exchange travel and are averaged: arrays of one kind of numbers as one row."""

    def __init__(self, tree: Any):
        self._unravel = ravel_pytree(tree)[1]

    def row(self, tree: Any) -> Array:
        """An agent's tree as a row."""
        return ravel_pytree(tree)[0]

    def tree(self, row: Array) -> Any:
        """The tree of a row that was received."""
        return self._unravel(row)

    def finite(self, rows: Array) -> Array:
        """True for the rows without NaN and infinity. Transports check rows of numbers, and cannot look into bytes."""
        return jnp.ones(len(rows), bool)

    def mixed(self, rows: Array, average: Callable[[Array], Array]) -> Any:
        """The trees that `average` makes of all rows, for every agent of the process."""
        return jax.vmap(self.tree)(average(rows))


class Bytes(Numbers):
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
        return jnp.concatenate([jnp.ravel(leaf).view(jnp.uint8) for leaf in jax.tree.leaves(tree)])

    def tree(self, row: Array) -> Any:
        parts = jnp.split(row, self.ends[:-1])
        leaves = [part.view(dtype).reshape(shape) for part, (shape, dtype) in zip(parts, self.like, strict=True)]
        return jax.tree.unflatten(self.structure, leaves)

    def finite(self, rows: Array) -> Array:
        def one(row: Array) -> Array:
            floats = [leaf for leaf in jax.tree.leaves(self.tree(row)) if jnp.issubdtype(leaf.dtype, jnp.inexact)]
            return jnp.all(jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in floats] or [jnp.asarray(True)]))

        return jax.vmap(one)(rows)

    def mixed(self, rows: Array, average: Callable[[Array], Array]) -> Any:
        return jax.tree.map(average, jax.vmap(self.tree)(rows))
