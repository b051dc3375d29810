"""Who agents talk to, and how they average: `from_graph(ring(10))` is a network, `Failing` and `TimeVarying` wrap."""

from droculo.networks.graphs import (
    Edges,
    complete,
    davis,
    erdos_renyi,
    florentine,
    grid,
    karate,
    les_miserables,
    path,
    random_regular,
    ring,
    single,
    small_world,
    star,
)
from droculo.networks.network import Failing, Fixed, Network, TimeVarying, from_edges, from_graph
from droculo.networks.weights import Weights, from_matrix, from_strengths, lazy, metropolis, validate_matrix

__all__ = ["Edges", "Failing", "Fixed", "Network", "TimeVarying", "Weights", "from_edges", "from_graph", "from_matrix"]
__all__ += ["complete", "davis", "erdos_renyi", "florentine", "grid", "karate", "les_miserables", "path"]
__all__ += ["random_regular", "ring", "single", "small_world", "star"]
__all__ += ["from_strengths", "lazy", "metropolis", "validate_matrix"]
