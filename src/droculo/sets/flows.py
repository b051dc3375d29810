"""Unit flows of a directed acyclic graph; the oracle is a longest path."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import Array

from droculo.later import networkx as nx
from droculo.sets.geometry import Geometry, Span, Vector
from droculo.sets.host import Host, HostSet
from droculo.sets.vertices import Indices, Vertex

Edge = tuple[Hashable, Hashable]


class _LongestPath(Host):
    """The heaviest path from node 0 to the last node in topological order; ties go to the earlier edge."""

    def __init__(self, incoming: list[list[tuple[int, int]]], edges: int):
        self.incoming, self.count = incoming, edges
        super().__init__(self.solve(np.zeros(edges)))

    def solve(self, direction: Vector) -> Vector:
        weight = direction.tolist()
        best = [0.0]
        through = [(-1, -1)]
        for arriving in self.incoming[1:]:
            value, edge, tail = max(((best[u] + weight[e], -e, u) for e, u in arriving), key=lambda way: way[:2])
            best.append(value)
            through.append((-edge, tail))
        path = np.zeros(self.count)
        node = len(best) - 1
        while node:
            edge, node = through[node]
            path[edge] = 1.0
        return path


class Flows(HostSet):
    """Unit flows from `source` to `sink` in a directed graph without cycles: the hull of the paths.

    Coordinate i is edge i of `edges`, in the order of `graph.edges`. Every edge must lie on some path from
    source to sink. The center is the average over all paths; the only faces are x_e = 0.
    """

    edges: tuple[Edge, ...] = eqx.field(static=True)
    longest: int = eqx.field(static=True)  # the number of edges of a longest path
    balance: Vector  # one row per node: outflow minus inflow
    supply: Vector
    geometry: Geometry
    has_fast_contains: ClassVar[bool] = True

    def __init__(self, graph: nx.DiGraph, source: Hashable, sink: Hashable):
        nodes = _checked_order(graph, source, sink)
        self.edges = tuple(graph.edges)
        number = {node: i for i, node in enumerate(nodes)}
        ends = [(number[u], number[v]) for u, v in self.edges]
        incoming: list[list[tuple[int, int]]] = [[] for _ in nodes]
        self.balance = np.zeros((len(nodes), len(ends)))
        for e, (u, v) in enumerate(ends):
            incoming[v].append((e, u))
            self.balance[u, e], self.balance[v, e] = 1.0, -1.0
        self.supply = np.zeros(len(nodes))
        self.supply[0], self.supply[-1] = 1.0, -1.0
        center = _path_average(ends, len(nodes))
        space = Span.orthogonal_to(self.balance, len(ends))
        if space.dimension == 0:
            raise ValueError(
                "Flows needs a choice of paths; got a graph with a single one: there is nothing to decide."
            )
        self.host = _LongestPath(incoming, len(ends))
        self.longest = int(self.host.solve(np.ones(len(ends))).sum())
        reach = np.linalg.norm(space.basis, axis=1)  # |P e_e|: the change of x_e per unit of movement
        moving = reach > 1e-9
        radius, inner = float(np.sqrt(self.longest)), float(np.min(center[moving] / reach[moving]))
        self.geometry = Geometry(dim=len(ends), radius=radius, subspace=space, center=center, inner_radius=inner)

    def vertex(self, direction: Array) -> Vertex:
        return Indices.of(self.argmax(direction), self.longest)

    def contains(self, x: Array, tolerance: float | Array = 1e-9) -> Array:
        off = jnp.abs(self.balance @ jnp.asarray(x) - self.supply)
        return jnp.all(x >= -tolerance) & jnp.all(off <= tolerance * jnp.abs(self.balance).sum(axis=1))


def _checked_order(graph: nx.DiGraph, source: Hashable, sink: Hashable) -> list[Any]:
    """The nodes from source to sink in topological order."""
    if not graph.is_directed() or graph.is_multigraph() or not nx.is_directed_acyclic_graph(graph):
        raise ValueError(
            f"Flows needs a directed graph without cycles and without parallel edges; got a {type(graph).__name__}. "
            "Split parallel edges with a node in between, and break cycles."
        )
    if source not in graph or sink not in graph or source == sink:
        raise ValueError(f"Flows needs two different nodes of the graph; got source={source!r} and sink={sink!r}.")
    ahead = nx.descendants(graph, source) | {source}
    behind = nx.ancestors(graph, sink) | {sink}
    if sink not in ahead:
        raise ValueError(f"the set is empty: no path leads from {source!r} to {sink!r}. Add edges, or swap the two.")
    useless = [(u, v) for u, v in graph.edges if u not in ahead or v not in behind]
    if useless:
        raise ValueError(
            f"Flows needs every edge to lie on a path from {source!r} to {sink!r}; these do not: {useless}. "
            "Remove them: no flow can use them."
        )
    return [node for node in nx.topological_sort(graph) if node in ahead & behind]


def _path_average(ends: list[tuple[int, int]], nodes: int) -> Vector:
    """The share of all paths that use each edge, from exact counts of paths to its tail and from its head."""
    to, onward = [0] * nodes, [0] * nodes
    to[0] = onward[-1] = 1
    for u, v in sorted(ends):  # nodes are numbered in topological order
        to[v] += to[u]
    for u, v in sorted(ends, reverse=True):
        onward[u] += onward[v]
    return np.array([to[u] * onward[v] / to[-1] for u, v in ends])
