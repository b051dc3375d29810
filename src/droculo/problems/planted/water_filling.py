"""Water-filling: concave, with a best point by bisection on the water level."""

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from droculo.linearizations import Bounds, Concave, Linearization
from droculo.problems.adversaries import Adversary, PeriodicWeights
from droculo.problems.planted.base import Planted
from droculo.sets import PartitionMatroid, fixed_budget
from droculo.sets.geometry import Vector


class WaterFilling(Planted):
    """Concave: f = sum w_i log(1 + a_i x_i) on {sum x = b}; best is x_i = clip(w_i/level - 1/a_i, 0, 1).

    Monotone too, hence also of class A1; alpha is 1 for the concave class.
    """

    weights: Adversary
    set: PartitionMatroid
    linearization: Linearization
    bounds: Bounds
    rates: Vector

    def __init__(self, weights: Adversary, rates: ArrayLike, budget_size: float):
        self.weights = weights
        self.rates = np.asarray(rates, np.float64)
        self.set = fixed_budget(len(self.rates), budget_size)
        self.linearization = Concave()
        if np.any(weights.lowest <= 0) or np.any(self.rates <= 0):
            raise ValueError("water-filling needs positive weights and rates.")
        highest = weights.highest
        self.bounds = Bounds(
            gradient=float(np.max(np.linalg.norm(highest * self.rates, axis=1))),
            value=float(np.max(highest @ np.log1p(self.rates))),
            smoothness=float(np.max(highest * self.rates**2)),
        )

    @classmethod
    def random(cls, *, agents: int, dim: int, budget: float, seed: int) -> "WaterFilling":
        """Weights between 0.5 and 2, rates between 1 and 4."""
        weights = PeriodicWeights.random(agents, dim, low=0.5, high=1.5, swing=0.5, seed=seed)
        return cls(weights, np.random.default_rng(seed + 1).uniform(1, 4, dim), budget)

    def reward(self, weights: Array, x: Array) -> Array:
        return jnp.dot(weights, jnp.log1p(self.rates * x))

    def best(self, weights: Vector) -> Vector:
        total = float(self.set.capacities[0])

        def filled(level: float) -> Vector:
            return np.clip(weights / level - 1 / self.rates, 0, 1)

        return filled(
            _bisect(lambda level: float(filled(level).sum()) - total, 0.0, float((weights * self.rates).max()))
        )


def _bisect(falling: Callable[[float], float], low: float, high: float) -> float:
    """The root of a falling function, to the last bit."""
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return (low + high) / 2
