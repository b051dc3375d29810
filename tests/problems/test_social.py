"""Revenue and influence on a network: the sums, the exact best choices, and the refusals."""

from itertools import product

import jax
import jax.numpy as jnp
import networkx as nx
import numpy as np
import pytest

from droculo.precision import double
from droculo.problems import Constant
from droculo.problems.applications.social import Influence, Revenue
from droculo.testing import check_problem

GRAPH = nx.gnp_random_graph(7, 0.5, seed=2, directed=True)
SMALL = Revenue.on_graph(GRAPH, agents=3, budget=3, seed=0)


@pytest.mark.parametrize(
    "problem",
    [SMALL, Revenue.on_graph(GRAPH, agents=3, budget=3, seed=0, case="A3"), Influence.davis(agents=3)],
    ids=["revenue, A4", "revenue, A3", "influence"],
)
def test_contract(problem):
    check_problem(problem)


def test_revenue_is_the_double_sum():
    rng = np.random.default_rng(0)
    weights, x = rng.uniform(size=len(SMALL.arcs)), rng.uniform(size=7)
    W = np.zeros((7, 7))
    W[SMALL.arcs[:, 0], SMALL.arcs[:, 1]] = weights
    double_sum = sum(W[i, j] * x[i] * (1 - x[j]) for i, j in product(range(7), repeat=2))
    with double():
        earned = float(SMALL.reward(jnp.asarray(weights), jnp.asarray(x)))
        hessian = np.asarray(jax.hessian(SMALL.reward, argnums=1)(jnp.asarray(weights), jnp.asarray(x)))
    assert earned == pytest.approx(double_sum, rel=1e-12)
    assert earned == pytest.approx(W.sum(axis=1) @ x - x @ W @ x, rel=1e-12)
    np.testing.assert_allclose(hessian, -(W + W.T), atol=1e-12)


def test_the_best_choice_of_samples_is_found_among_all_and_may_leave_some_unused():
    cut = Revenue(Constant([[1.0, 1.0]]), [(0, 1), (0, 2)], 3, 2)  # one sample to 0 sells to both; a second would cost
    best = cut.comparator(5, np.arange(1))
    assert best.kind == "exact"
    assert best.point.tolist() == [1.0, 0.0, 0.0]
    assert best.total == pytest.approx(10.0)
    assert len(SMALL.corners) == 1 + 7 + 21 + 35


def test_the_karate_club():
    club = Revenue.karate(agents=2, budget=20)
    assert club.set.dim == 34
    assert len(club.arcs) == 2 * 78
    assert club.comparator(10, np.arange(2)) is None  # too many choices to look at them all


def test_influence_reaches_a_customer_unless_every_channel_fails():
    problem = Influence(Constant([[2.0, 1.0]]), [[0.5, 0.5, 0.0], [0.0, 0.2, 0.9]], 2)
    with double():
        earned = float(problem.value(jnp.array(0), jnp.array(3), jnp.array([1.0, 0.5, 0.0])))
    assert earned == pytest.approx(2 * (1 - 0.5 * 0.75) + 1 * (1 - 0.9))
    best = problem.comparator(4, np.arange(1))
    assert best.point.tolist() == [0.0, 1.0, 1.0]
    assert best.total == pytest.approx(4 * (2 * 0.5 + 1 - 0.8 * 0.1))


def test_the_davis_graph_and_its_shops():
    problem = Influence.davis(agents=6)
    assert problem.chances.shape == (18, 14)
    assert np.count_nonzero(problem.chances) == 89
    own = Influence.davis(agents=6, dial=1.0)
    with double():
        spent = np.asarray(own.weights.at(jnp.array(4), jnp.array(3)))
    np.testing.assert_array_equal(np.flatnonzero(spent), [4, 10, 16])


ONE_ARC = Constant([[1.0]])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Revenue(Constant([[-1.0]]), [(0, 1)], 3, 1), "weights must be non-negative; got -1"),
        (lambda: Revenue(ONE_ARC, [(0, 3)], 3, 1), r"a table \(1, 2\) with the two ends, 0 to 2"),
        (lambda: Revenue(ONE_ARC, [(1, 1)], 3, 1), "and different, of every weighted arc"),
        (lambda: Revenue(ONE_ARC, [(0, 1), (1, 2)], 3, 1), r"got shape \(2, 2\)"),
        (lambda: Revenue(ONE_ARC, [(0, 1)], 3, 3), "a whole number between 1 and 2; got 3"),
        (lambda: Revenue(ONE_ARC, [(0, 1)], 3, 1, case="A2"), "can be of case A3, A4; got 'A2'"),
        (
            lambda: Influence(ONE_ARC, [[0.5, 0.5], [0.1, 0.1]], 1),
            r"each of the 1 weighted customers.*got shape \(2, 2\)",
        ),
        (lambda: Influence(ONE_ARC, [[0.5, 1.5]], 1), "chances lie between 0 and 1; got 0.5 to 1.5"),
        (lambda: Influence(Constant([[-1.0]]), [[0.5, 0.5]], 1), "weights must be non-negative; got -1"),
        (lambda: Influence(ONE_ARC, [[0.5, 0.5]], 2), "budget must be a whole number between 1 and 1; got 2"),
    ],
)
def test_errors(make, message):
    with pytest.raises(ValueError, match=message):
        make()
