"""Disagreement between agents, and the number of infeasible points."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from droculo.engine import History
from droculo.precision import double
from droculo.sets import Set
from droculo.sets.membership import slack


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


def count_outside(set_: Set, points: NDArray[np.floating], tolerance: float | None = None) -> int:
    """The same of any points (..., d)."""
    with double():
        margin = slack(points.dtype, set_) if tolerance is None else jnp.asarray(tolerance)
        inside = _inside(set_, jnp.asarray(points.reshape(-1, set_.dim), jnp.float64), margin)
        return int(np.sum(~np.asarray(inside)))


@eqx.filter_jit  # type: ignore[untyped-decorator]
def _inside(set_: Set, points: Array, tolerance: Array) -> Array:
    return jax.vmap(lambda point: set_.contains(point, tolerance))(points)
