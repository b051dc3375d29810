"""Networks made from others: links that change with time, and links that fail."""

from collections.abc import Hashable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from droculo.networks.network import Cycled, Fixed, Network
from droculo.networks.spectrum import components, cycle_rate, need_no_swap, rate_if_small, union
from droculo.networks.weights import Vector, Weights


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
    if isinstance(part, Fixed):
        return part.cycle[0]
    if isinstance(part, Weights):
        return part
    raise TypeError(
        f"a part of TimeVarying is Weights or a Fixed network; got {type(part).__name__}. "
        "Wrap the other way around: Failing(TimeVarying(parts), p); a graph becomes Weights by metropolis(graph)."
    )
