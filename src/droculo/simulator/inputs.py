"""Refusals, in one place: everything a run needs is looked at before any work starts."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from droculo.algorithms import Algorithm
from droculo.networks import Network
from droculo.problems import Problem
from droculo.simulator.engine import World


def cast(leaf: Any, kind: np.dtype) -> Any:
    if isinstance(leaf, np.ndarray | np.generic | jax.Array) and not jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return jnp.asarray(leaf, kind) if np.issubdtype(leaf.dtype, np.floating) else jnp.asarray(leaf)
    return leaf


def as_keys(key: Array | int) -> tuple[Array, bool]:
    if isinstance(key, int | np.integer):
        key = jax.random.key(int(key))
    if not (isinstance(key, jax.Array) and jnp.issubdtype(key.dtype, jax.dtypes.prng_key)) or key.ndim > 1:
        raise TypeError(
            "key must be a whole number, a JAX random key such as jax.random.key(0), or a batch of keys such as "
            f"jax.random.split(jax.random.key(0), 8); got {type(key).__name__}."
        )
    return (key, True) if key.ndim == 1 else (key[None], False)


def check(
    problem: Problem, algorithm: Algorithm, network: Network, identities: NDArray[np.int64], kind: np.dtype
) -> None:
    if kind not in (np.float64, np.float32):
        raise ValueError(f"dtype must be float64 or float32; got {kind}.")
    if algorithm.domain.dim != problem.set.dim:
        raise ValueError(
            f"the algorithm decides {algorithm.domain.dim} coordinates and the problem has {problem.set.dim}. "
            "Design the algorithm from problem.setting."
        )
    if identities.shape != (network.n_agents,):
        raise ValueError(
            f"agents must name one function for each of the {network.n_agents} nodes; got {identities.shape}."
        )
    if problem.agents is not None and not np.all((identities >= 0) & (identities < problem.agents)):
        raise ValueError(
            f"the problem is posed for {problem.agents} agents and the network has {network.n_agents} nodes. "
            "Make both with the same number, or say with agents=... which function each node has."
        )


def check_answers(world: World) -> None:
    """Ask once before any work starts: does the oracle answer with finite numbers of the right shape?"""
    algorithm, problem = world.algorithm, world.problem
    point = algorithm.decision(algorithm.init())
    expected = point.shape if algorithm.order == 1 else ()
    answer = problem.answer(world.agents[0], jnp.asarray(0), point, algorithm.order)
    what = "gradient" if algorithm.order == 1 else "value"
    if answer.shape != expected:
        raise ValueError(
            f"the {what} of the problem must have shape {expected}; got {answer.shape}. Return one number from f."
        )
    if not bool(jnp.all(jnp.isfinite(answer))):
        raise ValueError(
            f"the {what} of agent {int(world.agents[0])} in round 0 at the starting point is not finite. "
            "Check f there, or start elsewhere with start=..."
        )


def check_finite(states: Any, start: int, rounds: int) -> None:
    leaves = [leaf for leaf in jax.tree.leaves(states) if jnp.issubdtype(leaf.dtype, jnp.floating)]
    if not all(bool(jnp.all(jnp.isfinite(leaf))) for leaf in leaves):
        raise FloatingPointError(
            f"an agent's state stopped being finite between rounds {start} and {start + rounds - 1}: "
            "the problem answered with NaN or infinity there. Pieces saved by a checkpoint before that are intact."
        )
