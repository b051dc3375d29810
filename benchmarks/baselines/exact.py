"""The exact Euclidean projection in place of an oracle, for sets simple enough to have one."""

from __future__ import annotations

from typing import ClassVar

import jax
import jax.numpy as jnp
from jax import Array

from droculo.oracles import InfeasibleProjection, Memory, Projection
from droculo.sets import Box, L2Ball, PartitionMatroid, Set, Simplex

#: Halvings of an interval of a few units, until nothing is left of it in double precision.
HALVINGS = 60


class Exact(InfeasibleProjection):
    """x = y = the point of K nearest to y0, in closed form: no LOO call. For budgets, simplices, boxes and l2 balls."""

    starts_from_x0: ClassVar[bool] = False

    def __call__(self, domain: Set, x0: Array, y0: Array, tolerance: Array, memory: Memory) -> Projection:
        return self.project(domain, x0, y0, tolerance, memory)  # all agents at once: nobody waits for anybody here

    def project(self, domain: Set, x0: Array, y0: Array, tolerance: Array, memory: Memory) -> Projection:
        x = nearest(domain, y0)
        return Projection(x, x, jnp.zeros((), jnp.int32), jnp.ones((), bool), memory)


def nearest(domain: Set, y: Array) -> Array:
    """The Euclidean projection of y onto the set."""
    if isinstance(domain, Box):
        return jnp.clip(y, jnp.asarray(domain.lower, y.dtype), jnp.asarray(domain.upper, y.dtype))
    if isinstance(domain, L2Ball):
        return y / jnp.maximum(1, jnp.linalg.norm(y) / jnp.asarray(domain.size, y.dtype))
    if isinstance(domain, Simplex):  # a budget of 1 that must be spent
        return jnp.clip(y - _level(y, jnp.ones((), y.dtype), -jnp.inf), 0, 1)
    if isinstance(domain, PartitionMatroid) and domain.capacities.shape[0] == 1 and not domain.bases:
        return jnp.clip(y - _level(y, jnp.asarray(domain.capacities, y.dtype)[0], 0.0), 0, 1)
    raise ValueError(
        f"no closed form of the projection onto {type(domain).__name__} is known here: the exact baseline covers "
        "budget(d, b), Simplex, Box and L2Ball."
    )


def _level(y: Array, total: Array, least: float) -> Array:
    """tau >= least at which clip(y - tau, 0, 1) sums to `total`; `least` itself where that sums to less already.

    By bisection: for 20 coordinates as fast as trying all kinks at once, six times as fast as sorting them, and a
    rounded y does no harm.
    """

    def halve(_: Array, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        middle = (ends[0] + ends[1]) / 2
        more = jnp.clip(y - middle, 0, 1).sum() > total
        return jnp.where(more, middle, ends[0]), jnp.where(more, ends[1], middle)

    low = jnp.maximum(y.min() - 1, least)
    return jax.lax.fori_loop(0, HALVINGS, halve, (low, jnp.maximum(y.max(), low)))[1]
