"""What an application tells a reader, and what is run for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from droculo.algorithms import Scales
from droculo.engine import Trajectory
from droculo.feedback import Feedback
from droculo.networks import Network
from droculo.problems import Problem


@dataclass(frozen=True)
class Story:
    """One application: five answers in plain sentences (Markdown), a run, and a drawing of what was learned.

    `draw` fills one panel of the picture with what the agents ended up doing, in the application's own terms; the
    other panel, rewards over time against the best fixed point, is the same for all.
    """

    title: str
    decided: str  # what is decided: what a coordinate of x means
    agents: str  # who the agents are
    round: str  # what a round is, and what changes from one to the next
    set: str  # which set, and its oracle
    case: str  # which case, and why it holds
    source: str  # where numbers and model come from
    unit: str  # of the reward, for the axis
    problem: Callable[[], Problem]
    network: Callable[[], Network]
    feedback: Callable[[], Feedback]
    horizon: int
    theta: float
    scales: Scales
    draw: Callable[[Any, Problem, Trajectory], None]  # (matplotlib axes, problem, run)
    caption: str  # what the drawing shows
    window: int | None = (
        None  # rounds that are averaged for the curve of rewards: a day, say; a sixtieth of all if None
    )
