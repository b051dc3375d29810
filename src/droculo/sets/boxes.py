"""Boxes, simplices and partition matroids, including budgets: their oracles rank the coordinates."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike, NDArray

from droculo.sets.contract import Cut, Set
from droculo.sets.geometry import Full, Geometry, Vector, ZeroSums
from droculo.sets.projections import filled_to, filled_up_to, most_violated
from droculo.sets.ranking import PAIRWISE_UP_TO, weight_before
from droculo.sets.vertices import Indices, Vertex


class Box(Set):
    """{x : lower <= x <= upper}.

    >>> import jax.numpy as jnp
    >>> Box([0.0, 0.0], [1.0, 2.0]).argmax(jnp.array([1.0, -1.0])).tolist()
    [1.0, 0.0]
    """

    lower: Vector
    upper: Vector
    geometry: Geometry

    def __init__(self, lower: ArrayLike, upper: ArrayLike):
        self.lower, self.upper = (np.array(side, np.float64) for side in np.broadcast_arrays(lower, upper))
        if self.lower.ndim != 1 or not np.all(np.isfinite(self.lower) & np.isfinite(self.upper)):
            raise ValueError(
                "Box needs finite vectors; got lower of shape " + f"{self.lower.shape}. "
                "Write Box(np.zeros(d), 1.0) for the unit box."
            )
        if not np.all(self.lower < self.upper):
            worst = int(np.argmin(self.upper - self.lower))
            raise ValueError(
                f"Box needs lower < upper in every coordinate; got {self.lower[worst]} and {self.upper[worst]} "
                f"in coordinate {worst}. Leave a fixed coordinate out of the decision."
            )
        nonnegative = bool(np.all(self.lower >= 0))
        self.geometry = Geometry(
            dim=len(self.lower),
            radius=float(np.linalg.norm(np.maximum(abs(self.lower), abs(self.upper)))),
            subspace=Full(len(self.lower)),
            center=(self.lower + self.upper) / 2,
            inner_radius=float(np.min(self.upper - self.lower) / 2),
            anchor=np.clip(0.0, self.lower, self.upper),
            least_element=self.lower if nonnegative else None,
            contains_origin=bool(np.all((self.lower <= 0) & (self.upper >= 0))),
            down_closed=bool(np.all(self.lower == 0)),
        )

    def argmax(self, direction: Array) -> Array:
        return jnp.where(direction > 0, self.upper, self.lower).astype(direction.dtype)

    def contains(self, x: Array, tolerance: float | Array = 1e-9) -> Array:
        return jnp.all((x >= self.lower - tolerance) & (x <= self.upper + tolerance))

    def project(self, y: Array) -> Array:
        y = jnp.asarray(y)
        return jnp.clip(y, jnp.asarray(self.lower, y.dtype), jnp.asarray(self.upper, y.dtype))

    def separate(self, x: Array) -> Cut:
        x = jnp.asarray(x)
        return self._cut(x, most_violated(x, self.lower, self.upper))


class Simplex(Set):
    """The probability simplex {x >= 0, sum x = 1}."""

    geometry: Geometry

    def __init__(self, dim: int):
        if dim < 2:
            raise ValueError(f"Simplex needs at least 2 coordinates; got {dim}: with one there is nothing to decide.")
        self.geometry = Geometry(
            dim=dim,
            radius=1.0,
            subspace=ZeroSums(np.zeros(dim, int)),
            center=1.0 / dim,
            inner_radius=1.0 / np.sqrt(dim * (dim - 1)),
            anchor=1.0 / dim,
        )

    def argmax(self, direction: Array) -> Array:
        return (jnp.arange(self.dim) == jnp.argmax(direction)).astype(direction.dtype)

    def vertex(self, direction: Array) -> Vertex:
        return Indices.of(self.argmax(direction), 1)

    def contains(self, x: Array, tolerance: float | Array = 1e-9) -> Array:
        return jnp.all(x >= -tolerance) & (jnp.abs(x.sum() - 1) <= tolerance * self.dim)

    def project(self, y: Array) -> Array:
        return filled_to(jnp.asarray(y), 1.0)

    def separate(self, x: Array) -> Cut:
        x = jnp.asarray(x)
        level = jnp.full(self.dim, 1 / np.sqrt(self.dim), x.dtype)
        beyond = jnp.dot(level, x - 1 / self.dim)
        return self._cut(x, most_violated(x, 0.0, jnp.inf, (jnp.abs(beyond), jnp.sign(beyond) * level)))


class PartitionMatroid(Set):
    """{0 <= x <= 1, the sum over group g is at most capacity g}, or exactly capacity g (`bases=True`).

    With whole capacities it is the hull of the independent sets (or the bases) of a partition matroid; any
    positive real capacity is allowed. `budget` and `fixed_budget` are the case of a single group.
    """

    groups: NDArray[np.int64]
    capacities: Vector
    bases: bool = eqx.field(static=True)
    listed: int | None = eqx.field(static=True)  # the length of a vertex's index list; None: its vertices are dense
    geometry: Geometry

    def __init__(self, groups: ArrayLike, capacities: ArrayLike, *, bases: bool = False):
        self.groups = np.asarray(groups, np.int64)
        self.capacities = np.atleast_1d(np.asarray(capacities, np.float64))
        self.bases = bases
        self.geometry = _partition_geometry(self.groups, self.capacities, bases)
        self.listed = _index_list(self.dim, np.minimum(np.ceil(self.capacities), np.bincount(self.groups)).sum())

    def argmax(self, direction: Array) -> Array:
        direction = direction * 1.0  # integers become floats
        rank = weight_before(direction, jnp.ones_like(direction), None if self._one else jnp.asarray(self.groups))
        filled = jnp.clip(self._capacity_of_each(direction.dtype) - rank, 0, 1)
        return filled if self.bases else jnp.where(direction > 0, filled, 0)

    def vertex(self, direction: Array) -> Vertex:
        if self.listed is None:
            return super().vertex(direction)
        return Indices.of(self.argmax(direction), self.listed)

    def contains(self, x: Array, tolerance: float | Array = 1e-9) -> Array:
        slack = self.capacities - self._sums(x)
        margin = tolerance * self.dim
        full = (jnp.abs(slack) <= margin) if self.bases else (slack >= -margin)
        return jnp.all(full) & jnp.all((x >= -tolerance) & (x <= 1 + tolerance))

    def project(self, y: Array) -> Array:
        y = jnp.asarray(y)
        fill = filled_to if self.bases else filled_up_to
        totals = jnp.asarray(self.capacities, y.dtype)
        return fill(y, totals[0]) if self._one else fill(y, totals, groups=jnp.asarray(self.groups))

    def separate(self, x: Array) -> Cut:
        x = jnp.asarray(x)
        length = jnp.sqrt(self._sums(jnp.ones_like(x)))
        excess = jnp.atleast_1d((self._sums(x) - self.capacities) / length)
        worst = jnp.argmax(jnp.abs(excess) if self.bases else excess)
        beyond = excess[worst]
        members = jnp.where(self.groups == worst, 1 / jnp.atleast_1d(length)[worst], 0)
        sign = jnp.sign(beyond) if self.bases else 1
        return self._cut(x, most_violated(x, 0.0, 1.0, (sign * beyond, sign * members)))

    def _sums(self, x: Array) -> Array:
        several = self.capacities.shape[0]
        return jnp.sum(x) if self._one else jax.ops.segment_sum(jnp.asarray(x), self.groups, num_segments=several)

    def _capacity_of_each(self, dtype: np.dtype) -> Array:
        capacities = jnp.asarray(self.capacities, dtype)
        return capacities if self._one else capacities[self.groups]

    @property
    def _one(self) -> bool:
        """True if there is a single group: gather and scatter, slow on accelerators, are then avoided."""
        return self.capacities.shape[0] == 1


def budget(dim: int, total: float) -> PartitionMatroid:
    """{0 <= x <= 1, sum x <= total}, for any positive real total.

    >>> import jax.numpy as jnp
    >>> budget(3, 1.5).argmax(jnp.array([1.0, 3.0, 2.0])).tolist()
    [0.0, 1.0, 0.5]
    """
    return PartitionMatroid(np.zeros(dim, int), [total])


def fixed_budget(dim: int, total: float) -> PartitionMatroid:
    """{0 <= x <= 1, sum x = total}, for any real total between 0 and dim."""
    return PartitionMatroid(np.zeros(dim, int), [total], bases=True)


def _index_list(dim: int, entries: float) -> int | None:
    """How long the index list of a vertex with so many entries is; None if the point itself takes as little memory or time.

    A length is part of a compiled program, so that budgets which share one, a power of two, share programs as well.
    """
    length = 1 << (int(entries) - 1).bit_length()
    return length if dim > PAIRWISE_UP_TO and 2 * length <= dim else None


def _partition_geometry(groups: NDArray[np.int64], capacities: Vector, bases: bool) -> Geometry:
    if groups.ndim != 1 or groups.size == 0 or groups.min() < 0:
        raise ValueError(f"groups must be a vector with the group (0, 1, ...) of every coordinate; got {groups!r}.")
    sizes = np.bincount(groups, minlength=len(capacities))
    if len(sizes) != len(capacities) or np.any(sizes == 0):
        raise ValueError(
            f"got {len(capacities)} capacities for {len(np.unique(groups))} groups with members: "
            "number the groups 0, 1, ... without a gap and give one capacity for each."
        )
    if not np.all(np.isfinite(capacities) & (capacities > 0)):
        raise ValueError(f"capacities (budgets) must be positive and finite; got {capacities.tolist()}.")
    if bases and np.any(capacities > sizes):
        worst = int(np.argmax(capacities - sizes))
        raise ValueError(
            f"the set is empty: group {worst} has {sizes[worst]} coordinates of at most 1 and must sum to "
            f"{capacities[worst]}. Lower the capacity, or use the set with at-most capacities."
        )
    full = np.minimum(capacities, sizes)
    radius = float(np.sqrt(np.sum(np.floor(full) + (full - np.floor(full)) ** 2)))
    share = full / sizes
    dim = len(groups)
    if bases:
        free = full < sizes
        if not np.any(free & (sizes > 1)):
            raise ValueError(
                "the set is a single point: every group is filled by its capacity; there is nothing to decide."
            )
        # Within a group the nearest faces are x_i = 0 and x_i = 1; sqrt(n/(n-1)) because we move along the face.
        free &= sizes > 1
        n = sizes[free]
        return Geometry(
            dim=dim,
            radius=radius,
            subspace=ZeroSums(groups, full < sizes),
            center=share[groups],
            inner_radius=float(np.min(np.minimum(share[free], 1 - share[free]) * np.sqrt(n / (n - 1)))),
            anchor=share[groups],
        )
    middle = np.minimum(0.5, capacities / (sizes + np.sqrt(sizes)))
    return Geometry(
        dim=dim,
        radius=radius,
        subspace=Full(dim),
        center=middle[groups],
        inner_radius=float(middle.min()),
        anchor=0.0,
        least_element=0.0,
        contains_origin=True,
        down_closed=True,
    )
