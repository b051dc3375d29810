"""A problem shifted in time."""

import numpy as np
from jax import Array

from droculo.linearizations import Bounds
from droculo.problems.base import Problem
from droculo.problems.wrapper import Wrapper
from droculo.sets.geometry import Vector


class Shifted(Wrapper):
    """A problem from round `by` on: its round 0 is round `by` of the problem inside.

    >>> import jax.numpy as jnp
    >>> from droculo import problems
    >>> problem = problems.TopB.random(agents=3, dim=5, budget=2, seed=0)
    >>> x = jnp.full(5, 0.25)
    >>> bool(Shifted(problem, 7).value(1, 2, x) == problem.value(1, 9, x))
    True
    """

    problem: Problem
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
