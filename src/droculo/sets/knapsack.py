"""The knapsack: one weighted budget, solved by a ranking of densities."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from droculo.sets.contract import Cut, Set
from droculo.sets.geometry import Full, Geometry, Vector
from droculo.sets.projections import filled_up_to, most_violated
from droculo.sets.ranking import weight_before


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
        dim = len(self.weights)
        self.geometry = Geometry(
            dim=dim,
            radius=_knapsack_radius(self.weights, float(capacity)),
            subspace=Full(dim),
            center=middle,
            inner_radius=middle,
            anchor=0.0,
            least_element=0.0,
            contains_origin=True,
            down_closed=True,
        )

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
        x = jnp.asarray(x)
        length = jnp.linalg.norm(self.weights)
        beyond = (jnp.dot(self.weights, x) - self.capacity) / length
        return self._cut(x, most_violated(x, 0.0, 1.0, (beyond, self.weights / length)))


def _knapsack_radius(weights: Vector, capacity: float) -> float:
    """The largest norm over a relaxation: for 0 <= x <= 1, |x|^2 <= sum x, and a greedy filling maximises sum x."""
    lightest_first = np.sort(weights)
    spent = np.cumsum(lightest_first) - lightest_first
    room = np.divide(capacity - spent, lightest_first, where=lightest_first > 0, out=np.ones_like(spent))
    return float(np.sqrt(np.clip(room, 0, 1).sum()))
