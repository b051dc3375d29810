"""In a spike plain ascent stays for ever, and the best point is elsewhere."""

import jax.numpy as jnp
import numpy as np
import pytest

from droculo import Droculo, feedback, linearizations, measure, networks, problems, simulate
from droculo.linearizations import Setting
from droculo.problems import Constant

RING = networks.from_graph(networks.ring(4))


def test_the_best_point_is_that_of_all_vertices():
    problem = problems.Spike("A3", Constant([[3.0, 0.1, 0.0, 1.0, 2.0, 1.0]]), eps=0.1)
    vertices = np.array(np.meshgrid(*[range(3)] * 3)).reshape(3, -1).T  # of each pair: neither, a, or b
    points = np.stack([vertices == 1, vertices == 2], axis=2).reshape(len(vertices), 6).astype(float)
    weights = problem.weights.highest[0]
    worth = [float(problem.reward(jnp.asarray(weights), jnp.asarray(x))) for x in points]
    best = problem.best(weights)
    np.testing.assert_array_equal(best, points[np.argmax(worth)])
    assert best.tolist() == [1, 0, 0, 1, 0, 1]
    # By hand: 3 a + (0.1 a) of the first pair, 2 b and 1 b of the others.
    assert max(worth) == pytest.approx(3 + 0.1 + 2 + 1)


@pytest.mark.parametrize("case", ["A3", "A4"])
def test_plain_ascent_stays_in_the_trap_and_the_guaranteed_action_leaves(case):
    problem = problems.Spike.random(case, agents=4, pairs=2, seed=1)
    # The class of monotone functions asks where it plays, and plays where it is.
    plain = Setting(problem.set, linearizations.MonotoneGeneral(), problem.bounds)
    found = {}
    for name, setting in (("plain", plain), ("guaranteed", problem.setting)):
        agent = Droculo.design(setting, feedback.full_information(), start=problem.trap)
        found[name] = measure.regret(problem, simulate(problem, agent, RING, key=0, rounds=400))
    assert float(found["plain"].ratio.mean()) == pytest.approx(float(problem.eps), abs=1e-6)
    assert found["plain"].total.min() > 0
    assert found["guaranteed"].total.max() < 0, "the guaranteed action earns more than alpha times the optimum"


def test_agents_are_pushed():
    problem = problems.Spike.pushed("A4", agents=4, pairs=2, seed=1, rounds=50)
    known = problem.comparators_between([0, 50], [50, 400], np.arange(4))
    assert [found.point.tolist() for found in known] == [problem.trap.tolist(), (1 - problem.trap).tolist()]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: problems.Spike("A2", Constant([[1.0, 1.0]])), "spikes for the cases A3, A4; got 'A2'"),
        (lambda: problems.Spike("A3", Constant([[1.0, 1.0, 1.0]])), "two weights for each pair.*got 3"),
        (lambda: problems.Spike("A3", Constant([[1.0, 1.0]]), eps=1.0), "between 0 and 1; got 1.0"),
        (lambda: problems.Spike("A3", Constant([[1.0, -1.0]])), "non-negative; got -1"),
    ],
)
def test_errors(make, message):
    with pytest.raises(ValueError, match=message):
        make()
