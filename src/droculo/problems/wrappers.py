"""Problems made from another problem: shifted in time, or with noisy answers."""

from typing import ClassVar

import equinox as eqx
import jax
import numpy as np
from jax import Array
from numpy.typing import NDArray

from droculo.linearizations import Bounds, Linearization
from droculo.problems.adversaries import Rounds
from droculo.problems.base import Comparator, Problem
from droculo.sets import Full, Set
from droculo.sets.geometry import Vector


class Wrapper(Problem):
    """A problem over the same set, of the same class and for the same agents as the one inside."""

    problem: Problem

    @property
    def set(self) -> Set:
        return self.problem.set

    @property
    def linearization(self) -> Linearization:
        return self.problem.linearization

    @property
    def agents(self) -> int | None:
        return self.problem.agents

    @property
    def differentiable(self) -> bool:
        return self.problem.differentiable


class Shifted(Wrapper):
    """A problem from round `by` on: its round 0 is round `by` of the problem inside.

    >>> import jax.numpy as jnp
    >>> from droculo import problems
    >>> problem = problems.TopB.random(agents=3, dim=5, budget=2, seed=0)
    >>> x = jnp.full(5, 0.25)
    >>> bool(Shifted(problem, 7).value(1, 2, x) == problem.value(1, 9, x))
    True
    """

    by: Vector

    def __init__(self, problem: Problem, by: int):
        if by < 0:
            raise ValueError(f"by, the number of rounds that are skipped, must be >= 0; got {by}.")
        self.problem = problem
        self.by = np.asarray(by)

    @property
    def noisy(self) -> bool:  # type: ignore[override]
        return self.problem.noisy

    @property
    def bounds(self) -> Bounds:
        return self.problem.bounds

    def value(self, agent: Array, t: Array, x: Array) -> Array:
        return self.problem.value(agent, t + self.by, x)

    def gradient(self, agent: Array, t: Array, x: Array) -> Array:
        return self.problem.gradient(agent, t + self.by, x)

    def answer(self, agent: Array, t: Array, x: Array, order: int, key: Array) -> Array:
        return self.problem.answer(agent, t + self.by, x, order, key)

    def comparator(self, horizon: int, agents: NDArray[np.int64]) -> Comparator | None:
        return self.comparators([horizon], agents)[0]

    def comparators_between(self, starts: Rounds, ends: Rounds, agents: NDArray[np.int64]) -> list[Comparator | None]:
        first, last = (np.asarray(rounds, np.int64) + int(self.by) for rounds in (starts, ends))
        return self.problem.comparators_between(first, last, agents)


class Noisy(Wrapper):
    """A problem with noisy answers: gradients are off by a random vector of length `gradient`, values by up to `value`.

    Every answer has fresh noise of mean zero (uniform on a sphere, uniform on an interval), so it is an unbiased
    oracle, bounded by the sum of both sizes. Rewards, regret and certificate are those of the problem inside.

    >>> from droculo import problems
    >>> noisy = Noisy(problems.TopB.random(agents=3, dim=5, budget=2, seed=0), gradient=2.0, value=1.0)
    >>> float(noisy.bounds.gradient - noisy.problem.bounds.gradient)
    2.0
    """

    noise: tuple[Vector, Vector]  # of values, of gradients: by the order of the answer
    bounds: Bounds
    noisy: ClassVar[bool] = True

    def __init__(self, problem: Problem, *, gradient: float = 0.0, value: float = 0.0):
        for name, size in (("gradient", gradient), ("value", value)):
            if not 0 <= size < np.inf:
                raise ValueError(f"the noise of the {name} must be non-negative and finite; got {size}.")
        self.problem = problem
        self.noise = (np.asarray(value, np.float64), np.asarray(gradient, np.float64))
        inner = problem.bounds
        self.bounds = eqx.tree_at(
            lambda b: (b.gradient, b.value, b.value_noise),
            inner,
            (inner.gradient + self.noise[1], inner.value + self.noise[0], inner.value_noise + self.noise[0]),
        )

    def value(self, agent: Array, t: Array, x: Array) -> Array:
        return self.problem.value(agent, t, x)

    def gradient(self, agent: Array, t: Array, x: Array) -> Array:
        return self.problem.gradient(agent, t, x)

    def answer(self, agent: Array, t: Array, x: Array, order: int, key: Array) -> Array:
        for_noise, for_problem = jax.random.split(key)
        exact = self.problem.answer(agent, t, x, order, for_problem)
        if order == 1:
            off = Full(x.shape[0]).sample(for_noise, x.shape[0])
        else:
            off = jax.random.uniform(for_noise, (), minval=-1.0, maxval=1.0)
        return exact + (self.noise[order] * off).astype(exact.dtype)

    def comparator(self, horizon: int, agents: NDArray[np.int64]) -> Comparator | None:
        return self.problem.comparator(horizon, agents)

    def comparators_between(self, starts: Rounds, ends: Rounds, agents: NDArray[np.int64]) -> list[Comparator | None]:
        return self.problem.comparators_between(starts, ends, agents)
