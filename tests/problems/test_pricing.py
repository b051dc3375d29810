"""Pricing in quantities: prices stay non-negative, returns diminish, and the refusals."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from droculo.precision import double
from droculo.problems import Constant
from droculo.problems.applications.pricing import Pricing
from droculo.sets import budget
from droculo.testing import check_problem

PROBLEM = Pricing.random(stores=3, products=8, seed=0)
SYMMETRIC = [[[2.0, -1.0], [-1.0, 2.0]]]


def two_products(effects=SYMMETRIC, sizes=((4.0, 5.0),), largest=(3.0, 3.0), dim=2, case="A4"):
    return Pricing(Constant(sizes), effects, largest, budget(dim, 1.5), case=case)


def test_contract():
    check_problem(PROBLEM)
    check_problem(two_products(case="concave"))


def test_no_price_is_negative_on_the_whole_box_and_selling_more_makes_all_cheaper():
    rng = np.random.default_rng(1)
    x = rng.uniform(size=(200, 8))
    x[0], x[1] = 0, 1
    agents, rounds = rng.integers(0, 3, 200), rng.integers(0, 1000, 200)
    with double():
        prices = jax.vmap(PROBLEM.prices)(jnp.asarray(agents), jnp.asarray(rounds), jnp.asarray(x))
        less = jax.vmap(PROBLEM.prices)(jnp.asarray(agents), jnp.asarray(rounds), jnp.asarray(x / 2))
    assert np.all(np.asarray(prices) >= 0)
    assert np.all(np.asarray(less) >= np.asarray(prices))


def test_the_market_clears():
    """At the prices that a plan makes, customers want exactly what is offered: A - D p = q."""
    with double():
        x = jnp.linspace(0.1, 0.9, 8)
        agent, t = jnp.array(1), jnp.array(17)
        prices = np.asarray(PROBLEM.prices(agent, t, x))
        wanted = np.asarray(PROBLEM.markets.at(agent, t)) - PROBLEM.effects[1] @ prices
    np.testing.assert_allclose(wanted, PROBLEM.largest * np.asarray(x), atol=1e-12)


def test_returns_diminish_and_revenue_is_neither_concave_nor_monotone():
    with double():
        x, agent, t = jnp.full(8, 0.5), jnp.array(0), jnp.array(0)
        hessian = np.asarray(jax.hessian(PROBLEM.value, argnums=2)(agent, t, x))
        at_one = np.asarray(PROBLEM.gradient(agent, t, jnp.ones(8)))
        formula, automatic = PROBLEM.gradient(agent, t, x), jax.grad(PROBLEM.value, argnums=2)(agent, t, x)
    assert np.all(hessian <= 0)
    assert np.linalg.eigvalsh(hessian).max() > 1
    assert at_one.min() < 0
    np.testing.assert_allclose(formula, automatic, rtol=1e-12)


def test_stores_and_rounds_differ():
    with double():
        x = jnp.full(8, 0.3)
        revenue = {
            float(PROBLEM.value(jnp.array(agent), jnp.array(t), x)) for agent in range(3) for t in (0, 5, 10_000)
        }
    assert len(revenue) == 9


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: two_products(sizes=((4.0, 1.0),), largest=(4.0, 4.0)), "price .* of product 1 in store 0 falls to -2"),
        (lambda: two_products(effects=[[[2.0, 1.0], [-1.0, 2.0]]]), "M-matrix"),
        (lambda: two_products(effects=[[[1.0, -1.0], [-1.0, 2.0]]]), "M-matrix"),
        (lambda: two_products(largest=(3.0, 0.0)), "largest quantities must be positive; got 0"),
        (lambda: two_products(dim=3), "a set of 2 coordinates; got .* and 3"),
        (lambda: two_products(case="A2"), "can be of case A3, A4, concave; got 'A2'"),
        (
            lambda: Pricing(PROBLEM.markets, PROBLEM.effects, PROBLEM.largest, PROBLEM.set, case="concave"),
            "concave only if D .* has no negative eigenvalue; got -",
        ),
    ],
)
def test_errors(make, message):
    with pytest.raises(ValueError, match=message):
        make()
