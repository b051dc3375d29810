"""Two infeasible projections by Frank-Wolfe: the paper's, step by step, and one that needs fewer LOO calls."""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from droculo.oracles.contract import InfeasibleProjection, Memory, Projection, lemma_bound, within_radius
from droculo.sets import Full, Set


class _Loop(NamedTuple):
    x: Array
    y: Array
    calls: Array
    done: Array


class PaperFrankWolfe(InfeasibleProjection):
    """Separating hyperplanes by Frank-Wolfe, then a pull by a fixed share: the oracle behind Lemma 1.

    Its LOO calls are at most Lemma 1's bound, and at most `limit`. It also stops when a step no longer brings x and y
    closer: with exact arithmetic this cannot happen, in floating point no further progress is possible.
    """

    limit: int = eqx.field(static=True, default=10_000_000)

    def __check_init__(self) -> None:
        check_limit(self.limit)

    def project(self, domain: Set, x0: Array, y0: Array, tolerance: Array, memory: Memory) -> Projection:
        eps, y, start = tolerance, within_radius(domain, y0), square(x0 - y0)
        gamma = 2 * eps / start
        cap = jnp.minimum(lemma_bound(domain, x0, y0, eps), self.limit)

        def body(s: _Loop) -> _Loop:
            v, gap, dist = _look(domain, s)
            near = dist <= 3 * eps
            separated = gap <= eps
            x = jnp.where(near | separated, s.x, _frank_wolfe(s.x, v, gap))
            y = jnp.where(separated & ~near, s.y - gamma * (s.y - s.x), s.y)
            return _advanced(s, x, y, dist, near, cap)

        return _run(body, x0, y, start <= 3 * eps, eps, memory)


class FrankWolfe(InfeasibleProjection):
    """The same contract with far fewer calls.

    - membership shortcut: if y, or its orthogonal projection on the affine hull, lies in K, this is the result and no
      call is needed (for sets with a fast `contains`);
    - exact-margin pull: the gap is the margin of the hyperplane, so y is moved all the way onto the hyperplane;
    - relative stop: a hyperplane is accepted at gap <= max(eps, relative |x - y|^2).
      Larger `relative` (at most 1/2) means fewer calls, but y is pulled further than needed, which costs reward.
    """

    relative: float = eqx.field(static=True, default=0.1)
    limit: int = eqx.field(static=True, default=10_000_000)

    def __check_init__(self) -> None:
        if not 0 <= self.relative <= 0.5:
            raise ValueError(
                f"the relative stop must lie in [0, 1/2], beyond which y cannot be pulled; got {self.relative}."
            )
        check_limit(self.limit)

    def project(self, domain: Set, x0: Array, y0: Array, tolerance: Array, memory: Memory) -> Projection:
        eps, x, y = tolerance, x0, within_radius(domain, y0)
        if domain.has_fast_contains:
            foot, rounding = foot_on_hull(domain, y)
            inside = domain.contains(foot, rounding)
            x, y = jnp.where(inside, foot, x0), jnp.where(inside, foot, y)
        cap = jnp.minimum(lemma_bound(domain, x0, y0, eps), self.limit)

        def body(s: _Loop) -> _Loop:
            v, gap, dist = _look(domain, s)
            separated = gap <= jnp.maximum(eps, self.relative * dist)
            x = jnp.where(separated, s.x, _frank_wolfe(s.x, v, gap))
            # <y - x, z - x> <= gap on all of K: move y onto that plane, which leaves gap/|y - x|^2 of y - x.
            left = jnp.clip(gap, 0, dist) / dist
            y = jnp.where(separated, s.x + left * (s.y - s.x), s.y)
            return _advanced(s, x, y, dist, square(x - y) <= 3 * eps, cap)

        return _run(body, x, y, square(x - y) <= 3 * eps, eps, memory)


def check_limit(limit: int) -> None:
    if limit < 1:
        raise ValueError(f"an oracle needs at least one LOO call to work with; got limit={limit}.")


def foot_on_hull(domain: Set, y: Array) -> tuple[Array, float | Array]:
    """The orthogonal projection of y on the affine hull of K, and the rounding error in the equalities of the hull."""
    known = domain.geometry
    if known.subspace is None or known.center is None or isinstance(known.subspace, Full):
        return y, 0.0
    rounding = 8 * float(np.finfo(y.dtype).eps) * jnp.maximum(1, domain.radius)
    return known.subspace.project(y - known.center) + known.center, rounding


def _look(domain: Set, s: _Loop) -> tuple[Array, Array, Array]:
    """One LOO call towards y. A finished agent of a batch sends zero, which costs a host solver nothing."""
    direction = jnp.where(s.done, 0, s.y - s.x)
    v = domain.argmax(direction)
    return v, jnp.dot(direction, v - s.x), square(s.y - s.x)


def _frank_wolfe(x: Array, v: Array, gap: Array) -> Array:
    """The point of the segment [x, v] nearest to y."""
    length = square(v - x)
    step = jnp.minimum(1, gap / jnp.where(length > 0, length, 1))
    return x + step * (v - x)


def _advanced(s: _Loop, x: Array, y: Array, dist: Array, finished: Array, cap: Array) -> _Loop:
    progress = square(x - y) < dist  # False for NaN too
    return _Loop(x, y, s.calls + 1, finished | ~progress | (s.calls + 1 >= cap))


def _run(body: Callable[[_Loop], _Loop], x: Array, y: Array, done: Array, eps: Array, memory: Memory) -> Projection:
    out = jax.lax.while_loop(lambda s: ~s.done, body, _Loop(x, y, jnp.zeros((), jnp.int32), done))
    return Projection(out.x, out.y, out.calls, square(out.x - out.y) <= 3 * eps, memory)


def square(v: Array) -> Array:
    return jnp.dot(v, v)
