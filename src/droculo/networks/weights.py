"""How much neighbours listen to each other: the off-diagonal entries of a symmetric, doubly stochastic matrix A.

Only the weight of each link is stored. What the links of an agent leave over, a_ii = 1 - sum_j a_ij, it gives to
its own value, so the rows of A sum to one by construction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from droculo.later import networkx as nx
from droculo.networks.graphs import Edges, edges_of
from droculo.networks.spectrum import need_averaging

Vector = NDArray[np.float64]
Matrix: TypeAlias = "ArrayLike | scipy.sparse.sparray"

#: how far a user's matrix may be from symmetric and stochastic; float32 matrices are further off
TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class Weights:
    """A graph and a weight for each of its links, in the same order; links of weight zero are left out."""

    edges: Edges
    weight: Vector

    def __init__(self, graph: nx.Graph | Edges, weight: ArrayLike):
        edges, values = edges_of(graph), np.array(weight, np.float64)
        if values.shape != (len(edges.ends),):
            raise ValueError(
                f"got weights of shape {values.shape} for {len(edges.ends)} links. "
                "Give one weight for each link, in the order of graph.edges."
            )
        if not np.all(np.isfinite(values)):
            raise ValueError("a link has a weight that is NaN or infinite. Give every link a finite weight.")
        if np.any(values < 0):
            worst = int(np.argmin(values))
            raise ValueError(
                f"link {tuple(edges.ends[worst].tolist())} has the negative weight {values[worst]:.6g}. "
                "Give every link a weight of at least zero."
            )
        used = values > 0
        kept = edges if used.all() else Edges(edges.n_agents, edges.ends[used], edges.labels)
        object.__setattr__(self, "edges", kept)
        object.__setattr__(self, "weight", values[used])
        own = self.self_weights
        if np.any(own < -TOLERANCE):
            worst = int(np.argmin(own))
            raise ValueError(
                f"the links of agent {worst} weigh {1 - own[worst]:.6g} in all, which leaves it a negative "
                "self-weight. Scale the weights so that those of every agent sum to at most 1."
            )

    @property
    def n_agents(self) -> int:
        """The number of agents N."""
        return self.edges.n_agents

    @property
    def ends(self) -> NDArray[np.int64]:
        """(E, 2): the two agents of every link, the lower one first."""
        return self.edges.ends

    @property
    def self_weights(self) -> Vector:
        """(N,): a_ii = 1 - sum_j a_ij."""
        given = np.bincount(self.ends.ravel(), np.repeat(self.weight, 2), minlength=self.n_agents)
        return np.asarray(1 - given, np.float64)

    def to_sparse(self) -> scipy.sparse.csr_array:
        """A as a SciPy sparse matrix."""
        i, j = self.ends.T
        upper = scipy.sparse.coo_array((self.weight, (i, j)), shape=(self.n_agents, self.n_agents))
        return scipy.sparse.csr_array(upper + upper.T + scipy.sparse.diags_array(np.maximum(self.self_weights, 0)))


def metropolis(graph: nx.Graph | Edges) -> Weights:
    """a_ij = 1 / (1 + max(deg_i, deg_j)): what two agents can agree on knowing only their own degrees.

    >>> from droculo.networks.graphs import path
    >>> metropolis(path(3)).to_sparse().toarray().round(2).tolist()
    [[0.67, 0.33, 0.0], [0.33, 0.33, 0.33], [0.0, 0.33, 0.67]]
    """
    edges = edges_of(graph)
    degree = np.bincount(edges.ends.ravel(), minlength=edges.n_agents)
    return Weights(edges, 1 / (1 + degree[edges.ends].max(axis=1)))


def lazy(weights: Weights, amount: float = 0.5) -> Weights:
    """(1 - amount) A + amount I: every agent keeps more of its own; with amount 0.5 no eigenvalue is negative."""
    if not 0 <= amount < 1:
        raise ValueError(f"lazy keeps a share of at least 0 and less than 1; got amount={amount}. Try 0.5.")
    return Weights(weights.edges, (1 - amount) * weights.weight)


def from_strengths(graph: nx.Graph, attribute: str = "weight", scale: float | None = None) -> Weights:
    """I - L / scale, with L the Laplacian of the links' strengths, so a_ij = strength_ij / scale.

    The scale is twice the largest weighted degree unless given: every agent then keeps at least half of its own.
    """
    edges = edges_of(graph)
    if isinstance(graph, Edges):
        raise TypeError(
            "got Edges, which carry no strengths, where a networkx.Graph is needed. Use Weights(edges, ...)."
        )
    found = [data.get(attribute) for _, _, data in graph.edges(data=True)]
    if None in found:
        raise ValueError(
            f"link {tuple(edges.ends[found.index(None)].tolist())} has no attribute {attribute!r}. "
            f"Set it with networkx.set_edge_attributes, or name another attribute."
        )
    strength = np.array(found, np.float64)
    wrong = strength[~(np.isfinite(strength) & (strength >= 0))]
    if len(wrong):
        raise ValueError(
            f"the attribute {attribute!r} must be finite and at least zero on every link; got {wrong[0]}. Correct it, or "
            "name another attribute."
        )
    heaviest = float(np.bincount(edges.ends.ravel(), np.repeat(strength, 2)).max(initial=0.0))
    if scale is None:
        scale = 2 * heaviest if heaviest > 0 else 1.0
    if not 0 < scale < np.inf or scale < heaviest:
        raise ValueError(
            f"scale={scale} makes a self-weight negative or is not a positive number: the largest weighted degree "
            f"is {heaviest:.6g}. Take a scale above it, or leave it out for twice that."
        )
    return Weights(edges, strength / scale)


def from_matrix(matrix: Matrix, graph: nx.Graph | Edges | None = None) -> Weights:
    """The weights of a given matrix, dense or SciPy sparse; with a graph, only its links may be used.

    >>> from_matrix([[0.75, 0.25], [0.25, 0.75]]).weight.tolist()
    [0.25]
    """
    A = scipy.sparse.coo_array(matrix) if scipy.sparse.issparse(matrix) else np.asarray(matrix, np.float64)
    if A.ndim != 2 or A.shape[0] != A.shape[1] or A.shape[0] == 0:
        raise ValueError(f"the matrix has shape {A.shape}, but must be square: N x N for N agents. Reshape it.")
    A = scipy.sparse.csr_array(A, dtype=np.float64)
    if not np.all(np.isfinite(A.data)):
        raise ValueError("the matrix has an entry that is NaN or infinite. Give it finite entries only.")
    i, j, value = _worst(A, smallest=True)
    if value < -TOLERANCE:
        raise ValueError(f"entry ({i}, {j}) of the matrix is {value:.6g}, but weights are at least zero. Correct it.")
    i, j, value = _worst(abs(A - A.T))
    if value > TOLERANCE:
        raise ValueError(
            f"the matrix is not symmetric: entries ({i}, {j}) and ({j}, {i}) differ by {value:.6g}. "
            "Use (A + A.T) / 2, if its rows still sum to 1."
        )
    sums = np.asarray(A.sum(axis=1)).ravel()
    row = int(np.argmax(abs(sums - 1)))
    if abs(sums[row] - 1) > TOLERANCE:
        raise ValueError(
            f"row {row} of the matrix sums to {sums[row]:.9g}, but every row must sum to 1. "
            "Set the diagonal to 1 minus the other entries of the row, in double precision."
        )
    above = scipy.sparse.coo_array(scipy.sparse.triu((A + A.T) / 2, k=1))
    used = above.data > 0
    ends = np.stack([above.row[used], above.col[used]], axis=1)
    labels = None if graph is None else _need_links(ends, above.data[used], A.shape[0], edges_of(graph)).labels
    return Weights(Edges(A.shape[0], ends, labels), above.data[used])


def validate_matrix(matrix: Matrix, graph: nx.Graph | Edges | None = None) -> None:
    """Raise a ValueError that says what is wrong unless A is symmetric, doubly stochastic and averages in the end."""
    need_averaging(from_matrix(matrix, graph))


def _need_links(ends: NDArray[np.int64], weight: Vector, n: int, edges: Edges) -> Edges:
    if edges.n_agents != n:
        raise ValueError(f"the matrix is {n} x {n}, but the graph has {edges.n_agents} agents. Make them agree.")
    allowed = np.isin(ends[:, 0] * n + ends[:, 1], edges.ends[:, 0] * n + edges.ends[:, 1])
    if not allowed.all():
        worst = int(np.argmin(allowed))
        raise ValueError(
            f"the matrix has the weight {weight[worst]:.6g} between agents {ends[worst, 0]} and {ends[worst, 1]}, "
            "but the graph has no such link. Set the entry to 0 or add the link."
        )
    return edges


def _worst(A: scipy.sparse.csr_array, smallest: bool = False) -> tuple[int, int, float]:
    """Where the largest (or smallest) stored entry is, and the entry."""
    entries = scipy.sparse.coo_array(A)
    if entries.nnz == 0:
        return 0, 0, 0.0
    k = int(np.argmin(entries.data) if smallest else np.argmax(entries.data))
    return int(entries.row[k]), int(entries.col[k]), float(entries.data[k])
