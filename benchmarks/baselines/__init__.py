"""What one would write without this library: the same algorithm in NumPy, agent by agent and all agents at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from droculo import Droculo, linearizations, networks, oracles, problems
from droculo.oracles.active_set import SHARE, places
from droculo.problems import TopB
from droculo.problems.adversaries import PeriodicWeights

Floats = NDArray[np.float64]

#: the mixing matrix is stored dense up to this many agents: a sparse product has more to set up than such a dense one costs
DENSE_UP_TO = 128


@dataclass(frozen=True)
class Job:
    """The numbers of one design, read off the library's objects: case A2 on a budget, gradients anywhere, corrective oracle."""

    agents: int
    dim: int
    block: int
    budget: int
    radius: float
    unit: float  # its square, of the size of inner products
    start: Floats  # (d,)
    step: float
    tolerance: float
    floor: float  # who is remembered counts as beyond a plane from here on
    ridge: float  # keeps an inverse finite where points coincide
    places: int  # of a memory
    gamma: float  # of the linearization
    mixing: Floats | csr_array  # (N, N)
    middle: Floats  # (N, d): the weights in round t are middle + half cos(speed t + phase)
    half: Floats
    speed: Floats
    phase: Floats

    @classmethod
    def of(cls, problem: problems.Problem, agent: Droculo, network: networks.Network) -> Job:
        if not isinstance(problem, TopB) or problem.set.bases or not isinstance(problem.weights, PeriodicWeights):
            raise ValueError("the baselines play TopB on {sum x <= b} against PeriodicWeights; got another problem.")
        if (
            not isinstance(agent.linearization, linearizations.MonotoneOrigin)
            or agent.feedback.kind != "full information"
        ):
            raise ValueError(
                f"the baselines ask for gradients anywhere in case A2; got {agent.linearization.case}, {agent.feedback.kind}."
            )
        if not isinstance(agent.oracle, oracles.ActiveSet) or not isinstance(network, networks.Fixed):
            raise ValueError("the baselines know the corrective oracle and a network with fixed links only.")
        dim, eps, radius = problem.set.dim, float(agent.steps.tolerance), float(problem.set.radius)
        ulp = float(np.finfo(np.float64).eps)
        waves = problem.weights
        small = network.n_agents <= DENSE_UP_TO
        return cls(
            agents=network.n_agents,
            dim=dim,
            block=agent.timetable.block,
            budget=problem.size,
            radius=radius,
            unit=radius**2,
            start=np.asarray(agent.start, np.float64),
            step=float(agent.steps.step_size),
            tolerance=eps,
            floor=max(SHARE * eps, 64 * ulp * radius**2),
            ridge=16 * ulp * radius**2,
            places=agent.oracle.size or places(dim),
            gamma=float(agent.linearization.gamma),
            mixing=network.to_matrix() if small else network.cycle[0].to_sparse(),
            middle=waves.base + waves.height / 2,
            half=waves.height / 2,
            speed=np.asarray(waves.speed),
            phase=np.asarray(waves.phase),
        )

    def draws(self, rounds: int, seed: int) -> Floats:
        """z of every round and agent: the query is z times the decision."""
        low = np.exp(-self.gamma)
        chance = np.random.default_rng(seed).random((rounds, self.agents))
        return 1 + np.log(low + chance * (1 - low)) / self.gamma


__all__ = ["Floats", "Job"]
