"""Every refusal is a sentence that says what was got, what was expected and what to do."""

import re

import equinox as eqx
import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from droculo import networks as net
from droculo.networks import graphs, spectrum
from droculo.testing.networks import check_network

HALF = [[0.5, 0.5, 0, 0], [0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5], [0, 0, 0.5, 0.5]]
STRONG = nx.Graph()
STRONG.add_edge(0, 1, weight=3.0)
NEGATIVE = nx.Graph()
NEGATIVE.add_edge(0, 1, weight=-1.0)
SWAP = net.from_matrix([[0, 1], [1, 0]])

ERRORS = {
    "not square": (lambda: net.from_matrix(np.ones((2, 3)) / 3), "shape (2, 3), but must be square"),
    "not a matrix": (lambda: net.from_matrix([1.0]), "must be square"),
    "no agents": (lambda: net.from_matrix(np.zeros((0, 0))), "must be square"),
    "NaN": (lambda: net.from_matrix([[np.nan, 1], [1, 0]]), "NaN or infinite"),
    "sparse NaN": (lambda: net.from_matrix(sp.csr_array([[np.inf, 1], [1, 0]])), "NaN or infinite"),
    "negative": (lambda: net.from_matrix([[1.5, -0.5], [-0.5, 1.5]]), "entry (0, 1) of the matrix is -0.5"),
    "asymmetric": (lambda: net.from_matrix([[0.5, 0.5], [0.4, 0.6]]), "not symmetric"),
    "row sums": (lambda: net.from_matrix([[0.5, 0.4], [0.4, 0.6]]), "row 0 of the matrix sums to 0.9"),
    "no such link": (lambda: net.from_matrix(np.ones((3, 3)) / 3, net.path(3)), "between agents 0 and 2"),
    "graph of other size": (lambda: net.from_matrix(np.eye(2), net.path(3)), "2 x 2, but the graph has 3"),
    "matrix disconnected": (lambda: net.weights.validate_matrix(HALF), "not connected: it has 2 components"),
    "matrix swaps": (lambda: net.weights.validate_matrix([[0, 1], [1, 0]]), "never average"),
    "fixed swaps": (lambda: net.Fixed(SWAP), "Use lazy(weights)"),
    "ring swaps": (lambda: net.from_graph(net.ring(6), np.full(6, 0.5)), "never average"),
    "too small": (lambda: net.from_graph(net.path(2), [1e-17]), "in double precision"),
    "disconnected": (lambda: net.from_graph(nx.empty_graph(3)), "it has 3 components"),
    "cut by zeros": (lambda: net.from_graph(net.path(3), [0.5, 0.0]), "it has 2 components"),
    "directed": (lambda: net.from_graph(nx.DiGraph([(0, 1)])), "DiGraph, but links are undirected"),
    "multigraph": (lambda: net.from_graph(nx.MultiGraph([(0, 1)])), "MultiGraph"),
    "self loop": (lambda: net.from_graph(nx.Graph([(0, 1), (1, 1)])), "agent 1 has a link to itself"),
    "empty": (lambda: net.from_graph(nx.Graph()), "at least one agent; got 0"),
    "twice": (lambda: net.from_edges(2, [[0, 1], [1, 0]]), "listed twice"),
    "edges shape": (lambda: net.from_edges(2, [0, 1]), "(E, 2) array"),
    "edges not whole": (lambda: net.from_edges(2, [[0.0, 1.0]]), "whole numbers"),
    "edges out of range": (lambda: net.from_edges(2, [[0, 2]]), "only the agents 0 to 1"),
    "weights count": (lambda: net.from_graph(net.path(3), [0.5]), "shape (1,) for 2 links"),
    "weights NaN": (lambda: net.from_graph(net.path(2), [np.nan]), "NaN or infinite"),
    "weights negative": (lambda: net.from_graph(net.path(2), [-0.1]), "negative weight -0.1"),
    "weights too heavy": (lambda: net.from_graph(net.path(3), [0.6, 0.6]), "agent 1 weigh 1.2"),
    "lazy": (lambda: net.lazy(SWAP, 1.0), "amount=1.0"),
    "scale": (lambda: net.from_strengths(STRONG, scale=2.0), "self-weight negative"),
    "no scale": (lambda: net.from_strengths(STRONG, scale=0.0), "scale=0.0"),
    "no attribute": (lambda: net.from_strengths(net.path(2)), "no attribute 'weight'"),
    "negative strength": (lambda: net.from_strengths(NEGATIVE), "at least zero on every link; got -1.0"),
    "probability 1": (lambda: net.Failing(net.from_graph(net.path(2)), 1.0), "less than 1; got 1.0"),
    "probability < 0": (lambda: net.Failing(net.from_graph(net.path(2)), -0.1), "got -0.1"),
    "probability NaN": (lambda: net.Failing(net.from_graph(net.path(2)), np.nan), "got nan"),
    "no parts": (lambda: net.TimeVarying([]), "no parts"),
    "parts of other size": (
        lambda: net.TimeVarying([net.from_graph(net.ring(3)), net.from_graph(net.ring(4))]),
        "the parts have [3, 4] agents",
    ),
    "parts of other names": (
        lambda: net.TimeVarying([net.from_graph(net.path(2)), net.from_graph(nx.Graph([("a", "b")]))]),
        "name their agents differently",
    ),
    "parts disconnected": (lambda: net.TimeVarying([net.from_matrix(HALF)] * 2), "they have 2 components"),
    "parts swap": (lambda: net.TimeVarying([SWAP, SWAP]), "never average"),
    "no nodes": (lambda: net.ring(0), "at least one agent"),
    "p out of range": (lambda: net.erdos_renyi(3, 1.5), "between 0 and 1"),
    "p too small": (lambda: net.erdos_renyi(50, 0.01), "p is too small for 50 agents"),
    "odd neighbours": (lambda: net.small_world(9, 3), "even number of neighbours"),
    "odd degree": (lambda: net.random_regular(5, 3), "n * degree even"),
    "regular apart": (lambda: net.random_regular(6, 1), "not connected for any of the seeds 0 to 99"),
}


@pytest.mark.parametrize(("make", "message"), ERRORS.values(), ids=ERRORS)
def test_value_errors(make, message):
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        make()
    assert str(caught.value).endswith(".")


def test_a_small_world_that_stays_apart(monkeypatch):
    monkeypatch.setattr(graphs, "ATTEMPTS", 1)
    with pytest.raises(ValueError, match=r"seeds 0 to 0\. Take more neighbours"):
        net.small_world(300, 2, 1.0)


def test_rates_of_big_failing_cycles_are_refused(monkeypatch):
    monkeypatch.setattr(spectrum, "DENSE_UP_TO", 3)
    with pytest.raises(ValueError, match="up to 3 agents only; got 4"):
        spectrum.cycle_rate([net.metropolis(net.ring(4))] * 2, 0.1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: net.from_graph(np.eye(2)), "Use from_matrix"),
        (lambda: net.from_strengths(net.Edges(2, [[0, 1]])), "carry no strengths"),
        (lambda: net.TimeVarying([net.Failing(net.from_graph(net.path(2)), 0.1)]), "other way around"),
        (lambda: net.TimeVarying([net.path(2)]), "metropolis(graph)"),
    ],
)
def test_type_errors(make, message):
    with pytest.raises(TypeError, match=re.escape(message)):
        make()


MATRIX = net.from_graph(net.examples.karate()).to_matrix()


class Broken(net.Network):
    """Forwards to a network that works, except for what a test replaces."""

    base: net.Network
    fault: str = eqx.field(static=True)

    def __init__(self, base, fault):
        self.base, self.fault = base, fault

    n_agents = property(lambda self: self.base.n_agents)
    labels = property(lambda self: self.base.labels)
    cycle = property(lambda self: self.base.cycle)
    n_links = property(lambda self: self.base.n_links)
    mixing_rate = property(lambda self: self.base.mixing_rate)

    def links_up(self, key, exchange):
        return self.base.links_up(key, exchange) * (0.5 if self.fault == "half" else 1)

    def mix(self, values, exchange, up):
        mixed = self.base.mix(values, exchange, up)
        if self.fault == "one end":
            return mixed.at[0].set(values[0])
        if self.fault == "dense":  # the rounding of a matrix product
            return MATRIX.astype(values.dtype) @ values
        if self.fault == "stuck":
            return values
        return mixed.astype("float64") if self.fault == "dtype" else mixed

    def messages(self, exchange, up):
        return self.base.messages(exchange, up) + (self.fault == "messages")


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("half", "zeros and ones"),
        ("one end", "must be symmetric"),
        ("dense", "bit for bit"),
        ("stuck", "when every link is up"),
        ("messages", "must count the links that are up"),
        ("dtype", "must keep float32"),
    ],
)
@pytest.mark.filterwarnings("ignore:Explicitly requested dtype")
def test_the_contract_catches_faults(fault, message):
    with pytest.raises(AssertionError, match=message):
        check_network(Broken(net.from_graph(net.examples.karate()), fault), exchanges=3)


def test_a_check_of_no_exchange_is_refused() -> None:
    from droculo.networks import from_graph, ring
    from droculo.testing import check_network

    with pytest.raises(ValueError, match="one exchange at least; got exchanges=0"):
        check_network(from_graph(ring(3)), exchanges=0)
