"""Numbers that are known from elsewhere, and sizes that would not fit as matrices."""

import time

import equinox as eqx
import jax
import networkx as nx
import numpy as np
import pytest

from droculo import networks as net
from droculo.precision import double
from droculo.testing.networks import check_network


@pytest.mark.parametrize(
    ("graph", "rate"),
    [
        (net.ring(10), 0.8727),
        (net.star(10), 0.9000),
        (net.complete(10), 0.0),
        (net.examples.karate(), 0.9688),
        (net.examples.florentine(), 0.9426),
        (net.examples.davis(), 0.9179),
        (net.single(), 0.0),
    ],
)
def test_mixing_rates_of_metropolis_weights(graph, rate):
    network = net.from_graph(graph)
    assert network.mixing_rate == pytest.approx(rate, abs=5e-5)
    assert network.spectral_gap == pytest.approx(1 - rate, abs=5e-5)


@pytest.mark.parametrize("graph", [net.examples.karate(), net.star(50)], ids=["padded lists", "link sums"])
def test_mixing_is_the_matrix_product(graph):
    network = net.from_graph(graph)
    assert (network.links.neighbours is None) == (len(graph) == 50)
    x = np.random.default_rng(0).normal(size=(len(graph), 3, 2))
    with double():
        mixed = np.asarray(network.mix(x, 0, np.ones(network.n_links)))
    assert np.allclose(mixed, np.tensordot(network.to_matrix(), x, axes=1), rtol=0, atol=1e-12)


def test_a_failed_link_gives_its_weight_back_to_both_ends():
    network = net.from_graph(net.path(3))
    with double():
        A = np.asarray(network.mix(np.eye(3), 0, np.array([1.0, 0.0])))
    assert np.allclose(A, [[2 / 3, 1 / 3, 0], [1 / 3, 2 / 3, 0], [0, 0, 1]], atol=1e-15)
    assert network.messages(0, np.array([1.0, 0.0])).tolist() == [1, 1, 0]


def test_strengths_are_the_scaled_laplacian():
    graph = net.examples.karate()
    A = net.from_strengths(graph, scale=100.0).to_sparse().toarray()
    L = nx.laplacian_matrix(graph, nodelist=range(34), weight="weight").toarray()
    assert np.allclose(A, np.eye(34) - L / 100, atol=1e-15)


def test_sizes_of_real_graphs():
    sizes = [
        (len(g), g.number_of_edges())
        for g in (net.examples.karate(), net.examples.florentine(), net.examples.davis(), net.examples.les_miserables())
    ]
    assert sizes == [(34, 78), (15, 20), (32, 89), (77, 254)]


def test_a_hundred_thousand_agents():
    start = time.perf_counter()
    graph = net.random_regular(100_000, 6)
    network = net.from_graph(graph)
    assert time.perf_counter() - start < 15  # 3 s on two cores
    assert max(array.size for array in jax.tree.leaves(network)) <= 600_000
    again = net.from_edges(100_000, np.array(graph.edges))
    assert all(np.array_equal(a, b) for a, b in zip(jax.tree.leaves(network), jax.tree.leaves(again), strict=True))
    x = np.random.default_rng(0).normal(size=(100_000, 2))
    with double():
        mixed = np.asarray(eqx.filter_jit(network.mix)(x, 0, np.ones(network.n_links)))
    i, j = network.cycle[0].ends[0]
    assert np.allclose(mixed[i], (x[i] + x[list(graph[i])].sum(0)) / 7, atol=1e-12)
    assert j in graph[i]


def test_the_rate_of_a_big_random_regular_graph():
    network = net.from_graph(net.random_regular(10_000, 6))
    assert network.rate is None
    # A random 6-regular graph has lambda_2 close to 2 sqrt(5); Metropolis weights map lambda to (1 + lambda) / 7.
    assert network.mixing_rate == pytest.approx((1 + 2 * np.sqrt(5)) / 7, abs=5e-3)


def test_a_star_of_twenty_thousand_mixes_over_its_links():
    n = 20_000
    network = net.from_edges(n, np.stack([np.zeros(n - 1, int), np.arange(1, n)], axis=1))
    assert network.links.neighbours is None
    x = np.random.default_rng(0).normal(size=n)
    with double():
        y = np.asarray(network.mix(x, 0, np.ones(n - 1)))
    assert y[0] == pytest.approx(x.mean(), abs=1e-12)  # every weight is 1/n, the middle's own included
    assert np.allclose(y[1:], x[1:] + (x[0] - x[1:]) / n, atol=1e-14)
    assert network.messages(0, np.ones(n - 1))[0] == n - 1


def test_the_contract_of_a_bigger_network():
    check_network(net.Failing(net.from_graph(net.random_regular(3000, 5)), 0.2), exchanges=3)
