"""An application: what it tells a reader, and the cell that is run for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from droculo.engine import Trajectory
from droculo.experiments import Cell, Choice
from droculo.problems import Problem


@dataclass(frozen=True)
class Story:
    """One application: answers in plain sentences (Markdown), a run, and a drawing of what was learned.

    `draw` fills one panel of the picture with the final decisions, in the application's own terms; the other panel, rewards
    over time against the best fixed point, is the same for all.
    """

    title: str
    decided: str  # the meaning of a coordinate of x
    agents: str  # the meaning of an agent
    round: str  # the meaning of a round, and what changes from one to the next
    set: str  # the set and its oracle
    case: str  # the case, and why it holds
    source: str  # where numbers and model come from
    unit: str  # of the reward, for the axis
    cell: Cell
    draw: Callable[[Any, Problem, Trajectory], None]  # (Matplotlib axes, problem, run)
    caption: str  # of the drawing
    window: int | None = None  # rounds that are averaged for the curve of rewards; by default a sixtieth of all


def cell(
    problem: str, feedback: str, horizon: int, theta: float, step: float,
    tolerance: float = 0.05, network: str = "ring", **options: Any,
) -> Cell:  # fmt: skip
    """A run of DROCULO with seed 0; `options` are the problem's."""
    method = Choice.of("algorithm", "droculo", feedback=feedback, theta=theta, step=step, tolerance=tolerance)
    return Cell(Choice.of("problem", problem, **options), Choice.of("network", network), method, horizon, (0,), 2)
