"""What all problems made from another problem share."""

import equinox as eqx

from droculo.linearizations import Linearization
from droculo.problems.base import Problem
from droculo.sets import Set


class Wrapper(Problem):
    """A problem over the same set, of the same class and for the same agents as the one inside."""

    problem: eqx.AbstractVar[Problem]

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
