"""Traps: a point from which nothing looks better for every case, and one where plain ascent stays at next to nothing."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import Array

from droculo.linearizations import Bounds, Linearization, cases
from droculo.problems.adversaries import Adversary, PeriodicWeights, Switching, need_nonnegative
from droculo.problems.base import Planted
from droculo.sets import PartitionMatroid
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

    coefficients: tuple[Vector, Vector, Vector]  # p, q, s
    pairs: int = eqx.field(static=True)

    def __init__(self, case: str, weights: Adversary, *, curvature: float = 1.0):
        e = float(np.e)
        traps: dict[str, tuple[Linearization, float, float, float]] = {
            "A1": (cases.MonotoneGeneral(curvature=curvature), 1.0, 1 + curvature, curvature),
            "A2": (cases.MonotoneOrigin(), 1 - 1 / e, 1.0, 1 - 1 / e),
            "A3": (cases.NonMonotoneGeneral(), 0.5, 1.0, 1.5),
            "A4": (cases.NonMonotoneDownClosed(), 1 / (e - 1), 1.0, 1 + 1 / (e - 1)),
        }
        if case not in traps:
            raise ValueError(f"there are traps for the cases {', '.join(traps)}; got {case!r}.")
        need_nonnegative(weights, "the weights of the pairs are")
        self.weights, self.pairs = weights, int(weights.highest.shape[1])
        self.linearization, p, q, s = traps[case]
        self.coefficients = (np.asarray(p), np.asarray(q), np.asarray(s))
        self.set = PartitionMatroid(np.repeat(np.arange(self.pairs), 2), np.ones(self.pairs), bases=case == "A1")
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
        weights = PeriodicWeights.random(agents, pairs, low=0.5, high=1.0, swing=1.0, seed=seed)
        return cls(case, weights, curvature=curvature)

    @property
    def trap(self) -> Vector:
        return np.tile([1.0, 0.0], self.pairs)

    def reward(self, weights: Array, x: Array) -> Array:
        p, q, s = self.coefficients
        a, b = x[0::2], x[1::2]
        return jnp.dot(weights, p * a + q * b - s * a * b)

    def best(self, weights: Vector) -> Vector:
        return np.tile([0.0, 1.0], self.pairs)


class Spike(Planted):
    """Pairs (a, b): f = sum over pairs u a + v (eps a + b - (1 + eps) a b) with a + b <= 1. Non-monotone, for u = 0.

    At a = 1 f falls in every direction, so that ascent along its gradient stays there for ever, and earns eps times the optimum, b = 1,
    which is less than alpha. The guaranteed action of A3 and A4 leaves. The weights of an agent are u, which rewards a alone, and v: where
    u comes first and then goes (`pushed`), agents that start anywhere are led there.

    >>> Spike.random("A4", agents=2, pairs=3, seed=0).trap.tolist()
    [1.0, 0.0, 1.0, 0.0, 1.0, 0.0]
    """

    eps: Vector
    pairs: int = eqx.field(static=True)

    def __init__(self, case: str, weights: Adversary, *, eps: float = 0.02):
        kinds = {"A3": cases.NonMonotoneGeneral, "A4": cases.NonMonotoneDownClosed}
        if case not in kinds:
            raise ValueError(f"there are spikes for the cases {', '.join(kinds)}; got {case!r}.")
        entries = int(weights.highest.shape[1])
        if entries % 2:
            raise ValueError(f"Spike needs two weights for each pair, first all u and then all v; got {entries}.")
        if not (np.ndim(eps) == 0 and 0 < eps < 1):
            raise ValueError(f"eps is what the trap earns, as a share of the best, between 0 and 1; got {eps}.")
        need_nonnegative(weights, "the weights of the pairs are")
        self.weights, self.pairs, self.eps = weights, entries // 2, np.asarray(eps, np.float64)
        self.linearization = kinds[case]()
        self.set = PartitionMatroid(np.repeat(np.arange(self.pairs), 2), np.ones(self.pairs))
        u, v = weights.highest[:, : self.pairs], weights.highest[:, self.pairs :]
        # The slopes are u + v (eps - (1 + eps) b) and v (1 - (1 + eps) a).
        self.bounds = Bounds(
            gradient=float(np.linalg.norm(np.hypot(u + v, v), axis=1).max()),
            value=float((u + v).sum(axis=1).max()),
            smoothness=float(v.max()) * (1 + eps),
        )

    @classmethod
    def random(cls, case: str, *, agents: int, pairs: int, seed: int, eps: float = 0.02) -> "Spike":
        """u = 0, and every v drifts: start agents in the trap."""
        drawn = PeriodicWeights.random(agents, pairs, low=0.5, high=1.0, swing=1.0, seed=seed)
        parts = (np.hstack([0 * part, part]) for part in (drawn.base, drawn.height, drawn.speed, drawn.phase))
        return cls(case, PeriodicWeights(*parts), eps=eps)

    @classmethod
    def pushed(cls, case: str, *, agents: int, pairs: int, seed: int, rounds: int, eps: float = 0.02) -> "Spike":
        """For so many rounds a alone is rewarded, and from then on b."""
        drawn = np.random.default_rng(seed).uniform(0.5, 1.5, (agents, pairs))
        phases = np.stack([np.hstack([drawn, 0 * drawn]), np.hstack([0 * drawn, drawn])])
        return cls(case, Switching(phases, every=rounds, opening=1), eps=eps)

    @property
    def trap(self) -> Vector:
        return np.tile([1.0, 0.0], self.pairs)

    def reward(self, weights: Array, x: Array) -> Array:
        u, v = weights[: self.pairs], weights[self.pairs :]
        a, b = x[0::2], x[1::2]
        return jnp.dot(u, a) + jnp.dot(v, self.eps * a + b - (1 + self.eps) * a * b)

    def best(self, weights: Vector) -> Vector:
        u, v = weights[: self.pairs], weights[self.pairs :]
        first = u + self.eps * v > v  # f is linear in a and in b, and convex where a + b = 1: a vertex is best
        return np.stack([first, ~first], axis=1).ravel().astype(np.float64)
