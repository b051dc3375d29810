"""Searches on the host that use only a set's linear oracle: a point of least sup-norm, and distances."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy

from droculo.precision import double
from droculo.sets.geometry import Vector

if TYPE_CHECKING:
    from droculo.sets.contract import Set

HostOracle = Callable[[Vector], Vector]

#: The searches stop with an error after this many vertices, plus some for every coordinate.
MOST_VERTICES = 1000

#: Two vertices of a set of radius R this close, relative to R, are the same vertex.
SAME = 1e-14


@eqx.filter_jit  # type: ignore[untyped-decorator]
def _argmax(set_: Set, direction: jax.Array) -> jax.Array:
    return set_.argmax(direction)


def host_argmax(set_: Set, /) -> HostOracle:
    """The oracle of `set_` as a function of NumPy vectors, in double precision."""
    host = getattr(set_, "host", None)
    if host is not None:  # the oracle runs on the host anyway: no round trip through compiled code
        return host.argmax

    def oracle(direction: Vector) -> Vector:
        with double():
            return np.asarray(_argmax(set_, jnp.asarray(direction, jnp.float64)), np.float64)

    return oracle


def least_sup_norm(set_: Set, /, tolerance: float = 1e-9) -> Vector:
    """A point of K of least sup-norm, min max_i |x_i|, up to `tolerance` times the radius."""
    return least_sup_norm_by(host_argmax(set_), set_.dim, float(set_.radius), tolerance)


def least_sup_norm_by(oracle: HostOracle, dim: int, radius: float, tolerance: float = 1e-9) -> Vector:
    """The same, from an oracle alone, by column generation.

    The master problem is min { t : -t <= sum_k lambda_k v_k <= t, lambda in the simplex } over the known
    vertices. Its dual w has |w|_1 <= 1, so |x|_inf >= <w, x> >= min_K <w, .> for every x in K: one call of
    the oracle both bounds the distance of the master's t from the optimum and supplies the next vertex.
    """
    scale = radius if radius > 0 else 1.0
    vertices = [oracle(-np.ones(dim)) / scale]
    cap = MOST_VERTICES + 20 * dim
    for _ in range(cap):
        point, dual = _master(np.stack(vertices, axis=1))
        vertex = oracle(-dual) / scale
        # The relative gap is measured at the point itself: the LP solver's value is not exact enough.
        known = np.any(np.abs(np.stack(vertices) - vertex).max(axis=1) <= SAME)
        if known or np.abs(point).max() - dual @ vertex <= tolerance:
            return point * scale
        vertices.append(vertex)
    raise RuntimeError(
        f"the search for a point of least sup-norm did not converge within {cap} vertices, to tolerance {tolerance}. "
        "Pass anchor=... when you make the set, or pass a larger tolerance."
    )


def _master(columns: Vector) -> tuple[Vector, Vector]:
    """The best convex combination of the columns, and the dual vector that prices another column."""
    dim, count = columns.shape
    bound = -np.ones((dim, 1))
    result = scipy.optimize.linprog(
        np.append(np.zeros(count), 1.0),
        A_ub=np.block([[columns, bound], [-columns, bound]]),
        b_ub=np.zeros(2 * dim),
        A_eq=np.append(np.ones(count), 0.0)[None, :],
        b_eq=[1.0],
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if result.x is None:
        raise RuntimeError(
            f"the linear program over {count} known vertices was not solved: {result.message} "
            "Check that the oracle returns finite points of the set."
        )
    weights = np.maximum(result.x[:count], 0)
    prices = -result.ineqlin.marginals
    dual = prices[:dim] - prices[dim:]
    return columns @ (weights / weights.sum()), dual / max(1.0, np.abs(dual).sum())


def distance(set_: Set, x: Vector, /, tolerance: float = 1e-9) -> float:
    """The Euclidean distance of x to K: not too small, and too large by at most `tolerance`."""
    return distance_by(host_argmax(set_), np.asarray(x, np.float64), tolerance)


def distance_by(
    oracle: HostOracle, x: Vector, tolerance: float = 1e-9, *, beyond: float = np.inf, calls: int | None = None
) -> float:
    """The same, from an oracle alone; stops early once the distance is certain to be larger than `beyond`. After so many
    `calls` of the oracle, where a number is given, it returns the largest distance that is proven.

    Wolfe's algorithm for the point of least norm in K - x: the best combination of the active atoms is
    corrected exactly before the oracle is asked again. With y the current point and v the vertex of K - x
    that minimises <y, .>, the distance lies between <y, v>/|y| and |y|.
    """
    atoms = (oracle(-np.ones_like(x)) - x)[None, :]
    weights = np.ones(1)
    cap = MOST_VERTICES + 100 * len(x) if calls is None else calls
    last, proven = np.inf, 0.0
    for _ in range(cap):
        y = weights @ atoms
        norm = float(np.linalg.norm(y))
        if norm <= tolerance or norm >= last:  # every correction brings y closer, up to rounding
            return min(norm, last)
        last = norm
        vertex = oracle(-y) - x
        below = float(y @ vertex) / norm
        proven = max(proven, below)
        # No progress is possible below rounding, however small the tolerance.
        rounding = 8 * np.finfo(np.float64).eps * float(np.abs(atoms).max())
        repeated = bool(np.any(np.abs(atoms - vertex).max(axis=1) <= rounding))
        if norm - below <= max(tolerance, rounding) or below > beyond or repeated:
            return norm
        atoms, weights = _corrected(np.vstack([atoms, vertex]), np.append(weights, 0.0))
    if calls is not None:
        return proven
    raise RuntimeError(
        f"the distance of a point to the set was not found within {cap} calls of its oracle, to tolerance "
        f"{tolerance}. Check that the oracle maximises over one fixed set, or pass a larger tolerance."
    )


def _corrected(atoms: Vector, weights: Vector) -> tuple[Vector, Vector]:
    """The atoms and weights of the point of least norm in the atoms' hull, starting from the given weights.

    Move towards the least norm in the affine hull; an atom whose weight reaches zero on the way is dropped,
    which happens at most once per atom.
    """
    while len(atoms) > 1:
        edges = (atoms[1:] - atoms[0]).T
        tail = np.linalg.lstsq(edges, -atoms[0], rcond=None)[0]
        target = np.append(1 - tail.sum(), tail)
        if np.all(target > 0):
            return atoms, target
        falling = target <= 0
        drop = weights[falling] - target[falling]
        step = float(np.min(np.divide(weights[falling], drop, out=np.zeros_like(drop), where=drop > 0)))
        weights = np.where(falling | (target > 0), weights + step * (target - weights), 0.0)
        keep = weights > 1e-15
        keep[np.flatnonzero(falling)[np.argmin(weights[falling])]] = False
        atoms, weights = atoms[keep], weights[keep] / weights[keep].sum()
    return atoms, np.ones(1)
