"""Traps: for each case, a point where the signal g vanishes and the reward is exactly alpha times the optimum."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import Array

from droculo.linearizations import (
    Bounds,
    Linearization,
    MonotoneGeneral,
    MonotoneOrigin,
    NonMonotoneDownClosed,
    NonMonotoneGeneral,
)
from droculo.problems.adversaries import Adversary, PeriodicWeights
from droculo.problems.planted.base import Planted
from droculo.sets import PartitionMatroid, Set
from droculo.sets.geometry import Vector


class WorstCase(Planted):
    """Pairs (a, b): f = sum over pairs w (p a + q b - s a b) with a + b <= 1; best is b = 1, the trap is a = 1.

    From the trap, g points equally towards a and b, so no direction in K looks better; and the trap's action earns
    alpha times the optimum. No guarantee for the case can hold with a larger alpha. With w = 1:

        case   set        p          q      s      action at a = 1      reward there / optimum
        A1     a + b = 1  1          1 + c  c      a = 1                1/(1 + c), c the curvature
        A2     a + b <= 1 1 - 1/e    1      p      a = 1                1 - 1/e
        A3     a + b <= 1 1/2        1      3/2    a = 1/2              1/4
        A4     a + b <= 1 1/(e - 1)  1      1 + p  a = 1 - 1/e          1/e

    (Concave functions have alpha = 1: an agent that is stuck has reached the optimum.)

    >>> WorstCase.random("A3", agents=2, pairs=3, seed=0).trap.tolist()
    [1.0, 0.0, 1.0, 0.0, 1.0, 0.0]
    """

    weights: Adversary  # (agents, pairs)
    set: Set
    linearization: Linearization
    bounds: Bounds
    coefficients: tuple[Vector, Vector, Vector]  # p, q, s
    pairs: int = eqx.field(static=True)

    def __init__(self, case: str, weights: Adversary, *, curvature: float = 1.0):
        e = float(np.e)
        cases: dict[str, tuple[Linearization, float, float, float]] = {
            "A1": (MonotoneGeneral(curvature=curvature), 1.0, 1 + curvature, curvature),
            "A2": (MonotoneOrigin(), 1 - 1 / e, 1.0, 1 - 1 / e),
            "A3": (NonMonotoneGeneral(), 0.5, 1.0, 1.5),
            "A4": (NonMonotoneDownClosed(), 1 / (e - 1), 1.0, 1 + 1 / (e - 1)),
        }
        if case not in cases:
            raise ValueError(f"there are traps for the cases {', '.join(cases)}; got {case!r}.")
        if np.any(weights.lowest < 0):
            raise ValueError(f"the weights of the pairs are non-negative; got {float(weights.lowest.min()):g}.")
        self.weights = weights
        self.pairs = int(weights.highest.shape[1])
        self.linearization, p, q, s = cases[case]
        self.coefficients = (np.asarray(p), np.asarray(q), np.asarray(s))
        groups = np.repeat(np.arange(self.pairs), 2)
        self.set = PartitionMatroid(groups, np.ones(self.pairs), bases=case == "A1")
        # f is linear in a and in b: slopes p - s b and q - s a are largest in size at 0 or 1.
        steepest = np.hypot(max(p, abs(p - s)), max(q, abs(q - s)))
        highest = weights.highest
        self.bounds = Bounds(
            gradient=float(np.max(np.linalg.norm(highest, axis=1))) * float(steepest),
            value=float(highest.sum(axis=1).max()) * max(p, q),
            smoothness=float(highest.max()) * s,
        )

    @classmethod
    def random(cls, case: str, *, agents: int, pairs: int, seed: int, curvature: float = 1.0) -> "WorstCase":
        """Every pair's weight drifts."""
        return cls(
            case, PeriodicWeights.random(agents, pairs, low=0.5, high=1.0, swing=1.0, seed=seed), curvature=curvature
        )

    @property
    def trap(self) -> Vector:
        return np.tile([1.0, 0.0], self.pairs)

    def reward(self, weights: Array, x: Array) -> Array:
        p, q, s = self.coefficients
        a, b = x[0::2], x[1::2]
        return jnp.dot(weights, p * a + q * b - s * a * b)

    def best(self, weights: Vector) -> Vector:
        return np.tile([0.0, 1.0], self.pairs)
