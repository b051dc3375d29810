"""Measuring a few agents, rounds and functions of very many, with the error that this makes."""

import warnings
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from droculo.engine import History
from droculo.problems import Problem
from droculo.sets.membership import outside_of_a_sample

#: without a sample, a measure that would need more evaluations of f than this is refused
MOST_EVALUATIONS = 3e9


@dataclass(frozen=True)
class Sample:
    """Regret compares every agent with every agent's function in every round: N^2 T evaluations. This thins them.

    `agents` of the N are measured; for each of `rounds` rounds the network's average is taken over `functions` of the
    N functions, drawn independently for every round. What is drawn at random without replacement gives an unbiased estimate, and its standard
    error is reported beside it. Where a number is at least what there is, nothing is left out.
    """

    agents: int = 16
    functions: int = 64
    rounds: int = 256
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("agents", 1), ("functions", 2), ("rounds", 2)):
            value = getattr(self, name)
            if not (isinstance(value, int | np.integer) and value >= least):
                raise ValueError(f"a sample has at least {least} {name}; got {value!r}.")


@dataclass(frozen=True)
class Drawn:
    """What is evaluated: node numbers (a,), positions among the recorded rounds (r,), function positions (r, f)."""

    nodes: NDArray[np.int64]
    rounds: NDArray[np.int64]
    functions: NDArray[np.int64]
    horizon: int
    population: int

    def where(self, plays: History) -> tuple[Array, Array]:
        """The rounds (r,) and the functions (r, f), as their numbers in the problem."""
        return jnp.asarray(plays.rounds[self.rounds]), jnp.asarray(plays.agents[self.functions])

    def of(self, played: NDArray[np.floating]) -> Array:
        """(r, a, d): the part of (rounds, agents, d) that is evaluated."""
        return jnp.asarray(played[self.rounds][:, self.nodes], jnp.float64)

    def total(self, values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """From values (rounds, functions, ...): the estimate of the sum over rounds of the mean over functions, and its
        standard error, by the textbook formula of sampling in two stages (rounds, then functions within them)."""
        r, f = self.functions.shape
        T, N = self.horizon, self.population
        by_round = values.mean(axis=1)
        between = by_round.var(axis=0, ddof=1) if r > 1 else np.zeros(by_round.shape[1:])
        within = values.var(axis=1, ddof=1).mean(axis=0) if f > 1 else np.zeros(by_round.shape[1:])
        variance = T**2 * (1 - r / T) * between / r + T * (1 - f / N) * within / f
        return T * by_round.mean(axis=0), np.sqrt(variance)


def check(problem: Problem, plays: History) -> None:
    """Refuse plays of another problem: JAX would answer for an agent or a coordinate that does not exist."""
    check_agents(problem, plays.agents)
    if plays.actions.shape[-1] != problem.set.dim:
        raise ValueError(
            f"the problem has {problem.set.dim} coordinates, and the plays have {plays.actions.shape[-1]}: they are of "
            "another problem."
        )


def check_inside(problem: Problem, plays: History) -> None:
    """Refuse actions that no point of K can be compared with."""
    if outside := outside_of_a_sample(problem.set, plays.actions):
        raise ValueError(
            f"{outside} of the actions that were looked at lie outside the set: what they earn cannot be compared with a point of "
            "the set. measure.count_infeasible counts them all."
        )


def check_agents(problem: Problem, agents: NDArray[np.int64]) -> None:
    if len(agents) == 0:
        raise ValueError("there must be at least one agent.")
    if problem.agents is not None and not (agents.min() >= 0 and agents.max() < problem.agents):
        got = f"got agents {agents.min()} to {agents.max()}"
        raise ValueError(f"the problem is posed for agents 0 to {problem.agents - 1}; {got}.")


def draw(problem: Problem, plays: History, sample: Sample | None, what: str, *, each: int = 1) -> Drawn:
    """The sample's choice, or everything; refuses what would take too long or what the record cannot give.

    A sample may be taken from a thinned record. Its evenly spaced rounds then stand for a random choice, which is wrong
    for functions whose period shares a factor with the spacing: a warning says so. `each`: evaluations per function.
    """
    check(problem, plays)
    check_inside(problem, plays)
    N, recorded, T = len(plays.agents), len(plays.rounds), plays.horizon
    if sample is None:
        if recorded != T:
            raise ValueError(
                f"{what} adds up all {T} rounds, and {recorded} were recorded. Run with record=Record(every=1), or pass "
                "sample=measure.Sample(...) to estimate it from those."
            )
        if (needed := float(N) ** 2 * T * each) > MOST_EVALUATIONS:
            raise ValueError(
                f"{what} of {N} agents over {T} rounds takes {needed:.1e} evaluations of f. Pass "
                "sample=measure.Sample(agents=16, functions=64, rounds=256), which reports its error."
            )
        everyone = np.arange(N)
        return Drawn(everyone, np.arange(recorded), np.broadcast_to(everyone, (recorded, N)), T, N)
    if recorded < 2:
        message = f"a sample needs two recorded rounds or more; got {recorded}. Run with record=Record(every=...)."
        raise ValueError(message)
    if recorded < T:
        warnings.warn(
            f"{what} is estimated from {recorded} of {T} rounds that were recorded at even distances. The error is right "
            "if these are like a random choice, and wrong if the functions have a period in common with the distance.",
            stacklevel=3,
        )
    rng = np.random.default_rng(sample.seed)
    nodes = np.sort(rng.permutation(N)[: sample.agents])
    rounds = np.sort(rng.permutation(recorded)[: sample.rounds])
    number = min(sample.functions, N)
    functions = np.stack([np.arange(N) if number == N else rng.choice(N, number, replace=False) for _ in rounds])
    return Drawn(nodes, rounds, functions, T, N)
