"""Partition matroids, budgets and the knapsack: their oracles rank the coordinates, ties included."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike, NDArray

from droculo.sets.contract import Cut, Set
from droculo.sets.geometry import Full, Geometry, Vector, ZeroSums
from droculo.sets.projections import filled_to, filled_up_to, most_violated
from droculo.sets.vertices import Indices, Vertex

#: Up to this length all pairs are compared: without a sort, so that it runs without branches on CPU and GPU.
PAIRWISE_UP_TO = 64


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
        capacities = jnp.asarray(self.capacities, direction.dtype)
        filled = jnp.clip((capacities if self._one else capacities[self.groups]) - rank, 0, 1)
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
    dim, share = len(groups), full / sizes
    if not bases:
        middle = np.minimum(0.5, capacities / (sizes + np.sqrt(sizes)))
        return _from_zero(dim, radius, middle[groups], float(middle.min()))
    free = (full < sizes) & (sizes > 1)
    if not np.any(free):
        raise ValueError(
            "the set is a single point: every group is filled by its capacity; there is nothing to decide."
        )
    # Within a group the nearest faces are x_i = 0 and x_i = 1; sqrt(n/(n-1)) because we move along the face.
    n, center = sizes[free], share[groups]
    inner_radius = float(np.min(np.minimum(share[free], 1 - share[free]) * np.sqrt(n / (n - 1))))
    space = ZeroSums(groups, full < sizes)
    return Geometry(dim=dim, radius=radius, subspace=space, center=center, inner_radius=inner_radius, anchor=center)


def _from_zero(dim: int, radius: float, center: ArrayLike, inner_radius: float) -> Geometry:
    """Of a full-dimensional, down-closed set."""
    zero: dict[str, Any] = {"anchor": 0.0, "least_element": 0.0, "contains_origin": True, "down_closed": True}
    return Geometry(dim=dim, radius=radius, subspace=Full(dim), center=center, inner_radius=inner_radius, **zero)


class Knapsack(Set):
    """{0 <= x <= 1, weights.x <= capacity} with non-negative weights; its oracle is the fractional greedy rule."""

    weights: Vector
    capacity: Vector
    geometry: Geometry

    def __init__(self, weights: ArrayLike, capacity: float):
        self.weights = np.asarray(weights, np.float64)
        self.capacity = np.asarray(capacity, np.float64)
        if self.weights.ndim != 1 or not np.all(np.isfinite(self.weights) & (self.weights >= 0)):
            raise ValueError("Knapsack needs a vector of finite, non-negative weights; got " + f"{weights!r}.")
        if not 0 < capacity < np.inf or not np.any(self.weights > 0):
            raise ValueError(f"Knapsack needs a positive, finite capacity and some positive weight; got {capacity}.")
        # A ball around s*(1,...,1) touches x >= 0, x <= 1 and the knapsack's own plane, whichever comes first.
        total, norm = float(self.weights.sum()), float(np.linalg.norm(self.weights))
        middle = min(0.5, float(capacity) / (total + norm))
        radius = _knapsack_radius(self.weights, float(capacity))
        self.geometry = _from_zero(len(self.weights), radius, middle, middle)

    def argmax(self, direction: Array) -> Array:
        direction = direction * 1.0  # integers become floats
        heavy = self.weights > 0
        density = jnp.where(heavy, direction / jnp.where(heavy, self.weights, 1), jnp.inf)
        density = jnp.where(direction > 0, density, -jnp.inf)
        spent = weight_before(density, jnp.asarray(self.weights, direction.dtype))
        room = (self.capacity - spent) / jnp.where(heavy, self.weights, 1)
        return jnp.where(direction > 0, jnp.where(heavy, jnp.clip(room, 0, 1), 1), 0).astype(direction.dtype)

    def contains(self, x: Array, tolerance: float | Array = 1e-9) -> Array:
        margin = tolerance * (1 + self.weights.sum())
        inside = jnp.all((x >= -tolerance) & (x <= 1 + tolerance))
        return inside & (jnp.dot(self.weights, x) <= self.capacity + margin)

    def project(self, y: Array) -> Array:
        y = jnp.asarray(y)
        weights = jnp.asarray(self.weights, y.dtype)
        return filled_up_to(y, jnp.asarray(self.capacity, y.dtype), weights=weights)

    def separate(self, x: Array) -> Cut:
        length = jnp.linalg.norm(self.weights)
        beyond = (jnp.dot(self.weights, x) - self.capacity) / length
        return self._cut(x, most_violated(x, 0.0, 1.0, (beyond, self.weights / length)))


def _knapsack_radius(weights: Vector, capacity: float) -> float:
    """The largest norm over a relaxation: for 0 <= x <= 1, |x|^2 <= sum x, and a greedy filling maximises sum x."""
    lightest_first = np.sort(weights)
    spent = np.cumsum(lightest_first) - lightest_first
    room = np.divide(capacity - spent, lightest_first, where=lightest_first > 0, out=np.ones_like(spent))
    return float(np.sqrt(np.clip(room, 0, 1).sum()))


def precedes(score: Array) -> Array:
    """before[i, j]: entry j comes strictly before entry i in descending order, the lower index first in a tie."""
    index = jnp.arange(score.shape[0])
    higher = score[None, :] > score[:, None]
    tied_and_earlier = (score[None, :] == score[:, None]) & (index[None, :] < index[:, None])
    return higher | tied_and_earlier


def weight_before(score: Array, weight: Array, groups: Array | None = None) -> Array:
    """For every entry, the total `weight` of the entries of its group that rank before it in descending `score`.

    With unit weights this is the entry's rank, starting from 0. Equal scores never share a rank.
    """
    if score.shape[0] <= PAIRWISE_UP_TO:
        before = precedes(score)
        if groups is not None:
            before &= groups[None, :] == groups[:, None]
        return jnp.where(before, weight[None, :], 0).sum(axis=1)
    order = jnp.argsort(-score, stable=True) if groups is None else jnp.lexsort((-score, groups))
    running = jnp.cumsum(weight[order]) - weight[order]
    if groups is not None:
        sorted_groups = groups[order]
        first = jnp.searchsorted(sorted_groups, sorted_groups, side="left")
        running = running - running[first]
    return jnp.zeros_like(running).at[order].set(running)
