"""Parts of a run and the best fixed point of each: what a comparator that moves is made of."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from droculo.engine import History
from droculo.measure._regret import Numbers, Times, rewards_at
from droculo.measure.sampling import MOST_EVALUATIONS, check, check_inside
from droculo.problems import Comparator, Problem

#: what may be known of a comparator, from most to least
KINDS = ("exact", "given", "certified", "found")


@dataclass(frozen=True)
class Windows:
    """The best fixed point u_k of every window, the rounds starts[k] <= t < ends[k]."""

    starts: Times  # (windows,)
    ends: Times  # (windows,)
    points: Numbers  # (windows, d)
    totals: Numbers  # (windows,): (1/N) sum over the window's rounds and all j of f_{t,j}(u_k)
    gaps: Numbers  # (windows,): no fixed point earns more than the total and this; 0 where it is exact
    kind: str  # of a `Comparator`: the least that is known of any of them

    @property
    def path_length(self) -> float:
        """sum_k |u_k - u_(k-1)|: how far the comparator moves. (Of several best points each is the one that the problem names.)"""
        return float(np.linalg.norm(np.diff(self.points, axis=0), axis=1).sum())

    @property
    def lengths(self) -> Times:
        """How many rounds each window has."""
        return self.ends - self.starts


def best_of_windows(
    problem: Problem, plays: History, starts: Times, ends: Times, given: Sequence[Comparator] | None
) -> Windows:
    """The best fixed point of every window: the problem's own, or those that are given and earn what they say."""
    known = problem.comparators_between(starts, ends, plays.agents) if given is None else list(given)
    if len(known) != len(starts):
        raise ValueError(
            f"there must be one comparator for each of the {len(starts)} windows; got {len(known)}. Pass a list of what "
            "measure.best_fixed_point(problems.Shifted(problem, start), end - start, plays.agents) returns for each."
        )
    best = [c for c in known if c is not None]
    if len(best) < len(known):
        raise ValueError(
            f"{type(problem).__name__} does not know the best points of {len(known) - len(best)} of the {len(known)} windows. "
            "Choose a few windows, and pass comparators=[measure.best_fixed_point(problems.Shifted(problem, start), end - start, "
            "plays.agents) for each of them], which say how good they are."
        )
    kind = max((c.kind for c in best), key=KINDS.index)
    points, totals, gaps = (
        np.array([getattr(c, name) for c in best], np.float64) for name in ("point", "total", "gap")
    )
    windows = Windows(starts, ends, points, totals, gaps, kind)
    if given is not None:
        sums = np.add.reduceat(earned(problem, plays, windows), np.cumsum(windows.lengths) - windows.lengths)
        if np.any(wrong := ~np.isclose(sums, totals, rtol=1e-6, atol=1e-9)):
            k = int(np.argmax(wrong))
            raise ValueError(
                f"the comparator of rounds {starts[k]} to {ends[k] - 1} is said to earn {totals[k]:g} and earns {sums[k]:g}: it "
                "was made for other rounds or for other agents."
            )
    return windows


def earned(problem: Problem, plays: History, windows: Windows) -> Numbers:
    """What the best fixed points earn in every round of their windows, one window after the other."""
    lengths, points = windows.lengths, windows.points
    rounds = np.concatenate([np.arange(*ends) for ends in zip(windows.starts, windows.ends, strict=True)])
    each = rewards_at(problem, plays.agents, rounds, np.repeat(points, lengths, axis=0))
    unknown = np.isnan(points).any(axis=1)  # the reward was given, not where it is: it is spread evenly
    return np.where(np.repeat(unknown, lengths), np.repeat(windows.totals / lengths, lengths), each)


def check_whole(problem: Problem, plays: History, what: str) -> None:
    """Refuse plays of another problem, thinned records, and what would take too long."""
    check(problem, plays)
    check_inside(problem, plays)
    N, recorded, T = len(plays.agents), len(plays.rounds), plays.horizon
    if recorded != T:
        raise ValueError(
            f"{what} looks at all {T} rounds, and {recorded} were recorded. Run with record=Record(every=1)."
        )
    if (needed := float(N) ** 2 * T) > MOST_EVALUATIONS:
        raise ValueError(
            f"{what} of {N} agents over {T} rounds takes {needed:.1e} evaluations of f, and is not estimated from a sample. "
            "Play fewer rounds, or use measure.regret with sample=measure.Sample(...)."
        )
