"""Slopes are recovered with honest intervals, and what has no slope is refused."""

import numpy as np
import pytest

from droculo import Droculo, Record, feedback, measure, networks, problems, simulate

T = 2 ** np.arange(6, 13)


def test_a_power_law_is_recovered():
    found = measure.fit_exponent(T, 3.0 * T**0.75)
    assert found.slope == pytest.approx(0.75)
    assert found.low == pytest.approx(0.75)
    np.testing.assert_allclose(found.local, 0.75)


def test_the_interval_covers():
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(400):
        found = measure.fit_exponent(T, T**0.5 * np.exp(0.2 * rng.standard_normal((6, len(T)))))
        hits += found.low <= 0.5 <= found.high
    assert hits / 400 >= 0.95  # the wider of two intervals: more than it says
    single = sum(
        f.low <= 0.5 <= f.high
        for f in (measure.fit_exponent(T, T**0.5 * np.exp(0.2 * rng.standard_normal(len(T)))) for _ in range(400))
    )
    assert 0.91 <= single / 400 <= 0.985


def test_a_bend_widens_the_interval():
    """Seeds that agree with each other say nothing of a curve that is not straight yet."""
    seeds = np.array([[1.0], [1.001]])
    bent = measure.fit_exponent(T, seeds * (T**0.5 + 30))
    assert bent.high - bent.slope > 0.03
    straight = measure.fit_exponent(T, seeds * T**0.5)
    assert straight.high - straight.slope < 1e-3


def test_two_points_say_nothing_of_their_error():
    found = measure.fit_exponent([10, 100], [1.0, 10.0])
    assert found.slope == pytest.approx(1.0)
    assert found.high == np.inf


@pytest.mark.parametrize(
    ("horizons", "measured", "message"),
    [
        ([10, 100], [1.0, -2.0], "fitted to positive numbers; got -2 at horizon 100"),
        ([10, 100], [1.0, np.nan], "got nan at horizon 100"),
        ([10, 100], [0.0, 1.0], "got 0 at horizon 10"),
        ([10], [1.0], "two or more growing, positive horizons"),
        ([100, 10], [1.0, 2.0], "two or more growing, positive horizons"),
        ([10, 100], [1.0, 2.0, 3.0], "one measurement for each"),
        ([10, np.nan], [1.0, 2.0], "two or more growing, positive horizons"),
    ],
)
def test_refusals(horizons, measured, message):
    with pytest.raises(ValueError, match=message):
        measure.fit_exponent(horizons, measured)


def test_a_confidence_is_not_a_percentage():
    with pytest.raises(ValueError, match=r"between 0 and 1, such as 0.95; got 95"):
        measure.fit_exponent([10, 100], [1.0, 2.0], confidence=95)


def test_rounding_in_single_precision_is_not_infeasible():
    problem = problems.TopB.random(agents=5, dim=12, budget=3, seed=0)
    agent = Droculo.design(problem.setting, feedback.full_information(), horizon=40, theta=1.0)
    run = simulate(problem, agent, networks.from_graph(networks.ring(5)), key=0, dtype=np.float32)
    assert measure.count_infeasible(problem.set, run) == 0
    run.actions[3, 2] += 1e-2
    run.actions[3, 2, 0] = 1.01
    assert measure.count_infeasible(problem.set, run) == 1


def test_consensus_and_feasibility():
    problem = problems.TopB.random(agents=5, dim=6, budget=2, seed=0)
    agent = Droculo.design(problem.setting, feedback.bandit(), horizon=40, theta=0.5)
    run = simulate(problem, agent, networks.from_graph(networks.ring(5)), key=0, record=Record(queries=True))
    gap = measure.consensus_gap(run)
    assert gap.shape == (40,)
    assert gap[0] < 1e-15  # all begin at one point, whose mean is rounded
    assert gap[-1] > 1e-3
    assert measure.count_infeasible(problem.set, run) == 0
    run.actions[3, 2] = 2.0
    assert measure.count_infeasible(problem.set, run) == 1
