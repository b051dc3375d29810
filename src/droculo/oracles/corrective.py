"""An infeasible projection that remembers: about one LOO call a block, where Frank-Wolfe needs many."""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from droculo.oracles.base import InfeasibleProjection, Projection, lemma_bound, within_radius
from droculo.oracles.infeasible import check_limit, foot_on_hull, square
from droculo.sets import Set

#: nobody remembered is let in for less than this share of the tolerance; more would be wasted
SHARE = 0.01
#: a memory has room for so many more points than the set has coordinates, and for at most MOST in all
SPARE, MOST = 4, 64


class Atoms(eqx.Module):
    """Points of K that an agent has seen, and the weights with which they make up a point of K."""

    points: Array  # (m, d)
    weights: Array  # (m,)
    used: Array  # (m,): whether the place is taken
    age: Array  # (m,): projections since the point last had weight


class _Search(NamedTuple):
    atoms: Atoms
    support: Array  # (m,)
    y: Array
    low: Array  # |x - y|^2 when somebody was last let in: it must fall, or rounding has the last word
    asked_low: Array  # the same, when the oracle was last asked
    calls: Array
    steps: Array
    done: Array


class Corrective(InfeasibleProjection):
    """The contract of Lemma 1, from a memory of points of K (local to the agent, never sent).

    Wolfe's method for the nearest point of a hull, in which the oracle supplies the points. x is the point of the hull
    of the support nearest to y (a small linear system; whoever gets a negative weight leaves). First those who are
    remembered may join, if they lie beyond the plane through x; that takes no LOO call. When none does, the oracle is
    asked: if its gap is at most eps, nothing in K lies further beyond that plane, y is pulled onto it and the projection is
    done; else the new vertex joins. Everything that the contract needs is measured with the true oracle. x0 is not
    used: any point of K is a start, and the agent's own is nearer.

    When no place is left, who went without weight for longest makes room; if all have weight, the two lightest are
    merged into their mean, so that x itself never gets lost. `size` places, by default four more than coordinates (at
    most 64). (P. Wolfe, Finding the nearest point in a polytope, Mathematical Programming 11, 1976.)
    """

    size: int | None = eqx.field(static=True, default=None)
    limit: int = eqx.field(static=True, default=10_000_000)

    def __check_init__(self) -> None:
        check_limit(self.limit)
        if self.size is not None and self.size < 3:
            raise ValueError(f"a memory needs at least 3 places, to merge two and add one; got size={self.size}.")

    def init(self, domain: Set, x: Array) -> Atoms:
        m = self.size or min(domain.dim + SPARE, MOST)
        return Atoms(
            points=jnp.broadcast_to(x, (m, x.shape[0])),
            weights=jnp.zeros(m, x.dtype).at[0].set(1),
            used=jnp.zeros(m, bool).at[0].set(True),
            age=jnp.zeros(m, jnp.int32),
        )

    def __call__(self, domain: Set, x0: Array, y0: Array, tolerance: Array, memory: Atoms) -> Projection:
        eps = tolerance
        y = within_radius(domain, y0)
        inside = jnp.zeros((), bool)
        foot = y
        if domain.quick_membership:
            foot, rounding = foot_on_hull(domain, y)
            inside = domain.contains(foot, rounding)
        cap = jnp.minimum(lemma_bound(domain, x0, y0, eps), self.limit)
        m = memory.weights.shape[0]

        def body(s: _Search) -> _Search:
            away = s.atoms.points - s.y
            gram = away @ away.T
            weights, support, whole = _settle(gram, s.support, s.atoms.weights)
            atoms = eqx.tree_at(lambda a: a.weights, s.atoms, weights)
            along = gram @ weights
            height = jnp.dot(weights, along)
            # Does somebody remembered lie beyond the plane through x? Then the oracle need not be asked.
            gain = jnp.where(atoms.used & ~support, height - along, -jnp.inf)
            newcomer = jnp.argmax(gain)
            floor = jnp.maximum(SHARE * eps, _rounding(gram))
            joins = whole & (gain[newcomer] > floor) & (height < s.low)
            near = whole & ~joins & (height <= 3 * eps)
            asks = whole & ~joins & ~near & ~s.done
            x = weights @ atoms.points
            direction = jnp.where(asks, s.y - x, 0)  # who does not ask costs a host solver nothing
            v = domain.argmax(direction)
            gap = jnp.dot(direction, v - x)
            enough = asks & ((gap <= eps) | ~(height < s.asked_low) | (s.calls + 1 >= cap))
            # <y - x, z - x> <= gap on all of K: y goes onto that plane.
            y = jnp.where(enough, x + jnp.clip(gap, 0, height) / height * (s.y - x), s.y)
            enters = asks & ~enough
            atoms, place = _remember(atoms, v, enters)
            here = jnp.arange(m) == jnp.where(enters, place, newcomer)
            support = jnp.where(enters, atoms.weights > 0, support) | ((joins | enters) & here)
            steps = s.steps + 1
            return _Search(
                atoms, support, y, jnp.where(whole, height, s.low), jnp.where(asks, height, s.asked_low),
                s.calls + asks, steps, near | enough | (steps >= 40 * m) | ~jnp.isfinite(height),
            )  # fmt: skip

        never, nothing = jnp.asarray(jnp.inf, y.dtype), jnp.zeros((), jnp.int32)
        start = _Search(memory, memory.weights > 0, y, never, never, nothing, nothing, inside)
        out = jax.lax.while_loop(lambda s: ~s.done, body, start)
        x = jnp.where(inside, foot, out.atoms.weights @ out.atoms.points)
        y = jnp.where(inside, foot, out.y)
        aged = jnp.where(out.atoms.weights > 0, 0, out.atoms.age + 1)
        kept = eqx.tree_at(lambda a: a.age, out.atoms, aged)
        return Projection(x, y, out.calls, square(x - y) <= 3 * eps, kept)


def _settle(gram: Array, support: Array, weights: Array) -> tuple[Array, Array, Array]:
    """Towards the nearest point of the support's affine hull, as far as the weights stay positive: the new weights, the
    support without those who blocked the way, and whether nobody did."""
    aim = _affine_minimiser(gram, support)
    whole = jnp.all(aim >= 0)
    falling = support & (aim < 0)
    room = jnp.where(falling, weights / jnp.where(falling, weights - aim, 1), jnp.inf)
    step = jnp.where(whole, 1, jnp.minimum(jnp.min(room), 1))
    blocked = falling & (room <= step)
    moved = jnp.maximum(jnp.where(jnp.isfinite(aim), weights + step * (aim - weights), weights), 0)
    moved = jnp.where(blocked, 0, moved)
    return moved / moved.sum(), support & ~blocked, whole | ~jnp.any(blocked)


def _affine_minimiser(gram: Array, support: Array) -> Array:
    """argmin of w.gram w over sum w = 1 with w zero off the support: proportional to (gram + scale 11')^-1 1."""
    scale = jnp.max(jnp.diagonal(gram))
    both = support[:, None] & support[None, :]
    one = support.astype(gram.dtype)
    tiny = 4 * float(np.finfo(gram.dtype).eps) * scale
    system = jnp.where(both, gram + scale, 0) + jnp.diag(jnp.where(support, tiny, scale))
    factor = jnp.linalg.cholesky(system)
    found = jax.scipy.linalg.cho_solve((factor, True), one) * one
    return found / found.sum()


def _rounding(gram: Array) -> Array:
    return 64 * float(np.finfo(gram.dtype).eps) * jnp.max(jnp.diagonal(gram))


def _remember(atoms: Atoms, v: Array, really: Array) -> tuple[Atoms, Array]:
    """With v (if `really`) in the place that is missed least; its weight, if any, goes to the next lightest."""
    m = atoms.weights.shape[0]
    oldest = 1 / (2 + atoms.age.astype(atoms.weights.dtype))  # below any weight's rank, the older the lower
    rank = jnp.where(atoms.used, jnp.where(atoms.weights > 0, 1 + atoms.weights, oldest), 0)
    place = jnp.argmin(rank)
    lost = atoms.weights[place]
    heir = jnp.argmin(jnp.where((jnp.arange(m) == place) | (atoms.weights <= 0), jnp.inf, atoms.weights))
    together = lost + atoms.weights[heir]
    mean = (lost * atoms.points[place] + atoms.weights[heir] * atoms.points[heir]) / jnp.where(
        together > 0, together, 1
    )
    here = (jnp.arange(m) == place) & really
    inherits = (jnp.arange(m) == heir) & (lost > 0) & really
    points = jnp.where(inherits[:, None], mean, atoms.points)
    weights = jnp.where(inherits, together, atoms.weights)
    richer = Atoms(
        points=jnp.where(here[:, None], v, points),
        weights=jnp.where(here, 0, weights),
        used=atoms.used | here,
        age=jnp.where(here, 0, atoms.age),
    )
    return richer, place
