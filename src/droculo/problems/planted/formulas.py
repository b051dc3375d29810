"""Problems whose best point is a formula in the weights: top-b, water-filling and the planted cut."""

import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike, NDArray

from droculo.later import networkx as nx
from droculo.linearizations import Bounds, cases
from droculo.problems.adversaries import Adversary, PeriodicWeights, need_nonnegative
from droculo.problems.base import Planted
from droculo.sets import PartitionMatroid, budget, fixed_budget
from droculo.sets.geometry import Vector


class TopB(Planted):
    """Top-b quadratic: f = h.x - sum_{i<j} x_i x_j with every h_i >= d - 1. Not concave, monotone, DR-submodular.

    On {sum x <= b} it is case A2, on {sum x = b} (`face=True`) case A1. The best point is the indicator of the b
    largest entries of the mean h, whatever the adversary does.

    >>> TopB.random(agents=3, dim=5, budget=2, seed=0).set.dim
    5
    """

    set: PartitionMatroid

    def __init__(self, weights: Adversary, budget_size: int, *, face: bool = False):
        dim = weights.highest.shape[1]
        if not (int(budget_size) == budget_size and 1 <= budget_size < dim):
            raise ValueError(f"TopB needs a whole budget between 1 and {dim - 1}; got {budget_size}.")
        if np.any(weights.lowest < dim - 1):
            raise ValueError(
                f"TopB is monotone on the unit box only if every weight is at least d - 1 = {dim - 1}; "
                f"got {float(weights.lowest.min()):g}."
            )
        self.weights = weights
        self.set = fixed_budget(dim, budget_size) if face else budget(dim, budget_size)
        self.linearization = cases.MonotoneGeneral() if face else cases.MonotoneOrigin()
        highest = weights.highest
        # 0 <= df/dx_i = h_i - sum of the others <= h_i, and f <= the b largest entries of h.
        self.bounds = Bounds(
            gradient=float(np.max(np.linalg.norm(highest, axis=1))),
            value=float(np.max(np.sort(highest, axis=1)[:, -self.size :].sum(axis=1))),
            smoothness=dim - 1,  # the Hessian is I minus the matrix of ones
        )

    @classmethod
    def random(
        cls,
        *,
        agents: int,
        dim: int,
        budget: int,
        seed: int,
        swing: float = 4.0,
        spread: float = 4.0,
        face: bool = False,
    ) -> "TopB":
        """Weights d - 1 + uniform(0, spread), swinging by up to `swing` over time."""
        low = float(dim - 1)
        weights = PeriodicWeights.random(agents, dim, low=low, high=low + spread, swing=swing, seed=seed)
        return cls(weights, budget, face=face)

    @property
    def size(self) -> int:
        """The budget b."""
        return int(self.set.capacities[0])

    def reward(self, weights: Array, x: Array) -> Array:
        total = x.sum()
        return jnp.dot(weights, x) - (total**2 - jnp.dot(x, x)) / 2

    def gradient(self, agent: Array, t: Array, x: Array) -> Array:
        return self.weights.at(agent, t) - (x.sum() - x)

    def best(self, weights: Vector) -> Vector:
        point = np.zeros_like(weights)
        point[np.argsort(-weights, kind="stable")[: self.size]] = 1
        return point


class WaterFilling(Planted):
    """Concave: f = sum w_i log(1 + a_i x_i) on {sum x = b}; best is x_i = clip(w_i/level - 1/a_i, 0, 1).

    Monotone too, hence also of class A1; alpha is 1 for the concave class.
    """

    set: PartitionMatroid
    rates: Vector

    def __init__(self, weights: Adversary, rates: ArrayLike, budget_size: float):
        self.weights, self.rates = weights, np.asarray(rates, np.float64)
        self.set, self.linearization = fixed_budget(len(self.rates), budget_size), cases.Concave()
        if np.any(weights.lowest <= 0) or np.any(self.rates <= 0):
            raise ValueError("water-filling needs positive weights and rates.")
        highest = weights.highest
        self.bounds = Bounds(
            gradient=float(np.max(np.linalg.norm(highest * self.rates, axis=1))),
            value=float(np.max(highest @ np.log1p(self.rates))),
            smoothness=float(np.max(highest * self.rates**2)),
        )

    @classmethod
    def random(cls, *, agents: int, dim: int, budget: float, seed: int) -> "WaterFilling":
        """Weights between 0.5 and 2, rates between 1 and 4."""
        weights = PeriodicWeights.random(agents, dim, low=0.5, high=1.5, swing=0.5, seed=seed)
        return cls(weights, np.random.default_rng(seed + 1).uniform(1, 4, dim), budget)

    def reward(self, weights: Array, x: Array) -> Array:
        return jnp.dot(weights, jnp.log1p(self.rates * x))

    def best(self, weights: Vector) -> Vector:
        return self.best_of_each(weights[None])[0]

    def best_of_each(self, weights: Vector) -> Vector:
        def filled(level: Vector) -> Vector:
            return np.clip(weights / level - 1 / self.rates, 0, 1)

        high = (weights * self.rates).max(axis=1, keepdims=True)
        low = np.zeros_like(high)
        for _ in range(200):  # bisection, to the last bit
            middle = (low + high) / 2
            over = filled(middle).sum(axis=1, keepdims=True) > self.set.capacities[0]
            low, high = np.where(over, middle, low), np.where(over, high, middle)
        return filled((low + high) / 2)


class PlantedCut(Planted):
    """Cut of a bipartite graph with sides L and R: f = sum over edges w_e (x_i + x_j - 2 x_i x_j). Not monotone, DR.

    On {sum x = |L|} it is case A3, on {sum x <= |L|} (`down_closed=True`) case A4. The indicator of L cuts every edge,
    so it is best for every non-negative w.
    """

    ends: NDArray[np.int64]
    planted: Vector

    def __init__(self, weights: Adversary, ends: ArrayLike, left: ArrayLike, dim: int, *, down_closed: bool = False):
        self.weights, self.ends = weights, np.asarray(ends, np.int64)
        if self.ends.shape != (weights.highest.shape[1], 2) or self.ends.min() < 0 or self.ends.max() >= dim:
            raise ValueError(
                f"a cut needs one edge (i, j) with 0 <= i, j < {dim} for each of the {weights.highest.shape[1]} weights; got "
                f"ends of shape {self.ends.shape} from {self.ends.min()} to {self.ends.max()}."
            )
        self.planted = np.zeros(dim)
        self.planted[np.asarray(left, np.int64)] = 1
        if np.any(self.planted[self.ends].sum(axis=1) != 1):
            raise ValueError("every edge of a planted cut joins the left side to the right one; some edge does not.")
        need_nonnegative(weights, "the weights of a cut are")
        size = float(self.planted.sum())
        self.set = budget(dim, size) if down_closed else fixed_budget(dim, size)
        self.linearization = cases.NonMonotoneDownClosed() if down_closed else cases.NonMonotoneGeneral()
        # |df/dx_i| <= the weight at i, since |1 - 2 x_j| <= 1 on the box; f <= all weights.
        heaviest = np.zeros((weights.agents, dim, dim))
        for edge, (i, j) in enumerate(self.ends):
            heaviest[:, i, j] += weights.highest[:, edge]
        heaviest += heaviest.transpose(0, 2, 1)
        self.bounds = Bounds(
            gradient=float(np.max(np.linalg.norm(heaviest.sum(axis=2), axis=1))),
            value=float(weights.highest.sum(axis=1).max()),
            smoothness=2 * float(np.max(np.linalg.norm(heaviest, 2, axis=(1, 2)))),
        )

    @classmethod
    def random(
        cls, *, agents: int, left: int, right: int, seed: int, edges: float = 0.6, down_closed: bool = False
    ) -> "PlantedCut":
        """A random bipartite graph with this share of all possible edges, each with its own drifting weight."""
        rng = np.random.default_rng(seed)
        every = np.array([(i, left + j) for i in range(left) for j in range(right)])
        kept = every[np.sort(rng.permutation(len(every))[: max(1, round(edges * len(every)))])]
        weights = PeriodicWeights.random(agents, len(kept), low=0.2, high=1.0, swing=1.0, seed=seed)
        return cls(weights, kept, np.arange(left), left + right, down_closed=down_closed)

    @classmethod
    def davis(cls, *, agents: int, seed: int = 0, down_closed: bool = False) -> "PlantedCut":
        """The Davis graph of women and the events they attended: 32 nodes, 89 edges, the 14 events on the left."""
        graph = nx.davis_southern_women_graph()
        nodes = sorted(graph, key=str)
        index = {node: i for i, node in enumerate(nodes)}
        events = [index[node] for node in nodes if graph.nodes[node]["bipartite"] == 1]
        ends = np.array([(index[a], index[b]) for a, b in graph.edges])
        weights = PeriodicWeights.random(agents, len(ends), low=0.5, high=1.5, swing=0.5, seed=seed)
        return cls(weights, ends, events, len(nodes), down_closed=down_closed)

    def reward(self, weights: Array, x: Array) -> Array:
        a, b = x[self.ends[:, 0]], x[self.ends[:, 1]]
        return jnp.dot(weights, a + b - 2 * a * b)

    def best(self, weights: Vector) -> Vector:
        return self.planted
