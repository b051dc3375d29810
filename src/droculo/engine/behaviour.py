"""What problems and algorithms do at a few fixed places. It stands for their code in the identity of a stored run."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from droculo.algorithms import Algorithm, Answers, Keys, SlotPlay
from droculo.algorithms.contract import SilentPorts
from droculo.engine.compiling import program
from droculo.engine.run import cast
from droculo.precision import double
from droculo.problems import Problem


def behaviour_of_problem(problem: Problem, agents: NDArray[np.int64], rounds: int) -> list[NDArray]:
    """The set's oracle in three directions, and values of the first and the last agent in early, middle and late rounds."""
    directions = np.random.default_rng(0).standard_normal((3, problem.set.dim))
    times = sorted({0, min(1, rounds - 1), rounds // 2, rounds - 1})
    with double():
        corners = [problem.set.argmax(jnp.asarray(direction)) for direction in directions]
        x = sum(corners[1:], corners[0]) / 3
        asked = [
            (jnp.asarray(agent), jnp.asarray(t)) for agent in sorted({int(agents[0]), int(agents[-1])}) for t in times
        ]
        return [np.asarray(each) for each in [*corners, *(problem.value(agent, t, x) for agent, t in asked)]]


def behaviour_of_algorithm(algorithm: Algorithm) -> list[NDArray]:
    """What an agent plays and asks in its first slot, its decisions before and after its first block, and a random number."""
    with double():
        exact = jax.tree.map(lambda leaf: cast(leaf, np.dtype(np.float64)), algorithm)
        return [np.asarray(leaf) for leaf in jax.tree.leaves(program(_first_block, quick=True)(exact))]


class _Imagined(SilentPorts):
    """Ports to a world whose answers are made up, and without neighbours."""

    def ask(self, played: SlotPlay, order: int) -> Answers:
        number, dim = played.points.shape
        shape = (number, dim) if order == 1 else (number,)
        made_up = jnp.cos(1.0 + jnp.arange(np.prod(shape))).reshape(shape)
        return Answers(made_up, None if played.earned is None else jnp.cos(1.0 * played.earned))


def _first_block(algorithm: Algorithm) -> Any:
    state, ports = algorithm.init(), _Imagined()
    key = jax.random.key(0)
    keys = Keys(key, key)
    share, played = algorithm.play(ports, state, algorithm.slot_at(jnp.asarray(0), algorithm.slot, keys))
    moved, _ = algorithm.update(ports, state, share, keys)
    return played.actions, played.points, algorithm.decision(state), algorithm.decision(moved), jax.random.uniform(key)
