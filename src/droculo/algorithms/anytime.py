"""Playing without knowing the horizon: an algorithm for T rounds, then a fresh one for 2 T, and so on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from droculo.algorithms.base import Algorithm
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

    A method with regret C T^a that knows T has at most C T^a/(1 - 2^-a) here, 3.4 times as much for a = 1/2: the
    phases' regrets add up like a geometric series. `design` makes the algorithm for a horizon.

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
        if not (isinstance(self.first, int) and self.first >= 1):
            raise ValueError(f"the first phase has at least one round; got first={self.first!r}.")

    def phases(self, rounds: int) -> list[Phase]:
        """What is played in this many rounds."""
        found: list[Phase] = []
        start, length = 0, self.first
        while start < rounds:
            algorithm = self.design(length)
            expect(algorithm, Algorithm, "what design returns", "It makes one agent, for example with Droculo.design.")
            if algorithm.horizon != length:
                raise ValueError(
                    f"design({length}) returned an algorithm for {algorithm.horizon} rounds: pass its argument on as horizon=."
                )
            found.append(Phase(start, min(length, rounds - start), algorithm))
            start, length = start + length, 2 * length
        return found
