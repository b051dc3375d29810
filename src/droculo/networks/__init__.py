"""Who agents talk to, and how they average: `from_graph(ring(10))` is a network, `Failing` and `TimeVarying` wrap."""

from droculo.networks import examples as examples
from droculo.networks.graphs import (
    Edges,
    complete,
    erdos_renyi,
    grid,
    path,
    random_regular,
    ring,
    single,
    small_world,
    star,
)
from droculo.networks.network import Failing, Fixed, Network, TimeVarying, from_edges, from_graph
from droculo.networks.weights import Weights, from_matrix, from_strengths, lazy, metropolis

__all__ = ["Edges", "Failing", "Fixed", "Network", "TimeVarying", "Weights", "from_edges", "from_graph", "from_matrix"]
__all__ += ["complete", "erdos_renyi", "grid", "path", "random_regular", "ring", "single", "small_world"]
__all__ += ["from_strengths", "lazy", "metropolis", "star"]
