"""The point of a hull nearest to a given one: Wolfe's method, in terms of inner products alone.

Given points p_1, ..., p_m of R^d and y, x = sum w_i p_i is a convex combination of the points. The search needs only
gram[i, j] = <p_i, p_j> + unit and target[i] = <p_i, y> (up to a constant). (P. Wolfe, Finding the nearest point in a
polytope, Mathematical Programming 11, 1976.)
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array


class Corral(eqx.Module):
    """The weights, and the inverse of gram restricted to the points in the support (zero in all other rows).

    A point that joins or leaves the support changes the inverse by an outer product. Points with weight that are missing
    from the inverse are added first, so a zero inverse is always a valid initial value.
    """

    weights: Array  # (m,)
    inverse: Array  # (m, m)


class _Walk(NamedTuple):
    corral: Corral
    slope: Array  # (m,): <p, y - x> for every p, up to a constant
    drop: Array  # the decrease of half the squared distance since a point last joined
    fresh: Array  # True once the inverse has been reset
    steps: Array
    settled: Array


def nearest(
    gram: Array, target: Array, used: Array, start: Corral, *, floor: Array, enough: Array, ridge: Array, idle: Array
) -> Corral:
    """The weights of the point nearest to y in the hull of the `used` points, up to <p - x, y - x> <= floor for each p.

    The search also stops at any point whose w.gram w - 2 w.target is at most `enough`. `ridge` keeps the inverse finite
    where points coincide. Nothing is done for an `idle` agent of a batch.
    """
    m = target.shape[0]
    index = jnp.arange(m)
    itself = index[:, None] == index[None, :]

    def body(s: _Walk) -> _Walk:
        w, H = s.corral.weights, s.corral.inverse
        support = jnp.where(itself, H, 0).sum(axis=1) > 0
        unknown = (w > 0) & ~support
        waits = jnp.any(unknown)
        # Towards the nearest point of the support's affine hull, as far as all weights stay positive.
        aim = _newton(H, s.slope)
        room = jnp.where(support & (w + aim < 0), -w / aim, jnp.inf)
        blocker, least = jnp.argmin(room), jnp.min(room)
        leaves = ~waits & (least < 1)
        whole = ~waits & ~leaves
        step = jnp.where(waits, 0, jnp.minimum(least, 1))
        moved = jnp.where(leaves & (index == blocker), 0, jnp.maximum(w + step * aim, 0))
        w = jnp.where(jnp.abs(moved.sum() - 1) < 0.5, moved / moved.sum(), w)
        slope = target - gram @ w
        mean = jnp.dot(w, slope)
        value = -(jnp.dot(w, target) + mean) / 2
        # Not a difference of two values: a small gain changes the value by its square, which rounding would hide.
        drop = s.drop + jnp.dot(w - s.corral.weights, s.slope + slope - 2 * mean) / 2
        gain = jnp.where(used, slope - mean, -jnp.inf)
        newcomer = jnp.argmax(jnp.floor(gain / floor))  # so that ties are not broken by rounding
        known = jnp.any(support & (index == newcomer))
        beyond = whole & (jnp.max(gain) > floor)
        falls = drop > 0
        again = beyond & falls
        changed = jnp.where(waits, jnp.argmax(unknown.astype(w.dtype)), jnp.where(leaves, blocker, newcomer))
        H, sound = _swap(H, gram, index == changed, waits | (again & ~known), leaves, ridge)
        # A point of the support lies beyond the plane through x although no step brings x nearer, or the inverse has
        # impossible entries: rounding errors have accumulated in it, and it is reset.
        stale = (beyond & ~falls & known) | ~sound
        corral = Corral(w, jnp.where(stale, 0, H))
        steps = s.steps + 1
        over = (stale & s.fresh) | (whole & ~again & ~stale) | (steps >= 20 * m) | ~jnp.isfinite(value)
        settled = over | (2 * value <= enough)
        return _Walk(corral, slope, jnp.where(whole, 0, drop), s.fresh | stale, steps, settled)

    never = jnp.asarray(np.inf, target.dtype)
    slope = target - gram @ start.weights
    walk = _Walk(start, slope, never, jnp.zeros((), bool), jnp.zeros((), jnp.int32), idle)
    return jax.lax.while_loop(lambda s: ~s.settled, body, walk).corral


def _newton(inverse: Array, slope: Array) -> Array:
    """The change of weights, summing to zero, that takes x to the nearest point of the support's affine hull."""
    flat = inverse.sum(axis=1)
    free = inverse @ slope
    mass = flat.sum()
    return free - free.sum() / jnp.where(mass > 0, mass, 1) * flat


def _swap(inverse: Array, gram: Array, here: Array, joins: Array, leaves: Array, ridge: Array) -> tuple[Array, Array]:
    """The inverse after the point at `here` joins or leaves the support, or neither; and False if it cannot be right."""
    one = here.astype(gram.dtype)
    column, own = one @ gram, one @ inverse
    reach = inverse @ column
    rest = jnp.maximum(jnp.dot(one, column) + ridge - jnp.dot(column, reach), ridge)
    pivot = jnp.dot(one, own)
    q = jnp.where(joins, reach - one, own)
    scale = jnp.where(joins, 1 / rest, jnp.where(leaves, -1 / jnp.where(pivot > 0, pivot, 1), 0))
    size = jnp.max(q**2) * jnp.abs(scale)
    gone = leaves & here
    after = jnp.where(gone[:, None] | gone[None, :], 0, inverse + scale * q[:, None] * q[None, :])
    return after, size <= 100 / ridge  # no entry of the true one is above 1/ridge
