"""When a projection pays: DOBGA, which projects, against DROCULO, which asks a linear oracle, as the dimension grows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from droculo.experiments.cell import Cell, Choice

AGENTS = 8
#: the method that projects, and those that ask a linear oracle
METHODS = (
    Choice.of("algorithm", "dobga"),
    Choice.of("algorithm", "droculo", theta=1.0),
    Choice.of("algorithm", "droculo", theta=0.5),
)


@dataclass(frozen=True)
class Ground:
    """A kind of set, with a problem on it for every dimension."""

    name: str
    oracles: str  # how its projection and its linear oracle work
    problem: str
    dims: Sequence[int]
    horizon: int

    def cells(self, dim: int, horizon: int | None = None) -> list[Cell]:
        """All methods in one dimension, in the order of `METHODS`."""
        rows = {"constraints": dim // 2} if self.problem == "nqp" else {}
        posed = Choice.of("problem", self.problem, agents=AGENTS, dim=dim, seed=0, **rows)
        ring, T = Choice.of("network", "ring"), horizon or self.horizon
        return [Cell(posed, ring, method, T, (0,), 2, timed=True) for method in METHODS]

    @property
    def start(self) -> Cell:
        """A single round of the projecting method: the time that a run takes besides its rounds."""
        return self.cells(self.dims[0], 1)[0]


GROUNDS: tuple[Ground, ...] = (
    Ground("budget", "closed forms for both", "top-b", (8, 16, 32, 64, 128, 256), 1024),
    Ground("polytope", "a quadratic program against a linear one", "nqp", (8, 16, 32, 64, 128), 256),
)


def grounds(quick: bool = False) -> tuple[Ground, ...]:
    """Both kinds of sets; `quick`: two small dimensions and few rounds."""
    return tuple(replace(ground, dims=(8, 16), horizon=64) for ground in GROUNDS) if quick else GROUNDS


def cells(quick: bool = False) -> list[Cell]:
    """All methods in all dimensions of both grounds, and their single rounds."""
    every = [cell for ground in grounds(quick) for dim in ground.dims for cell in ground.cells(dim)]
    return every + [ground.start for ground in grounds(quick)]
