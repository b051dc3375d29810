"""Budget allocation: at which events to advertise."""

from __future__ import annotations

from typing import Any

import numpy as np

from droculo.engine import Trajectory
from droculo.gallery.story import Story, cell
from droculo.problems import Problem
from droculo.problems.applications.social import Influence


def draw(ax: Any, problem: Problem, run: Trajectory) -> None:
    """Spending by event in the last round, next to the best fixed choice."""
    assert isinstance(problem, Influence)
    spending = run.actions[-1]
    events = np.arange(spending.shape[1])
    best = problem.comparator(run.horizon, run.agents)
    ax.bar(events - 0.2, best.point, width=0.4, color="0.8", label="best fixed choice")
    ax.bar(events + 0.2, spending.mean(axis=0), width=0.4, color="C0", label="learned")
    ax.set_xticks(events, [f"E{event + 1}" for event in events], fontsize="small")
    ax.set_xlabel("event")
    ax.set_ylabel("share of full spending")
    ax.legend(fontsize="small")


STORY = Story(
    title="Advertising budget on a social network",
    decided="How much to spend on advertising at each of 14 events, as a share of full spending.",
    agents="Six shops with three customers each. A customer spends four fifths of her money at her own shop and the "
    "rest evenly at all six. A shop sees its own sales only.",
    round="A week. What every customer spends drifts, at a pace of her own.",
    set="A budget of three fully advertised events: {0 <= x <= 1, sum x <= 3}. Its oracle takes the three with "
    "the largest signal.",
    case="A2: monotone with diminishing returns on a set with the origin, alpha = 1 - 1/e. A customer is reached "
    "unless every event fails to reach her, 1 - prod(1 - p x): more spending never hurts, and helps less the "
    "more is spent. The sum is linear in every coordinate, so three whole events are best; all 364 choices "
    "are looked at, and the comparator is exact.",
    source="The Davis graph of 18 women and the 14 events they attended (NetworkX), with random chances of being "
    "reached. The model is that of Alon, Gamzu and Tennenholtz (2012).",
    unit="sales per shop and week",
    cell=cell("influence", "ring", "two-point", 2000, theta=0.6, step=20.0, tolerance=0.05),
    draw=draw,
    caption="Spending by event at the end, next to the best three events in hindsight. The shops compare their sales "
    "under two plans a week; no gradient is ever asked for.",
)
