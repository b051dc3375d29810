"""Projections that reduce to finding one multiplier, and the constraint that a point violates most."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike


def filled_up_to(y: Array, total: ArrayLike, *, weights: ArrayLike = 1.0, groups: Array | None = None) -> Array:
    """The point nearest to y of {0 <= x <= 1, weights.x <= total}, with weights >= 0 and total > 0.

    With `groups` there is one sum for every group g, at most total[g].

    >>> import jax.numpy as jnp
    >>> filled_up_to(jnp.array([1.0, 0.5, 0.25]), 1.0).tolist()
    [0.75, 0.25, 0.0]
    """
    clipped = jnp.clip(y, 0, 1)
    fits = _sum(clipped * weights, total, groups) <= total
    filled = _filled(y, total, weights, groups, least=0.0)
    return jnp.where(fits if groups is None else fits[groups], clipped, filled)


def filled_to(y: Array, total: ArrayLike, *, groups: Array | None = None) -> Array:
    """The point nearest to y of {0 <= x <= 1, sum x = total}, where total is at most the number of coordinates.

    >>> import jax.numpy as jnp
    >>> filled_to(jnp.array([1.0, 0.25, 0.0]), 2.0).tolist()
    [1.0, 0.625, 0.375]
    """
    return _filled(y, total, 1.0, groups, least=-jnp.inf)


def shrunk_to(y: Array, size: Array) -> Array:
    """The point nearest to y >= 0 of {x >= 0, sum x <= size}.

    >>> import jax.numpy as jnp
    >>> shrunk_to(jnp.array([3.0, 2.5, 1.0]), jnp.array(2.0)).tolist()
    [1.25, 0.75, 0.0]
    """
    # A sum of 1 implies that every coordinate is at most 1.
    return jnp.where(y.sum() <= size, y, size * filled_to(y / size, 1.0))


def _filled(y: Array, total: ArrayLike, weights: ArrayLike, groups: Array | None, least: float) -> Array:
    """clip(y - level * weights, 0, 1) with the level >= least at which the weighted sums are `total`.

    By bisection: for 20 coordinates this is as fast as evaluating all breakpoints at once and six times as fast as
    sorting them. The remaining error, also from rounding of a far-away y, is then removed from the free coordinates.
    """
    total = jnp.asarray(total, y.dtype)
    weights = jnp.asarray(weights, y.dtype)
    heavy = jnp.where(weights > 0, weights, 1)

    def at(level: Array) -> Array:
        return jnp.clip(y - (level if groups is None else level[groups]) * weights, 0, 1)

    def halve(_: Array, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        middle = (ends[0] + ends[1]) / 2
        more = _sum(at(middle) * weights, total, groups) > total
        return jnp.where(more, middle, ends[0]), jnp.where(more, ends[1], middle)

    low = jnp.maximum(-_max(jnp.where(weights > 0, (1 - y) / heavy, -jnp.inf), total, groups), least)
    high = jnp.maximum(_max(jnp.where(weights > 0, y / heavy, -jnp.inf), total, groups), low)
    x = at(jax.lax.fori_loop(0, np.finfo(y.dtype).nmant, halve, (low, high))[1])
    slope = jnp.where((x > 0) & (x < 1), weights, 0)
    steepness = _sum(slope * weights, total, groups)
    rest = (_sum(x * weights, total, groups) - total) / jnp.where(steepness > 0, steepness, jnp.inf)
    return jnp.clip(x - (rest if groups is None else rest[groups]) * slope, 0, 1)


def _sum(values: Array, total: ArrayLike, groups: Array | None) -> Array:
    return values.sum() if groups is None else jax.ops.segment_sum(values, groups, num_segments=jnp.shape(total)[0])


def _max(values: Array, total: ArrayLike, groups: Array | None) -> Array:
    return values.max() if groups is None else jax.ops.segment_max(values, groups, num_segments=jnp.shape(total)[0])


def most_violated(x: Array, lower: ArrayLike, upper: ArrayLike, *others: tuple[Array, ArrayLike]) -> Array:
    """The outer unit normal of the constraint that x violates most.

    The constraints are lower <= x <= upper and `others`: pairs of the violation and the unit normal.

    >>> import jax.numpy as jnp
    >>> most_violated(jnp.array([0.5, -2.0]), 0.0, 1.0).tolist()
    [0.0, -1.0]
    """
    x = jnp.asarray(x)
    beyond = jnp.maximum(x - upper, lower - x)
    axis = jnp.argmax(beyond)
    normal = jnp.where(jnp.arange(x.shape[0]) == axis, jnp.where(x > upper, 1, -1), 0).astype(x.dtype)
    most = beyond[axis]
    for distance, other in others:
        normal = jnp.where(distance > most, jnp.asarray(other, x.dtype), normal)
        most = jnp.maximum(most, distance)
    return normal
