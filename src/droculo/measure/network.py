"""How far agents are apart, and whether everybody stayed inside."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from droculo.precision import double
from droculo.sets import Set
from droculo.simulator import Plays


def consensus_gap(plays: Plays) -> NDArray[np.float64]:
    """For every recorded round, the largest distance of an agent's decision to the agents' mean decision."""
    x = np.asarray(plays.decisions, np.float64)
    return np.linalg.norm(x - x.mean(axis=-2, keepdims=True), axis=-1).max(axis=-1)


def infeasible(set_: Set, plays: Plays, *, tolerance: float = 1e-9) -> int:
    """How many of the recorded actions and queries lie outside the set."""
    points = [plays.actions] + ([] if plays.queries is None else [plays.queries])
    inside = eqx.filter_jit(lambda s, x: jax.vmap(lambda point: s.contains(point, tolerance))(x))
    with double():
        flags = [inside(set_, jnp.asarray(p.reshape(-1, set_.dim), jnp.float64)) for p in points]
        return int(sum(np.sum(~np.asarray(flag)) for flag in flags))
