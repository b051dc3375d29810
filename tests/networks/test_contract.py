"""Every graph, every rule for weights and every wrapper keeps the contract of a network."""

import jax
import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from droculo import networks as net
from droculo.networks import spectrum
from droculo.testing.networks import check_network

GRAPHS = {
    "single": net.single(),
    "ring-1": net.ring(1),
    "ring-2": net.ring(2),
    "ring-9": net.ring(9),
    "path-2": net.path(2),
    "path-6": net.path(6),
    "star-1": net.star(1),
    "star-40": net.star(40),
    "grid": net.grid(3, 4),
    "grid-1x1": net.grid(1, 1),
    "complete-1": net.complete(1),
    "complete-5": net.complete(5),
    "erdos-renyi-1": net.erdos_renyi(1, 0.5),
    "erdos-renyi": net.erdos_renyi(20, 0.2, seed=3),
    "small-world-2": net.small_world(2),
    "small-world": net.small_world(20, seed=1),
    "regular-2": net.random_regular(2, 1),
    "regular": net.random_regular(12, 3),
    "karate": net.examples.karate(),
    "florentine": net.examples.florentine(),
    "davis": net.examples.davis(),
    "les-miserables": net.examples.les_miserables(),
}


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_builders_number_their_nodes_and_connect_them(graph):
    assert sorted(graph.nodes) == list(range(len(graph)))
    assert nx.is_connected(graph)
    assert nx.number_of_selfloops(graph) == 0


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_metropolis_networks(graph):
    network = net.from_graph(graph)
    check_network(network, exchanges=2)
    assert network.degrees.tolist() == [graph.degree[i] for i in range(len(graph))]
    assert np.allclose(net.from_matrix(network.to_matrix()).to_sparse().toarray(), network.to_matrix(), atol=1e-15)


@pytest.mark.parametrize(
    "weights",
    [
        net.lazy(net.metropolis(net.ring(6))),
        net.lazy(net.from_matrix([[0, 1], [1, 0]]), 0.1),
        net.from_strengths(net.examples.karate()),
        net.from_strengths(net.examples.les_miserables(), scale=500),
        net.from_matrix([[1.0]]),
        net.from_matrix([[0.5, 0.5], [0.5, 0.5]], net.path(2)),
        net.from_matrix(sp.csr_matrix(net.from_graph(net.grid(3, 3)).to_matrix()), net.grid(3, 3)),
        net.from_matrix(sp.coo_array(net.from_graph(net.ring(5)).to_matrix())),
        net.Weights(net.path(3), [0.5, 0.25]),
        net.Weights(net.ring(3), [0.5, 0.25, 0.0]),
    ],
)
def test_other_weights(weights):
    check_network(net.Fixed(weights), exchanges=2)


@pytest.mark.parametrize(
    ("name", "p"), [("single", 0.3), ("ring-2", 0.3), ("star-40", 0.3), ("karate", 0.0), ("karate", 0.9)]
)
def test_failing(name, p):
    check_network(net.Failing(net.from_graph(GRAPHS[name]), p), exchanges=10)


MATCHINGS = [net.metropolis(net.Edges(4, ends)) for ends in ([[0, 1], [2, 3]], [[1, 2]], [])]
CYCLES = {
    "single": [net.metropolis(net.single())],
    "matchings": MATCHINGS,
    "ring and complete": [net.from_graph(net.ring(7)), net.from_graph(net.complete(7))],
    "star and path": [net.metropolis(net.star(40)), net.from_graph(net.path(40), net.metropolis)],
}


@pytest.mark.parametrize("parts", CYCLES.values(), ids=CYCLES)
def test_time_varying(parts):
    network = net.TimeVarying(parts)
    check_network(network, exchanges=2 * len(parts))
    check_network(net.Failing(network, 0.4), exchanges=10)
    for k, part in enumerate(network.cycle * 2):
        assert np.array_equal(network.to_matrix(k), part.to_sparse().toarray())


def test_a_cycle_contracts_at_its_rate():
    network = net.TimeVarying(MATCHINGS)
    P = np.linalg.multi_dot([network.to_matrix(k) for k in (2, 1, 0)])
    assert network.mixing_rate == pytest.approx(np.linalg.norm(P - 0.25, 2) ** (1 / 3))
    assert 0 < network.spectral_gap < 1


def test_failing_contracts_at_its_rate_in_root_mean_square():
    for base in (net.from_graph(net.ring(5)), net.TimeVarying(MATCHINGS)):
        network, n, K = net.Failing(base, 0.3), base.n_agents, len(base.cycle)
        patterns = np.array(np.meshgrid(*[[0.0, 1.0]] * base.n_links)).reshape(base.n_links, -1).T
        chance = np.prod(np.where(patterns == 1, 0.7, 0.3), axis=1)
        S = np.eye(n) - 1 / n
        for k in reversed(range(K)):
            mixed = [np.asarray(base.mix(np.eye(n), k, up), np.float64) for up in patterns]
            S = sum(c * W @ S @ W for c, W in zip(chance, mixed, strict=True))
        assert network.mixing_rate == pytest.approx(np.linalg.eigvalsh(S)[-1] ** (0.5 / K), rel=1e-5)
        assert base.mixing_rate < network.mixing_rate < 1


def test_failing_twice_is_one_probability():
    once = net.Failing(net.from_graph(net.ring(4)), 0.5)
    twice = net.Failing(once, 0.5)
    assert twice.base is once.base
    assert float(twice.probability) == 0.75


def test_links_fail_independently_between_exchanges():
    network = net.Failing(net.from_graph(net.examples.karate()), 0.5)
    key = jax.random.key(1)
    draws = np.array([network.links_up(key, k) for k in range(4)])
    assert len(np.unique(draws, axis=0)) == 4


def test_names_are_kept():
    network = net.from_graph(nx.florentine_families_graph())
    assert network.labels == tuple(sorted(nx.florentine_families_graph()))
    back = network.to_networkx()
    assert nx.utils.edges_equal(back.edges, nx.florentine_families_graph().edges)
    assert back["Medici"]["Pazzi" if back.has_edge("Medici", "Pazzi") else "Salviati"]["weight"] > 0
    mixed = nx.Graph([("a", 1), (1, (2, 3))])
    assert net.from_graph(mixed).labels == ("a", 1, (2, 3))
    numbered = nx.Graph([(2, 1), (1, 0)])  # already 0..N-1, in another order
    assert net.from_graph(numbered).labels is None
    assert net.from_graph(numbered).degrees.tolist() == [1, 2, 1]


def test_whole_numbers_are_averaged_as_real_ones():
    assert net.from_graph(net.path(2)).mix(np.array([0, 1]), 0, np.ones(1)).tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    "network",
    [
        net.from_graph(net.erdos_renyi(60, 0.1)),
        net.from_graph(net.path(60)),
        net.Failing(net.from_graph(net.grid(8, 8)), 0.2),
        net.TimeVarying([net.from_graph(net.ring(60)), net.from_graph(net.random_regular(60, 4))]),
    ],
)
def test_big_networks_find_their_rate_iteratively(network, monkeypatch):
    monkeypatch.setattr(spectrum, "DENSE_UP_TO", 50)
    failure = float(getattr(network, "probability", 0.0))
    assert spectrum.cycle_rate(network.cycle, failure) == pytest.approx(network.mixing_rate, abs=1e-7)


@pytest.mark.parametrize("weights", [net.metropolis(net.ring(3001)), net.lazy(net.metropolis(net.path(2500)), 0.2)])
def test_slow_big_networks_find_their_rate_by_inversion(weights):
    n, ring = weights.n_agents, len(weights.weight) == weights.n_agents
    theta = 2 * np.pi / n if ring else np.pi / n
    step = 1 / 3 if ring else 0.8 / 3
    assert net.Fixed(weights).spectral_gap == pytest.approx(2 * step * (1 - np.cos(theta)), rel=1e-4)


@pytest.mark.parametrize("parts", [1, 2])
def test_slow_big_wrapped_networks_too(parts):
    ring, failure = net.metropolis(net.ring(2001)), 0.25 * (parts == 1)
    # Along the slowest wave, one exchange multiplies by 1 - gap (1 - p); the spread of failures adds a little back.
    gap = 2 / 3 * (1 - np.cos(2 * np.pi / 2001))
    squared = (1 - (1 - failure) * gap) ** 2 + 2 * failure * (1 - failure) * gap / 3
    found = spectrum.cycle_rate([ring] * parts, failure)
    assert 1 - found == pytest.approx(1 - np.sqrt(squared), rel=1e-4)
