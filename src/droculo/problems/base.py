"""The adversary: f(agent, t, x) as a pure function, with its set, its class and its sizes; planted ones know the best point."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from droculo.linearizations import Bounds, Linearization, Setting
from droculo.precision import double
from droculo.problems.adversaries import Adversary
from droculo.sets import Set
from droculo.sets.geometry import Vector

#: a proven gap below this share of the total makes a comparator "certified"
SMALL_GAP = 0.01


class Comparator(NamedTuple):
    """A point u and the reward (1/N) sum over t and j of f_{t,j}(u); `kind` says what is known of it.

    The maximum over K is at most `total + gap`, proven. "exact": the gap is zero, by a formula. "certified": it is below
    one percent. "found": it is larger, or infinite where nothing is proven: the best that a search came upon. "given": the
    user says that it is the best; where only its reward was given, its coordinates are NaN.
    """

    point: Vector
    total: float
    kind: str
    gap: float

    @classmethod
    def exact(cls, point: Vector, total: float) -> "Comparator":
        """The maximum itself."""
        return cls(point, total, "exact", 0.0)

    @classmethod
    def searched(cls, point: Vector, total: float, gap: float) -> "Comparator":
        """The best that was found, with what is proven of it."""
        return cls(point, total, "certified" if gap <= SMALL_GAP * abs(total) else "found", gap)


class Problem(eqx.Module):
    """Functions f_{t,i} on a set K, all of one class. Rounds and agents count from 0.

    A custom problem subclasses this with `set`, `linearization`, `bounds` and `value`; the gradient is
    derived automatically. `agents` is how many agents it is posed for, or None when any number will do.
    `droculo.testing.check_problem` checks that what it declares holds.
    """

    set: eqx.AbstractVar[Set]
    linearization: eqx.AbstractVar[Linearization]
    bounds: eqx.AbstractVar[Bounds]
    agents: eqx.AbstractVar[int | None]

    #: True if `answer` uses its key, which costs a driver a few random bits for every question
    noisy: ClassVar[bool] = False

    @abstractmethod
    def value(self, agent: Array, t: Array, x: Array) -> Array:
        """f_{t,agent}(x)."""

    def gradient(self, agent: Array, t: Array, x: Array) -> Array:
        """The gradient of f_{t,agent} at x."""
        return jax.grad(self.value, argnums=2)(agent, t, x)

    def answer(self, agent: Array, t: Array, x: Array, order: int, key: Array) -> Array:
        """What the query oracle says at x: the gradient (order 1) or the value (order 0). `key` is for its noise."""
        return self.gradient(agent, t, x) if order == 1 else self.value(agent, t, x)

    def comparator(self, horizon: int, agents: NDArray[np.int64]) -> Comparator | None:
        """The best fixed point in hindsight for the nodes with these functions, where it is known; None where not."""
        return None

    def comparators(self, horizons: Sequence[int], agents: NDArray[np.int64]) -> list[Comparator | None]:
        """`comparator` for several growing horizons; a problem that can do them in one pass overrides this."""
        return [self.comparator(horizon, agents) for horizon in horizons]

    @property
    def differentiable(self) -> bool:
        """True if `gradient` can be asked for; a black box may have values only."""
        return True

    @property
    def setting(self) -> Setting:
        """What an agent is told beforehand."""
        return Setting(self.set, self.linearization, self.bounds)


class Posed(Problem):
    """A problem that holds what it declares."""

    set: Set
    linearization: Linearization
    bounds: Bounds
    agents: int | None = eqx.field(static=True)


class Planted(Problem):
    """f_{t,i} = reward(w_{t,i}, x), affine in w: the mean of f over rounds and agents is f of the mean weights.

    So the best fixed point in hindsight is `best(mean weights)`, exactly, whatever the adversary does.
    """

    weights: Adversary
    set: Set
    linearization: Linearization
    bounds: Bounds

    @property
    def agents(self) -> int:
        return self.weights.agents

    @abstractmethod
    def best(self, weights: Vector) -> Vector:
        """The maximiser over K for the given weights."""

    @abstractmethod
    def reward(self, weights: Array, x: Array) -> Array:
        """f for the given weights, affine in them."""

    def value(self, agent: Array, t: Array, x: Array) -> Array:
        return self.reward(self.weights.at(agent, t), x)

    def comparator(self, horizon: int, agents: NDArray[np.int64]) -> Comparator:
        return self.comparators([horizon], agents)[0]

    def comparators(self, horizons: Sequence[int], agents: NDArray[np.int64]) -> list[Comparator]:  # type: ignore[override]
        found = []
        for horizon, total in zip(horizons, self.weights.totals(horizons, agents), strict=True):
            mean = total / horizon
            point = self.best(mean)
            with double():
                earned = horizon * float(self.reward(jnp.asarray(mean), jnp.asarray(point)))
            found.append(Comparator.exact(point, earned))
        return found
