"""The certificate is above the exact alpha-regret, for every case and feedback, and brackets the optimum."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.designs import PAIRS, PLANTED, PROBLEMS, RING, N, T, design_for, models, paper

from droculo import Droculo, History, Record, Scales, feedback, measure, oracles, problems, simulate
from droculo.algorithms import SendXY, SendY
from droculo.precision import double
from droculo.testing.points import random_points


def assert_holds(problem, run):
    found, exact = measure.certificate(problem, run), measure.regret(problem, run)
    slack = 1e-9 * (1 + abs(exact.comparator.total))
    assert np.all(found.bound >= exact.total - slack), (found.bound, exact.total)
    np.testing.assert_allclose(found.rewards, exact.rewards, rtol=1e-9)
    assert np.all(found.optimum_low <= exact.comparator.total + slack)
    assert np.all(found.optimum_high >= exact.comparator.total - slack)
    return found


@pytest.mark.parametrize(("case", "model"), PAIRS)
def test_it_is_above_the_exact_regret(case, model):
    problem, agent = PROBLEMS[case], paper(case, model)
    found = [
        assert_holds(problem, simulate(problem, agent, RING, key=key, record=Record(queries=True))) for key in range(3)
    ][-1]
    assert found.bound.shape == (N,)
    plays_queries = model == "bandit" or (model == "semi_bandit" and case not in ("concave", "A1"))
    assert np.any(np.abs(found.correction) > 1e-9) == plays_queries


@pytest.mark.parametrize(
    ("name", "model"),
    [
        (name, model)
        for number, (name, problem) in enumerate(PLANTED.items())
        for model in [models(problem)[number % len(models(problem))]]
    ],
)
def test_it_is_above_the_exact_regret_of_every_planted_problem(name, model):
    problem = PLANTED[name]
    keys = jax.random.split(jax.random.key(7), 3)
    found = assert_holds(
        problem, simulate(problem, design_for(problem, model, oracle=oracles.FrankWolfe()), RING, key=keys)
    )
    assert found.bound.shape == (3, N)


@pytest.mark.parametrize("name", [*PROBLEMS, *PLANTED])
def test_it_certifies_any_sequence(name):
    """Points drawn at random, by no algorithm at all."""
    problem = (PROBLEMS | PLANTED)[name]
    points = random_points(problem.set, T * N, np.random.default_rng(0)).reshape(T, N, -1)
    assert_holds(problem, History.of(points, points[::-1]))


@pytest.mark.parametrize(("case", "curvature"), [("A1", 1.0), ("A1", 0.4), ("A2", 1.0), ("A3", 1.0), ("A4", 1.0)])
def test_in_the_trap_regret_and_certificate_are_both_zero(case, curvature):
    """No better alpha and no better certificate is possible: the trap earns alpha times the optimum exactly."""
    problem = problems.WorstCase.random(case, agents=N, pairs=2, seed=3, curvature=curvature)
    with double():
        action = np.asarray(problem.linearization.for_set(problem.set).action(jnp.asarray(problem.trap)))
    stuck = History.of(np.broadcast_to(action, (T, N, 4)), np.broadcast_to(problem.trap, (T, N, 4)))
    scale = measure.regret(problem, stuck).comparator.total
    assert scale > 1
    np.testing.assert_allclose(measure.regret(problem, stuck).total / scale, 0, atol=1e-12)
    np.testing.assert_allclose(measure.certificate(problem, stuck).bound / scale, 0, atol=1e-12)


def test_projected_gradient_ascent_stays_in_the_trap():
    """A1 with the gradient where one stands: it points equally to a and b, and its projection on K is zero."""
    problem = PLANTED["tight A1"]
    x = problem.trap
    with double():
        for t in range(T):
            uphill = x + 0.3 * np.asarray(problem.gradient(jnp.asarray(0), jnp.asarray(t), jnp.asarray(x)))
            ahead = np.clip((uphill[0::2] - uphill[1::2] + 1) / 2, 0, 1)  # onto the segments a + b = 1
            x = np.stack([ahead, 1 - ahead], axis=1).ravel()
    np.testing.assert_allclose(x, problem.trap, atol=1e-12)


def test_a_sample_estimates_it_with_its_error():
    problem = problems.TopB.random(agents=30, dim=5, budget=2, seed=1)
    plays = History.of(random_points(problem.set, 60 * 30, np.random.default_rng(1)).reshape(60, 30, -1))
    exact = measure.certificate(problem, plays)
    assert np.all(exact.error == 0)
    off = []
    for seed in range(30):
        found = measure.certificate(problem, plays, sample=measure.Sample(agents=4, functions=8, rounds=20, seed=seed))
        assert found.bound.shape == found.error.shape == found.agents.shape == (4,)
        off.append((found.bound - exact.bound[found.agents]) / found.error)
    # Errors of the right size; a maximum of estimates errs upwards, so the mean may be positive, never far below zero.
    assert 0.5 < np.std(off) < 1.6
    assert -0.3 < np.mean(off) < 1.5


def test_a_better_run_has_a_smaller_certificate():
    problem = PROBLEMS["A2"]
    bounds = [
        measure.certificate(
            problem,
            simulate(
                problem,
                Droculo.prescribed(
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


def test_on_a_sample_nothing_is_claimed_of_the_optimum():
    problem = PROBLEMS["A2"]
    points = random_points(problem.set, T * N, np.random.default_rng(0)).reshape(T, N, -1)
    found = measure.certificate(problem, History.of(points), sample=measure.Sample(agents=2, functions=2, rounds=9))
    assert found.optimum_low == -np.inf
    assert found.optimum_high == np.inf


def test_a_batch_of_plays_and_other_agents():
    problem = PROBLEMS["A1"]
    points = random_points(problem.set, 2 * T * N, np.random.default_rng(0)).reshape(2, T, N, -1)
    both = measure.certificate(problem, History.of(points, agents=[1, 1, 0, 2]))
    alone = measure.certificate(problem, History.of(points[1], agents=[1, 1, 0, 2]))
    np.testing.assert_allclose(both.bound[1], alone.bound)


def test_decisions_outside_of_the_set_are_refused():
    problem = PROBLEMS["A1"]
    with pytest.raises(ValueError, match="144 of the decisions that were looked at lie outside the set"):
        measure.certificate(problem, History.of(np.full((T, N, 5), 0.4), np.full((T, N, 5), 50.0)))
    with pytest.raises(ValueError, match="finite arrays"):
        History.of(np.zeros((T, N, 5)), np.full((T, N, 5), np.nan))
    with pytest.raises(ValueError, match="at least one node; got 0"):
        measure.certificate(problem, History.of(np.full((T, N, 5), 0.4)), nodes=0)


@pytest.mark.parametrize("oracle", [oracles.PaperFrankWolfe(), oracles.ActiveSet()])
@pytest.mark.parametrize("exchange", [SendY(), SendXY()])
def test_it_holds_for_other_oracles_and_exchanges(oracle, exchange):
    problem = PROBLEMS["A2"]
    agent = design_for(problem, "semi_bandit", oracle=oracle, exchange=exchange)
    assert_holds(problem, simulate(problem, agent, RING, key=jax.random.split(jax.random.key(1), 5)))


def test_a_thin_record_is_refused():
    problem = PROBLEMS["A1"]
    agent = Droculo.design(problem.setting, feedback.full_information(), horizon=T, theta=0.5)
    with pytest.raises(ValueError, match="a certificate adds up all 36 rounds, and 8 were recorded"):
        measure.certificate(problem, simulate(problem, agent, RING, key=0, record=Record(every=5)))
