"""The non-convex quadratic (NQP): the usual benchmark of DR-submodular maximisation."""

import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from droculo.linearizations import Bounds
from droculo.linearizations.cases import check_unit_box, of_case
from droculo.precision import double
from droculo.problems.base import Posed
from droculo.sets import Polytope, Set
from droculo.sets.geometry import Vector


class NQP(Posed):
    """Non-convex quadratic: f = x.Hx/2 + h.x + c with every entry of H at most 0. DR-submodular, not concave.

    Agent i goes through a few (H, h, c) of its own in turn, one a round, on a set in the unit box. With h >= -H 1 it
    is monotone (cases A1, A2). If not, c must lift f above 0 on the whole box (A3, or A4 on a down-closed set), and
    a large c empties alpha-regret of meaning: every point earns nearly c. Compare rewards, or use the certificate.

    The family is that of Bian et al. (Guaranteed non-convex optimization, AISTATS 2017).

    >>> NQP.random(agents=2, dim=5, constraints=3, seed=0).matrices.shape
    (2, 4, 5, 5)
    """

    matrices: Vector  # (agents, kinds, d, d)
    slopes: Vector  # (agents, kinds, d)
    constants: Vector  # (agents, kinds)

    def __init__(self, matrices: ArrayLike, slopes: ArrayLike, constants: ArrayLike, domain: Set, *, case: str = "A4"):
        H, h, c = (np.asarray(numbers, np.float64) for numbers in (matrices, slopes, constants))
        self.linearization = of_case(case, "A1", "A2", "A3", "A4")
        check_unit_box(domain, "NQP")
        self.matrices, self.slopes, self.constants, self.set = H, h, c, domain
        dim = domain.dim
        if H.ndim != 4 or H.shape[2:] != (dim, dim) or h.shape != H.shape[:3] or c.shape != H.shape[:2]:
            raise ValueError(
                f"NQP on a set of {dim} coordinates needs matrices (agents, kinds, {dim}, {dim}), slopes (agents, kinds, "
                f"{dim}) and constants (agents, kinds); got {H.shape}, {h.shape} and {c.shape}."
            )
        self.agents = len(H)
        _check_class(H, h, c, monotone=case in ("A1", "A2"))
        with double():
            most = float(jnp.sum(domain.argmax(jnp.ones(domain.dim))))  # sum(x) at most
        # x >= 0 and H <= 0: grad f = h + Hx lies between h and h - (largest |H_jk| of row j) sum(x).
        lowest = h - np.abs(H).max(axis=3) * most
        self.bounds = Bounds(
            gradient=float(np.linalg.norm(np.maximum(np.abs(h), np.abs(lowest)), axis=2).max()),
            value=float(np.max(c + np.maximum(h, 0).max(axis=2) * most)),  # 0 <= f <= c + h.x
            smoothness=float(np.linalg.norm(H, 2, axis=(2, 3)).max()),
        )

    @classmethod
    def random(cls, *, agents: int, dim: int, constraints: int, seed: int, kinds: int = 4, case: str = "A4") -> "NQP":
        """H = -10 times a symmetrised uniform matrix, h = -0.1 H 1, c = -sum(H)/2 on {Ax <= 1, 0 <= x <= 1}, A uniform.

        The numbers of earlier experiments by the paper's authors, with (dim, constraints) = (25, 15), (40, 20) and
        (50, 50). Not monotone: f falls towards x = 1. Case A4 has the larger alpha; A3 also learns from values alone.
        """
        H, polytope = _draw(agents, dim, constraints, seed, kinds)
        return cls(H, -0.1 * H.sum(axis=3), -H.sum(axis=(2, 3)) / 2, polytope, case=case)

    @classmethod
    def monotone(cls, *, agents: int, dim: int, constraints: int, seed: int, kinds: int = 4) -> "NQP":
        """The same matrices and polytope with h = -H 1 and c = 0: monotone, so it needs no shift (case A2)."""
        H, polytope = _draw(agents, dim, constraints, seed, kinds)
        return cls(H, -H.sum(axis=3), np.zeros(H.shape[:2]), polytope, case="A2")

    def _at(self, agent: Array, t: Array) -> tuple[Array, Array, Array]:
        kind = t % self.matrices.shape[1]
        H, h, c = (jnp.asarray(table)[agent, kind] for table in (self.matrices, self.slopes, self.constants))
        return H, h, c

    def value(self, agent: Array, t: Array, x: Array) -> Array:
        H, h, c = self._at(agent, t)
        return jnp.dot(x, H @ x / 2 + h) + c

    def gradient(self, agent: Array, t: Array, x: Array) -> Array:
        H, h, _ = self._at(agent, t)
        return H @ x + h


def _draw(agents: int, dim: int, constraints: int, seed: int, kinds: int) -> tuple[Vector, Polytope]:
    rng = np.random.default_rng(seed)
    drawn = rng.uniform(size=(agents, kinds, dim, dim))
    polytope = Polytope(rng.uniform(size=(constraints, dim)), np.ones(constraints), np.zeros(dim), np.ones(dim))
    return -5 * (drawn + drawn.transpose(0, 1, 3, 2)), polytope


def _check_class(H: Vector, h: Vector, c: Vector, *, monotone: bool) -> None:
    if not np.all(H <= 0) or not np.allclose(H, H.transpose(0, 1, 3, 2)):
        raise ValueError(
            f"NQP needs symmetric matrices without a positive entry, for diminishing returns; the largest entry is "
            f"{H.max():g}. Write (H + H.T)/2 for a matrix that is not symmetric."
        )
    least = float(np.min(h + H.sum(axis=3)))  # of the gradient on the box: at x = 1
    if monotone and (least < -1e-9 * (1 + np.abs(h).max()) or c.min() < 0):
        raise ValueError(
            f"a monotone NQP (case A1 or A2) needs h >= -H 1 and c >= 0; got a slope of {least:g} at x = 1 and a least "
            f"constant of {c.min():g}. Use case A3 or A4, with a constant that keeps f non-negative."
        )
    floor = float(np.min(c + H.sum(axis=(2, 3)) / 2 + np.minimum(h, 0).sum(axis=2)))  # f is never below it on the box
    if not monotone and not floor >= -1e-9 * (1 + np.abs(c).max()):
        raise ValueError(
            f"f must be non-negative on the unit box, which c >= -sum(H)/2 - sum(min(h, 0)) ensures; got constants "
            f"that are up to {-floor:g} too small. Raise them."
        )
