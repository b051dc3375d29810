"""Regret against a comparator that moves: the best point of every round, or of every window."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from droculo.engine import History
from droculo.measure._regret import Numbers, Times, alpha_of, curve_frame, curve_plot, curve_times, rewards
from droculo.measure._windows import Windows, best_of_windows, check_whole, earned
from droculo.problems import Comparator, Problem

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class DynamicRegret:
    """The cumulative dynamic alpha-regret of every agent, against points u_t that stay the same within a window.

    R_i(t) = alpha (1/N) sum_{s<t,j} f_{s,j}(u_s) - (1/N) sum_{s<t,j} f_{s,j}(a_s^i).

    u_t is the best fixed point of the window of round t, so with one window it is the regret of `measure.regret`, and the more
    windows, the larger. No method can keep it small against everything: what can be hoped for grows with `path_length`.
    Where the comparators are not exact the true regret may be larger, by at most alpha times the sum of their gaps.
    """

    alpha: float
    windows: Windows
    rewards: Numbers  # (..., agents): the cumulative reward (1/N) sum_{t,j} f_{t,j}(a_t^i)
    agents: NDArray[np.int64]  # the nodes that were measured
    times: Times  # (k,): the numbers of rounds
    curve: Numbers  # (..., k, agents): R_i at these times; its last row is the total

    @property
    def optimum(self) -> float:
        """What the moving comparator earns in all."""
        return float(self.windows.totals.sum())

    @property
    def path_length(self) -> float:
        """sum_t |u_t - u_(t-1)|: how far the comparator moves."""
        return self.windows.path_length

    @property
    def total(self) -> Numbers:
        """(..., agents): R_i after the last round."""
        return self.alpha * self.optimum - self.rewards

    @property
    def share(self) -> Numbers:
        """(..., agents): the reward as a share of what the moving comparator earns, without alpha."""
        return self.rewards / self.optimum

    def frame(self) -> "pandas.DataFrame":
        """The curve as a DataFrame: one row for each seed (by its place), time and agent."""
        return curve_frame("dynamic_regret", self.curve, self.times, self.agents)

    def plot(self, ax: Any = None) -> Any:
        """Dynamic alpha-regret a round over time: the mean over agents and seeds, and the range. Returns the axes."""
        return curve_plot("dynamic alpha-regret a round", self.curve, self.times, ax)


def dynamic(
    problem: Problem,
    plays: History,
    *,
    windows: Sequence[int] | NDArray[np.int64] | int | None = None,
    alpha: float | None = None,
    comparators: Sequence[Comparator] | None = None,
    at: Sequence[int] | None = None,
) -> DynamicRegret:
    """The alpha-regret of a run against the best point of every window, by default of every single round.

    `windows`: the rounds in which they begin (the first begins with round 0 in any case), such as `Switching.starts(horizon)`, or
    one length for all of them. Planted problems know all their best points; for others pass `comparators`, one for each window.
    `alpha` is that of the problem's class unless another is given; `at` lists the times of the curve, by default about 30.
    Every round must have been recorded. Costs N^2 evaluations a round.

    >>> from droculo import History, problems
    >>> world = problems.Switching([[[6.0, 4.0, 4.0]], [[4.0, 4.0, 6.0]]], every=5)
    >>> still = History.of(np.tile([1.0, 0.0, 0.0], (10, 1, 1)))  # ten rounds at what is best in the first five
    >>> found = dynamic(problems.TopB(world, 1), still)
    >>> found.optimum, found.share.tolist(), round(found.path_length, 3)
    (60.0, [0.8333333333333334], 1.414)
    """
    check_whole(problem, plays, "dynamic regret")
    starts = _starts(windows, plays.horizon)
    alpha, times = alpha_of(problem) if alpha is None else alpha, curve_times(plays.horizon, at)
    ends = np.append(starts[1:], plays.horizon)
    best = best_of_windows(problem, plays, starts, ends, comparators)
    cumulative = np.cumsum(rewards(problem, plays), axis=-2)
    if not np.all(np.isfinite(cumulative)):
        raise ValueError("f is not finite where the agents played: dynamic regret has no number.")
    curve = alpha * np.cumsum(earned(problem, plays, best))[times - 1, None] - cumulative[..., times - 1, :]
    return DynamicRegret(alpha, best, cumulative[..., -1, :], np.arange(len(plays.agents)), times, curve)


def _starts(windows: Sequence[int] | NDArray[np.int64] | int | None, horizon: int) -> Times:
    """The rounds in which windows begin, 0 among them."""
    given = np.asarray(1 if windows is None else windows)
    whole = given.size > 0 and given.ndim <= 1 and bool(np.all(np.mod(given, 1) == 0))
    if given.ndim == 0 and whole and given >= 1:
        return np.arange(0, horizon, int(given))
    if given.ndim == 0 or not whole or given.min() < 0 or given.max() >= horizon:
        raise ValueError(
            f"windows are the rounds in which a window begins, whole numbers from 0 to {horizon - 1}, or one length of at least "
            f"1 for all of them; got {given.tolist()}."
        )
    return np.unique(np.append(0, given.astype(np.int64)))
