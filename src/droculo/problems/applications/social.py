"""Marketing on a social network: free samples that sell to the neighbours, and budgets spread over channels."""

from __future__ import annotations

from math import comb

import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike, NDArray

from droculo.later import networkx as nx
from droculo.linearizations import Bounds
from droculo.linearizations.cases import of_case
from droculo.problems.adversaries import Adversary, Heterogeneous, PeriodicWeights, Rounds, need_nonnegative
from droculo.problems.base import Comparator
from droculo.problems.planted.enumerated import MOST_CORNERS, Covering, Enumerated, subsets
from droculo.sets import budget
from droculo.sets.geometry import Vector


class Revenue(Enumerated):
    """Free samples: f = sum over arcs (i, j) of w_ij x_i (1 - x_j) = out.x - x.Wx. DR-submodular, not monotone.

    x_i is the share of a free sample that person i gets; w_ij is what j spends after i's word, unless j has the sample
    already. On {sum x <= b} (case A4, or A3). f is linear in every coordinate and convex along e_i - e_j, so at most
    b whole samples are best: found by looking at all choices, where there are not too many, for the mean weights too.

    The model is influence-and-exploit of Hartline, Mirrokni and Sundararajan (WWW 2008), with linear influence.

    >>> Revenue.karate(agents=3, budget=2).set.dim
    34
    """

    arcs: NDArray[np.int64]  # (arcs, 2): from the influencing to the influenced node
    size: NDArray[np.int64]  # b

    def __init__(self, weights: Adversary, arcs: ArrayLike, people: int, budget_size: int, *, case: str = "A4"):
        self.weights, self.arcs = weights, np.asarray(arcs, np.int64)
        self.linearization = of_case(case, "A3", "A4")
        need_nonnegative(weights)
        ends, shape = self.arcs, (weights.highest.shape[1], 2)
        if ends.shape != shape or ends.min() < 0 or ends.max() >= people or np.any(ends[:, 0] == ends[:, 1]):
            raise ValueError(
                f"arcs is a table {shape} with the two ends, 0 to {people - 1} and different, of every weighted arc; "
                f"got shape {ends.shape}."
            )
        if not (int(budget_size) == budget_size and 1 <= budget_size < people):
            raise ValueError(f"the number of samples is a whole number between 1 and {people - 1}; got {budget_size}.")
        self.size = np.asarray(budget_size, np.int64)
        self.set = budget(people, float(budget_size))
        strongest = np.zeros((weights.agents, people, people))
        for (i, j), heaviest in zip(self.arcs, weights.highest.T, strict=True):
            strongest[:, i, j] += heaviest
        out, into = strongest.sum(axis=2), strongest.sum(axis=1)
        # -into_i <= df/dx_i = sum_j w_ij (1 - x_j) - sum_j w_ji x_j <= out_i, and f <= out.x.
        self.bounds = Bounds(
            gradient=float(np.linalg.norm(np.maximum(out, into), axis=1).max()),
            value=float(np.sort(out, axis=1)[:, -int(budget_size) :].sum(axis=1).max()),
            smoothness=float(np.linalg.norm(strongest + strongest.transpose(0, 2, 1), 2, axis=(1, 2)).max()),
        )

    @classmethod
    def on_graph(cls, graph: nx.Graph, *, agents: int, budget: int, seed: int = 0, case: str = "A4") -> Revenue:
        """A NetworkX graph, directed or not; an edge's `weight` (1 without) is scaled for every agent and drifts."""
        people = {node: number for number, node in enumerate(graph)}
        both = graph if graph.is_directed() else graph.to_directed()
        arcs = [(people[i], people[j], float(w)) for i, j, w in both.edges(data="weight", default=1.0) if i != j]
        strength = np.array([w for _, _, w in arcs])
        waves = PeriodicWeights.random(agents, len(arcs), low=0.0, high=1.0, swing=1.0, seed=seed)
        weights = PeriodicWeights(waves.base * strength, waves.height * strength, waves.speed, waves.phase)
        return cls(weights, [(i, j) for i, j, _ in arcs], len(people), budget, case=case)

    @classmethod
    def karate(cls, *, agents: int, budget: int = 4, seed: int = 0, case: str = "A4") -> Revenue:
        """Zachary's karate club: 34 members, 78 ties in both directions, the stronger the more often they met."""
        return cls.on_graph(nx.karate_club_graph(), agents=agents, budget=budget, seed=seed, case=case)

    def reward(self, weights: Array, x: Array) -> Array:
        return jnp.dot(weights, x[self.arcs[:, 0]] * (1 - x[self.arcs[:, 1]]))

    @property
    def corners(self) -> Vector:
        """All choices of at most b people; made when asked for, so that a run does not carry them along."""
        dim = self.set.dim
        return np.concatenate([np.zeros((1, dim))] + [subsets(dim, n + 1) for n in range(int(self.size))])

    def comparators_between(  # type: ignore[override]
        self, starts: Rounds, ends: Rounds, agents: NDArray[np.int64]
    ) -> list[Comparator] | list[None]:
        """Exact, or None where there are too many choices to look at them all."""
        if sum(comb(self.set.dim, n) for n in range(int(self.size) + 1)) > MOST_CORNERS:
            return [None] * len(starts)
        return super().comparators_between(starts, ends, agents)


class Influence(Covering):
    """Budget allocation: f = sum over customers s of w_s (1 - prod over channels k of (1 - p_sk x_k)).

    x_k is the spending on channel k, and p_sk the chance that full spending there reaches customer s; w_s is what the
    customer is worth. Monotone, DR-submodular and linear in every coordinate: on {sum x <= b} (case A2) the best is b
    whole channels, found by looking at all choices, for the mean weights too.

    The model is that of Alon, Gamzu and Tennenholtz (Optimizing budget allocation, WWW 2012).

    >>> Influence.davis(agents=3, budget=2).corners.shape
    (91, 14)
    """

    def __init__(self, weights: Adversary, chances: ArrayLike, budget_size: int):
        table, customers = np.asarray(chances, np.float64), weights.highest.shape[1]
        if table.ndim != 2 or len(table) != customers:
            raise ValueError(
                f"chances is a table with a row for each of the {customers} weighted customers and a column for each "
                f"channel; got shape {table.shape}."
            )
        if not np.all((table >= 0) & (table <= 1)):
            raise ValueError(f"chances lie between 0 and 1; got {table.min():g} to {table.max():g}.")
        super().__init__(weights, table, budget_size)

    @classmethod
    def davis(cls, *, agents: int, budget: int = 3, seed: int = 0, dial: float = 0.8) -> Influence:
        """The Davis graph: advertise at 14 events to the 18 women who attended them, each with a chance of 0.2 to 0.7.

        Customers belong to agents (shops), and what each woman spends drifts. `dial` says how much of it goes to her
        own shop: from the same at all shops (0) to all at her own (1).
        """
        graph = nx.davis_southern_women_graph()
        women = [node for node, side in graph.nodes(data="bipartite") if side == 0]
        events = [node for node, side in graph.nodes(data="bipartite") if side == 1]
        rng = np.random.default_rng(seed)
        attended = np.array([[graph.has_edge(woman, event) for event in events] for woman in women])
        common = PeriodicWeights.random(1, len(women), low=0.2, high=1.0, swing=1.0, seed=seed)
        weights = Heterogeneous(common, agents=agents, dial=dial)
        return cls(weights, attended * rng.uniform(0.2, 0.7, attended.shape), budget)
