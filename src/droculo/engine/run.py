"""A run as both drivers are asked for it: checked once, and cast to the precision that it is played in."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike, NDArray

from droculo.algorithms import Algorithm
from droculo.engine.block import World
from droculo.engine.compiling import is_short
from droculo.engine.inputs import as_identities, as_keys, as_rounds, cast, check, check_answers
from droculo.engine.record import Record
from droculo.expect import expect
from droculo.networks import Network
from droculo.problems import Problem


@dataclass(frozen=True)
class Run:
    """What is to be played, as it was given; `world` has it as arrays."""

    problem: Problem
    algorithm: Algorithm
    network: Network
    keys: Array  # one for each seed
    batched: bool  # True if a batch of keys was given
    rounds: int
    record: Record
    identities: NDArray[np.int64]  # which function and random stream each node has
    kind: np.dtype

    @classmethod
    def of(
        cls,
        problem: Problem,
        algorithm: Algorithm,
        network: Network,
        *,
        key: Array | int,
        rounds: int | None = None,
        record: Record | None = None,
        agents: ArrayLike | None = None,
        dtype: Any = np.float64,
    ) -> Run:
        """Check the arguments of a driver, as far as that is possible without running anything."""
        check_types(problem, algorithm, network, record)
        rounds = as_rounds(rounds, algorithm.horizon)
        keys, batched = as_keys(key)
        identities, kind = as_identities(agents, network.n_agents), np.dtype(dtype)
        check(problem, algorithm, network, identities, kind)
        return cls(problem, algorithm, network, keys, batched, rounds, record or Record(), identities, kind)

    def precision(self) -> AbstractContextManager[Any]:
        """Within it JAX computes in the precision of the run."""
        return jax.enable_x64(self.kind == np.float64)

    def world(self, nodes: ArrayLike | None = None) -> World:
        """The run as arrays, for these nodes or for all, after one question to the problem. Call it within `precision`."""
        parts = jax.tree.map(lambda leaf: cast(leaf, self.kind), (self.problem, self.algorithm, self.network))
        here = self.identities if nodes is None else self.identities[np.asarray(nodes)]
        world = World(*parts, jnp.asarray(here))
        check_answers(world)
        return world

    def compiles_quickly(self, quick: bool | None) -> bool:
        """`quick` as it was asked for; where it was left open, True for short runs."""
        return is_short(self.algorithm, self.network.n_agents) if quick is None else quick


def check_types(problem: Any, algorithm: Any, network: Any, record: Any, kinds: Any = Algorithm) -> None:
    """Refuse arguments of another kind. `kinds`: what an algorithm may be."""
    advice = "Pass for example droculo.problems.TopB.random(...), or problems.from_function(...)."
    expect(problem, Problem, "problem", advice)
    expect(algorithm, kinds, "algorithm", "Pass for example droculo.Droculo.design(problem.setting, ...).")
    expect(network, Network, "network", "Turn a graph or weights into one with droculo.networks.from_graph(graph).")
    expect(record, (Record, type(None)), "record", "Pass for example droculo.Record(every=10).")
