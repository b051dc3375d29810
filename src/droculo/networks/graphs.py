"""Communication graphs with the agents 0..N-1 as nodes, ready for `from_graph`."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from droculo.later import networkx as nx

#: a random graph that comes out disconnected is drawn again with seed + 1, seed + 2, ..., this often at most
ATTEMPTS = 100


@dataclass(frozen=True, eq=False)
class Edges:
    """A graph as an array: N agents and an (E, 2) array of undirected links, for graphs too big for NetworkX.

    >>> Edges(3, [[0, 1], [2, 1]]).ends.tolist()
    [[0, 1], [1, 2]]
    """

    n_agents: int
    ends: NDArray[np.int64]
    labels: tuple[Hashable, ...] | None = None

    def __init__(self, n_agents: int, ends: ArrayLike, labels: tuple[Hashable, ...] | None = None):
        _need_agents(n_agents)
        given = np.asarray(ends)
        if given.size == 0:
            given = np.zeros((0, 2), np.int64)
        if given.ndim != 2 or given.shape[1] != 2 or not np.issubdtype(given.dtype, np.integer):
            raise ValueError(
                f"the links must be an (E, 2) array of whole numbers; got shape {given.shape} of {given.dtype}. "
                "Give one row with the two agents of every link."
            )
        if given.size and (given.min() < 0 or given.max() >= n_agents):
            raise ValueError(
                f"the links name agents {given.min()} to {given.max()}, but there are only the agents 0 to "
                f"{n_agents - 1}. Number the agents 0..N-1."
            )
        pairs = np.sort(given.astype(np.int64), axis=1)
        loops = pairs[pairs[:, 0] == pairs[:, 1], 0]
        if loops.size:
            raise ValueError(
                f"agent {loops[0]} has a link to itself, but links join two agents. "
                "Remove self loops: what an agent keeps is whatever its links leave over."
            )
        if len(np.unique(pairs[:, 0] * n_agents + pairs[:, 1])) < len(pairs):
            raise ValueError("a link is listed twice, but every pair of agents has at most one. List each link once.")
        object.__setattr__(self, "n_agents", int(n_agents))
        object.__setattr__(self, "ends", pairs)
        object.__setattr__(self, "labels", labels)


def edges_of(graph: nx.Graph | Edges) -> Edges:
    """The links of a graph as an array, in the order of `graph.edges`.

    Nodes 0..N-1 keep their numbers. Any others are numbered in sorted order (in insertion order where they cannot
    be sorted), and their names are kept as `labels`.
    """
    if isinstance(graph, Edges):
        return graph
    if not isinstance(graph, nx.Graph):
        raise TypeError(
            f"a graph must be a networkx.Graph or droculo.networks.Edges; got {type(graph).__name__}. "
            "Use from_matrix for a matrix of weights."
        )
    if graph.is_directed() or graph.is_multigraph():
        raise ValueError(
            f"the graph is a {type(graph).__name__}, but links are undirected and simple. "
            "Convert it with networkx.Graph(graph) if that is what you mean."
        )
    nodes = list(graph.nodes)
    labels: tuple[Hashable, ...] | None = None
    if set(nodes) != set(range(len(nodes))):
        with suppress(TypeError):  # names of mixed types have no order
            nodes = sorted(nodes)
        labels = tuple(nodes)
        number = {node: index for index, node in enumerate(nodes)}
        return Edges(len(nodes), [(number[a], number[b]) for a, b in graph.edges], labels)
    return Edges(len(nodes), list(graph.edges))


def single() -> nx.Graph:
    """One agent alone: the centralized case."""
    return nx.empty_graph(1)


def path(n: int) -> nx.Graph:
    """Agents in a row: i - (i+1)."""
    return nx.path_graph(_need_agents(n))


def ring(n: int) -> nx.Graph:
    """Agents in a circle: i - (i+1 mod n); two agents share one link, one agent has none.

    >>> [ring(n).number_of_edges() for n in (1, 2, 3)]
    [0, 1, 3]
    """
    return nx.cycle_graph(n) if _need_agents(n) > 2 else nx.path_graph(n)


def star(n: int) -> nx.Graph:
    """Agent 0 in the middle, linked to each of the other n - 1."""
    return nx.star_graph(_need_agents(n) - 1)


def complete(n: int) -> nx.Graph:
    """Every agent linked to every other."""
    return nx.complete_graph(_need_agents(n))


def grid(rows: int, columns: int) -> nx.Graph:
    """A rectangular grid; the agent in row r and column c is number r * columns + c."""
    _need_agents(rows)
    _need_agents(columns)
    return nx.convert_node_labels_to_integers(nx.grid_2d_graph(rows, columns), ordering="sorted")


def erdos_renyi(n: int, p: float, seed: int = 0) -> nx.Graph:
    """Every pair linked with probability p, given that the graph is connected.

    The seeds seed, seed + 1, ... are tried in turn until a draw is connected, at most `ATTEMPTS` of them.

    >>> nx.is_connected(erdos_renyi(20, 0.2))
    True
    """
    _need_agents(n)
    if not 0 <= p <= 1:
        raise ValueError(f"p is the probability of a link; got {p}. Pass a number between 0 and 1.")
    enough = min(1.0, 2 * np.log(max(n, 2)) / max(n, 2))
    return _first_connected(
        lambda attempt: nx.fast_gnp_random_graph(n, p, seed=attempt),
        seed,
        f"erdos_renyi({n}, p={p})",
        f"p is too small for {n} agents: take p of about 2 log(n)/n = {enough:.3g} or more.",
    )


def small_world(n: int, neighbours: int = 4, rewire: float = 0.1, seed: int = 0) -> nx.Graph:
    """Watts and Strogatz: a ring linked to the nearest `neighbours`, each link rewired with probability `rewire`.

    Disconnected draws are tried again with seed + 1, ...; with n <= neighbours + 1 it is the complete graph.
    """
    _need_agents(n)
    if neighbours < 2 or neighbours % 2 or not 0 <= rewire <= 1:
        raise ValueError(
            "small_world needs an even number of neighbours >= 2 (half on each side) and rewire between 0 and 1; "
            f"got neighbours={neighbours}, rewire={rewire}. Change the one that is out of range."
        )
    if n <= neighbours + 1:
        return complete(n)
    return _first_connected(
        lambda attempt: nx.watts_strogatz_graph(n, neighbours, rewire, seed=attempt),
        seed,
        f"small_world({n}, neighbours={neighbours}, rewire={rewire})",
        "Take more neighbours or rewire less.",
    )


def random_regular(n: int, degree: int, seed: int = 0) -> nx.Graph:
    """A random graph in which every agent has `degree` neighbours; tried again until connected, as `erdos_renyi`."""
    _need_agents(n)
    if not 0 <= degree < n or n * degree % 2:
        raise ValueError(
            f"a regular graph needs 0 <= degree < n and n * degree even; got n={n}, degree={degree}. "
            "Change one of them by one."
        )
    return _first_connected(
        lambda attempt: nx.random_regular_graph(degree, n, seed=attempt),
        seed,
        f"random_regular({n}, degree={degree})",
        "Take a degree of 3 or more; for degree 2, ring(n) is the connected one.",
    )


def _need_agents(n: int) -> int:
    if n < 1:
        raise ValueError(f"a graph needs at least one agent; got {n}. Use single() for one agent alone.")
    return n


def _first_connected(draw: Callable[[int], nx.Graph], seed: int, what: str, advice: str) -> nx.Graph:
    for attempt in range(ATTEMPTS):
        graph = draw(seed + attempt)
        if nx.is_connected(graph):
            return graph
    raise ValueError(f"{what} was not connected for any of the seeds {seed} to {seed + ATTEMPTS - 1}. {advice}")
