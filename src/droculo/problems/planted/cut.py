"""The planted bipartite cut: not monotone, with one best point for all weights."""

import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike, NDArray

from droculo.later import networkx as nx
from droculo.linearizations import Bounds, Linearization, NonMonotoneDownClosed, NonMonotoneGeneral
from droculo.problems.adversaries import Adversary, PeriodicWeights
from droculo.problems.planted.base import Planted
from droculo.sets import Set, budget, fixed_budget
from droculo.sets.geometry import Vector


class PlantedCut(Planted):
    """Cut of a bipartite graph with sides L and R: f = sum over edges w_e (x_i + x_j - 2 x_i x_j). Not monotone, DR.

    On {sum x = |L|} it is case A3, on {sum x <= |L|} (`down_closed=True`) case A4. The indicator of L cuts every edge,
    so it is best for every non-negative w.
    """

    weights: Adversary
    set: Set
    linearization: Linearization
    bounds: Bounds
    ends: NDArray[np.int64]
    planted: Vector

    def __init__(self, weights: Adversary, ends: ArrayLike, left: ArrayLike, dim: int, *, down_closed: bool = False):
        self.weights = weights
        self.ends = np.asarray(ends, np.int64)
        if self.ends.shape != (weights.highest.shape[1], 2) or self.ends.min() < 0 or self.ends.max() >= dim:
            raise ValueError(
                f"a cut needs one edge (i, j) with 0 <= i, j < {dim} for each of the {weights.highest.shape[1]} weights; got "
                f"ends of shape {self.ends.shape} from {self.ends.min()} to {self.ends.max()}."
            )
        self.planted = np.zeros(dim)
        self.planted[np.asarray(left, np.int64)] = 1
        if np.any(self.planted[self.ends].sum(axis=1) != 1):
            raise ValueError("every edge of a planted cut joins the left side to the right one; some edge does not.")
        if np.any(weights.lowest < 0):
            raise ValueError(f"the weights of a cut are non-negative; got {float(weights.lowest.min()):g}.")
        size = float(self.planted.sum())
        self.set = budget(dim, size) if down_closed else fixed_budget(dim, size)
        self.linearization = NonMonotoneDownClosed() if down_closed else NonMonotoneGeneral()
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
