"""Inventory: the closed form against simulation, the slope at the seams, records of one's own, and the refusals."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from droculo.precision import double
from droculo.problems.applications.inventory import Inventory
from droculo.sets import Box, budget
from droculo.testing import check_problem

FIVE = np.full((1, 1, 1, 2), 5.0)  # one warehouse, one season, one observation of five units of both products
TENS = np.eye(2) * 10


def inventory(demands=FIVE, mix=TENS, prices=3.0, costs=1.0, width=2.0, case="concave"):
    return Inventory(demands, mix, prices=prices, costs=costs, width=width, domain=budget(2, 1.5), case=case)


@pytest.mark.parametrize("case", ["concave", "A3", "A4"])
def test_contract(case):
    check_problem(Inventory.random(agents=3, products=5, supplies=4, seed=0, case=case))


def test_contract_without_costs():
    demands = np.random.default_rng(0).poisson(4.0, (3, 4, 30, 5))  # with zeros, whose intervals are moved up
    mix = np.random.default_rng(1).uniform(0, 5, (5, 4))
    assert demands.min() == 0
    check_problem(Inventory(demands, mix, prices=2.0, costs=0.0, width=2.0, domain=budget(4, 1.6), case="A2"))


def test_expected_sales_are_those_of_the_jittered_demand():
    rng = np.random.default_rng(0)
    demands = rng.poisson(6.0, (1, 1, 25, 2)).astype(float)
    demands[0, 0, 0] = 0  # below the width
    problem = inventory(demands, mix=np.array([[9.0, 2.0], [1.0, 8.0]]))
    starts = np.maximum(demands[0, 0] - 2.0, 0)
    jittered = starts[:, None] + rng.uniform(0, 4.0, (25, 40_000, 2))
    for x in (np.array([0.1, 0.1]), np.array([0.6, 0.4]), np.ones(2)):
        simulated = np.minimum(jittered, problem.mix @ x).mean(axis=(0, 1))
        with double():
            np.testing.assert_allclose(problem.sold(jnp.array(0), jnp.array(0), jnp.asarray(x)), simulated, atol=0.01)


def test_the_gradient_is_right_where_the_pieces_meet():
    problem = inventory()
    agent = t = jnp.array(0)
    with double():
        for stock, runs_out in ((2.0, 1.0), (3.0, 1.0), (5.0, 0.5), (7.0, 0.0), (9.0, 0.0)):  # pieces meet at 3 and 7
            slope = problem.gradient(agent, t, jnp.full(2, stock / 10))
            np.testing.assert_allclose(slope, 10 * (3 * runs_out - 1), atol=1e-9)
        x = jnp.array([0.41, 0.57])
        np.testing.assert_allclose(problem.gradient(agent, t, x), jax.grad(problem.value, argnums=2)(agent, t, x))


def test_the_lift_is_for_a3_and_a4_and_is_earned_by_an_empty_stock():
    agent = t = jnp.array(0)
    with double():
        empty = {case: float(inventory(case=case).value(agent, t, jnp.zeros(2))) for case in ("concave", "A4")}
    assert empty == {"concave": 0.0, "A4": 20.0}


def test_seasons_return_and_differ():
    history = np.arange(2 * 7 * 2, dtype=float).reshape(2, 7, 2)
    problem = Inventory.from_demands(
        history, np.eye(2) * 10, seasons=3, prices=2.0, costs=1.0, width=1.0, domain=budget(2, 1.5)
    )
    np.testing.assert_array_equal(problem.demands[1, 2], history[1, [2, 5]])  # round 6 begins a cycle it does not end
    with double():
        x = jnp.array([0.3, 0.4])
        earned = [float(problem.value(jnp.array(0), jnp.array(t), x)) for t in range(6)]
    assert earned[:3] == earned[3:]
    assert len(set(earned)) == 3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Inventory(
                np.ones((1, 1, 1, 2)), np.eye(2), prices=2.0, costs=1.0, width=1.0, domain=Box(np.zeros(2), 5.0)
            ),
            "Inventory lives in the unit box",
        ),
        (lambda: inventory(width=0.0), "positive, finite width; got 0"),
        (lambda: inventory(prices=-1.0), "prices are one number, or one for each of the 2 products.*got -1"),
        (lambda: inventory(costs=[1.0, 2.0, 3.0]), "costs are one number, or one for each of the 2 products"),
        (lambda: inventory(case="A2"), "not monotone, so it is not of case A2"),
        (lambda: inventory(case="A1"), "can be of case concave, A2, A3, A4; got 'A1'"),
        (lambda: inventory(mix=np.eye(3)), r"a mix \(products, 2\); got \(1, 1, 1, 2\) and \(3, 3\)"),
        (lambda: inventory(demands=np.full((1, 1, 1, 2), -1.0)), "finite and at least 0; some entry is not"),
        (
            lambda: Inventory.from_demands(
                np.ones((1, 3, 2)), np.eye(2), seasons=4, prices=2.0, costs=1.0, width=1.0, domain=budget(2, 1.0)
            ),
            r"one whole cycle of 4 seasons; got shape \(1, 3, 2\)",
        ),
    ],
)
def test_errors(make, message):
    with pytest.raises(ValueError, match=message):
        make()
