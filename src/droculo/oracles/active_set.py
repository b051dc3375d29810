"""An infeasible projection that keeps an active set: about one LOO call per block, where Frank-Wolfe needs many."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from droculo.oracles import native
from droculo.oracles.batching import BatchCode, over
from droculo.oracles.contract import InfeasibleProjection, Projection, lemma_bound, within_radius
from droculo.oracles.frank_wolfe import check_limit, foot_on_hull, square
from droculo.oracles.nearest import Corral, nearest
from droculo.sets import Set

#: stored points that would gain less than this share of the tolerance are ignored
SHARE = 0.01
#: the largest default size of a memory
MOST = 260


def places(dim: int) -> int:
    """The default number of points in a memory: x needs d + 1 of them, and others are needed again as y moves.

    >>> places(20)
    34
    """
    return min(dim + dim // 2 + 4, MOST)


def _places_for(x: Array) -> int:
    """`places`; on a GPU the next smaller power of two, for which one kernel can run all loops (`gpu.fits`).

    That can be fewer than x needs; the two points of least weight are then merged. At d = 32 a block takes 2.2 ms with 32 places, 30 with 52,
    outside of a kernel, and 8.5 with 64 (10^5 agents on an H200; benchmarks/accelerator.py --places 32 52 64).
    """
    most, dim = places(x.shape[0]), x.shape[0]
    in_kernel = jax.default_backend() == "gpu" and x.dtype != np.float64 and dim & (dim - 1) == 0
    return 1 << (most.bit_length() - 1) if in_kernel else most


class Atoms(eqx.Module):
    """Points of K that an agent has seen, and the weights of those whose combination is x."""

    points: Array  # (m, d)
    gram: Array  # (m, m): their inner products, plus R^2
    used: Array  # (m,): True where the place is taken
    age: Array  # (m,): number of projections since the point last had positive weight
    corral: Corral


class Task(NamedTuple):
    """The parameters of one projection."""

    eps: Array
    cap: Array  # most LOO calls
    unit: Array  # the scale of inner products: R^2
    floor: Array  # stored points with a smaller gain are ignored
    ridge: Array
    reach: Array  # 2 R: an upper bound of K's diameter


class Search(NamedTuple):
    """The state of one projection: x is the point nearest to y in the hull of the stored points."""

    atoms: Atoms
    x: Array
    y: Array
    direction: Array  # of the next LOO call: y - x, rounded; zero if none is needed
    lost: Array  # the length of y - x - direction
    height: Array  # |y - x|^2
    low: Array  # height at the previous LOO call: if it does not fall, rounding allows no progress
    calls: Array
    done: Array


class ActiveSet(InfeasibleProjection):
    """The contract of Lemma 1, from a memory of points of K (local to the agent, never sent).

    x is the point nearest to y in the hull of the stored points (`nearest`: no LOO call). Then the linear oracle is
    asked once. If its gap is at most eps, no point of K lies further beyond the plane through x: y is pulled onto that
    plane and the projection is done. Otherwise the new vertex is stored and the search goes on. Everything that the
    contract promises is measured with the linear oracle of K itself. x0 is not used: any point of K is a valid start,
    and the stored ones are nearer.

    If the memory is full, the point that has had no weight for longest is evicted; if all have weight, the two of least
    weight are merged into their weighted mean, so that x is never lost. The memory has `size` places, by default
    3/2 d + 4 (at most 260; in a GPU's kernel a power of two). Their inner products are most of an agent's state:
    choose fewer for very many agents with many coordinates. If rounding ends a projection before its tolerance is met,
    the memory is reset to x alone.
    """

    starts_from_x0: ClassVar[bool] = False
    size: int | None = eqx.field(static=True, default=None)
    limit: int = eqx.field(static=True, default=10_000_000)

    def __check_init__(self) -> None:
        check_limit(self.limit)
        if self.size is not None and self.size < 3:
            raise ValueError(f"a memory needs at least 3 places, to merge two and add one; got size={self.size}.")

    def init(self, domain: Set, x: Array) -> Atoms:
        m = self.size or _places_for(x)
        first = jnp.arange(m) == 0
        return Atoms(
            points=jnp.broadcast_to(x, (m, x.shape[0])),
            gram=jnp.broadcast_to(square(x) + jnp.asarray(domain.radius**2, x.dtype), (m, m)),
            used=first,
            age=jnp.zeros(m, jnp.int32),
            corral=Corral(first.astype(x.dtype), jnp.zeros((m, m), x.dtype)),
        )

    def project(self, domain: Set, x0: Array, y0: Array, tolerance: Array, memory: Atoms) -> Projection:
        task, start = self._begin(domain, x0, y0, tolerance, memory)

        def body(s: Search) -> Search:
            s = _walk(task, s)
            return _judge(task, s, domain.argmax(s.direction))

        return _end(domain, task, jax.lax.while_loop(lambda s: ~s.done, body, start))

    def batch_code(self, dtype: Any) -> BatchCode | None:
        return BatchCode(self._project_all) if native.available(dtype) else None

    def _project_all(self, domain: Set, x0: Array, y0: Array, tolerance: Array, memory: Atoms) -> Projection:
        """`project` for a batch of agents, by the compiled `native.step`, which skips agents that are done."""
        axes = y0.ndim - 1
        task, start = over(axes, partial(self._begin, domain))(x0, y0, tolerance, memory)

        def body(s: Search) -> Search:
            return native.step(task, s, over(axes, domain.argmax)(s.direction).astype(y0.dtype))

        out = jax.lax.while_loop(lambda s: ~jnp.all(s.done), body, native.step(task, start, y0))
        projection: Projection = over(axes, partial(_end, domain))(task, out)
        return projection

    def _begin(self, domain: Set, x0: Array, y0: Array, eps: Array, memory: Atoms) -> tuple[Task, Search]:
        number = y0.dtype
        ulp = float(np.finfo(number).eps)
        eps = jnp.asarray(eps, number)
        # Clip far-away points: beyond this radius the spacing of floats exceeds the set's diameter.
        y0 = y0 / jnp.maximum(1, jnp.linalg.norm(y0) / jnp.asarray(domain.radius / ulp**0.5, number))
        inside, foot = jnp.zeros((), bool), y0
        if domain.has_fast_contains:
            foot, rounding = foot_on_hull(domain, y0)
            inside = domain.contains(foot, rounding)
        unit, reach = jnp.asarray(domain.radius**2, number), jnp.asarray(2 * domain.radius, number)
        bound, most = lemma_bound(domain, x0, y0, eps), min(self.limit, 40 * memory.used.shape[0])
        cap = jnp.where(bound < most, bound, most)  # also if the bound is NaN
        floor = jnp.maximum(SHARE * eps, 64 * ulp * unit)
        nothing, never = jnp.zeros((), number), jnp.asarray(jnp.inf, number)
        start = Search(
            atoms=memory, x=foot, y=jnp.where(inside, foot, y0), direction=jnp.zeros_like(y0), lost=nothing, height=nothing,
            low=never, calls=jnp.zeros((), jnp.int32), done=inside,
        )  # fmt: skip
        return Task(eps, cap.astype(number), unit, floor, 16 * ulp * unit, reach), start


def _walk(task: Task, s: Search) -> Search:
    """Move x to the nearest point of the hull of the stored points; if it is not near enough, choose the next direction."""
    atoms = s.atoms
    corral = nearest(
        atoms.gram, atoms.points @ s.y, atoms.used, atoms.corral, floor=task.floor, ridge=task.ridge, idle=s.done,
        enough=3 * task.eps + task.unit - square(s.y),  # |x - y|^2 <= 3 eps
    )  # fmt: skip
    x = jnp.where(s.done, s.x, corral.weights @ atoms.points)
    height = square(s.y - x)
    done = s.done | (height <= 3 * task.eps) | ~jnp.isfinite(height)
    direction, lost = _coarse(jnp.where(done, 0, s.y - x))  # a zero direction costs a host solver nothing
    atoms = eqx.tree_at(lambda a: a.corral, atoms, corral)
    return Search(atoms, x, s.y, direction, lost, height, s.low, s.calls + ~done, done)


def _judge(task: Task, s: Search, v: Array) -> Search:
    """Accept the separating plane and pull y onto it, or store the new vertex v."""
    gap = jnp.dot(s.direction, v - s.x) + s.lost * task.reach
    stuck = (gap > task.eps) & ~(s.height < s.low)
    enough = ~s.done & (~(gap > task.eps) | stuck | (s.calls >= task.cap))
    # <y - x, z - x> <= gap on all of K: y goes onto that plane.
    y = jnp.where(enough, s.x + jnp.clip(gap, 0, s.height) / s.height * (s.y - s.x), s.y)
    new = ~s.done & ~enough
    atoms, low = _remember(s.atoms, v, new, task.unit), jnp.where(new, s.height, s.low)
    atoms = _forget(atoms, s.x, enough & stuck, task.unit)
    return Search(atoms, s.x, y, s.direction, s.lost, s.height, low, s.calls, s.done | enough)


def _end(domain: Set, task: Task, s: Search) -> Projection:
    # At the end and not at the start: clipping y0 would change which point is its projection.
    y = within_radius(domain, s.y)
    kept = eqx.tree_at(lambda a: a.age, s.atoms, jnp.where(s.atoms.corral.weights > 0, 0, s.atoms.age + 1))
    return Projection(s.x, y, s.calls, square(s.x - y) <= 3 * task.eps, kept)


def _coarse(direction: Array) -> tuple[Array, Array]:
    """The direction without its last digits, and the length of what was removed.

    Where x lies inside a face, all vertices of that face tie. Rounding errors differ between compiled programs; if they
    chose among the ties, the same run would take another path in each program.
    """
    unit = jnp.max(jnp.abs(direction)) * float(np.sqrt(np.finfo(direction.dtype).eps)) / 16
    rounded = jnp.floor(direction / jnp.where(unit > 0, unit, 1) + 0.5) * unit
    return rounded, jnp.sqrt(square(direction - rounded))


def _remember(atoms: Atoms, v: Array, condition: Array, unit: Array) -> Atoms:
    """Insert v (if `condition`) in place of the least recently used point; if all have weight, merge the two of least weight."""
    w, index = atoms.corral.weights, jnp.arange(atoms.used.shape[0])
    oldest = 1 / (2 + atoms.age.astype(w.dtype))  # below the rank of any point with weight; older points rank lower
    rank = jnp.where(atoms.used, jnp.where(w > 0, 1 + w, oldest), 0)
    place = index == jnp.argmin(rank)
    successor = index == jnp.argmin(jnp.where(place | (w <= 0), jnp.inf, w))
    here, pair = place & condition, jnp.where(place | successor, w, 0)
    full = condition & jnp.any(place & (w > 0))
    # If two of the inverse's points change, or one of them is evicted (in spite of a zero weight), reset the inverse.
    known = jnp.where(index[:, None] == index[None, :], atoms.corral.inverse, 0).sum(axis=1) > 0
    stale = full | jnp.any(here & known)
    merged_weight = pair.sum()
    pair = pair / jnp.where(merged_weight > 0, merged_weight, 1)
    receives = successor & full
    points = jnp.where(receives[:, None], pair @ atoms.points, atoms.points)
    # One or two rows and columns of the Gram matrix change; computing it again would cost m times as much.
    merged = pair @ atoms.gram
    merged = jnp.where(successor, jnp.dot(pair, merged), merged)
    gram = _replaced(atoms.gram, receives, merged)
    points = jnp.where(here[:, None], v, points)
    gram = _replaced(gram, here, points @ v + unit)
    return Atoms(
        points=points,
        gram=gram,
        used=atoms.used | here,
        age=jnp.where(here, 0, atoms.age),
        corral=Corral(
            weights=jnp.where(here, 0, jnp.where(receives, merged_weight, w)),
            inverse=jnp.where(stale, 0, atoms.corral.inverse),
        ),
    )


def _forget(atoms: Atoms, x: Array, condition: Array, unit: Array) -> Atoms:
    """Keep x alone (if `condition`): points that differ by rounding only make the Gram matrix singular."""
    first = jnp.arange(atoms.used.shape[0]) == 0
    here, w = first & condition, atoms.corral.weights
    points = jnp.where(here[:, None], x, atoms.points)
    return Atoms(
        points=points,
        gram=_replaced(atoms.gram, here, points @ x + unit),
        used=jnp.where(condition, first, atoms.used),
        age=jnp.where(condition, 0, atoms.age),
        corral=Corral(jnp.where(condition, first.astype(w.dtype), w), jnp.where(condition, 0, atoms.corral.inverse)),
    )


def _replaced(gram: Array, here: Array, products: Array) -> Array:
    """The Gram matrix with `products` in the row and the column where `here` is True, if any."""
    return jnp.where(here[:, None], products[None, :], jnp.where(here[None, :], products[:, None], gram))
