"""An upper bound on alpha-regret that needs no optimum, for any played sequence, and what it says of the optimum."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from droculo.engine import History
from droculo.linearizations import Linearization
from droculo.linearizations.base import Affine
from droculo.measure._regret import curve_frame, curve_plot, curve_times, network_reward
from droculo.measure.sampling import MOST_EVALUATIONS, Drawn, Sample, draw
from droculo.precision import double
from droculo.problems import Problem
from droculo.sequencing import after
from droculo.sets.membership import outside_of_a_sample

if TYPE_CHECKING:
    import pandas

Numbers = NDArray[np.float64]

#: how many z a bound is the mean of at first and at most, and the share of the reward that few of them may cost
NODES, MOST_NODES, FINE = 12, 96, 1e-3


class Certificate(NamedTuple):
    """alpha-regret of agent i <= bound[i], whatever the optimum is, and optimum_low <= optimum <= optimum_high.

    (Measured on a sample, `bound` is an estimate with a standard error, and nothing is claimed of the optimum.)

    Upper-linearizability says alpha f(u) <= beta <g(f, x), u - x> + f(h(x)), and for the paper's classes the same holds of a
    mean over finitely many z (`Linearization.upper_bounds`): alpha f(u) <= <s, u> + c for every u in K, with no integral and
    so no error. Added up over rounds t and the network's functions, with S and C for the sums of the means of s and c,

        alpha-regret <= max over u in K of <S, u> + C - sum_t (1/N) sum_j f(a_t).

    Actions a_t need not be h(x_t) (query rounds, perturbations, a method that has no h). Anchor and origin are those of K
    itself. Hence the optimum (of the sum over rounds, a network average) is at most (reward + bound)/alpha, and less where
    x is inside the box: `optimum_high`. It is at least what some fixed point earns; a reward alone is no lower bound, for an
    agent that follows a moving adversary can beat every fixed point.
    """

    alpha: float
    agents: NDArray[np.int64]  # the nodes that were measured
    bound: Numbers  # (..., agents)
    error: Numbers  # (..., agents): the standard error of `bound`; 0 unless measured on a sample
    correction: Numbers  # (..., agents): the part of it that is due to actions other than h(x)
    excess: Numbers  # (..., agents): the part of it that is due to finitely many z, and would vanish with more
    rewards: Numbers  # (..., agents): (1/N) sum_{t,j} f_{t,j}(a_t^i)
    optimum_low: Numbers  # (...)
    optimum_high: Numbers  # (...)
    times: NDArray[np.int64]  # (k,): the numbers of rounds. Empty for a sample
    curve: Numbers  # (..., k, agents): what was certified then; its last row is the bound

    @property
    def roughness(self) -> float:
        """How much finitely many z cost at most, as a share of the reward."""
        return float(np.max(self.excess / np.maximum(np.abs(self.rewards), np.finfo(float).tiny)))

    def frame(self) -> "pandas.DataFrame":
        """The curve as a DataFrame: one row for each seed (by its place), time and agent."""
        return curve_frame("certified", self.curve, self.times, self.agents)

    def plot(self, ax: Any = None) -> Any:
        """Certified regret a round over time (ask for the times with `at`). Returns the axes."""
        return curve_plot("certified regret a round", self.curve, self.times, ax)


def certificate(
    problem: Problem,
    plays: History,
    *,
    nodes: int | None = None,
    sample: Sample | None = None,
    at: Sequence[int] | None = None,
) -> Certificate:
    """Certify a run whose every round was recorded, with a curve at the times `at`, by default the end alone.

    `nodes`: how many z the bound of a function is the mean of. Any number gives a valid bound; by default it is 12, and is
    doubled up to 96 while finitely many z cost more than a thousandth of the reward. Costs N^2 values and gradients (times `nodes`)
    a round, and one LOO call for each agent at the end. With a `sample` it costs what that names, and `bound` is an estimate with standard error `error`;
    it errs upwards in the mean, since the maximum of an estimate is on average above that of the mean, and the bracket of
    the optimum is left open. To certify another method, pass `History.of(actions, decisions)`: any decisions in K give a
    valid bound.

    >>> from droculo import Droculo, feedback, networks, problems, simulate
    >>> problem = problems.TopB.random(agents=3, dim=5, budget=2, seed=0)
    >>> agent = Droculo.design(problem.setting, feedback.semi_bandit(), horizon=60, theta=0.5)
    >>> run = simulate(problem, agent, networks.from_graph(networks.ring(3)), key=0)
    >>> from droculo.measure import certificate, regret
    >>> found = certificate(problem, run)
    >>> bool((found.bound >= regret(problem, run).total).all())
    True
    """
    times = curve_times(plays.horizon, [plays.horizon] if at is None else at)
    if nodes is not None and nodes < 1:
        raise ValueError(f"a bound is a mean over z with at least one node; got {nodes}.")
    number = NODES if nodes is None else nodes
    drawn = draw(problem, plays, sample, "a certificate", each=1 if problem.linearization.trivial else number)
    if outside := outside_of_a_sample(problem.set, plays.decisions):
        raise ValueError(
            f"{outside} of the decisions that were looked at lie outside the set, and the bound holds for points of K alone. "
            "Pass History.of(actions, decisions) with decisions in K."
        )
    found = least = _certified(problem, plays, number, drawn, times, sample is not None)
    affordable = min(MOST_NODES, MOST_EVALUATIONS / (drawn.functions.size * len(drawn.nodes)))
    while nodes is None and 2 * number <= affordable and found.roughness > FINE:
        number *= 2
        found = _certified(problem, plays, number, drawn, times, sample is not None)
        least = min(least, found, key=lambda each: float(np.sum(each.bound)))  # all of them hold
    return least


def _certified(
    problem: Problem, plays: History, nodes: int, drawn: Drawn, times: NDArray[np.int64], sampled: bool
) -> Certificate:
    """The certificate from this many nodes."""
    linearization = problem.linearization.for_set(problem.set)
    assert linearization.alpha is not None
    alpha, shape = float(linearization.alpha), (-1, *plays.actions.shape[-3:])
    found = []
    with double():
        where = drawn.where(plays)
        for actions, decisions in zip(plays.actions.reshape(shape), plays.decisions.reshape(shape), strict=True):
            whole = (*where, drawn.of(actions), drawn.of(decisions))
            found.append(_one_run(problem, linearization, whole, jnp.asarray(times), nodes, sampled))
    scale = plays.horizon / len(drawn.rounds)
    *sums, details = zip(*found, strict=True)
    curve, earned, correction, excess, low, most = (
        scale * np.stack([np.asarray(part) for part in column]) for column in sums
    )
    bound, error, high = curve[:, -1], np.zeros_like(earned), np.min(most, axis=-1) / alpha
    if sampled:
        error = np.stack([drawn.total(np.asarray(each))[1] for each in details])
        times, curve, low, high = times[:0], curve[:, :0], np.full_like(low, -np.inf), np.full_like(high, np.inf)
    if not np.all(np.isfinite(bound)):
        raise ValueError("f or its gradient is not finite where the agents played: there is nothing to certify.")
    bound, error, correction, excess, earned, low, high, curve = (
        array if plays.actions.ndim == 4 else array[0]
        for array in (bound, error, correction, excess, earned, low, high, curve)
    )
    return Certificate(alpha, drawn.nodes, bound, error, correction, excess, earned, low, high, times, curve)


class _Sums(NamedTuple):
    """What is added up over functions and rounds, for every agent."""

    gap: Affine  # the theorem's bound, less the reward
    earned: Array
    correction: Array
    excess: Array
    tight: Affine


@eqx.filter_jit  # type: ignore[untyped-decorator]
def _one_run(
    problem: Problem, linearization: Linearization, whole: tuple[Array, ...], times: Array, nodes: int, in_detail: bool
) -> tuple:
    """From rounds, functions, actions and decisions, for every agent: the bound at all `times`, reward, correction and
    quadrature; the best of a few fixed points, and what alpha times the optimum cannot exceed. And, in detail, every
    (round, function, agent)'s part of the bound, of which a sample's error is made."""
    rounds, functions, actions, _ = whole
    places, reach = jnp.searchsorted(times, rounds + 1), 2 * jnp.asarray(problem.set.radius)

    def of_function(t: Array, j: Array, action: Array, x: Array) -> _Sums:
        value, gradient = partial(problem.value, j, t), partial(problem.gradient, j, t)
        earned = value(action)
        bounds = linearization.upper_bounds(value, gradient, after(x, earned), nodes, reach)
        gap = bounds.theorem._replace(height=bounds.theorem.height - earned)
        return _Sums(gap, earned, bounds.aimed - earned, bounds.excess, bounds.tight)

    def everyone(t: Array, named: Array, actions: Array, decisions: Array) -> _Sums:
        """(functions, agents), a few functions at a time."""
        of_agents = jax.vmap(of_function, (None, None, 0, 0))
        return jax.lax.map(lambda j: of_agents(t, j, actions, decisions), named, batch_size=16)

    one = jax.eval_shape(everyone, *(part[0] for part in whole))
    nothing = jax.tree.map(lambda a: jnp.zeros(a.shape[1:], a.dtype), one)

    def add(carried: tuple, part: tuple) -> tuple[tuple, None]:
        total, then = carried
        place, played = part
        total = jax.tree.map(lambda sum, more: sum + jnp.mean(more, axis=0), total, everyone(*played))
        # Every round writes to the place of the next time on the curve, and the last one stays.
        then = jax.tree.map(lambda kept, sum: kept.at[place].set(sum), then, total.gap)
        return (total, then), None

    empty = jax.tree.map(lambda a: jnp.zeros((len(times), *a.shape), a.dtype), nothing.gap)
    (total, gaps), _ = jax.lax.scan(add, (nothing, empty), (places, whole))

    # The maxima over K of every agent's affine functions, and where they are.
    models = jax.tree.map(lambda curve, last: jnp.concatenate([curve, last[None]]), gaps, total.tight)
    corners = jax.vmap(jax.vmap(problem.set.argmax))(models.slope)
    highest = jnp.sum(models.slope * corners, axis=-1) + models.height
    curve, most, best = highest[:-1], highest[-1], corners[-2]
    fixed = jnp.concatenate([jnp.mean(actions, axis=(0, 1))[None], jnp.mean(actions[-1], axis=0)[None], best[:1]])

    def earn(total: Array, part: tuple[Array, Array]) -> tuple[Array, None]:
        return total + network_reward(problem, part[1], part[0], fixed), None

    def detail(part: tuple[Array, ...]) -> Array:
        sums = everyone(*part)
        return jnp.sum(sums.gap.slope * best, axis=-1) + sums.gap.height

    totals, _ = jax.lax.scan(earn, jnp.zeros(3), (rounds, functions))
    details = jax.lax.map(detail, whole) if in_detail else None
    return curve, total.earned, total.correction, total.excess, jnp.max(totals), most, details
