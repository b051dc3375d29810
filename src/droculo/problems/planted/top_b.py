"""The top-b quadratic: monotone and not concave, with a best point that can be read off the weights."""

import jax.numpy as jnp
import numpy as np
from jax import Array

from droculo.linearizations import Bounds, Linearization, MonotoneGeneral, MonotoneOrigin
from droculo.problems.adversaries import Adversary, PeriodicWeights
from droculo.problems.planted.base import Planted
from droculo.sets import PartitionMatroid, budget, fixed_budget
from droculo.sets.geometry import Vector


class TopB(Planted):
    """Top-b quadratic: f = h.x - sum_{i<j} x_i x_j with every h_i >= d - 1. Not concave, monotone, DR-submodular.

    On {sum x <= b} it is case A2, on {sum x = b} (`face=True`) case A1. The best point is the indicator of the b
    largest entries of the mean h, whatever the adversary does.

    >>> TopB.random(agents=3, dim=5, budget=2, seed=0).set.dim
    5
    """

    weights: Adversary
    set: PartitionMatroid
    linearization: Linearization
    bounds: Bounds

    def __init__(self, weights: Adversary, budget_size: int, *, face: bool = False):
        dim = weights.highest.shape[1]
        if not (int(budget_size) == budget_size and 1 <= budget_size < dim):
            raise ValueError(f"TopB needs a whole budget between 1 and {dim - 1}; got {budget_size}.")
        if np.any(weights.lowest < dim - 1):
            raise ValueError(
                f"TopB is monotone on the unit box only if every weight is at least d - 1 = {dim - 1}; "
                f"got {float(weights.lowest.min()):g}."
            )
        self.weights = weights
        self.set = fixed_budget(dim, budget_size) if face else budget(dim, budget_size)
        self.linearization = MonotoneGeneral() if face else MonotoneOrigin()
        highest = weights.highest
        # 0 <= df/dx_i = h_i - sum of the others <= h_i, and f <= the b largest entries of h.
        self.bounds = Bounds(
            gradient=float(np.max(np.linalg.norm(highest, axis=1))),
            value=float(np.max(np.sort(highest, axis=1)[:, -self.size :].sum(axis=1))),
            smoothness=dim - 1,  # the Hessian is I minus the matrix of ones
        )

    @classmethod
    def random(
        cls,
        *,
        agents: int,
        dim: int,
        budget: int,
        seed: int,
        swing: float = 4.0,
        spread: float = 4.0,
        face: bool = False,
    ) -> "TopB":
        """Weights d - 1 + uniform(0, spread), swinging by up to `swing` over time."""
        low = float(dim - 1)
        weights = PeriodicWeights.random(agents, dim, low=low, high=low + spread, swing=swing, seed=seed)
        return cls(weights, budget, face=face)

    @property
    def size(self) -> int:
        """The budget b."""
        return int(self.set.capacities[0])

    def reward(self, weights: Array, x: Array) -> Array:
        total = x.sum()
        return jnp.dot(weights, x) - (total**2 - jnp.dot(x, x)) / 2

    def gradient(self, agent: Array, t: Array, x: Array) -> Array:
        return self.weights.at(agent, t) - (x.sum() - x)

    def best(self, weights: Vector) -> Vector:
        point = np.zeros_like(weights)
        point[np.argsort(-weights, kind="stable")[: self.size]] = 1
        return point
