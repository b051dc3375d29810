"""Playing without knowing the horizon: an algorithm for T rounds, then a fresh one for 2 T, and so on."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from droculo.algorithms.contract import Algorithm
from droculo.expect import expect


@dataclass(frozen=True)
class Phase:
    """A stretch of rounds that one algorithm plays, from its own round 0 on."""

    start: int
    rounds: int  # at most the algorithm's horizon: less where the run ends within the phase
    algorithm: Algorithm


@dataclass(frozen=True)
class Anytime:
    """Doubling: phase p is a new start of `design(first * 2^p)`. No round depends on how long the run will be.

    Where every phase of length T has regret at most C T^a, the first T >= `first` rounds have at most (2^a/(1 - 2^-a)) C T^a,
    4.8 times as much for a = 1/2: the phases' bounds add up like a geometric series, and the last phase may be cut short.
    `design` makes the algorithm for a horizon. A time-varying network starts again with every phase.

    >>> from droculo import Droculo, feedback, problems
    >>> setting = problems.TopB.random(agents=4, dim=6, budget=2, seed=0).setting
    >>> anytime = Anytime(lambda T: Droculo.design(setting, feedback.bandit(), horizon=T, theta=0.5))
    >>> [(phase.start, phase.rounds) for phase in anytime.phases(300)]
    [(0, 64), (64, 128), (192, 108)]
    """

    design: Callable[[int], Algorithm]
    first: int = 64

    def __post_init__(self) -> None:
        if not callable(self.design):
            raise TypeError(
                f"design is a function of the horizon that returns an algorithm; got {type(self.design).__name__}. Write "
                "for example Anytime(lambda T: Droculo.design(problem.setting, feedback, horizon=T, theta=0.5))."
            )
        if isinstance(self.first, bool) or not isinstance(self.first, int | np.integer) or self.first < 1:
            raise ValueError(f"the first phase has a whole number of rounds, at least one; got first={self.first!r}.")

    def phases(self, rounds: int) -> list[Phase]:
        """What is played in this many rounds."""
        found: list[Phase] = []
        start, length = 0, int(self.first)
        while start < rounds:
            algorithm = self.design(length)
            expect(algorithm, Algorithm, "what design returns", "It makes one agent, for example with Droculo.design.")
            if algorithm.horizon != length:
                what = f"an algorithm for {algorithm.horizon} rounds"
                raise ValueError(f"design({length}) returned {what}: pass its argument on as horizon=.")
            found.append(Phase(start, min(length, rounds - start), algorithm))
            start, length = start + length, 2 * length
        return found
