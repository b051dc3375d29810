"""All methods of the catalogue on one planted problem: the same adversary, network and seeds, and every run timed."""

from __future__ import annotations

from droculo.experiments.catalogue import ALGORITHMS
from droculo.experiments.cell import Cell, Choice

#: the planted problems, whose best fixed point is known
PLANTED = ("top-b", "coverage", "cut", "water-filling", "weak")
#: graphs with any number of agents
GRAPHS = ("ring", "complete", "star", "grid", "erdos-renyi")
#: times on a curve
POINTS = 40


def cells(
    problem: str = "top-b", network: str = "ring", agents: int = 8, dim: int = 10, horizon: int = 4096, seeds: int = 3
) -> list[Cell]:
    """One cell for each method, in each of the variants that the catalogue lists.

    >>> [cell.label for cell in cells(horizon=64)][-3:]
    ['dpobga', 'dpobga, adaptive = True', 'dec-bftrl']
    """
    for name, kind, known in ((problem, "problem", PLANTED), (network, "network", GRAPHS)):
        if name not in known:
            raise ValueError(f"there is no {kind} called {name!r}; there are {', '.join(known)}.")
    if seeds < 1:
        raise ValueError(f"a comparison needs at least one seed; got {seeds}.")
    posed = Choice.of("problem", problem, agents=agents, dim=dim, seed=0)
    methods = [
        Choice.of("algorithm", name, **options)
        for name, entry in ALGORITHMS.items()
        for options in entry.variants(horizon)
    ]
    graph = Choice.of("network", network)
    return [Cell(posed, graph, method, horizon, tuple(range(seeds)), POINTS, timed=True) for method in methods]
