"""Problems from a user-defined function: one written in JAX, or a black box on the host."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import Array

from droculo.linearizations import Bounds, Linearization
from droculo.problems.base import Posed
from droculo.sets import Set
from droculo.sets.geometry import Vector
from droculo.sets.host import ask

Objective = Callable[[Array, Array, Array], Any]
#: numbers of agents and rounds travel to the host as multiples of this and a rest
HALF = 4096
#: f(agent, t, x) in NumPy: a number, or a gradient
Measured = Callable[[int, int, Vector], Any]


class FromFunction(Posed):
    """f(agent, t, x), written in JAX. Make it with `from_function`."""

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
    smoothness: float | None = None,
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
    bounds = Bounds(gradient_bound, value_bound, smoothness=smoothness)
    return FromFunction(set, linearization, bounds, agents, function)


class BlackBox(Posed):
    """f(agent, t, x) known only by calling it. Make it with `from_black_box`."""

    function: Measured = eqx.field(static=True)
    slope: Measured | None = eqx.field(static=True)

    @property
    def differentiable(self) -> bool:
        return self.slope is not None

    def value(self, agent: Array, t: Array, x: Array) -> Array:
        return self._call(self.function, agent, t, x, 1)[0]

    def gradient(self, agent: Array, t: Array, x: Array) -> Array:
        if self.slope is None:
            raise ValueError(
                "this black box answers with values only. Use feedback.zeroth_order(), bandit() or two_point(), or pass "
                "gradient=... to from_black_box (a certificate needs gradients too)."
            )
        return self._call(self.slope, agent, t, x, x.shape[0])

    def _call(self, function: Measured, agent: Array, t: Array, x: Array, length: int) -> Array:
        def one(row: Vector) -> Vector:
            agent, t = (int(high) * HALF + int(low) for high, low in row[:4].reshape(2, 2))
            reply = np.asarray(function(agent, t, row[4:]), np.float64)
            if reply.size != length:
                raise ValueError(f"the black box must answer with {length} number(s); got shape {reply.shape}.")
            return reply.reshape(length)

        # In halves: float32 has no room for every whole number beyond 2^24.
        halves = jnp.stack([agent // HALF, agent % HALF, t // HALF, t % HALF])
        return ask(one, jnp.concatenate([halves.astype(x.dtype), x]), length)


def from_black_box(
    function: Measured,
    set: Set,
    linearization: Linearization,
    *,
    gradient: Measured | None = None,
    gradient_bound: float,
    value_bound: float,
    smoothness: float | None = None,
    agents: int | None = None,
) -> BlackBox:
    """The same for a function that cannot be traced: a simulator, a program, a measurement, called on the host.

    It is called with whole numbers `agent` and `t` and a NumPy vector x, and must give the same answer to the same
    question. `gradient`, where there is one, allows gradient feedback and certificates. Each question is a Python call:
    expect a few tens of thousands per second.

    >>> import numpy as np
    >>> from droculo import linearizations, sets
    >>> problem = from_black_box(
    ...     lambda agent, t, x: np.log1p(x).sum(), sets.budget(3, 1.0), linearizations.MonotoneOrigin(),
    ...     gradient_bound=2.0, value_bound=3.0)
    >>> import jax.numpy as jnp
    >>> float(problem.value(jnp.array(0), jnp.array(5), jnp.ones(3)))  # doctest: +ELLIPSIS
    2.079...
    """
    bounds = Bounds(gradient_bound, value_bound, smoothness=smoothness)
    return BlackBox(set, linearization, bounds, agents, function, gradient)
