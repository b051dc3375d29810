"""Membership up to rounding."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from droculo.precision import double
from droculo.sets.contract import Set
from droculo.sets.search import distance_by, host_argmax

#: where membership is a search with the linear oracle: how many points are looked at, and calls of the oracle for each
LOOKS, CALLS = 32, 100


def slack(dtype: Any, domain: Set) -> Array:
    """The tolerance at which a computed point counts as inside: well above rounding, well below any real mistake."""
    return jnp.asarray(np.sqrt(np.finfo(dtype).eps) / 16, dtype) * jnp.maximum(1, domain.radius)


def is_near(domain: Set, x: Array, distance: float | Array = 0.0) -> Array:
    """False if x is certainly farther than `distance` from K.

    x is compared with the ball of radius R around the origin, and with K itself where `contains` is fast.
    """
    beyond = distance + slack(x.dtype, domain)
    near = jnp.linalg.norm(x) <= domain.radius + beyond
    # A point at this distance can violate a constraint by a multiple of it, in a knapsack by sqrt(d) times as much.
    return near & domain.contains(x, beyond * np.sqrt(domain.dim)) if domain.has_fast_contains else near


def count_outside(domain: Set, points: NDArray[np.floating], tolerance: float | None = None) -> int:
    """How many of the points (..., d) lie outside K, by default by more than rounding in their own precision explains."""
    with double():
        margin = slack(points.dtype, domain) if tolerance is None else jnp.asarray(tolerance)
        inside = _inside(domain, jnp.asarray(points.reshape(-1, domain.dim), jnp.float64), margin)
        return int(np.sum(~np.asarray(inside)))


def outside_of_a_sample(
    domain: Set, points: NDArray[np.floating], looks: int = LOOKS, seed: int = 0, calls: int | None = CALLS
) -> int:
    """How many of the points (..., d) are certainly outside K: of all of them, or of a few where membership is a search.

    Such a search ends after so many `calls` of the oracle: a point that it has not separated from K by then passes for inside.
    None lets it decide.
    """
    if domain.has_fast_contains:
        return count_outside(domain, points)
    rows = sample(domain, points, looks, seed).astype(np.float64)
    with double():
        margin = float(slack(points.dtype, domain))
    oracle = host_argmax(domain)
    return sum(distance_by(oracle, x, margin / 4, beyond=margin, calls=calls) > margin for x in rows)


def sample(domain: Set, points: NDArray[np.floating], looks: int = LOOKS, seed: int = 0) -> NDArray[np.floating]:
    """All points (..., d) as rows, or a few of them, chosen at random, where membership is a search."""
    rows = points.reshape(-1, domain.dim)
    if domain.has_fast_contains or len(rows) <= looks:
        return rows
    return rows[np.random.default_rng(seed).choice(len(rows), looks, replace=False)]


@eqx.filter_jit  # type: ignore[untyped-decorator]
def _inside(domain: Set, points: Array, tolerance: Array) -> Array:
    return jax.lax.map(lambda point: domain.contains(point, tolerance), points, batch_size=1024)
