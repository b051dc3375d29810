"""Actions outside of K are noticed on every set, also where membership is a search with the linear oracle."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from tests.designs import RING, N

from droculo import Droculo, History, feedback, linearizations, measure, problems, sets, simulate
from droculo.sets import membership, search

SQUARE = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
HULL = sets.Hull(SQUARE)
ORACLE = sets.from_oracle(
    lambda direction: jnp.where(direction > 0, 1.0, 0.0), 2, np.sqrt(2), center=[0.5, 0.5], inner_radius=0.5,
    subspace=sets.Full(2),
)  # fmt: skip


def posed(domain):
    """The action x + (2, 0) of the linearization leaves the set."""
    leaving = linearizations.Custom(
        1.0, 1.0, action=lambda x: x + jnp.array([2.0, 0.0]), trivial=True, query=lambda x, z: x
    )
    return problems.from_function(
        lambda agent, t, x: np.array([1.0, 2.0]) @ x, domain, leaving, gradient_bound=3.0, value_bound=9.0
    )


@pytest.mark.parametrize("domain", [HULL, ORACLE], ids=["hull", "oracle"])
def test_a_run_with_actions_outside_of_the_set_ends_with_an_error(domain):
    problem = posed(domain)
    agent = Droculo.design(problem.setting, feedback.full_information(), horizon=24, theta=0.5)
    with pytest.raises(ValueError, match=r"recorded actions and queries between rounds 0 and .* lie outside"):
        simulate(problem, agent, RING, key=0)


@pytest.mark.parametrize("domain", [HULL, ORACLE, sets.Box(np.zeros(2), np.ones(2))], ids=["hull", "oracle", "box"])
def test_measures_refuse_points_outside_of_the_set(domain):
    problem = problems.from_function(
        lambda agent, t, x: np.array([1.0, 2.0]) @ x, domain, linearizations.Concave(), gradient_bound=3.0, value_bound=3.0,
        comparator=[1.0, 1.0],
    )  # fmt: skip
    inside, outside = np.full((24, N, 2), 0.5), np.full((24, N, 2), 1.5)
    assert np.all(measure.regret(problem, History.of(inside)).total > 0)
    with pytest.raises(ValueError, match="of the actions that were looked at lie outside the set"):
        measure.regret(problem, History.of(outside))
    with pytest.raises(ValueError, match="of the decisions that were looked at lie outside the set"):
        measure.certificate(problem, History.of(inside, outside))


def test_a_search_that_proves_nothing_lets_a_point_pass():
    """With one call of the oracle a point is separated only where the first direction does it."""
    oracle = search.host_argmax(HULL)
    assert search.distance_by(oracle, np.array([2.0, 1.0]), 1e-9) == pytest.approx(1.0)
    assert search.distance_by(oracle, np.array([2.0, 1.0]), 1e-9, calls=0) == 0
    assert 0 < search.distance_by(oracle, np.array([2.0, 1.5]), 1e-9, calls=1) <= np.hypot(1, 0.5)
    assert membership.outside_of_a_sample(HULL, np.array([[2.0, 1.5], [0.5, 0.5]])) == 1


def test_points_on_the_boundary_are_inside():
    corners = np.broadcast_to(SQUARE[1], (24, N, 2))
    problem = problems.from_function(
        lambda agent, t, x: x.sum(), HULL, linearizations.Concave(), gradient_bound=2.0, value_bound=2.0, comparator=2.0
    )
    np.testing.assert_allclose(measure.regret(problem, History.of(corners)).total, 24, rtol=1e-9)
    assert eqx.tree_equal(problem.set, HULL)
