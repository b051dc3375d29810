"""Networks of agents that average with their neighbours: with fixed links, with links that change in turn, or that fail."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Sequence
from typing import TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike, NDArray

from droculo.later import networkx as nx
from droculo.networks.graphs import Edges, edges_of
from droculo.networks.links import Links, at, pack
from droculo.networks.spectrum import components, cycle_rate, need_averaging, need_no_swap, rate_if_small, union
from droculo.networks.weights import Vector, Weights, metropolis

#: how weights are made for the links of a graph
Rule: TypeAlias = "Callable[[nx.Graph | Edges], Weights]"


class Network(eqx.Module):
    """N agents that exchange values with their neighbours, once per exchange 0, 1, 2, ...

    A subclass gives the members below; `droculo.testing.check_network` checks that it keeps the contract. `mix`,
    `links_up` and `messages` run inside compiled code; everything else runs on the host.
    """

    n_agents: eqx.AbstractVar[int]
    labels: eqx.AbstractVar[tuple[Hashable, ...] | None]  # the graph's own names, unless they are 0..N-1

    @property
    @abstractmethod
    def cycle(self) -> tuple[Weights, ...]:
        """The weights of the exchanges 0, ..., K-1 with every link up; exchange k repeats those of k mod K."""

    @property
    @abstractmethod
    def n_links(self) -> int:
        """E: the length of `links_up`; with time-varying links, the most that an exchange has."""

    @property
    @abstractmethod
    def mixing_rate(self) -> float:
        """max(|lambda_2|, |lambda_N|): an exchange shrinks disagreement by this factor or more.

        With time-varying links the mean over a cycle, with failing links the root mean square over the failures.
        """

    @abstractmethod
    def links_up(self, key: Array, exchange: int | Array) -> Array:
        """(E,) zeros and ones: which links work in this exchange, one draw for both ends."""

    @abstractmethod
    def mix(self, values: Array, exchange: int | Array, up: Array) -> Array:
        """y_i = x_i + sum_j w_ij up_ij (x_j - x_i), for (N, ...) values in their own precision."""

    @abstractmethod
    def messages(self, exchange: int | Array, up: Array) -> Array:
        """(N,) whole numbers: how many neighbours every agent sends to in this exchange."""

    @property
    def spectral_gap(self) -> float:
        """1 - mixing_rate."""
        return 1 - self.mixing_rate

    @property
    def degrees(self) -> NDArray[np.int64]:
        """(N,): how many neighbours every agent has, over all exchanges together."""
        return np.bincount(union(self.cycle).ravel(), minlength=self.n_agents)

    def to_matrix(self, exchange: int = 0) -> Vector:
        """The dense mixing matrix A of an exchange with every link up; for small N."""
        return np.asarray(self.cycle[exchange % len(self.cycle)].to_sparse().toarray())

    def to_networkx(self, exchange: int = 0) -> nx.Graph:
        """The graph of an exchange, under the agents' own names, with the edge attribute `weight`."""
        names = range(self.n_agents) if self.labels is None else self.labels
        part = self.cycle[exchange % len(self.cycle)]
        graph = nx.empty_graph(names)
        links = zip(part.ends.tolist(), part.weight.tolist(), strict=True)
        graph.add_weighted_edges_from((names[i], names[j], weight) for (i, j), weight in links)
        return graph


class Cycled(Network):
    """Links and weights in turn: exchange k uses part k mod K."""

    n_agents: int = eqx.field(static=True)
    labels: tuple[Hashable, ...] | None = eqx.field(static=True)
    counts: tuple[int, ...] = eqx.field(static=True)  # how many links of each part are not padding
    links: Links  # stacked along a first axis of length K
    rate: Vector | None  # None: found when asked for

    def __init__(self, cycle: tuple[Weights, ...]):
        self.n_agents, self.labels = cycle[0].n_agents, cycle[0].edges.labels
        self.counts = tuple(len(part.weight) for part in cycle)
        self.links = pack(cycle)
        self.rate = rate_if_small(cycle)

    @property
    def cycle(self) -> tuple[Weights, ...]:
        parts = zip(np.asarray(self.links.ends), np.asarray(self.links.weight), self.counts, strict=True)
        return tuple(Weights(Edges(self.n_agents, ends[:k], self.labels), weight[:k]) for ends, weight, k in parts)

    @property
    def n_links(self) -> int:
        return int(self.links.weight.shape[1])

    @property
    def mixing_rate(self) -> float:
        return cycle_rate(self.cycle) if self.rate is None else float(self.rate)

    def links_up(self, key: Array, exchange: int | Array) -> Array:
        return jnp.ones(self.n_links)

    def mix(self, values: Array, exchange: int | Array, up: Array) -> Array:
        return at(self.links, exchange).mix(values, up)

    def messages(self, exchange: int | Array, up: Array) -> Array:
        return at(self.links, exchange).messages(up)


class Fixed(Cycled):
    """The same links and weights in every exchange; they must connect all agents.

    >>> from droculo.networks import lazy, metropolis, ring
    >>> network = Fixed(lazy(metropolis(ring(4))))
    >>> network.n_agents, network.n_links, round(network.mixing_rate, 4)
    (4, 4, 0.6667)
    """

    def __init__(self, weights: Weights):
        need_averaging(weights)
        super().__init__((weights,))


class TimeVarying(Cycled):
    """Several sets of links in turn: exchange k uses part k mod K.

    A part may leave agents unconnected, but the parts together must connect all agents, and no part may only swap
    values between two groups (eigenvalue -1); every cycle then shrinks disagreement.

    >>> from droculo.networks import Edges, metropolis
    >>> network = TimeVarying([metropolis(Edges(3, [[0, 1]])), metropolis(Edges(3, [[1, 2]]))])
    >>> network.mix(np.array([4.0, 0.0, 0.0]), 0, np.ones(1)).tolist()
    [2.0, 2.0, 0.0]
    """

    def __init__(self, parts: Sequence[Weights | Fixed]):
        cycle = tuple(_weights_of(part) for part in parts)
        if not cycle:
            raise ValueError("TimeVarying got no parts at all. Give it the weights of at least one exchange.")
        sizes = sorted({part.n_agents for part in cycle})
        if len(sizes) > 1:
            raise ValueError(f"the parts have {sizes} agents, but must have the same number. Leave some unlinked.")
        if any(part.edges.labels != cycle[0].edges.labels for part in cycle):
            raise ValueError("the parts name their agents differently. Number the nodes of every graph 0..N-1.")
        count = components(sizes[0], union(cycle))
        if count > 1:
            raise ValueError(
                f"all parts together are not connected: they have {count} components, and no value passes between "
                "them. Add links to some part."
            )
        for part in cycle:
            need_no_swap(part)
        super().__init__(cycle)


class Failing(Network):
    """Another network, each link of which is down with `probability`, independently in every exchange.

    >>> from droculo.networks import complete, from_graph
    >>> network = Failing(from_graph(complete(3)), 0.5)
    >>> network.links_up(jax.random.key(0), 0).tolist()
    [1.0, 0.0, 0.0]
    """

    base: Network
    probability: Vector
    rate: Vector | None

    def __init__(self, base: Network, probability: float):
        if not 0 <= probability < 1:
            raise ValueError(
                f"links fail with a probability of at least 0 and less than 1; got {probability}. "
                "A link that is always down is one to leave out of the graph."
            )
        if isinstance(base, Failing):  # both would draw from the same key: one draw for the two reasons instead
            base, probability = base.base, 1 - (1 - float(base.probability)) * (1 - probability)
        self.base = base
        self.probability = np.asarray(probability, np.float64)
        self.rate = rate_if_small(base.cycle, probability)

    @property
    def n_agents(self) -> int:
        return self.base.n_agents

    @property
    def labels(self) -> tuple[Hashable, ...] | None:
        return self.base.labels

    @property
    def cycle(self) -> tuple[Weights, ...]:
        return self.base.cycle

    @property
    def n_links(self) -> int:
        return self.base.n_links

    @property
    def mixing_rate(self) -> float:
        return cycle_rate(self.cycle, float(self.probability)) if self.rate is None else float(self.rate)

    def links_up(self, key: Array, exchange: int | Array) -> Array:
        # Drawn in single precision whatever the configuration, so that the same key fails the same links.
        luck = jax.random.uniform(jax.random.fold_in(key, exchange), (self.n_links,), jnp.float32)
        return self.base.links_up(key, exchange) * (luck >= jnp.asarray(self.probability, jnp.float32))

    def mix(self, values: Array, exchange: int | Array, up: Array) -> Array:
        return self.base.mix(values, exchange, up)

    def messages(self, exchange: int | Array, up: Array) -> Array:
        return self.base.messages(exchange, up)


def _weights_of(part: Weights | Fixed) -> Weights:
    if isinstance(part, Fixed | Weights):
        return part if isinstance(part, Weights) else part.cycle[0]
    raise TypeError(
        f"a part of TimeVarying is Weights or a Fixed network; got {type(part).__name__}. "
        "Wrap the other way around: Failing(TimeVarying(parts), p); a graph becomes Weights by metropolis(graph)."
    )


def from_graph(graph: nx.Graph | Edges, weights: Rule | ArrayLike = metropolis) -> Fixed:
    """The network on a graph, with weights made by a rule, or given for each link in the order of `graph.edges`.

    >>> from droculo.networks import ring
    >>> from_graph(ring(3)).mix(np.array([3.0, 0.0, 0.0]), 0, np.ones(3)).round(6).tolist()
    [1.0, 1.0, 1.0]
    """
    return Fixed(weights(graph) if callable(weights) else Weights(edges_of(graph), weights))


def from_edges(n_agents: int, ends: ArrayLike, weights: Rule | ArrayLike = metropolis) -> Fixed:
    """The network with these (E, 2) links, straight from the array: the way to make a big one."""
    return from_graph(Edges(n_agents, ends), weights)
