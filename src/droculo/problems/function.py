"""Problems from a user-defined function: one written in JAX, or a black box on the host."""

import warnings
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike, NDArray

from droculo.linearizations import Bounds, Linearization
from droculo.precision import double
from droculo.problems.adversaries import Rounds
from droculo.problems.base import Comparator, Posed
from droculo.sets import Set
from droculo.sets.geometry import Vector
from droculo.sets.host import ask

Objective = Callable[[Array, Array, Array], Any]
#: numbers of agents and rounds travel to the host as multiples of this and a rest
HALF = 4096
#: f(agent, t, x) in NumPy: a number, or a gradient
Measured = Callable[[int, int, Vector], Any]


#: what a user knows of the best fixed point: the point, what it earns a round, or one of these as a function of the horizon
Best = ArrayLike | Callable[[int], ArrayLike]


class UserDefined(Posed):
    """A problem whose best fixed point may be known to the user."""

    best: Any = eqx.field(
        static=True
    )  # a number, a tuple of coordinates, or a function of the horizon; None if unknown

    def comparator(self, horizon: int, agents: NDArray[np.int64]) -> Comparator | None:
        return self.comparators([horizon], agents)[0]

    def comparators_between(self, starts: Rounds, ends: Rounds, agents: NDArray[np.int64]) -> list[Comparator | None]:
        """What the user knows is the best of the first rounds, not that of later windows."""
        earned: dict[bytes, NDArray[np.float64]] = {}
        found: list[Comparator | None] = []
        for start, T in zip(starts, ends, strict=True):
            if self.best is None or start > 0:
                found.append(None)
                continue
            best = _numbers(self.best(int(T)) if callable(self.best) else self.best)
            if best.ndim == 0:
                found.append(Comparator(np.full(self.set.dim, np.nan), float(best) * T, "given", 0.0))
                continue
            if best.shape != (self.set.dim,):
                raise ValueError(
                    f"the best fixed point is a number, its reward a round, or {self.set.dim} coordinates; got shape {best.shape}."
                )
            if best.tobytes() not in earned:
                with double():
                    rounds = jnp.arange(max(ends))
                    each = _rewards(self, jnp.asarray(agents), rounds, jnp.asarray(best))
                    earned[best.tobytes()] = np.cumsum(np.asarray(each))
            found.append(Comparator(best, float(earned[best.tobytes()][T - 1]), "given", 0.0))
        return found


@eqx.filter_jit  # type: ignore[untyped-decorator]
def _rewards(problem: UserDefined, agents: Array, rounds: Array, x: Array) -> Array:
    """What the network earns at x in every round."""
    return jax.lax.map(lambda t: jnp.mean(jax.vmap(lambda j: problem.value(j, t, x))(agents)), rounds, batch_size=64)


def _as_static(best: Best | None) -> Any:
    """As something that compiled code can be told apart by."""
    if best is None or callable(best):
        return best
    given = _numbers(best)
    return float(given) if given.ndim == 0 else tuple(given.tolist())


def _numbers(best: Any) -> NDArray[np.float64]:
    try:
        numbers = np.asarray(best, np.float64)
    except (TypeError, ValueError):
        numbers = np.asarray(np.nan)
    if not np.all(np.isfinite(numbers)):
        raise ValueError(
            "the comparator is the best fixed point, what it earns a round, or a function of the horizon that returns one of "
            f"these, in finite numbers; got {best!r}."
        )
    return numbers


class FromFunction(UserDefined):
    """f(agent, t, x), written in JAX. Make it with `from_function`."""

    function: Objective = eqx.field(static=True)

    def value(self, agent: Array, t: Array, x: Array) -> Array:
        return jnp.asarray(self.function(agent, t, x))


def from_function(
    function: Objective,
    set: Set,
    linearization: Linearization,
    *,
    gradient_bound: float | None = None,
    value_bound: float | None = None,
    smoothness: float | None = None,
    agents: int | None = None,
    comparator: Best | None = None,
) -> FromFunction:
    """Pose max over x of f(agent, t, x) on `set`, where f belongs to the class that `linearization` names.

    Bounds on gradients and values are for the theorems in numbers and for methods that need them; where they are declared, runs
    count the answers that break them. `comparator`: the best fixed point in hindsight where you know it, so that regret can be measured: its coordinates, what it
    earns a round, or a function of the horizon that returns one of these. It is taken as given.

    >>> import jax.numpy as jnp
    >>> from droculo import linearizations, sets
    >>> problem = from_function(
    ...     lambda agent, t, x: jnp.log1p(x).sum(), sets.budget(3, 1.0), linearizations.MonotoneOrigin())
    >>> problem.agents is None
    True
    """
    bounds = Bounds(gradient_bound, value_bound, smoothness=smoothness)
    problem = FromFunction(set, linearization, bounds, agents, _as_static(comparator), function)
    _notice_single_precision(problem)
    return problem


def _notice_single_precision(problem: FromFunction) -> None:
    """Warn of a function that computes in single precision where its argument is in double: mostly a constant is to blame
    that JAX made before the library switched precision. What cannot be traced is reported when it is played."""
    with double():
        try:
            traced = str(jax.make_jaxpr(problem.value)(0, 0, jnp.zeros(problem.set.dim)))
        except Exception:
            return
    if "f32[" in traced:
        warnings.warn(
            "f computes in single precision, so regret is known to six or seven digits only. A constant was probably made with "
            "jax.numpy, whose default is float32: make it with NumPy (np.asarray), and JAX will take it in double precision.",
            stacklevel=3,
        )


class BlackBox(UserDefined):
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
            if t < 0:  # a round that is not played
                return np.zeros(length)
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
    gradient_bound: float | None = None,
    value_bound: float | None = None,
    smoothness: float | None = None,
    agents: int | None = None,
    comparator: Best | None = None,
) -> BlackBox:
    """The same for a function that cannot be traced: a simulator, a program, a measurement, called on the host.

    It is called with whole numbers `agent` and `t` and a NumPy vector x, and must give the same answer to the same
    question. `gradient`, where there is one, allows gradient feedback and certificates. Each question is a Python call:
    expect a few tens of thousands per second.

    >>> import numpy as np
    >>> from droculo import linearizations, sets
    >>> problem = from_black_box(
    ...     lambda agent, t, x: np.log1p(x).sum(), sets.budget(3, 1.0), linearizations.MonotoneOrigin())
    >>> import jax.numpy as jnp
    >>> float(problem.value(jnp.array(0), jnp.array(5), jnp.ones(3)))  # doctest: +ELLIPSIS
    2.079...
    """
    bounds = Bounds(gradient_bound, value_bound, smoothness=smoothness)
    return BlackBox(set, linearization, bounds, agents, _as_static(comparator), function, gradient)
