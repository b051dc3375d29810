"""An upper bound on alpha-regret that needs no optimum, for any played sequence, and what it says of the optimum."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from droculo.engine import History
from droculo.linearizations import Linearization
from droculo.measure._regret import curve_frame, curve_plot, curve_times, network_reward
from droculo.measure.network import count_outside
from droculo.measure.sampling import Sample, draw
from droculo.precision import double
from droculo.problems import Problem

if TYPE_CHECKING:
    import pandas

Numbers = NDArray[np.float64]


class Certificate(NamedTuple):
    """alpha-regret of agent i <= bound[i], whatever the optimum is, and optimum_low <= optimum <= optimum_high.

    (Measured on a sample, `bound` is an estimate with a standard error, and nothing is claimed of the optimum.)

    With g_t = (1/N) sum_j g(f_{t,j}, x_t) and S = sum_t g_t, upper-linearizability gives for every agent

        alpha-regret <= beta (max over u in K of <S, u> - sum_t <g_t, x_t>) + sum_t (1/N) sum_j [f(h(x_t)) - f(a_t)],

    where the last sum corrects for actions a_t that are not h(x_t): query rounds, perturbations, and any action of a
    method that has no h. Anchor and origin are those of K itself. Hence the optimum (of the sum over rounds, a network
    average) is at most (reward + bound)/alpha. It is at least what some fixed point earns; a reward alone is no lower
    bound, for an agent that follows a moving adversary can beat every fixed point.
    """

    alpha: float
    agents: NDArray[np.int64]  # the nodes that were measured
    bound: Numbers  # (..., agents)
    error: Numbers  # (..., agents): the standard error of `bound`; 0 unless measured on a sample
    correction: Numbers  # (..., agents): the part of it that is due to actions other than h(x)
    rewards: Numbers  # (..., agents): (1/N) sum_{t,j} f_{t,j}(a_t^i)
    optimum_low: Numbers  # (...)
    optimum_high: Numbers  # (...)
    times: NDArray[np.int64]  # (k,): the numbers of rounds. Empty for a sample
    curve: Numbers  # (..., k, agents): what was certified then; its last row is the bound

    def frame(self) -> "pandas.DataFrame":
        """The curve as a DataFrame: one row for each seed (by its place), time and agent."""
        return curve_frame("certified", self.curve, self.times, self.agents)

    def plot(self, ax: Any = None) -> Any:
        """Certified regret a round over time (ask for the times with `at`). Returns the axes."""
        return curve_plot("certified regret a round", self.curve, self.times, ax)


def certificate(
    problem: Problem, plays: History, *, nodes: int = 12, sample: Sample | None = None, at: Sequence[int] | None = None
) -> Certificate:
    """Certify a run whose every round was recorded, with a curve at the times `at`, by default the end alone.

    `nodes`: of the quadrature over the linearization's Z. Costs N^2 gradients (times `nodes`) a round, and one LOO call for
    each agent at the end. With a `sample` it costs what that names, and `bound` is an estimate with standard error `error`;
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
    if nodes < 1:
        raise ValueError(f"the quadrature needs at least one node; got {nodes}.")
    drawn = draw(problem, plays, sample, "a certificate", each=1 if problem.linearization.trivial else nodes)
    if problem.set.has_fast_contains and (outside := count_outside(problem.set, plays.decisions)):
        raise ValueError(
            f"{outside} of the decisions lie outside the set, and the bound holds for points of K alone. Pass "
            "History.of(actions, decisions) with decisions in K."
        )
    linearization = problem.linearization.for_set(problem.set)
    assert linearization.alpha is not None
    shape = (-1, *plays.actions.shape[-3:])
    found = []
    with double():
        where = drawn.where(plays)
        for actions, decisions in zip(plays.actions.reshape(shape), plays.decisions.reshape(shape), strict=True):
            whole = (*where, drawn.of(actions), drawn.of(decisions))
            found.append(_one_run(problem, linearization, whole, jnp.asarray(times), nodes, sample is not None))
    scale = plays.horizon / len(drawn.rounds)
    *sums, details = zip(*found, strict=True)
    linear, gaps, earned, low = (scale * np.stack([np.asarray(part) for part in column]) for column in sums)
    curve = float(linearization.beta) * linear + gaps
    bound, gap, error = curve[:, -1], gaps[:, -1], np.zeros_like(curve[:, -1])
    high = np.min((earned + bound) / float(linearization.alpha), axis=-1)
    if sample is not None:
        error = np.stack([drawn.total(np.asarray(each))[1] for each in details])
        times, curve, low, high = times[:0], curve[:, :0], np.full_like(low, -np.inf), np.full_like(high, np.inf)
    if not np.all(np.isfinite(bound)):
        raise ValueError("f or its gradient is not finite where the agents played: there is nothing to certify.")
    bound, error, gap, earned, low, high, curve = (
        array if plays.actions.ndim == 4 else array[0] for array in (bound, error, gap, earned, low, high, curve)
    )
    return Certificate(float(linearization.alpha), drawn.nodes, bound, error, gap, earned, low, high, times, curve)


@eqx.filter_jit  # type: ignore[untyped-decorator]
def _one_run(
    problem: Problem, linearization: Linearization, whole: tuple[Array, ...], times: Array, nodes: int, in_detail: bool
) -> tuple:
    """From rounds, functions, actions and decisions, of every agent: max <S, u> - sum <g, x> and the correction, at all
    `times`; its reward. The best fixed point among a few. And, in detail, every (round, function, agent)'s part of the
    bound, of which a sample's error is made."""
    rounds, functions, actions, _ = whole
    places = jnp.searchsorted(times, rounds + 1)

    def of_function(t: Array, j: Array, action: Array, x: Array) -> tuple[Array, ...]:
        g = linearization.signal(lambda w: problem.gradient(j, t, w), x, nodes)
        earned = problem.value(j, t, action)
        return g, jnp.dot(g, x), problem.value(j, t, linearization.action(x)) - earned, earned

    def everyone(t: Array, named: Array, actions: Array, decisions: Array) -> tuple[Array, ...]:
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
        then = jax.tree.map(lambda kept, sum: kept.at[place].set(sum), then, total[:3])
        return (total, then), None

    empty = jax.tree.map(lambda a: jnp.zeros((len(times), *a.shape), a.dtype), nothing[:3])
    ((_, _, _, earned), (S, inner, gaps)), _ = jax.lax.scan(add, (nothing, empty), (places, whole))
    corners = jax.vmap(jax.vmap(problem.set.argmax))(S)
    linear = jnp.sum(S * corners, axis=-1) - inner
    best = corners[-1]
    fixed = jnp.concatenate([jnp.mean(actions, axis=(0, 1))[None], jnp.mean(actions[-1], axis=0)[None], best[:1]])

    def earn(total: Array, part: tuple[Array, Array]) -> tuple[Array, None]:
        return total + network_reward(problem, part[1], part[0], fixed), None

    def detail(part: tuple[Array, ...]) -> Array:
        g, along, gap, _ = everyone(*part)
        return linearization.beta * (jnp.sum(g * best, axis=-1) - along) + gap

    totals, _ = jax.lax.scan(earn, jnp.zeros(3), (rounds, functions))
    return linear, gaps, earned, jnp.max(totals), jax.lax.map(detail, whole) if in_detail else None
