"""Methods head to head on one problem: the same adversary, the same network, the same seeds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from droculo import feedback
from droculo.algorithms import DMFW, DOBGA, Algorithm, DecBFTRL, Droculo, MonoDMFW, dpobga, published
from droculo.algorithms.schedules import whole_horizon
from droculo.engine.memory_maps import clear_caches_if_needed
from droculo.experiments.catalogue import NETWORKS, PROBLEMS, network
from droculo.experiments.readings import Reading, measured
from droculo.measure import regret, rewards
from droculo.networks import Network
from droculo.problems import Problem
from droculo.simulator import simulate

Numbers = NDArray[np.float64]

#: about so many times on a curve, evenly spaced on a logarithmic axis
TIMES = 40
#: memory mappings before a method starts: its programs must not be forgotten between the warm-up and what is timed
FEW_MAPS = 20_000


@dataclass(frozen=True)
class Contender:
    """A method that can play the problem."""

    name: str
    algorithm: Algorithm


@dataclass(frozen=True)
class Outcome:
    """What became of one method. Curves are cumulative, means over agents and seeds, at the comparison's times."""

    name: str
    readings: Sequence[Reading]  # one for each seed
    regret: Numbers  # (k,): alpha-regret
    reward: Numbers  # (k,)

    def mean(self, quantity: str) -> float:
        """The mean of one of a reading's numbers over the seeds."""
        return float(np.mean([getattr(reading, quantity) for reading in self.readings]))


@dataclass(frozen=True)
class Comparison:
    """All methods on one problem, and why some are missing."""

    problem: str
    domain: str
    case: str
    alpha: float
    best: float  # the best fixed point's reward a round
    agents: int
    dim: int
    links: int
    mixing_rate: float
    horizon: int
    seeds: Sequence[int]
    times: NDArray[np.int64]
    outcomes: Sequence[Outcome]
    left_out: dict[str, str]  # name -> reason


def contenders(problem: Problem, network: Network, horizon: int) -> tuple[list[Contender], dict[str, str]]:
    """The methods that cover this problem, and the reasons of those that do not.

    >>> from droculo import networks, problems
    >>> problem = problems.PlantedCut.random(agents=3, left=2, right=2, seed=0)
    >>> able, left_out = contenders(problem, networks.from_graph(networks.ring(3)), 64)
    >>> len(able), list(left_out)
    (7, ['DPOBGA', 'Mono-DMFW', 'DMFW, 8 inner steps'])
    """
    able, left_out = [], {}
    for name, design in _designs(problem, network, whole_horizon(horizon)).items():
        try:
            able.append(Contender(name, design()))
        except ValueError as error:
            left_out[name] = str(error)
    return able, left_out


def _designs(problem: Problem, network: Network, T: int) -> dict[str, Callable[[], Algorithm]]:
    setting = problem.setting
    full, semi, bandit = feedback.full_information(), feedback.semi_bandit(), feedback.bandit()
    inner = max(1, round(math.sqrt(T)))  # T^(3/2), as its theorem wants, is out of reach
    return {
        "DROCULO, theta = 1/2": lambda: Droculo.design(setting, full, horizon=T, theta=0.5),
        "DROCULO, theta = 1": lambda: Droculo.design(setting, full, horizon=T, theta=1.0),
        "DROCULO as published, theta = 1/2": lambda: published(setting, full, horizon=T, theta=0.5),
        "DROCULO, semi-bandit, theta = 1/2": lambda: Droculo.design(setting, semi, horizon=T, theta=0.5),
        "DROCULO, bandit, theta = 1/2": lambda: Droculo.design(setting, bandit, horizon=T, theta=0.5),
        "DPOBGA": lambda: dpobga(setting, horizon=T),
        "DOBGA": lambda: DOBGA.design(setting, horizon=T),
        "Mono-DMFW": lambda: MonoDMFW.design(setting, horizon=T),
        f"DMFW, {inner} inner steps": lambda: DMFW.design(setting, horizon=T, inner=inner),
        "Dec-BFTRL": lambda: DecBFTRL.design(setting, horizon=T, mixing_rate=network.mixing_rate),
    }


def compare(problem: Problem, network: Network, horizon: int, seeds: Sequence[int]) -> Comparison:
    """Play and measure every method that can. `seeds` are the agents'; the problem brings its own adversary.

    The problem must know its best fixed point, as planted ones do. Every method is run once before it is timed.
    """
    if not len(seeds):
        raise ValueError("a comparison needs at least one seed; got none.")
    able, left_out = contenders(problem, network, horizon)
    T = whole_horizon(horizon)
    times = np.unique(np.geomspace(1, T, TIMES).round().astype(np.int64))
    outcomes = [_outcome(problem, each, network, seeds, times) for each in tqdm(able, leave=False, disable=None)]
    linearization = problem.linearization.for_set(problem.set)
    assert linearization.alpha is not None
    best = problem.comparator(T, np.arange(network.n_agents))
    assert best is not None  # else there were no regret
    return Comparison(
        problem=type(problem).__name__,
        domain=type(problem.set).__name__,
        case=linearization.case,
        alpha=float(linearization.alpha),
        best=best.total / T,
        agents=network.n_agents,
        dim=problem.set.dim,
        links=network.n_links,
        mixing_rate=network.mixing_rate,
        horizon=T,
        seeds=tuple(seeds),
        times=times,
        outcomes=outcomes,
        left_out=left_out,
    )


def _outcome(
    problem: Problem, contender: Contender, network: Network, seeds: Sequence[int], times: NDArray[np.int64]
) -> Outcome:
    clear_caches_if_needed(FEW_MAPS)
    simulate(problem, contender.algorithm, network, key=seeds[0], progress=False, quick=False)  # compiles
    readings, lost, earned = [], [], []
    for seed in seeds:
        run = simulate(problem, contender.algorithm, network, key=seed, progress=False, quick=False)
        readings.append(measured(problem, run, seed))
        lost.append(regret(problem, run, at=times.tolist()).curve.mean(axis=1))
        earned.append(np.cumsum(rewards(problem, run).mean(axis=1))[times - 1])
    return Outcome(contender.name, readings, np.mean(lost, axis=0), np.mean(earned, axis=0))


#: the planted problems, whose best fixed point is known
PLANTED = ("top-b", "coverage", "cut", "water-filling", "weak")
#: graphs of any number of agents
GRAPHS = ("ring", "complete", "star", "grid", "erdos-renyi")


def problem_of(name: str, agents: int, dim: int, seed: int = 0) -> Problem:
    """One of `PLANTED`.

    >>> problem_of("cut", 3, 6).set.dim
    6
    """
    if name not in PLANTED:
        raise ValueError(f"there is no problem called {name!r}; there are {', '.join(PLANTED)}.")
    found: Problem = PROBLEMS[name].make(agents=agents, dim=dim, seed=seed)
    return found


def network_of(name: str, agents: int) -> Network:
    """One of `GRAPHS`, with Metropolis weights.

    >>> network_of("grid", 6).n_links
    7
    """
    if name not in GRAPHS:
        raise ValueError(f"there is no network called {name!r}; there are {', '.join(GRAPHS)}.")
    return network(NETWORKS[name].make, agents, {})
