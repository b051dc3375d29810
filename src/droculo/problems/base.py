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
from droculo.problems.adversaries import Adversary, Rounds, chunk
from droculo.sets import Set
from droculo.sets.geometry import Vector

#: the number of a round that is not played: drivers ask for a fixed number of rounds at a time, and discard what such a
#: one answers. It stays below zero when rounds are shifted.
NOT_PLAYED = -(1 << 30)
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
        """`comparator` for several horizons."""
        return self.comparators_between([0] * len(horizons), horizons, agents)

    def comparators_between(self, starts: Rounds, ends: Rounds, agents: NDArray[np.int64]) -> list[Comparator | None]:
        """The best fixed point of the rounds start <= t < end of every window, where it is known; None where not.

        What is known is that of windows from round 0 on, one by one, by `comparator`. A problem that knows others too, or
        can do them in one pass, overrides this, and `comparator` with `self.comparators([horizon], agents)[0]`.
        """
        windows = zip(starts, ends, strict=True)
        return [self.comparator(int(end), agents) if start == 0 else None for start, end in windows]

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

    def best_of_each(self, weights: Vector) -> Vector:
        """`best` for every row of a table of weights: (rows, entries) to (rows, d)."""
        return np.stack([self.best(row) for row in weights])

    def value(self, agent: Array, t: Array, x: Array) -> Array:
        return self.reward(self.weights.at(agent, t), x)

    def comparator(self, horizon: int, agents: NDArray[np.int64]) -> Comparator:
        return self.comparators([horizon], agents)[0]

    def comparators(self, horizons: Sequence[int], agents: NDArray[np.int64]) -> list[Comparator]:  # type: ignore[override]
        return self.comparators_between([0] * len(horizons), horizons, agents)

    def comparators_between(self, starts: Rounds, ends: Rounds, agents: NDArray[np.int64]) -> list[Comparator]:  # type: ignore[override]
        lengths = np.asarray(ends, np.int64) - np.asarray(starts, np.int64)
        means = self.weights.totals_between(starts, ends, agents) / lengths[:, None]
        points = self.best_of_each(means)
        totals = lengths * self._earned(means, points)
        return [Comparator.exact(point, float(total)) for point, total in zip(points, totals, strict=True)]

    def _earned(self, weights: Vector, points: Vector) -> Vector:
        """`reward` of every row, by one program for any number of rows."""
        size, found = chunk(max(weights.shape[1], points.shape[1])), np.zeros(len(weights))
        with double():
            for start in range(0, len(weights), size):
                part = slice(start, min(start + size, len(weights)))
                number = part.stop - start
                filled = (np.pad(table[part], ((0, size - number), (0, 0))) for table in (weights, points))
                found[part] = np.asarray(_rewards(self, *map(jnp.asarray, filled), jnp.asarray(number)))[:number]
        return found


@eqx.filter_jit  # type: ignore[untyped-decorator]
def _rewards(problem: Planted, weights: Array, points: Array, number: Array) -> Array:
    """What the first `number` points earn, each with the weights of its row; then zeros."""

    def one(k: Array, earned: Array) -> Array:
        return earned.at[k].set(problem.reward(weights[k], points[k]))

    return jax.lax.fori_loop(0, number, one, jnp.zeros(len(weights)))
