"""The non-convex quadratic: the benchmark's numbers, both versions, and the refusals."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from droculo.precision import double
from droculo.problems.applications.quadratic import NQP
from droculo.sets import budget, fixed_budget
from droculo.testing import check_problem

RANDOM = NQP.random(agents=3, dim=8, constraints=5, seed=0)
MONOTONE = NQP.monotone(agents=3, dim=8, constraints=5, seed=0)


def small(H=((-1.0, -2.0), (-2.0, -1.0)), h=(1.0, 1.0), c=3.0, dim=2, case="A4"):
    return NQP([[H]], [[h]], [[c]], budget(dim, 1.5), case=case)


@pytest.mark.parametrize("problem", [RANDOM, MONOTONE], ids=["A4", "A2"])
def test_contract(problem):
    check_problem(problem)


def test_the_other_cases():
    check_problem(NQP.random(agents=3, dim=8, constraints=5, seed=0, case="A3"))
    H = MONOTONE.matrices
    check_problem(NQP(H, -1.2 * H.sum(axis=3), np.zeros((3, 4)), fixed_budget(8, 2.5), case="A1"))


def test_the_numbers_are_those_of_the_benchmark():
    H = RANDOM.matrices
    assert H.shape == (3, 4, 8, 8)
    assert -10 <= H.min() < -9 < -1 < H.max() <= 0
    np.testing.assert_array_equal(H, H.transpose(0, 1, 3, 2))
    np.testing.assert_allclose(RANDOM.slopes, -0.1 * H.sum(axis=3))
    np.testing.assert_allclose(RANDOM.constants, -H.sum(axis=(2, 3)) / 2)
    assert RANDOM.set.A.shape == (5, 8)
    assert 0 <= RANDOM.set.A.min() <= RANDOM.set.A.max() <= 1
    np.testing.assert_array_equal(RANDOM.set.b, 1)
    assert RANDOM.set.down_closed
    np.testing.assert_array_equal(MONOTONE.matrices, H)


def test_not_concave_and_monotone_or_not():
    assert np.linalg.eigvalsh(RANDOM.matrices).max() > 1
    with double():
        agent, t, x = jnp.array(2), jnp.array(6), jnp.linspace(0.0, 1.0, 8)
        falling = np.asarray(RANDOM.gradient(agent, t, jnp.ones(8)))
        level = np.asarray(MONOTONE.gradient(agent, t, jnp.ones(8)))
        formula, automatic = RANDOM.gradient(agent, t, x), jax.grad(RANDOM.value, argnums=2)(agent, t, x)
        expected = x @ RANDOM.matrices[2, 2] @ x / 2 + RANDOM.slopes[2, 2] @ x + RANDOM.constants[2, 2]
        value = RANDOM.value(agent, t, x)
    assert falling.max() < 0
    np.testing.assert_allclose(level, 0, atol=1e-9)
    np.testing.assert_allclose(formula, automatic, rtol=1e-12)
    np.testing.assert_allclose(value, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: small(dim=3), r"a set of 3 coordinates needs matrices \(agents, kinds, 3, 3\)"),
        (lambda: small(H=((-1.0, 2.0), (2.0, -1.0))), "without a positive entry.*the largest entry is 2"),
        (lambda: small(H=((-1.0, -2.0), (-1.0, -1.0))), "symmetric matrices"),
        (lambda: small(c=2.5), "constants that are up to 0.5 too small"),
        (lambda: small(h=(1.0, -1.0)), "constants that are up to 1 too small"),
        (lambda: small(case="A2"), "a slope of -2 at x = 1"),
        (lambda: small(h=(3.0, 3.0), c=-1.0, case="A2"), "a least constant of -1"),
        (lambda: small(case="concave"), "can be of case A1, A2, A3, A4; got 'concave'"),
    ],
)
def test_errors(make, message):
    with pytest.raises(ValueError, match=message):
        make()
