"""An infeasible projection that remembers: about one LOO call a block, where Frank-Wolfe needs many."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from droculo.oracles import native
from droculo.oracles.base import InfeasibleProjection, Projection, lemma_bound, within_radius
from droculo.oracles.flocks import over
from droculo.oracles.infeasible import check_limit, foot_on_hull, square
from droculo.oracles.nearest import Corral, nearest
from droculo.sets import Set

#: nobody remembered is let in for less than this share of the tolerance; more would be wasted
SHARE = 0.01
#: places in a memory at most, unless more are asked for
MOST = 260


def places(dim: int) -> int:
    """How many points an agent remembers by default: x needs d + 1 of them, and y comes back to others.

    >>> places(20)
    34
    """
    return min(dim + dim // 2 + 4, MOST)


def _places_for(x: Array) -> int:
    """`places`; on a GPU the power of two below, where one kernel can then run all loops (`kernel.fits`).

    That is one fewer than x can need; then the two lightest are merged. At d = 32 a block takes 2.2 ms with 32 places, 30 with 52,
    outside of a kernel, and 8.5 with 64 (10^5 agents on an H200; benchmarks/accelerator.py --places 32 52 64).
    """
    most, dim = places(x.shape[0]), x.shape[0]
    in_kernel = jax.default_backend() == "gpu" and x.dtype != np.float64 and dim & (dim - 1) == 0
    return 1 << (most.bit_length() - 1) if in_kernel else most


class Atoms(eqx.Module):
    """Points of K that an agent has seen, and the weights with which they make up a point of K."""

    points: Array  # (m, d)
    gram: Array  # (m, m): their inner products, plus R^2
    used: Array  # (m,): whether the place is taken
    age: Array  # (m,): projections since the point last had weight
    corral: Corral


class Task(NamedTuple):
    """What a projection is given, and what follows from it."""

    eps: Array
    cap: Array  # LOO calls at most
    unit: Array  # of inner products: R^2
    floor: Array  # nobody remembered is let in for less
    ridge: Array
    reach: Array  # 2 R: no two points of K are further apart


class Search(NamedTuple):
    """How far it has come: x is the nearest point to y in the hull of what is remembered."""

    atoms: Atoms
    x: Array
    y: Array
    direction: Array  # what the oracle is asked, about y - x; zero if nothing
    lost: Array  # how much of y - x the direction leaves out
    height: Array  # |y - x|^2
    low: Array  # and at the question before: it must fall, or rounding has the last word
    calls: Array
    done: Array


class ActiveSet(InfeasibleProjection):
    """The contract of Lemma 1, from a memory of points of K (local to the agent, never sent).

    x is the point nearest to y in the hull of what is remembered (`nearest`: no LOO call). Then the oracle is asked once:
    if its gap is at most eps, nothing in K lies further beyond the plane through x, y is pulled onto that plane and the
    projection is done; else the new vertex is remembered too, and so on. Everything that the contract needs is measured
    with the true oracle. x0 is not used: any point of K is a start, and the agent's own is nearer.

    When no place is left, who went without weight for longest makes room; if all have weight, the two lightest are
    merged into their mean, so that x itself never gets lost. `size` places, by default half as many again as coordinates
    and four (at most 260; in a GPU's kernel a power of two); their inner products are most of an agent's state, so give
    very many agents of many coordinates fewer. If rounding ends a projection before its tolerance is met, the memory begins anew with x.
    """

    starts_from_x0: ClassVar[bool] = False
    remembers: ClassVar[bool] = True
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

    def together(self, number: Any) -> Callable[..., Projection] | None:
        return self._project_all if native.available(number) else None

    def _project_all(self, domain: Set, x0: Array, y0: Array, tolerance: Array, memory: Atoms) -> Projection:
        """`project` for a batch of agents, by the compiled `native.step`, which leaves alone who is done."""
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
        # So far out that rounding would leave nothing of K: nearer first, which costs nothing at such a distance.
        y0 = y0 / jnp.maximum(1, jnp.linalg.norm(y0) / jnp.asarray(domain.radius / ulp**0.5, number))
        inside, foot = jnp.zeros((), bool), y0
        if domain.has_fast_contains:
            foot, rounding = foot_on_hull(domain, y0)
            inside = domain.contains(foot, rounding)
        unit, reach = jnp.asarray(domain.radius**2, number), jnp.asarray(2 * domain.radius, number)
        bound, most = lemma_bound(domain, x0, y0, eps), min(self.limit, 40 * memory.used.shape[0])
        cap = jnp.where(bound < most, bound, most)  # not a number is no bound
        floor = jnp.maximum(SHARE * eps, 64 * ulp * unit)
        nothing, never = jnp.zeros((), number), jnp.asarray(jnp.inf, number)
        start = Search(
            atoms=memory, x=foot, y=jnp.where(inside, foot, y0), direction=jnp.zeros_like(y0), lost=nothing, height=nothing,
            low=never, calls=jnp.zeros((), jnp.int32), done=inside,
        )  # fmt: skip
        return Task(eps, cap.astype(number), unit, floor, 16 * ulp * unit, reach), start


def _walk(task: Task, s: Search) -> Search:
    """To the nearest point of the hull of what is remembered; and if that is not near enough, what to ask."""
    atoms = s.atoms
    corral = nearest(
        atoms.gram, atoms.points @ s.y, atoms.used, atoms.corral, floor=task.floor, ridge=task.ridge, idle=s.done,
        enough=3 * task.eps + task.unit - square(s.y),  # |x - y|^2 <= 3 eps
    )  # fmt: skip
    x = jnp.where(s.done, s.x, corral.weights @ atoms.points)
    height = square(s.y - x)
    done = s.done | (height <= 3 * task.eps) | ~jnp.isfinite(height)
    direction, lost = _coarse(jnp.where(done, 0, s.y - x))  # who does not ask costs a host solver nothing
    atoms = eqx.tree_at(lambda a: a.corral, atoms, corral)
    return Search(atoms, x, s.y, direction, lost, height, s.low, s.calls + ~done, done)


def _judge(task: Task, s: Search, v: Array) -> Search:
    """What the oracle answered is either all that there is, so that y can be pulled, or something new to remember."""
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
    # Last, not first: pulled into the ball before, y0 would lead elsewhere than to its own projection.
    y = within_radius(domain, s.y)
    kept = eqx.tree_at(lambda a: a.age, s.atoms, jnp.where(s.atoms.corral.weights > 0, 0, s.atoms.age + 1))
    return Projection(s.x, y, s.calls, square(s.x - y) <= 3 * task.eps, kept)


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
    # Two of the inverse's points move, or one that it knows goes (in spite of a weight of zero): it begins anew.
    known = jnp.where(index[:, None] == index[None, :], atoms.corral.inverse, 0).sum(axis=1) > 0
    worn = crowded | jnp.any(here & known)
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
            inverse=jnp.where(worn, 0, atoms.corral.inverse),
        ),
    )


def _forget(atoms: Atoms, x: Array, really: Array, unit: Array) -> Atoms:
    """Nothing but x (if `really`): points that rounding cannot tell apart would get in the way for ever."""
    first = jnp.arange(atoms.used.shape[0]) == 0
    here, w = first & really, atoms.corral.weights
    points = jnp.where(here[:, None], x, atoms.points)
    return Atoms(
        points=points,
        gram=_replaced(atoms.gram, here, points @ x + unit),
        used=jnp.where(really, first, atoms.used),
        age=jnp.where(really, 0, atoms.age),
        corral=Corral(jnp.where(really, first.astype(w.dtype), w), jnp.where(really, 0, atoms.corral.inverse)),
    )


def _replaced(gram: Array, here: Array, products: Array) -> Array:
    """With these inner products in the row and the column of who is `here`, if anybody is."""
    return jnp.where(here[:, None], products[None, :], jnp.where(here[None, :], products[:, None], gram))
