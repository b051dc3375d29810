"""Vertices in structured form: index lists, rank-one matrices, images and products of such."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array


class Vertex(eqx.Module):
    """An answer of a set's linear oracle, in a form that can need less memory and time than d numbers.

    What a memory of vertices may rely on:

    - A vertex is a pytree of arrays. Its structure, shapes and types depend on the set and on the precision of the
      direction, not on the direction itself. So vertices of one set can be stacked along a new axis, selected by
      `jnp.where`, carried in compiled loops, and used under vmap.
    - `dense()` equals `argmax(direction)` exactly. `inner` and `add_to` agree with it up to rounding, and keep the
      precision of their argument.
    - Leaves in `Shared` are equal for all vertices of a set: `split` takes them out, to be stored once.
    """

    @abstractmethod
    def dense(self) -> Array:
        """All d coordinates."""

    def inner(self, y: Array) -> Array:
        """<vertex, y>."""
        return jnp.dot(self.dense(), y).astype(y.dtype)

    def add_to(self, x: Array, weight: Array | float) -> Array:
        """x + weight * vertex."""
        return (x + weight * self.dense()).astype(x.dtype)


class Shared(eqx.Module):
    """An array that is the same in all vertices of a set."""

    value: Array


def split(vertex: Vertex) -> tuple[Any, Any]:
    """(own, shared): what differs between the vertices of a set, and what is the same in all; `join` is the inverse.

    >>> base = Indices(jnp.array([2]), jnp.array([1.0]), dim=3)
    >>> own, shared = split(Affine(base, jnp.array(2.0), jnp.array([1.0, 1.0, 1.0])))
    >>> join(own, shared).dense().tolist()
    [1.0, 1.0, 3.0]
    """
    own, shared = eqx.partition(vertex, lambda leaf: not _is_shared(leaf), is_leaf=_is_shared)
    return own, shared


def join(own: Any, shared: Any) -> Vertex:
    """The vertex from the two results of `split`."""
    vertex: Vertex = eqx.combine(own, shared, is_leaf=_is_shared)
    return vertex


def _is_shared(leaf: Any) -> bool:
    return isinstance(leaf, Shared)


class Dense(Vertex):
    """All coordinates: for vertices without structure, such as those of a general polytope."""

    point: Array

    def dense(self) -> Array:
        return self.point


class Indices(Vertex):
    """At most k entries that are not zero: `value[j]` at coordinate `index[j]`.

    >>> tree = Indices.of(jnp.array([0.0, 1.0, 0.0, 1.0]), 3)
    >>> tree.index.tolist(), float(tree.inner(jnp.array([1.0, 2.0, 3.0, 4.0])))
    ([1, 3, 0], 6.0)
    """

    index: Array  # (k,), all different
    value: Array  # (k,), zero where there are fewer than k entries
    dim: int = eqx.field(static=True)

    @classmethod
    def of(cls, point: Array, most: int) -> Indices:
        """A point with at most `most` entries that are not zero."""
        _, index = jax.lax.top_k((point != 0).astype(jnp.int32), most)
        return cls(index, point[index], len(point))

    def inner(self, y: Array) -> Array:
        return jnp.dot(self.value, y[self.index]).astype(y.dtype)

    def add_to(self, x: Array, weight: Array | float) -> Array:
        return x.at[self.index].add((weight * self.value).astype(x.dtype))

    def dense(self) -> Array:
        return jnp.zeros(self.dim, self.value.dtype).at[self.index].set(self.value)


class RankOne(Vertex):
    """The matrix scale * left right', flattened row by row: m + n numbers for m n coordinates."""

    left: Array  # (m,)
    right: Array  # (n,)
    scale: Array

    def inner(self, y: Array) -> Array:
        matrix = y.reshape(self.left.shape[0], self.right.shape[0])
        return (self.scale * (self.left @ matrix @ self.right)).astype(y.dtype)

    def dense(self) -> Array:
        return (jnp.outer(self.left, self.right) * self.scale).ravel()


class Affine(Vertex):
    """scale * base + offset, the vertex of an affine image."""

    base: Vertex
    scale: Shared
    offset: Shared

    def __init__(self, base: Vertex, scale: Array, offset: Array):
        self.base, self.scale, self.offset = base, Shared(scale), Shared(offset)

    def inner(self, y: Array) -> Array:
        return (self.scale.value * self.base.inner(y) + jnp.dot(self.offset.value, y)).astype(y.dtype)

    def add_to(self, x: Array, weight: Array | float) -> Array:
        return self.base.add_to((x + weight * self.offset.value).astype(x.dtype), weight * self.scale.value)

    def dense(self) -> Array:
        point = self.base.dense()
        return (point * self.scale.value + self.offset.value).astype(point.dtype)


class Joined(Vertex):
    """Vertices of several sets one after another: a vertex of their product."""

    parts: tuple[Vertex, ...]
    ends: tuple[int, ...] = eqx.field(static=True)  # where all parts but the last end

    def _pieces(self, x: Array) -> Iterator[tuple[Vertex, Array]]:
        return zip(self.parts, jnp.split(x, self.ends), strict=True)

    def inner(self, y: Array) -> Array:
        return jnp.sum(jnp.stack([part.inner(piece) for part, piece in self._pieces(y)]))

    def add_to(self, x: Array, weight: Array | float) -> Array:
        return jnp.concatenate([part.add_to(piece, weight) for part, piece in self._pieces(x)])

    def dense(self) -> Array:
        return jnp.concatenate([part.dense() for part in self.parts])
