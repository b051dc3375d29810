"""Regret, exactly as the paper defines it."""

from __future__ import annotations

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from droculo.precision import double
from droculo.problems import Comparator, Problem
from droculo.simulator import Trajectory


@dataclass(frozen=True)
class Regret:
    """The cumulative alpha-regret of every agent after the last round, and where its comparator comes from.

    R_i = alpha max over u in K of (1/N) sum_{t,j} f_{t,j}(u) - (1/N) sum_{t,j} f_{t,j}(a_t^i).
    """

    alpha: float
    comparator: Comparator
    rewards: NDArray[np.float64]  # (..., agents): the cumulative reward (1/N) sum_{t,j} f_{t,j}(a_t^i)
    total: NDArray[np.float64]  # (..., agents)


def network_reward(problem: Problem, agents: Array, t: Array, points: Array) -> Array:
    """(1/N) sum_j f_{t,j}(x) for every row x of `points`."""
    return jax.vmap(lambda x: jnp.mean(jax.vmap(lambda j: problem.value(j, t, x))(agents)))(points)


@eqx.filter_jit  # type: ignore[untyped-decorator]
def _rewards(problem: Problem, agents: Array, rounds: Array, actions: Array) -> Array:
    return jax.lax.map(lambda pair: network_reward(problem, agents, *pair), (rounds, actions), batch_size=64)


def rewards(problem: Problem, trajectory: Trajectory) -> NDArray[np.float64]:
    """(1/N) sum_j f_{t,j}(a_t^i) for every recorded round t and every agent i."""
    with double():
        agents, rounds = jnp.asarray(trajectory.agents), jnp.asarray(trajectory.rounds)
        actions = jnp.asarray(trajectory.actions, jnp.float64)
        if actions.ndim == 4:
            return np.stack([np.asarray(_rewards(problem, agents, rounds, run)) for run in actions])
        return np.asarray(_rewards(problem, agents, rounds, actions))


def need_all_rounds(trajectory: Trajectory, what: str) -> None:
    """Refuse a thinned record."""
    if len(trajectory.rounds) != trajectory.horizon:
        raise ValueError(
            f"{what} adds up all {trajectory.horizon} rounds, and {len(trajectory.rounds)} were recorded. "
            "Run with record=Record(every=1)."
        )


def regret(problem: Problem, trajectory: Trajectory, *, alpha: float | None = None) -> Regret:
    """The alpha-regret of a run whose every round was recorded, against the problem's exact comparator.

    `alpha` is that of the problem's class on its own set unless another is given.
    """
    need_all_rounds(trajectory, "regret")
    comparator = problem.comparator(trajectory.horizon, trajectory.agents)
    if comparator is None:
        raise ValueError(
            f"{type(problem).__name__} does not know its best point in hindsight. Use measure.certificate, which "
            "needs none, or a planted problem."
        )
    if alpha is None:
        bound = problem.linearization.on(problem.set).alpha
        assert bound is not None
        alpha = float(bound)
    earned = rewards(problem, trajectory).sum(axis=-2)
    return Regret(alpha, comparator, earned, alpha * comparator.total - earned)
