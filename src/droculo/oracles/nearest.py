"""The nearest point of a hull of few points: a small least-squares problem over a simplex, solved exactly."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array


class _Search(NamedTuple):
    weights: Array  # on the simplex, zero outside of the support
    support: Array
    steps: Array
    done: Array


def nearest_weights(gram: Array, usable: Array, weights: Array, idle: Array) -> Array:
    """Weights w on the simplex that minimise w.gram w, where gram[i, j] = <p_i - y, p_j - y>: then sum w_i p_i is the
    point of the hull of the usable p_i nearest to y.

    Wolfe's method: on the current support the affine minimiser solves a small linear system; where that leaves the
    simplex, go as far as it allows and drop who blocks; else let in whoever lies furthest beyond the plane through the
    current point, until nobody does. Starts from feasible `weights` (and leaves them alone if
    `idle`); exact up to rounding, and always ends. (P. Wolfe,
    Finding the nearest point in a polytope, Mathematical Programming 11, 1976.)
    """
    m = gram.shape[0]
    eps = float(np.finfo(gram.dtype).eps)
    scale = jnp.max(jnp.where(usable, jnp.diagonal(gram), 0))
    floor = 16 * eps * scale

    def body(s: _Search) -> _Search:
        flat = _affine_minimiser(gram, s.support, scale)
        inside = jnp.all(flat >= 0)  # NaN is not inside, and blocks nothing: the search then ends
        falling = s.support & (flat < 0)
        room = jnp.where(falling, s.weights / jnp.where(falling, s.weights - flat, 1), jnp.inf)
        step = jnp.where(inside, 1, jnp.minimum(jnp.min(room), 1))
        blocked = falling & (room <= step)
        moved = jnp.where(jnp.isfinite(flat), s.weights + step * (flat - s.weights), s.weights)
        moved = jnp.where(blocked, 0, jnp.maximum(moved, 0))
        moved = moved / moved.sum()
        # Who would bring the point closer? p_j is beyond the plane through x if <x - y, p_j - y> < |x - y|^2.
        along = gram @ moved
        height = jnp.dot(moved, along)
        outside = usable & ~s.support
        gain = jnp.where(outside, height - along, -jnp.inf)
        newcomer = jnp.argmax(gain)
        better = inside & (gain[newcomer] > floor)
        support = jnp.where(inside, s.support | (better & (jnp.arange(m) == newcomer)), s.support & ~blocked)
        stuck = ~inside & ~jnp.any(blocked)
        steps = s.steps + 1
        return _Search(moved, support, steps, (inside & ~better) | stuck | (steps >= 4 * m))

    begin = _Search(weights, usable & (weights > 0), jnp.zeros((), jnp.int32), idle)
    return jax.lax.while_loop(lambda s: ~s.done, body, begin).weights


def _affine_minimiser(gram: Array, support: Array, scale: Array) -> Array:
    """argmin of w.gram w over sum w = 1 with w zero off the support: proportional to (gram + scale 11')^-1 1."""
    both = support[:, None] & support[None, :]
    one = support.astype(gram.dtype)
    tiny = 4 * float(np.finfo(gram.dtype).eps) * scale
    system = jnp.where(both, gram + scale, 0) + jnp.diag(jnp.where(support, tiny, scale))
    factor = jnp.linalg.cholesky(system)
    found = jax.scipy.linalg.cho_solve((factor, True), one) * one
    return found / found.sum()
