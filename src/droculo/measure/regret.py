"""Regret, exactly as the paper defines it."""

from __future__ import annotations

from dataclasses import dataclass

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


def rewards(problem: Problem, trajectory: Trajectory) -> NDArray[np.float64]:
    """(1/N) sum_j f_{t,j}(a_t^i) for every recorded round t and every agent i."""
    with double():
        agents = jnp.asarray(trajectory.agents)

        def in_round(t: Array, actions: Array) -> Array:
            def network_average(action: Array) -> Array:
                return jnp.mean(jax.vmap(lambda j: problem.value(j, t, action))(agents))

            return jax.vmap(network_average)(actions)

        def one_run(actions: Array) -> Array:
            return jax.lax.map(lambda pair: in_round(*pair), (jnp.asarray(trajectory.rounds), actions), batch_size=64)

        actions = jnp.asarray(trajectory.actions, jnp.float64)
        run = jax.jit(jax.vmap(one_run) if actions.ndim == 4 else one_run)
        return np.asarray(run(actions))


def regret(problem: Problem, trajectory: Trajectory, *, alpha: float | None = None) -> Regret:
    """The alpha-regret of a run whose every round was recorded, against the problem's exact comparator.

    `alpha` is that of the problem's class on its own set unless another is given.
    """
    if len(trajectory.rounds) != trajectory.horizon:
        raise ValueError(
            f"regret adds up all {trajectory.horizon} rounds, and {len(trajectory.rounds)} were recorded. "
            "Run with record=Record(every=1)."
        )
    comparator = problem.comparator(trajectory.horizon, len(trajectory.agents))
    if comparator is None:
        raise ValueError(
            f"{type(problem).__name__} does not know its best point in hindsight for {len(trajectory.agents)} agents; "
            "regret needs a planted problem."
        )
    if alpha is None:
        bound = problem.linearization.on(problem.set).alpha
        assert bound is not None
        alpha = float(bound)
    earned = rewards(problem, trajectory).sum(axis=-2)
    return Regret(alpha, comparator, earned, alpha * comparator.total - earned)
