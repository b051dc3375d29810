"""Regret, exactly as the paper defines it, over time, against a comparator that says what it is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from droculo.engine import History
from droculo.expect import expect
from droculo.measure.sampling import Sample, check, draw
from droculo.plotting import axes, band, tidy_frame
from droculo.precision import double
from droculo.problems import Comparator, Problem

if TYPE_CHECKING:
    import pandas

Numbers = NDArray[np.float64]
Times = NDArray[np.int64]


@dataclass(frozen=True)
class Regret:
    """The cumulative alpha-regret of every measured agent, and where its comparator comes from.

    R_i(t) = alpha max over u in K of (1/N) sum_{s<t,j} f_{s,j}(u) - (1/N) sum_{s<t,j} f_{s,j}(a_s^i).

    The comparator is the best fixed point: at every t that of the first t rounds where the problem knows it, else the
    one point that was passed, at every t the same. `total` is R_i(T) against `comparator.total`; where the comparator
    is not exact the true regret may be larger, by at most alpha * comparator.gap (infinite where nothing is proven).
    """

    alpha: float
    comparator: Comparator
    rewards: Numbers  # (..., agents): the cumulative reward (1/N) sum_{t,j} f_{t,j}(a_t^i)
    error: Numbers  # (..., agents): the standard error of rewards and total; 0 unless measured on a sample
    agents: NDArray[np.int64]  # the nodes that were measured
    times: Times  # (k,): the numbers of rounds
    curve: Numbers  # (..., k, agents): R_i at these times; its last row is the total. Empty for a sample

    @property
    def total(self) -> Numbers:
        """(..., agents): R_i after the last round."""
        return self.alpha * self.comparator.total - self.rewards

    @property
    def ratio(self) -> Numbers:
        """(..., agents): the reward as a share of the comparator's."""
        return self.rewards / self.comparator.total

    def frame(self) -> "pandas.DataFrame":
        """The curve as a DataFrame: one row for each seed (by its place), time and agent."""
        return curve_frame("regret", self.curve, self.times, self.agents)

    def plot(self, ax: Any = None) -> Any:
        """alpha-regret a round over time: the mean over agents and seeds, and the range. Returns the axes."""
        return curve_plot("alpha-regret a round", self.curve, self.times, ax)


def curve_frame(name: str, curve: Numbers, times: Times, agents: NDArray[np.int64]) -> "pandas.DataFrame":
    """(..., times, agents) in long form."""
    curves = curve.reshape(-1, *curve.shape[-2:])
    return tidy_frame({name: curves}, {"seed": np.arange(len(curves)), "round": times, "agent": agents})


def curve_plot(name: str, curve: Numbers, times: Times, ax: Any) -> Any:
    """(..., times, agents), divided by the number of rounds."""
    ax = axes(ax)
    if not len(times):
        raise ValueError("a sample has no curve to plot, only totals.")
    each = np.swapaxes(curve / times[:, None], -1, -2).reshape(-1, len(times))
    band(ax, times, each, "")
    ax.set(xlabel="round", ylabel=name, xscale="log")
    return ax


def network_reward(problem: Problem, agents: Array, t: Array, points: Array) -> Array:
    """(1/N) sum_j f_{t,j}(x) for every row x of `points`."""
    return jax.vmap(lambda x: jnp.mean(jax.vmap(lambda j: problem.value(j, t, x))(agents)))(points)


@eqx.filter_jit  # type: ignore[untyped-decorator]
def _rewards(problem: Problem, agents: Array, rounds: Array, actions: Array) -> Array:
    return jax.lax.map(lambda pair: network_reward(problem, agents, *pair), (rounds, actions), batch_size=64)


def rewards(problem: Problem, plays: History) -> Numbers:
    """(1/N) sum_j f_{t,j}(a_t^i) for every recorded round t and every agent i."""
    check(problem, plays)
    with double():
        agents, rounds = jnp.asarray(plays.agents), jnp.asarray(plays.rounds)
        runs = [np.asarray(_rewards(problem, agents, rounds, jnp.asarray(run))) for run in _runs(plays.actions)]
    return np.stack(runs) if plays.actions.ndim == 4 else runs[0]


def fixed_rewards(problem: Problem, plays: History, point: Numbers) -> Numbers:
    """(1/N) sum_j f_{t,j}(point) for every recorded round t: what staying there would have earned."""
    still = np.broadcast_to(np.asarray(point, np.float64), (len(plays.rounds), len(point)))
    return rewards_at(problem, plays.agents, plays.rounds, still)


def rewards_at(problem: Problem, agents: NDArray[np.int64], rounds: NDArray[np.int64], points: Numbers) -> Numbers:
    """(1/N) sum_j f_{t,j}(point) for every round t and its own point: points (rounds, d)."""
    with double():
        where = (jnp.asarray(agents), jnp.asarray(rounds), jnp.asarray(points, jnp.float64)[:, None])
        return np.asarray(_rewards(problem, *where))[:, 0]


def regret(
    problem: Problem,
    plays: History,
    *,
    alpha: float | None = None,
    comparator: Comparator | None = None,
    at: Sequence[int] | None = None,
    sample: Sample | None = None,
) -> Regret:
    """The alpha-regret of a run, against the problem's exact comparator or the one you pass (`measure.best_fixed_point`).

    `alpha` is that of the problem's class on its own set unless another is given; `at` lists the times of the curve,
    by default about 30, closer together at the start. Costs N^2 evaluations a round, fewer with a `sample`.
    """
    expect(comparator, (Comparator, type(None)), "comparator", "Pass what measure.best_fixed_point returned.")
    drawn = draw(problem, plays, sample, "regret")
    alpha = alpha_of(problem) if alpha is None else alpha
    times = curve_times(plays.horizon, at) if sample is None else np.zeros(0, np.int64)
    best = _comparators(problem, plays, times, comparator)
    if sample is not None:
        with double():
            where, parts = drawn.where(plays), map(drawn.of, _runs(plays.actions))
            found = [drawn.total(np.asarray(_values(problem, *where, part))) for part in parts]
        earned, error = map(np.stack, zip(*found, strict=True))
        curve = np.zeros((len(earned), 0, len(drawn.nodes)))
    else:
        cumulative = np.cumsum(np.reshape(rewards(problem, plays), (-1, *plays.actions.shape[-3:-1])), axis=1)
        earned, error = cumulative[:, -1], np.zeros_like(cumulative[:, -1])
        curve = alpha * np.array([c.total for c in best])[:, None] - cumulative[:, times - 1]
    if not np.all(np.isfinite(earned)):
        raise ValueError("f is not finite where the agents played: regret has no number.")
    if plays.actions.ndim == 3:
        earned, error, curve = earned[0], error[0], curve[0]
    return Regret(alpha, best[-1], earned, error, drawn.nodes, times, curve)


def alpha_of(problem: Problem) -> float:
    """The alpha of the problem's class on its own set."""
    alpha = problem.linearization.for_set(problem.set).alpha
    assert alpha is not None
    return float(alpha)


def _comparators(problem: Problem, plays: History, times: Times, given: Comparator | None) -> list[Comparator]:
    horizons = [int(t) for t in times] or [plays.horizon]
    if given is not None:
        if len(plays.rounds) < plays.horizon:
            return [given]
        so_far = np.cumsum(fixed_rewards(problem, plays, given.point))
        if not np.isclose(so_far[-1], given.total, rtol=1e-6, atol=1e-9):
            raise ValueError(
                f"the comparator is said to earn {given.total:g} and earns {so_far[-1]:g} in this run: it was made for "
                "another horizon or for other agents."
            )
        return [given._replace(total=float(so_far[t - 1])) for t in horizons[:-1]] + [given]
    known = problem.comparators(horizons, plays.agents)
    found = [c for c in known if c is not None]
    if len(found) < len(known):
        raise ValueError(
            f"{type(problem).__name__} does not know its best point in hindsight. Pass "
            "comparator=measure.best_fixed_point(problem, horizon, agents), which says how good it is, or use "
            "measure.certificate, which needs none."
        )
    return found


def curve_times(horizon: int, at: Sequence[int] | None) -> Times:
    """The times of a curve, the horizon among them: those given, or about 30."""
    given = np.geomspace(1, horizon, 32).round() if at is None else np.asarray(at)
    times = np.unique(given.astype(np.int64))
    if times.size == 0 or np.any(given != given.astype(np.int64)) or times[0] < 1 or times[-1] > horizon:
        message = f"the times of a curve are whole numbers between 1 and the horizon {horizon}; got {given.tolist()}."
        raise ValueError(message)
    return np.unique(np.append(times, horizon))


def _runs(actions: NDArray[np.floating]) -> list[Numbers]:
    """One array (rounds, agents, d) for each seed."""
    return list(np.asarray(actions, np.float64).reshape(-1, *actions.shape[-3:]))


@eqx.filter_jit  # type: ignore[untyped-decorator]
def _values(problem: Problem, rounds: Array, functions: Array, actions: Array) -> Array:
    """(rounds, functions, agents): f_{t,j}(a_t^i)."""

    def one(part: tuple[Array, Array, Array]) -> Array:
        t, named, points = part
        return jax.vmap(lambda j: jax.vmap(lambda x: problem.value(j, t, x))(points))(named)

    return jax.lax.map(one, (rounds, functions, actions), batch_size=16)
