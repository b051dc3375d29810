"""The certificate is above the exact alpha-regret, for every case and feedback, and brackets the optimum."""

import dataclasses

import numpy as np
import pytest
from tests.designs import PAIRS, PROBLEMS, RING, N, T, design

from droculo import Droculo, Record, Scales, Trajectory, feedback, measure, simulate
from droculo.testing.points import random_points


def assert_holds(problem, run):
    found, exact = measure.certificate(problem, run), measure.regret(problem, run)
    slack = 1e-9 * (1 + abs(exact.comparator.total))
    assert np.all(found.bound >= exact.total - slack), (found.bound, exact.total)
    np.testing.assert_allclose(found.rewards, exact.rewards, rtol=1e-9)
    assert np.all(found.optimum_low <= exact.comparator.total + slack)
    assert np.all(found.optimum_high >= exact.comparator.total - slack)
    return found


@pytest.mark.parametrize(
    ("case", "model"), [pytest.param(*p, marks=pytest.mark.xdist_group("-".join(p))) for p in PAIRS]
)
def test_it_is_above_the_exact_regret(case, model):
    problem, agent = PROBLEMS[case], design(case, model)
    found = [
        assert_holds(problem, simulate(problem, agent, RING, key=key, record=Record(queries=True))) for key in range(4)
    ][-1]
    assert found.bound.shape == (N,)
    plays_queries = model == "bandit" or (model == "semi_bandit" and case not in ("concave", "A1"))
    assert np.any(np.abs(found.correction) > 1e-9) == plays_queries


def test_it_certifies_any_sequence():
    """Points drawn at random, by no algorithm at all."""
    rng = np.random.default_rng(0)
    for problem in PROBLEMS.values():
        blank = Trajectory(T, np.arange(T), *(None,) * 3, np.arange(N), None, None, 0.0)
        points = random_points(problem.set, T * N, rng).reshape(T, N, -1)
        assert_holds(problem, dataclasses.replace(blank, actions=points, decisions=points[::-1]))


def test_a_better_run_has_a_smaller_certificate():
    problem = PROBLEMS["A2"]
    bounds = [
        measure.certificate(
            problem,
            simulate(
                problem,
                Droculo.design(
                    problem.setting,
                    feedback.full_information(),
                    horizon=256,
                    theta=1.0,
                    scales=Scales(step=s, tolerance=0.1),
                ),
                RING,
                key=0,
            ),
        ).bound.mean()
        for s in (1e-6, 1.0)
    ]
    assert bounds[1] < bounds[0] / 2


def test_a_thin_record_is_refused():
    problem = PROBLEMS["A1"]
    agent = Droculo.design(problem.setting, feedback.full_information(), horizon=T, theta=0.5)
    with pytest.raises(ValueError, match="a certificate adds up all 36 rounds, and 8 were recorded"):
        measure.certificate(problem, simulate(problem, agent, RING, key=0, record=Record(every=5)))
