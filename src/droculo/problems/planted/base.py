"""What planted problems share: they are affine in an adversary's weights, and know the best point for any weights."""

from abc import abstractmethod
from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from droculo.linearizations import Bounds, Linearization
from droculo.precision import double
from droculo.problems.adversaries import Adversary
from droculo.problems.base import Comparator, Problem
from droculo.sets import Set
from droculo.sets.geometry import Vector


class Planted(Problem):
    """f_{t,i} = reward(w_{t,i}, x), affine in w: the mean of f over rounds and agents is f of the mean weights.

    So the best fixed point in hindsight is `best(mean weights)`, exactly, whatever the adversary does.
    """

    weights: Adversary
    set: Set
    linearization: Linearization
    bounds: Bounds

    @property
    def agents(self) -> int:
        return self.weights.agents

    @abstractmethod
    def best(self, weights: Vector) -> Vector:
        """The maximiser over K for the given weights."""

    @abstractmethod
    def reward(self, weights: Array, x: Array) -> Array:
        """f for the given weights, affine in them."""

    def value(self, agent: Array, t: Array, x: Array) -> Array:
        return self.reward(self.weights.at(agent, t), x)

    def comparator(self, horizon: int, agents: NDArray[np.int64]) -> Comparator:
        return self.comparators([horizon], agents)[0]

    def comparators(self, horizons: Sequence[int], agents: NDArray[np.int64]) -> list[Comparator]:  # type: ignore[override]
        found = []
        for horizon, total in zip(horizons, self.weights.totals(horizons, agents), strict=True):
            mean = total / horizon
            point = self.best(mean)
            with double():
                earned = horizon * float(self.reward(jnp.asarray(mean), jnp.asarray(point)))
            found.append(Comparator.exact(point, earned))
        return found
