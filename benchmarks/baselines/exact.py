"""The exact Euclidean projection in place of an oracle, for sets that have one."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import jax.numpy as jnp
from jax import Array

from droculo.oracles import InfeasibleProjection, Memory, Projection
from droculo.oracles.batching import BatchCode, over
from droculo.sets import Set


class Exact(InfeasibleProjection):
    """x = y = the point of K nearest to y0, as the set itself finds it (`Set.project`): no LOO call."""

    starts_from_x0: ClassVar[bool] = False

    def batch_code(self, dtype: Any) -> BatchCode:
        """All agents at once: without a loop there is no slowest agent."""

        def project(domain: Set, x0: Array, y0: Array, tolerance: Array, memory: Memory) -> Projection:
            projection: Projection = over(y0.ndim - 1, partial(self.project, domain))(x0, y0, tolerance, memory)
            return projection

        return BatchCode(project, chunk=None)

    def project(self, domain: Set, x0: Array, y0: Array, tolerance: Array, memory: Memory) -> Projection:
        x = domain.project(y0)
        return Projection(x, x, jnp.zeros((), jnp.int32), jnp.ones((), bool), memory)
