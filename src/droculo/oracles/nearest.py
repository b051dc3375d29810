"""The point of a hull nearest to a given one: Wolfe's method, in terms of inner products alone.

Points p_1, ..., p_m of R^d, and y. Whoever has weight makes up x = sum w_i p_i. The search needs to know only
gram[i, j] = <p_i, p_j> + unit and target[i] = <p_i, y> (up to a constant). (P. Wolfe, Finding the nearest point in a
polytope, Mathematical Programming 11, 1976.)
"""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array


class Corral(eqx.Module):
    """Weights, and the inverse of gram among those who have some (zero for everybody else).

    Who joins or leaves changes the inverse by an outer product. Somebody with weight whom the inverse does not know yet
    joins first; so an inverse of zeros is always a valid start.
    """

    weights: Array  # (m,)
    inverse: Array  # (m, m)


class _Walk(NamedTuple):
    corral: Corral
    slope: Array  # (m,): <p, y - x> for every p, up to a constant
    drop: Array  # by how much half the squared distance fell since somebody was last let in
    fresh: Array  # whether the inverse was begun anew
    steps: Array
    settled: Array


def nearest(
    gram: Array, target: Array, used: Array, start: Corral, *, floor: Array, enough: Array, ridge: Array, idle: Array
) -> Corral:
    """The weights of the nearest point, among those `used`, to within <p - x, y - x> <= floor for each of them; or of any
    point whose w.gram w - 2 w.target is at most `enough`.

    `ridge` keeps the inverse finite where points coincide. An `idle` agent of a batch does nothing.
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
        # Not as a difference of values: rounding would hide what a small gain brings, its square.
        drop = s.drop + jnp.dot(w - s.corral.weights, s.slope + slope - 2 * mean) / 2
        gain = jnp.where(used, slope - mean, -jnp.inf)
        newcomer = jnp.argmax(jnp.floor(gain / floor))  # rounding does not choose among equals
        known = jnp.any(support & (index == newcomer))
        beyond = whole & (jnp.max(gain) > floor)
        falls = drop > 0
        again = beyond & falls
        who = jnp.where(waits, jnp.argmax(unknown.astype(w.dtype)), jnp.where(leaves, blocker, newcomer))
        H, sound = _swap(H, gram, index == who, waits | (again & ~known), leaves, ridge)
        # One of the support beyond the plane through x, and no step brings x nearer; or numbers that cannot be: rounding has
        # worn the inverse out.
        worn = (beyond & ~falls & known) | ~sound
        corral = Corral(w, jnp.where(worn, 0, H))
        steps = s.steps + 1
        over = (worn & s.fresh) | (whole & ~again & ~worn) | (steps >= 20 * m) | ~jnp.isfinite(value)
        settled = over | (2 * value <= enough)
        return _Walk(corral, slope, jnp.where(whole, 0, drop), s.fresh | worn, steps, settled)

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
    """The inverse once the one who is `here` joins the support, or leaves it, or neither; and whether it can be right."""
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
