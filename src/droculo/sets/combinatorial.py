"""Hulls of permutations and of spanning trees; their oracles are the classical algorithms, on the host."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import scipy
from jax import Array
from numpy.typing import ArrayLike

from droculo.later import networkx as nx
from droculo.sets.geometry import Geometry, Subspace, Vector, ZeroSums
from droculo.sets.host import Host, HostSet
from droculo.sets.vertices import Indices, Vertex

Edge = tuple[Hashable, Hashable]

#: Up to this many vertices in a block, all 2^n vertex subsets are listed to find the inner radius.
LISTED_UP_TO = 14


class _Assignment(Host):
    """The Hungarian method: the permutation matrix of largest weight."""

    def __init__(self, n: int):
        self.n = n
        super().__init__(np.eye(n).ravel())

    def solve(self, direction: Vector) -> Vector:
        chosen = np.zeros((self.n, self.n))
        chosen[scipy.optimize.linear_sum_assignment(direction.reshape(self.n, self.n), maximize=True)] = 1.0
        return chosen.ravel()


class _DoublyCentred(Subspace):
    """n x n matrices, flattened, whose rows and columns add up to zero."""

    n: int = eqx.field(static=True)
    dimension: int = eqx.field(static=True)

    def project(self, vector: Array) -> Array:
        matrix = jnp.asarray(vector).reshape(self.n, self.n)
        matrix = matrix - matrix.mean(axis=0, keepdims=True)
        return (matrix - matrix.mean(axis=1, keepdims=True)).ravel()


class Birkhoff(HostSet):
    """Doubly stochastic n x n matrices, flattened row by row: the hull of the permutation matrices."""

    n: int = eqx.field(static=True)
    geometry: Geometry
    has_fast_contains: ClassVar[bool] = True

    def __init__(self, n: int):
        if n < 2:
            raise ValueError(f"Birkhoff needs n >= 2; got {n}: there is only one 1 x 1 doubly stochastic matrix.")
        self.n = n
        self.host = _Assignment(n)
        space, radius, middle = _DoublyCentred(n, (n - 1) ** 2), float(np.sqrt(n)), 1.0 / n
        # The faces are x_ij = 0, and the unit matrix E_ij has norm 1 - 1/n once centred: (1/n) / (1 - 1/n).
        inner = 1.0 / (n - 1)
        self.geometry = Geometry(
            dim=n * n, radius=radius, subspace=space, center=middle, inner_radius=inner, anchor=middle
        )

    def vertex(self, direction: Array) -> Vertex:
        return Indices.of(self.argmax(direction), self.n)

    def contains(self, x: Array, tolerance: float | Array = 1e-9) -> Array:
        matrix = jnp.asarray(x).reshape(self.n, self.n)
        off = jnp.abs(jnp.stack([matrix.sum(axis=0), matrix.sum(axis=1)]) - 1)
        return jnp.all(matrix >= -tolerance) & jnp.all(off <= tolerance * self.n)


class _Kruskal(Host):
    """The spanning tree of largest weight; ties go to the earlier edge."""

    def __init__(self, ends: list[tuple[int, int]], nodes: int):
        self.ends, self.nodes = ends, nodes
        super().__init__(self.solve(np.zeros(len(ends))))

    def solve(self, direction: Vector) -> Vector:
        chosen = np.zeros(len(self.ends))
        parent = list(range(self.nodes))
        missing = self.nodes - 1
        for edge in np.argsort(-direction, kind="stable").tolist():
            u, v = self.ends[edge]
            while parent[u] != u:
                parent[u] = u = parent[parent[u]]
            while parent[v] != v:
                parent[v] = v = parent[parent[v]]
            if u != v:
                parent[u] = v
                chosen[edge] = 1.0
                missing -= 1
                if not missing:
                    break
        return chosen


class SpanningTrees(HostSet):
    """The hull of the spanning trees of a connected graph: {x >= 0, x(E) = n - 1, x(E[S]) <= |S| - 1}.

    Coordinate i is edge i of `edges`, in the order of `graph.edges`. Within every 2-connected block the
    coordinates add up to its number of vertices minus one; a bridge is 1. The center is the vector of edge
    probabilities of a uniform spanning tree, which are the effective resistances. The inner radius is computed if no block has
    more than 14 vertices; otherwise pass `inner_radius` (and optionally `center`).
    """

    edges: tuple[Edge, ...] = eqx.field(static=True)
    nodes: int = eqx.field(static=True)
    geometry: Geometry

    def __init__(self, graph: nx.Graph, *, center: ArrayLike | None = None, inner_radius: float | None = None):
        if graph.is_directed() or graph.is_multigraph() or nx.number_of_selfloops(graph):
            raise ValueError(
                f"SpanningTrees needs a simple undirected graph; got a {type(graph).__name__} with "
                f"{nx.number_of_selfloops(graph)} self-loops. Write SpanningTrees(nx.Graph(graph)), without loops."
            )
        if graph.number_of_nodes() == 0 or not nx.is_connected(graph):
            raise ValueError("SpanningTrees needs a connected graph; got one without any spanning tree. Add edges.")
        self.edges = tuple(graph.edges)
        number = {node: i for i, node in enumerate(graph.nodes)}
        ends = [(number[u], number[v]) for u, v in self.edges]
        if len(ends) < len(number):
            raise ValueError(
                f"SpanningTrees needs a graph with a cycle; got a tree of {len(number)} vertices, and its only "
                "spanning tree is itself: there is nothing to decide. Add edges."
            )
        blocks = _blocks(graph, {edge: i for i, edge in enumerate(self.edges)})
        sizes = np.bincount(blocks)
        if center is None:
            center = _resistances(ends, len(number))
            if inner_radius is None:
                inner_radius = _tree_radius(np.array(ends), blocks, center)
        self.host = _Kruskal(ends, len(number))
        self.nodes = len(number)
        space, radius = ZeroSums(blocks, sizes > 1), float(np.sqrt(self.nodes - 1))
        self.geometry = Geometry(dim=len(ends), radius=radius, subspace=space, center=center, inner_radius=inner_radius)

    def vertex(self, direction: Array) -> Vertex:
        return Indices.of(self.argmax(direction), self.nodes - 1)


def _blocks(graph: nx.Graph, index: dict[Any, int]) -> Any:
    """The 2-connected block of every edge."""
    blocks = np.zeros(len(index), np.int64)
    for block, edges in enumerate(nx.biconnected_component_edges(graph)):
        for u, v in edges:
            blocks[index[(u, v) if (u, v) in index else (v, u)]] = block
    return blocks


def _resistances(ends: list[tuple[int, int]], nodes: int) -> Vector:
    """The probability that a uniform spanning tree has edge (u, v): (e_u - e_v)' L^+ (e_u - e_v)."""
    incidence = np.zeros((len(ends), nodes))
    for i, (u, v) in enumerate(ends):
        incidence[i, u], incidence[i, v] = 1.0, -1.0
    # With 1 added to all entries the Laplacian is invertible; on vectors of sum zero its inverse is the pseudo-inverse.
    solved = np.linalg.solve(incidence.T @ incidence + 1.0, incidence.T)
    return np.einsum("iu,ui->i", incidence, solved)


def _tree_radius(ends: Any, blocks: Any, center: Vector) -> float | None:
    """The radius of the largest ball of the affine hull around `center`, from all constraints, block by block.

    The blocks' trees are chosen independently, so the set is the product of their tree polytopes, each cut
    out by x >= 0 and x(E[S]) <= |S| - 1 over the block's vertex subsets S.
    """
    best = np.inf
    for block in np.unique(blocks):
        members = np.flatnonzero(blocks == block)
        if len(members) == 1:
            continue  # a bridge: its coordinate is constant
        nodes, local = np.unique(ends[members], return_inverse=True)
        if len(nodes) > LISTED_UP_TO:
            return None
        local = local.reshape(-1, 2)
        subsets = (np.arange(1, 2 ** len(nodes))[:, None] >> np.arange(len(nodes))) & 1
        inside = (subsets[:, local[:, 0]] & subsets[:, local[:, 1]]).astype(np.float64)
        slack = np.concatenate([center[members], subsets.sum(axis=1) - 1 - inside @ center[members]])
        # Moving within x(block) = const, only the part of a row that sums to zero matters.
        count = inside.sum(axis=1)
        squares = np.append(np.full(len(members), 1 - 1 / len(members)), count - count**2 / len(members))
        moving = squares > 1e-9
        best = min(best, float(np.min(slack[moving] / np.sqrt(squares[moving]))))
    return best
