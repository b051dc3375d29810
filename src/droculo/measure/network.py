"""Disagreement between agents, and the number of infeasible points."""

import numpy as np
from numpy.typing import NDArray

from droculo.engine import History
from droculo.sets import Set
from droculo.sets.membership import count_outside


def consensus_gap(plays: History) -> NDArray[np.float64]:
    """For every recorded round, the largest distance of an agent's decision to the agents' mean decision."""
    return consensus_gaps(plays).max(axis=-1)


def consensus_gaps(plays: History) -> NDArray[np.float64]:
    """The same for every agent: (..., rounds, agents)."""
    x = np.asarray(plays.decisions, np.float64)
    return np.linalg.norm(x - x.mean(axis=-2, keepdims=True), axis=-1)


def count_infeasible(set_: Set, plays: History, *, tolerance: float | None = None) -> int:
    """How many of the recorded actions and queries lie outside the set, by more than `tolerance`.

    By default that is what rounding in the run's own precision explains.
    """
    points = [plays.actions] + ([] if plays.queries is None else [plays.queries])
    return sum(count_outside(set_, p, tolerance) for p in points)
