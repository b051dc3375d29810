"""The contract of an infeasible projection, and what every implementation returns."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
from jax import Array

from droculo.oracles import native
from droculo.oracles.flocks import in_flocks
from droculo.sets import Set

#: An agent-local memory: any pytree of arrays, carried in the agent's state and never sent.
Memory = Any


class Projection(eqx.Module):
    """What came out: x in K, y near it, and the price."""

    x: Array
    y: Array
    calls: Array  # LOO calls made
    converged: Array  # whether |x - y|^2 <= 3 eps was reached; False is an honest "stopped at the cap or at rounding"
    memory: Memory


class InfeasibleProjection(eqx.Module):
    """O_IP of the paper's Lemma 1: (x0 in K, y0, eps) -> (x, y) with

    x in K,  |y| <= R,  |x - y|^2 <= 3 eps,  and  |y - z| <= |y0 - z| for every z in K,

    reaching K only through its linear oracle. Whatever happens (ties, NaN, an eps below rounding), it returns.
    """

    #: whether x0 matters; if not, agents need not send theirs
    starts_from_x0: ClassVar[bool] = True
    #: whether its memory makes small tolerances and long steps cheap: the default ones go by that
    remembers: ClassVar[bool] = False

    def init(self, domain: Set, x: Array) -> Memory:
        """The memory an agent starts with."""
        return ()

    @abstractmethod
    def project(self, domain: Set, x0: Array, y0: Array, tolerance: Array, memory: Memory) -> Projection:
        """The infeasible projection of y0, starting from x0: what an implementation says."""

    def together(self, number: Any) -> Callable[..., Projection] | None:
        """`project` for a batch of agents with numbers of this type, or None. All its arguments but the set have one axis
        more, or several."""
        return None

    def __call__(self, domain: Set, x0: Array, y0: Array, tolerance: Array, memory: Memory) -> Projection:
        """`project`; a batch of agents goes flock by flock, so that few wait for the slowest."""
        y0 = native.once(jnp.asarray(y0))  # with all the gradients that it is made of
        out: Projection = in_flocks(self.project, self.together(y0.dtype), domain, x0, y0, tolerance, memory)
        return out


def within_radius(domain: Set, y: Array) -> Array:
    """y pulled back into the ball of radius R, which contains K: closer to every point of K."""
    return y / jnp.maximum(1, jnp.linalg.norm(y) / domain.radius)


def lemma_bound(domain: Set, x0: Array, y0: Array, tolerance: Array) -> Array:
    """Lemma 1's bound on LOO calls: ceil(27 R^2/eps - 2) max(1, D (D - eps)/(4 eps^2) + 1) with D = |x0 - y0|^2.

    As a float: it can be too large for an integer.
    """
    D = jnp.sum((x0 - y0) ** 2)
    inner = jnp.ceil(27 * domain.radius**2 / tolerance - 2)
    return inner * jnp.maximum(1, D * (D - tolerance) / (4 * tolerance**2) + 1)
