"""The contract of an infeasible projection (the paper's Lemma 1), and what every implementation returns."""

from abc import abstractmethod
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
from jax import Array

from droculo.sets import Set

#: An agent-local memory: any pytree of arrays, carried in the agent's state and never sent.
Memory = Any


class Projection(eqx.Module):
    """The result of an infeasible projection: x in K, y near it, and what they cost."""

    x: Array
    y: Array
    calls: Array  # LOO calls made
    converged: Array  # True if |x - y|^2 <= 3 eps was reached, False if the oracle stopped at its cap or at rounding
    memory: Memory


class InfeasibleProjection(eqx.Module):
    """O_IP of the paper's Lemma 1: (x0 in K, y0, eps) -> (x, y) with

    x in K,  |y| <= R,  |x - y|^2 <= 3 eps,  and  |y - z| <= |y0 - z| for every z in K,

    reaching K only through its linear oracle. It returns for any input: ties, NaN, an eps below rounding.

    An implementation is written for one agent. How a batch of agents is run is decided in `oracles.batching`.
    """

    #: True if the result depends on x0; if not, agents of `Droculo` send y alone by default, half the bytes of (x, y)
    starts_from_x0: ClassVar[bool] = True

    def init(self, domain: Set, x: Array) -> Memory:
        """The memory of an agent that starts at x."""
        return ()

    @abstractmethod
    def project(self, domain: Set, x0: Array, y0: Array, tolerance: Array, memory: Memory) -> Projection:
        """The infeasible projection of y0, starting from x0.

        In a batched loop a finished agent asks the linear oracle for the direction zero, which costs nothing and is
        not counted.
        """


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
