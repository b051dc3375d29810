"""A problem from a plain function of your own, written in JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jax import Array

from droculo.linearizations import Bounds, Linearization
from droculo.problems.base import Problem
from droculo.sets import Set

Objective = Callable[[Array, Array, Array], Any]


class FromFunction(Problem):
    """f(agent, t, x), written in JAX. Make it with `from_function`."""

    set: Set
    linearization: Linearization
    bounds: Bounds
    agents: int | None = eqx.field(static=True)
    function: Objective = eqx.field(static=True)

    def value(self, agent: Array, t: Array, x: Array) -> Array:
        return jnp.asarray(self.function(agent, t, x))


def from_function(
    function: Objective,
    set: Set,
    linearization: Linearization,
    *,
    gradient_bound: float,
    value_bound: float,
    agents: int | None = None,
) -> FromFunction:
    """Pose max over x of f(agent, t, x) on `set`, where f belongs to the class that `linearization` names.

    >>> import jax.numpy as jnp
    >>> from droculo import linearizations, sets
    >>> problem = from_function(
    ...     lambda agent, t, x: jnp.log1p(x).sum(), sets.budget(3, 1.0), linearizations.MonotoneOrigin(),
    ...     gradient_bound=2.0, value_bound=3.0)
    >>> problem.agents is None
    True
    """
    return FromFunction(set, linearization, Bounds(gradient_bound, value_bound), agents, function)
