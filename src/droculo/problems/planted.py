"""Problems whose best point in hindsight is known exactly, for any adversary: the yardsticks of regret."""

from abc import abstractmethod
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import networkx as nx
import numpy as np
from jax import Array
from numpy.typing import ArrayLike, NDArray

from droculo.linearizations import (
    Bounds,
    Concave,
    Linearization,
    MonotoneGeneral,
    MonotoneOrigin,
    NonMonotoneDownClosed,
    NonMonotoneGeneral,
)
from droculo.precision import double
from droculo.problems.base import Comparator, Problem
from droculo.sets import Set, budget, budget_face
from droculo.sets.geometry import Vector


class Waves(eqx.Module):
    """Positive weights that drift: w_{t,i} = base_i + height_i (1 + cos(speed_i t + phase_i))/2, entry by entry."""

    base: Vector  # (agents, entries)
    height: Vector
    speed: Vector
    phase: Vector

    @classmethod
    def random(cls, agents: int, entries: int, *, low: float, high: float, swing: float, seed: int) -> "Waves":
        """Base weights uniform on [low, high], each swinging by up to `swing` at its own pace."""
        rng = np.random.default_rng(seed)
        shape = (agents, entries)
        return cls(
            base=rng.uniform(low, high, shape),
            height=rng.uniform(0, swing, shape) if swing else np.zeros(shape),
            speed=rng.uniform(0.5, 2.5, shape),
            phase=rng.uniform(0, 2 * np.pi, shape),
        )

    def at(self, agent: Array, t: Array) -> Array:
        base, height, speed, phase = (jnp.asarray(a)[agent] for a in (self.base, self.height, self.speed, self.phase))
        return base + height * (1 + jnp.cos(speed * t + phase)) / 2

    @property
    def highest(self) -> Vector:
        return self.base + self.height

    def total(self, horizon: int, agents: NDArray[np.int64]) -> Vector:
        """(1/N) sum over rounds and these agents, in double precision."""
        with double():
            named = jnp.asarray(agents)

            def one(t: Array, total: Array) -> Array:
                return total + jnp.mean(jax.vmap(self.at, (0, None))(named, t), axis=0)

            run = jax.jit(lambda: jax.lax.fori_loop(0, horizon, one, jnp.zeros(self.base.shape[1])))
            return np.asarray(run())


class _Planted(Problem):
    """Shared by problems that are affine in drifting weights: their mean is the same problem with mean weights."""

    weights: eqx.AbstractVar[Waves]

    @property
    def agents(self) -> int:
        return int(self.weights.base.shape[0])

    @abstractmethod
    def best(self, weights: Vector) -> Vector:
        """The maximiser over K for the given weights."""

    @abstractmethod
    def reward(self, weights: Array, x: Array) -> Array:
        """f for the given weights, affine in them: so the mean of f over rounds and agents is f of the mean weights."""

    def value(self, agent: Array, t: Array, x: Array) -> Array:
        return self.reward(self.weights.at(agent, t), x)

    def comparator(self, horizon: int, agents: NDArray[np.int64]) -> Comparator | None:
        mean = self.weights.total(horizon, agents) / horizon
        point = self.best(mean)
        with double():
            total = horizon * float(self.reward(jnp.asarray(mean), jnp.asarray(point)))
        return Comparator(point, total, "exact")


class TopB(_Planted):
    """Top-b quadratic: f = h.x - sum_{i<j} x_i x_j with every h_i >= d - 1. Not concave, monotone, DR-submodular.

    On {sum x <= b} it is case A2, on {sum x = b} (`face=True`) case A1. The best point is the indicator of the b
    largest entries of the mean h, whatever the adversary does.

    >>> TopB.random(agents=3, dim=5, budget=2, seed=0).set.dim
    5
    """

    weights: Waves
    set: Set
    linearization: Linearization
    bounds: Bounds
    size: int = eqx.field(static=True)

    def __init__(self, weights: Waves, budget_size: int, *, face: bool = False):
        dim = weights.base.shape[1]
        if not (int(budget_size) == budget_size and 1 <= budget_size < dim):
            raise ValueError(f"TopB needs a whole budget between 1 and {dim - 1}; got {budget_size}.")
        if np.any(weights.base < dim - 1):
            raise ValueError(
                f"TopB is monotone on the unit box only if every weight is at least d - 1 = {dim - 1}; "
                f"got {float(weights.base.min()):g}."
            )
        self.weights = weights
        self.size = int(budget_size)
        self.set = budget_face(dim, self.size) if face else budget(dim, self.size)
        self.linearization = MonotoneGeneral() if face else MonotoneOrigin()
        highest = weights.highest
        # 0 <= df/dx_i = h_i - sum of the others <= h_i, and f <= the b largest entries of h.
        self.bounds = Bounds(
            gradient=float(np.max(np.linalg.norm(highest, axis=1))),
            value=float(np.max(np.sort(highest, axis=1)[:, -self.size :].sum(axis=1))),
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
        weights = Waves.random(agents, dim, low=low, high=low + spread, swing=swing, seed=seed)
        return cls(weights, budget, face=face)

    def reward(self, weights: Array, x: Array) -> Array:
        total = x.sum()
        return jnp.dot(weights, x) - (total**2 - jnp.dot(x, x)) / 2

    def gradient(self, agent: Array, t: Array, x: Array) -> Array:
        return self.weights.at(agent, t) - (x.sum() - x)

    def best(self, weights: Vector) -> Vector:
        point = np.zeros_like(weights)
        point[np.argsort(-weights, kind="stable")[: self.size]] = 1
        return point


class PlantedCut(_Planted):
    """Cut of a bipartite graph with sides L and R: f = sum over edges w_e (x_i + x_j - 2 x_i x_j). Not monotone, DR.

    On {sum x = |L|} it is case A3, on {sum x <= |L|} (`down_closed=True`) case A4. The indicator of L cuts every edge,
    so it is best for every non-negative w.
    """

    weights: Waves
    set: Set
    linearization: Linearization
    bounds: Bounds
    ends: NDArray[np.int64]
    planted: Vector

    def __init__(self, weights: Waves, ends: ArrayLike, left: ArrayLike, dim: int, *, down_closed: bool = False):
        self.weights = weights
        self.ends = np.asarray(ends, np.int64)
        self.planted = np.zeros(dim)
        self.planted[np.asarray(left, np.int64)] = 1
        if np.any(self.planted[self.ends].sum(axis=1) != 1):
            raise ValueError("every edge of a planted cut joins the left side to the right one; some edge does not.")
        if np.any(weights.base < 0):
            raise ValueError(f"the weights of a cut are non-negative; got {float(weights.base.min()):g}.")
        size = float(self.planted.sum())
        self.set = budget(dim, size) if down_closed else budget_face(dim, size)
        self.linearization = NonMonotoneDownClosed() if down_closed else NonMonotoneGeneral()
        # |df/dx_i| <= the weight at i, since |1 - 2 x_j| <= 1 on the box; f <= all weights.
        degrees = np.zeros((weights.base.shape[0], dim))
        for edge, (i, j) in enumerate(self.ends):
            degrees[:, [i, j]] += weights.highest[:, [edge]]
        self.bounds = Bounds(
            gradient=float(np.max(np.linalg.norm(degrees, axis=1))), value=float(weights.highest.sum(axis=1).max())
        )

    @classmethod
    def random(
        cls, *, agents: int, left: int, right: int, seed: int, edges: float = 0.6, down_closed: bool = False
    ) -> "PlantedCut":
        """A random bipartite graph with this share of all possible edges, each with its own drifting weight."""
        rng = np.random.default_rng(seed)
        every = np.array([(i, left + j) for i in range(left) for j in range(right)])
        kept = every[np.sort(rng.permutation(len(every))[: max(1, round(edges * len(every)))])]
        weights = Waves.random(agents, len(kept), low=0.2, high=1.0, swing=1.0, seed=seed)
        return cls(weights, kept, np.arange(left), left + right, down_closed=down_closed)

    @classmethod
    def davis(cls, *, agents: int, seed: int = 0, down_closed: bool = False) -> "PlantedCut":
        """The Davis graph of women and the events they attended: 32 nodes, 89 edges, the 14 events on the left."""
        graph = nx.davis_southern_women_graph()
        nodes = sorted(graph, key=str)
        index = {node: i for i, node in enumerate(nodes)}
        events = [index[node] for node in nodes if graph.nodes[node]["bipartite"] == 1]
        ends = np.array([(index[a], index[b]) for a, b in graph.edges])
        weights = Waves.random(agents, len(ends), low=0.5, high=1.5, swing=0.5, seed=seed)
        return cls(weights, ends, events, len(nodes), down_closed=down_closed)

    def reward(self, weights: Array, x: Array) -> Array:
        a, b = x[self.ends[:, 0]], x[self.ends[:, 1]]
        return jnp.dot(weights, a + b - 2 * a * b)

    def best(self, weights: Vector) -> Vector:
        return self.planted


class WaterFilling(_Planted):
    """Concave: f = sum w_i log(1 + a_i x_i) on {sum x = b}; best is x_i = clip(w_i/level - 1/a_i, 0, 1).

    Monotone too, hence also of class A1; alpha is 1 for the concave class.
    """

    weights: Waves
    set: Set
    linearization: Linearization
    bounds: Bounds
    rates: Vector
    size: float = eqx.field(static=True)

    def __init__(self, weights: Waves, rates: ArrayLike, budget_size: float):
        self.weights = weights
        self.rates = np.asarray(rates, np.float64)
        self.size = float(budget_size)
        self.set = budget_face(len(self.rates), self.size)
        self.linearization = Concave()
        if np.any(weights.base <= 0) or np.any(self.rates <= 0):
            raise ValueError("water-filling needs positive weights and rates.")
        highest = weights.highest
        self.bounds = Bounds(
            gradient=float(np.max(np.linalg.norm(highest * self.rates, axis=1))),
            value=float(np.max(highest @ np.log1p(self.rates))),
        )

    @classmethod
    def random(cls, *, agents: int, dim: int, budget: float, seed: int) -> "WaterFilling":
        """Weights between 0.5 and 2, rates between 1 and 4."""
        weights = Waves.random(agents, dim, low=0.5, high=1.5, swing=0.5, seed=seed)
        return cls(weights, np.random.default_rng(seed + 1).uniform(1, 4, dim), budget)

    def reward(self, weights: Array, x: Array) -> Array:
        return jnp.dot(weights, jnp.log1p(self.rates * x))

    def best(self, weights: Vector) -> Vector:
        def filled(level: float) -> Vector:
            return np.clip(weights / level - 1 / self.rates, 0, 1)

        return filled(
            _bisect(lambda level: float(filled(level).sum()) - self.size, 1e-12, float((weights * self.rates).max()))
        )


def _bisect(falling: Callable[[float], float], low: float, high: float) -> float:
    """The root of a falling function, to the last bit."""
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return (low + high) / 2
