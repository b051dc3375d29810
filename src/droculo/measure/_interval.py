"""Regret in every part of a run, each against the best fixed point of exactly that part."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from droculo.engine import History
from droculo.measure._regret import Numbers, Times, alpha_of, rewards
from droculo.measure._windows import Windows, best_of_windows, check_whole
from droculo.plotting import axes, band, tidy_frame
from droculo.problems import Comparator, Problem

if TYPE_CHECKING:
    import pandas

#: more windows than this are not looked at: their starts are further apart then
MOST_WINDOWS = 1000


@dataclass(frozen=True)
class IntervalRegret:
    """The alpha-regret of every agent in windows of one length, each against the best fixed point of exactly its rounds.

    R_i[a, b) = alpha max over u in K of (1/N) sum_{a<=t<b,j} f_{t,j}(u) - (1/N) sum_{a<=t<b,j} f_{t,j}(a_t^i).

    Regret over a whole run may be small although the agents never found out that the world had changed; the worst of its windows
    shows it. Only the windows that begin at `windows.starts` are looked at, so the worst of all may be a little worse.
    """

    alpha: float
    windows: Windows
    rewards: Numbers  # (..., windows, agents): the rewards (1/N) sum_{t,j} f_{t,j}(a_t^i) in a window
    agents: NDArray[np.int64]  # the nodes that were measured

    @property
    def length(self) -> int:
        """The number of rounds in a window."""
        return int(self.windows.lengths[0])

    @property
    def curve(self) -> Numbers:
        """(..., windows, agents): the alpha-regret in every window."""
        return self.alpha * self.windows.totals[:, None] - self.rewards

    @property
    def shares(self) -> Numbers:
        """(..., windows, agents): rewards as shares of the best fixed point's, without alpha; NaN where that earns nothing."""
        best = np.where(self.windows.totals > 0, self.windows.totals, np.nan)
        return self.rewards / best[:, None]

    @property
    def worst(self) -> Numbers:
        """(..., agents): the largest alpha-regret of a window."""
        return self.curve.max(axis=-2)

    @property
    def worst_start(self) -> Times:
        """(..., agents): the round in which the window of the largest alpha-regret begins (the first, if there are several)."""
        return self.windows.starts[self.curve.argmax(axis=-2)]

    @property
    def worst_share(self) -> Numbers:
        """(..., agents): the smallest share of a window."""
        return np.fmin.reduce(self.shares, axis=-2)

    @property
    def worst_share_start(self) -> Times:
        """(..., agents): the round in which the window of the smallest share begins (the first, if there are several)."""
        return self.windows.starts[np.where(np.isnan(self.shares), np.inf, self.shares).argmin(axis=-2)]

    def frame(self) -> "pandas.DataFrame":
        """A DataFrame: one row for each seed (by its place), window (by its first round) and agent."""
        shape = (-1, *self.rewards.shape[-2:])
        values = {"regret": self.curve.reshape(shape), "share": self.shares.reshape(shape)}
        seeds = np.arange(len(values["regret"]))
        return tidy_frame(values, {"seed": seeds, "start": self.windows.starts, "agent": self.agents})

    def plot(self, ax: Any = None) -> Any:
        """alpha-regret a round in every window, over its first round: the mean over agents and seeds, and the range. Returns
        the axes."""
        ax = axes(ax)
        curves = np.swapaxes(self.curve / self.length, -1, -2).reshape(-1, len(self.windows.starts))
        band(ax, self.windows.starts, curves, "")
        ax.set(xlabel="first round of the window", ylabel=f"alpha-regret a round in {self.length} rounds")
        return ax


def interval(
    problem: Problem,
    plays: History,
    *,
    length: int,
    step: int | None = None,
    alpha: float | None = None,
    comparators: Sequence[Comparator] | None = None,
) -> IntervalRegret:
    """The alpha-regret of a run in windows of `length` rounds, each against the best fixed point of exactly that window.

    Windows begin every `step` rounds, by default a quarter of the length (or so that there are at most 1000), and the last one
    ends with the run. Planted problems know all their best points; for others pass `comparators`, one for each window. `alpha` is
    that of the problem's class unless another is given. Every round must have been recorded. Costs N^2 evaluations a round.

    >>> from droculo import History, problems
    >>> world = problems.Switching([[[6.0, 4.0, 4.0]], [[4.0, 4.0, 6.0]]], every=8)
    >>> still = History.of(np.tile([1.0, 0.0, 0.0], (16, 1, 1)))  # at what is best before the switch
    >>> found = interval(problems.TopB(world, 1), still, length=4)
    >>> found.worst_start.tolist(), found.worst_share.round(3).tolist()
    ([8], [0.667])
    """
    check_whole(problem, plays, "interval regret")
    T = plays.horizon
    if not (length == int(length) and 1 <= length <= T):
        raise ValueError(
            f"the length of a window is a whole number of rounds between 1 and the horizon {T}; got {length}."
        )
    if step is None:
        step = max(1, int(length) // 4, -(-(T - int(length)) // (MOST_WINDOWS - 1)))
    if not (step == int(step) and step >= 1 and (T - length) / step < MOST_WINDOWS):
        raise ValueError(
            f"step, the number of rounds from one window's start to the next, is a whole number, at least 1, and so large that there "
            f"are at most {MOST_WINDOWS} windows; got {step} for windows of {length} of {T} rounds."
        )
    starts = np.unique(np.append(np.arange(0, T - length + 1, int(step)), T - int(length)))
    best = best_of_windows(problem, plays, starts, starts + int(length), comparators)
    earned = rewards(problem, plays)
    if not np.all(np.isfinite(earned)):
        raise ValueError("f is not finite where the agents played: interval regret has no number.")
    until = np.concatenate([np.zeros_like(earned[..., :1, :]), np.cumsum(earned, axis=-2)], axis=-2)
    in_windows = until[..., best.ends, :] - until[..., best.starts, :]
    return IntervalRegret(alpha_of(problem) if alpha is None else alpha, best, in_windows, np.arange(len(plays.agents)))
