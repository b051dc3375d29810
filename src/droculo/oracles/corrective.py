"""An infeasible projection that remembers: about one LOO call a block, where Frank-Wolfe needs many."""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from droculo.oracles.base import InfeasibleProjection, Projection, lemma_bound, within_radius
from droculo.oracles.infeasible import check_limit, foot_on_hull, square
from droculo.oracles.nearest import nearest_weights
from droculo.sets import Set


class Atoms(eqx.Module):
    """Points of K that an agent has seen, and the weights with which they make up a point of K."""

    points: Array  # (m, d)
    weights: Array  # (m,)
    used: Array  # (m,): whether the place is taken
    age: Array  # (m,): calls since the point last had weight


class _Loop(NamedTuple):
    atoms: Atoms
    x: Array
    y: Array
    calls: Array
    done: Array


class Corrective(InfeasibleProjection):
    """The contract of Lemma 1, from a memory of `size` points of K (local to the agent, never sent).

    y is projected onto the hull of the remembered points, which takes no LOO call and gives x. Then the oracle is asked
    once: if its gap is at most eps, no point of K lies further beyond x than that, y is pulled onto that plane and the
    projection is done; else the new vertex is remembered, and so on. Everything that the contract needs is measured
    with the true oracle. x0 is not used: any point of K is a start, and the agent's own is nearer.

    When no place is left, the point that went without weight for longest makes room; if all have weight, the two
    lightest are merged into their mean, so that x itself never gets lost.
    """

    size: int = eqx.field(static=True, default=24)
    limit: int = eqx.field(static=True, default=10_000_000)

    def __check_init__(self) -> None:
        check_limit(self.limit)
        if self.size < 3:
            raise ValueError(f"a memory needs at least 3 places, to merge two and add one; got size={self.size}.")

    def init(self, domain: Set, x: Array) -> Atoms:
        m = self.size
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
        # With a point that is inside, or NaN, nothing is to be searched: the weights stay as they are.
        idle = inside | ~jnp.all(jnp.isfinite(y))
        atoms = _corrected(memory, jnp.where(idle, memory.points[0], y), idle)
        x = jnp.where(inside, foot, atoms.weights @ atoms.points)
        y = jnp.where(inside, foot, y)

        def body(s: _Loop) -> _Loop:
            direction = jnp.where(s.done, 0, s.y - s.x)  # a finished agent of a batch costs a host solver nothing
            v = domain.argmax(direction)
            gap, dist = jnp.dot(direction, v - s.x), square(s.y - s.x)
            richer = _remembered(s.atoms, v)
            better = _corrected(richer, s.y, jnp.zeros((), bool))
            closer = better.weights @ better.points
            gained = square(closer - s.y) < dist
            # <y - x, z - x> <= gap on all of K: move y onto that plane, if it is good enough or x gets no closer.
            separated = (gap <= eps) | ~gained
            left = jnp.clip(gap, 0, dist) / dist
            x = jnp.where(separated, s.x, closer)
            y = jnp.where(separated, s.x + left * (s.y - s.x), s.y)
            atoms = jax.tree.map(lambda new, old: jnp.where(separated, old, new), better, s.atoms)
            calls = s.calls + 1
            progress = square(x - y) < dist  # False for NaN too
            return _Loop(atoms, x, y, calls, (square(x - y) <= 3 * eps) | ~progress | (calls >= cap))

        begin = _Loop(atoms, x, y, jnp.zeros((), jnp.int32), square(x - y) <= 3 * eps)
        out = jax.lax.while_loop(lambda s: ~s.done, body, begin)
        aged = jnp.where(out.atoms.weights > 0, 0, out.atoms.age + 1)
        kept = eqx.tree_at(lambda a: a.age, out.atoms, aged)
        return Projection(out.x, out.y, out.calls, square(out.x - out.y) <= 3 * eps, kept)


def _corrected(atoms: Atoms, y: Array, idle: Array) -> Atoms:
    """With the weights of the point of the hull nearest to y."""
    away = atoms.points - y
    weights = nearest_weights(away @ away.T, atoms.used, atoms.weights, idle)
    return eqx.tree_at(lambda a: a.weights, atoms, weights)


def _remembered(atoms: Atoms, v: Array) -> Atoms:
    """With v in the place that is missed least; its weight, if any, goes to the next lightest by merging the two."""
    m = atoms.weights.shape[0]
    oldest = 1 / (2 + atoms.age.astype(atoms.weights.dtype))  # below any weight's rank, the older the lower
    rank = jnp.where(atoms.used, jnp.where(atoms.weights > 0, 1 + atoms.weights, oldest), 0)
    place = jnp.argmin(rank)
    lost = atoms.weights[place]
    heir = jnp.argmin(jnp.where((jnp.arange(m) == place) | (atoms.weights <= 0), jnp.inf, atoms.weights))
    together = lost + atoms.weights[heir]
    merged = (lost * atoms.points[place] + atoms.weights[heir] * atoms.points[heir]) / jnp.where(
        together > 0, together, 1
    )
    inherits = (jnp.arange(m) == heir) & (lost > 0)
    here = jnp.arange(m) == place
    points = jnp.where(inherits[:, None], merged, atoms.points)
    weights = jnp.where(inherits, together, atoms.weights)
    return Atoms(
        points=jnp.where(here[:, None], v, points),
        weights=jnp.where(here, 0, weights),
        used=atoms.used | here,
        age=jnp.where(here, 0, atoms.age),
    )
