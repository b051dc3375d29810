"""An infeasible projection that remembers: about one LOO call a block, where Frank-Wolfe needs many."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from droculo.oracles.base import InfeasibleProjection, Projection, lemma_bound, within_radius
from droculo.oracles.infeasible import check_limit, foot_on_hull, square
from droculo.oracles.nearest import Corral, nearest
from droculo.sets import Set

#: nobody remembered is let in for less than this share of the tolerance; more would be wasted
SHARE = 0.01
#: a memory has room for so many more points than the set has coordinates, and for at most MOST in all
SPARE, MOST = 4, 64


class Atoms(eqx.Module):
    """Points of K that an agent has seen, and the weights with which they make up a point of K."""

    points: Array  # (m, d)
    gram: Array  # (m, m): their inner products, plus R^2
    used: Array  # (m,): whether the place is taken
    age: Array  # (m,): projections since the point last had weight
    corral: Corral


class _Search(NamedTuple):
    atoms: Atoms
    y: Array
    low: Array  # |x - y|^2 when the oracle was last asked: it must fall, or rounding has the last word
    calls: Array
    done: Array


class Corrective(InfeasibleProjection):
    """The contract of Lemma 1, from a memory of points of K (local to the agent, never sent).

    x is the point nearest to y in the hull of what is remembered (`nearest`: no LOO call). Then the oracle is asked once:
    if its gap is at most eps, nothing in K lies further beyond the plane through x, y is pulled onto that plane and the
    projection is done; else the new vertex is remembered too, and so on. Everything that the contract needs is measured
    with the true oracle. x0 is not used: any point of K is a start, and the agent's own is nearer.

    When no place is left, who went without weight for longest makes room; if all have weight, the two lightest are
    merged into their mean, so that x itself never gets lost. `size` places, by default four more than coordinates (at
    most 64).
    """

    starts_from_x0: ClassVar[bool] = False
    size: int | None = eqx.field(static=True, default=None)
    limit: int = eqx.field(static=True, default=10_000_000)

    def __check_init__(self) -> None:
        check_limit(self.limit)
        if self.size is not None and self.size < 3:
            raise ValueError(f"a memory needs at least 3 places, to merge two and add one; got size={self.size}.")

    def init(self, domain: Set, x: Array) -> Atoms:
        m = self.size or min(domain.dim + SPARE, MOST)
        first = jnp.arange(m) == 0
        return Atoms(
            points=jnp.broadcast_to(x, (m, x.shape[0])),
            gram=jnp.broadcast_to(square(x) + jnp.asarray(domain.radius**2, x.dtype), (m, m)),
            used=first,
            age=jnp.zeros(m, jnp.int32),
            corral=Corral(first.astype(x.dtype), jnp.zeros((m, m), x.dtype)),
        )

    def project(self, domain: Set, x0: Array, y0: Array, tolerance: Array, memory: Atoms) -> Projection:
        eps = tolerance
        y = within_radius(domain, y0)
        inside = jnp.zeros((), bool)
        foot = y
        if domain.quick_membership:
            foot, rounding = foot_on_hull(domain, y)
            inside = domain.contains(foot, rounding)
        unit = jnp.asarray(domain.radius**2, y.dtype)  # of inner products
        ulp = float(np.finfo(y.dtype).eps)
        floor = jnp.maximum(SHARE * eps, 64 * ulp * unit)
        m = memory.used.shape[0]
        cap = jnp.minimum(lemma_bound(domain, x0, y0, eps), min(self.limit, 40 * m))

        def body(s: _Search) -> _Search:
            points = s.atoms.points
            corral = nearest(
                s.atoms.gram, points @ s.y, s.atoms.used, s.atoms.corral, floor=floor, ridge=16 * ulp * unit, idle=s.done,
                enough=3 * eps + unit - square(s.y),  # |x - y|^2 <= 3 eps
            )  # fmt: skip
            x = corral.weights @ points
            height = square(s.y - x)
            near = height <= 3 * eps
            asks = ~near & ~s.done
            # Who does not ask costs a host solver nothing.
            direction, lost = _coarse(jnp.where(asks, s.y - x, 0))
            v = domain.argmax(direction)
            gap = jnp.dot(direction, v - x) + lost * jnp.where(asks, 2 * domain.radius, 0)
            enough = asks & ((gap <= eps) | ~(height < s.low) | (s.calls + 1 >= cap))
            # <y - x, z - x> <= gap on all of K: y goes onto that plane.
            y = jnp.where(enough, x + jnp.clip(gap, 0, height) / height * (s.y - x), s.y)
            atoms = _remember(eqx.tree_at(lambda a: a.corral, s.atoms, corral), v, asks & ~enough, unit)
            return _Search(
                atoms, y, jnp.where(asks, height, s.low), s.calls + asks, near | enough | ~jnp.isfinite(height)
            )

        never, nothing = jnp.asarray(jnp.inf, y.dtype), jnp.zeros((), jnp.int32)
        out = jax.lax.while_loop(lambda s: ~s.done, body, _Search(memory, y, never, nothing, inside))
        weights = out.atoms.corral.weights
        x = jnp.where(inside, foot, weights @ out.atoms.points)
        y = jnp.where(inside, foot, out.y)
        kept = eqx.tree_at(lambda a: a.age, out.atoms, jnp.where(weights > 0, 0, out.atoms.age + 1))
        return Projection(x, y, out.calls, square(x - y) <= 3 * eps, kept)


def _coarse(direction: Array) -> tuple[Array, Array]:
    """The direction without its last digits, and how long what was taken off is.

    Where x lies inside a face, all of that face's vertices tie. Rounding must not decide among them: it differs from
    program to program, and the same run would go another way.
    """
    unit = jnp.max(jnp.abs(direction)) * float(np.sqrt(np.finfo(direction.dtype).eps)) / 16
    rounded = jnp.floor(direction / jnp.where(unit > 0, unit, 1) + 0.5) * unit
    return rounded, jnp.sqrt(square(direction - rounded))


def _remember(atoms: Atoms, v: Array, really: Array, unit: Array) -> Atoms:
    """With v (if `really`) in the place that is missed least; its weight, if any, goes to the next lightest."""
    w, index = atoms.corral.weights, jnp.arange(atoms.used.shape[0])
    oldest = 1 / (2 + atoms.age.astype(w.dtype))  # below any weight's rank, the older the lower
    rank = jnp.where(atoms.used, jnp.where(w > 0, 1 + w, oldest), 0)
    place = index == jnp.argmin(rank)
    heir = index == jnp.argmin(jnp.where(place | (w <= 0), jnp.inf, w))
    here, pair = place & really, jnp.where(place | heir, w, 0)
    crowded = really & jnp.any(place & (w > 0))
    together = pair.sum()
    pair = pair / jnp.where(together > 0, together, 1)
    inherits = heir & crowded
    points = jnp.where(inherits[:, None], pair @ atoms.points, atoms.points)
    # One or two rows and columns of the inner products change; all of them anew would cost m times as much.
    merged = pair @ atoms.gram
    merged = jnp.where(heir, jnp.dot(pair, merged), merged)
    gram = _replaced(atoms.gram, inherits, merged)
    points = jnp.where(here[:, None], v, points)
    gram = _replaced(gram, here, points @ v + unit)
    return Atoms(
        points=points,
        gram=gram,
        used=atoms.used | here,
        age=jnp.where(here, 0, atoms.age),
        corral=Corral(
            weights=jnp.where(here, 0, jnp.where(inherits, together, w)),
            inverse=jnp.where(crowded, 0, atoms.corral.inverse),  # two of its points have moved: begin anew
        ),
    )


def _replaced(gram: Array, here: Array, products: Array) -> Array:
    """With these inner products in the row and the column of who is `here`, if anybody is."""
    return jnp.where(here[:, None], products[None, :], jnp.where(here[None, :], products[:, None], gram))
