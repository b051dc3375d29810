"""Small problems with their best point at a corner of a budget set, found by enumeration."""

from itertools import combinations
from math import comb

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike, NDArray

from droculo.linearizations import Bounds, MonotoneGeneral, MonotoneOrigin
from droculo.precision import double
from droculo.problems.adversaries import Adversary, PeriodicWeights, need_nonnegative
from droculo.problems.base import Planted
from droculo.sets import budget, fixed_budget
from droculo.sets.geometry import Vector

#: more corners than this are not enumerated
MOST_CORNERS = 200_000


class Enumerated(Planted):
    """A monotone function that is convex, or linear, along every edge direction e_i - e_j: a corner is best."""

    corners: eqx.AbstractVar[Vector]

    def best(self, weights: Vector) -> Vector:
        with double():
            return self.corners[int(_best(self, jnp.asarray(weights), jnp.asarray(self.corners)))]


@eqx.filter_jit  # type: ignore[untyped-decorator]
def _best(problem: Enumerated, weights: Array, corners: Array) -> Array:
    """The place of the corner that earns most."""
    return jnp.argmax(jax.lax.map(lambda x: problem.reward(weights, x), corners, batch_size=256))


class Covering(Enumerated):
    """f = sum_e w_e (1 - prod_j (1 - p_ej x_j)): linear in every coordinate, so b whole coordinates are best."""

    chances: Vector  # p, (elements, d)
    corners: Vector

    def __init__(self, weights: Adversary, chances: Vector, budget_size: int, *, face: bool = False):
        need_nonnegative(weights)
        self.weights, self.chances = weights, chances
        dim, highest = chances.shape[1], weights.highest
        self.corners = subsets(dim, budget_size)
        self.set = fixed_budget(dim, budget_size) if face else budget(dim, budget_size)
        self.linearization = MonotoneGeneral() if face else MonotoneOrigin()
        both = np.einsum("ae,ej,ek->ajk", highest, chances, chances)  # -d2f/dx_j dx_k at most, j != k
        np.einsum("ajj->aj", both)[:] = 0
        self.bounds = Bounds(
            gradient=float(np.max(np.linalg.norm(highest @ chances, axis=1))),  # df/dx_j <= sum_e w_e p_ej
            value=float(np.max(highest.sum(axis=1))),
            smoothness=float(np.max(np.linalg.norm(both, 2, axis=(1, 2)))),
        )

    def reward(self, weights: Array, x: Array) -> Array:
        return jnp.dot(weights, 1 - jnp.prod(1 - self.chances * x, axis=1))


class Coverage(Covering):
    """Weighted coverage, extended multilinearly: f = sum_e w_e (1 - prod over the d sets j that cover e of (1 - x_j)).

    Choose b of d sets. Monotone, DR-submodular, and linear in every coordinate: its maximum over {sum x <= b} (A2) or
    {sum x = b} (`face=True`, A1) is at b whole sets, for the mean weights too.

    >>> Coverage.random(agents=3, dim=6, budget=2, elements=8, seed=0).corners.shape
    (15, 6)
    """

    def __init__(self, weights: Adversary, covers: ArrayLike, budget_size: int, *, face: bool = False):
        table = np.asarray(covers, np.float64)
        if not np.all((table == 0) | (table == 1)) or table.shape[:1] != weights.highest.shape[1:]:
            raise ValueError(
                "covers is a table of 0 and 1, one row for each weighted element, one column for each set."
            )
        super().__init__(weights, table, budget_size, face=face)

    @classmethod
    def random(
        cls, *, agents: int, dim: int, budget: int, elements: int, seed: int, share: float = 0.3, face: bool = False
    ) -> "Coverage":
        """Each set covers this share of the elements, at random; every element's weight drifts."""
        covers = np.random.default_rng(seed).uniform(size=(elements, dim)) < share
        weights = PeriodicWeights.random(agents, elements, low=0.2, high=1.0, swing=1.0, seed=seed)
        return cls(weights, covers, budget, face=face)

    @property
    def covers(self) -> Vector:
        """(elements, d): 1 where set j covers element e."""
        return self.chances


class WeakQuadratic(Enumerated):
    """gamma < 1: f = sum_k w_k (h_k.x + x.H_k x/2), H_k >= 0 entrywise and positive semidefinite, h_k = c H_k 1.

    Monotone and convex, so far from DR-submodular, yet gamma-weakly up-concave with gamma = 2c/(2c + 1); a convex
    function is largest at a corner. On {sum x <= b} it is case A2, on {sum x = b} (`face=True`) case A1.
    """

    matrices: Vector  # (kinds, d, d)
    slope: Vector  # c
    corners: Vector

    def __init__(self, weights: Adversary, matrices: ArrayLike, slope: float, budget_size: int, *, face: bool = False):
        self.weights = weights
        self.matrices = np.asarray(matrices, np.float64)
        self.slope = np.asarray(slope, np.float64)
        square = self.matrices.ndim == 3 and self.matrices.shape[1] == self.matrices.shape[2]
        if (
            not square
            or np.any(self.matrices < 0)
            or not np.allclose(self.matrices, self.matrices.transpose(0, 2, 1))
            or np.linalg.eigvalsh(self.matrices).min() < -1e-9
        ):
            raise ValueError(
                "WeakQuadratic needs matrices (kinds, d, d) with entries >= 0, symmetric and semidefinite."
            )
        if not 0 < slope < np.inf:
            raise ValueError(f"WeakQuadratic needs a positive slope c; got {slope}.")
        need_nonnegative(weights)
        dim = self.matrices.shape[1]
        gamma = 2 * slope / (2 * slope + 1)
        self.corners = subsets(dim, budget_size)
        self.set = fixed_budget(dim, budget_size) if face else budget(dim, budget_size)
        self.linearization = MonotoneGeneral(gamma) if face else MonotoneOrigin(gamma)
        largest = np.einsum("ak,kij->aij", weights.highest, self.matrices)
        steepest = (self.slope + 1) * largest.sum(axis=2)  # c H 1 + H x at x = 1
        at_corners = self.corners @ (self.slope * largest.sum(axis=2)).T
        at_corners += np.einsum("ci,aij,cj->ca", self.corners, largest, self.corners) / 2
        self.bounds = Bounds(
            gradient=float(np.max(np.linalg.norm(steepest, axis=1))),
            value=float(at_corners.max()),
            smoothness=float(np.max(np.linalg.norm(largest, 2, axis=(1, 2)))),
        )

    @classmethod
    def random(
        cls, *, agents: int, dim: int, budget: int, seed: int, slope: float = 1.0, kinds: int = 3, face: bool = False
    ) -> "WeakQuadratic":
        """A few random matrices of rank 3, mixed with drifting weights."""
        factors = np.random.default_rng(seed).uniform(size=(kinds, dim, 3))
        weights = PeriodicWeights.random(agents, kinds, low=0.2, high=1.0, swing=1.0, seed=seed)
        return cls(weights, factors @ factors.transpose(0, 2, 1) / dim, slope, budget, face=face)

    def reward(self, weights: Array, x: Array) -> Array:
        H = jnp.tensordot(weights, self.matrices, axes=1)
        return jnp.dot(self.slope * H.sum(axis=1), x) + jnp.dot(x, H @ x) / 2


def subsets(dim: int, size: int) -> Vector:
    """The indicators of all subsets with `size` of `dim` members."""
    if not (int(size) == size and 1 <= size < dim):
        raise ValueError(f"the budget must be a whole number between 1 and {dim - 1}; got {size}.")
    number = comb(dim, int(size))
    if number > MOST_CORNERS:
        raise ValueError(
            f"{dim} choose {size} is {number} corners, more than the {MOST_CORNERS} that are enumerated: make the "
            "ground set or the budget smaller."
        )
    chosen: NDArray[np.int64] = np.array(list(combinations(range(dim), int(size))))
    corners = np.zeros((number, dim))
    np.put_along_axis(corners, chosen, 1.0, axis=1)
    return corners
