"""Regret is the paper's, to the last digit, at every time; its comparator says what it is, a sample how far off."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.designs import PROBLEMS, RING, N, T, design

from droculo import History, Record, linearizations, measure, networks, problems, sets, simulate
from droculo.measure.sampling import draw
from droculo.precision import double
from droculo.testing.points import random_points

PROBLEM = PROBLEMS["A3"]
AGENT = design("A3", "semi_bandit")
CONCAVE = problems.from_function(
    lambda i, t, x: (1 + jnp.cos(t) / 2) * jnp.dot(jnp.asarray([3.0, 2.0, 1.0]) + i, jnp.log1p(x)),
    sets.budget(3, 1.5), linearizations.Concave(), gradient_bound=40.0, value_bound=40.0,
)  # fmt: skip


def value(problem, j, t, x):
    with double():
        return float(problem.value(jnp.asarray(j), jnp.asarray(t), jnp.asarray(x)))


def test_regret_is_the_papers():
    run = simulate(PROBLEM, AGENT, RING, key=0)
    result = measure.regret(PROBLEM, run, at=[5, 20])
    alpha = (1 - 2 / 5) / 4  # |u|_inf = 2/5 on {sum x = 2} in five dimensions
    assert result.alpha == pytest.approx(alpha)
    assert result.times.tolist() == [5, 20, T]
    for row, until in zip(result.curve, result.times, strict=True):
        best = sum(value(PROBLEM, j, t, PROBLEM.planted) for t in range(until) for j in range(N)) / N
        earned = [
            sum(value(PROBLEM, j, t, run.actions[t, i]) for t in range(until) for j in range(N)) / N for i in range(N)
        ]
        np.testing.assert_allclose(row, alpha * best - np.array(earned), rtol=1e-10)
    np.testing.assert_allclose(result.total, result.curve[-1])
    np.testing.assert_allclose(result.ratio, result.rewards / best)
    assert result.comparator.kind == "exact"
    assert np.all(result.error == 0)


def test_the_comparator_of_a_curve_is_that_of_its_rounds():
    """While the leader changes, each time's regret is against the best point so far."""
    first, second = np.array([[5.0, 4.0, 3.0]]) + 2, np.array([[3.0, 4.0, 5.0]]) + 2
    problem = problems.TopB(problems.Switching(np.stack([first, second]), every=10), 1)
    still = History.of(np.zeros((20, 1, 3)))
    curve = measure.regret(problem, still, at=[10, 11, 20], alpha=1.0).curve[:, 0]
    np.testing.assert_allclose(curve, [70.0, 75.0, 120.0])
    assert problem.comparator(10, np.arange(1)).point.tolist() == [1, 0, 0]
    assert [c.total for c in problem.comparators([10, 20], np.arange(1))] == pytest.approx([70.0, 120.0])


def test_a_batch_of_seeds_has_a_curve_each():
    keys = jax.random.split(jax.random.key(3), 3)
    batch = measure.regret(PROBLEM, simulate(PROBLEM, AGENT, RING, key=keys))
    assert batch.curve.shape == (3, len(batch.times), N)
    assert batch.total.shape == (3, N)
    alone = measure.regret(PROBLEM, simulate(PROBLEM, AGENT, RING, key=keys[1]))
    np.testing.assert_allclose(batch.curve[1], alone.curve, rtol=1e-10)


def test_regret_knows_which_functions_were_played():
    twice = simulate(PROBLEM, AGENT, RING, key=0, agents=[1] * N)
    alone = measure.regret(PROBLEM, simulate(PROBLEM, AGENT, networks.from_graph(networks.single()), key=0, agents=[1]))
    assert measure.regret(PROBLEM, twice).comparator.total == pytest.approx(alone.comparator.total)
    np.testing.assert_allclose(measure.regret(PROBLEM, twice).total, alone.total[0])


def test_the_best_fixed_point_of_a_concave_problem_is_certified():
    best = measure.best_fixed_point(CONCAVE, 12, 2, steps=400, pairs=1000)
    assert best.kind == "certified"
    assert best.gap <= 0.01 * best.total
    points = random_points(CONCAVE.set, 200, np.random.default_rng(0))
    earned = measure.rewards(CONCAVE, History.of(np.repeat(points[None], 12, axis=0)[:, :2]))
    assert earned.sum(axis=0).max() <= best.total + best.gap
    still = History.of(np.broadcast_to(best.point, (12, 2, 3)))
    found = measure.regret(CONCAVE, still, comparator=best)
    np.testing.assert_allclose(found.curve, 0, atol=1e-9)
    assert found.comparator is best
    np.testing.assert_allclose(measure.fixed_rewards(CONCAVE, still, best.point).sum(), best.total)


@pytest.mark.parametrize("case", ["A2", "A3", "A4"])
def test_what_is_only_found_says_so(case):
    """A planted problem that forgot its optimum: the search comes upon it, and does not claim more than it knows."""
    planted = PROBLEMS[case]
    same = problems.from_function(
        lambda i, t, x: planted.value(i, t, x),
        planted.set,
        planted.linearization,
        gradient_bound=50.0,
        value_bound=50.0,
    )
    found = measure.best_fixed_point(same, T, N)
    exact = planted.comparator(T, np.arange(N)).total
    assert found.kind == "found"
    assert 0.999 * exact <= found.total <= exact * (1 + 1e-12)
    assert found.total + found.gap >= exact
    assert measure.best_fixed_point(planted, T, N).kind == "exact"


def test_a_sample_estimates_regret_with_its_error():
    problem = problems.TopB.random(agents=30, dim=5, budget=2, seed=1)
    plays = History.of(random_points(problem.set, 60 * 30, np.random.default_rng(1)).reshape(60, 30, -1))
    exact = measure.regret(problem, plays)
    found = measure.regret(problem, plays, sample=measure.Sample(agents=4, functions=8, rounds=20))
    assert found.total.shape == found.error.shape == (4,)
    assert np.all(np.abs(found.total - exact.total[found.agents]) < 4 * found.error)
    whole = measure.regret(problem, plays, sample=measure.Sample(agents=30, functions=30, rounds=60))
    np.testing.assert_allclose(whole.total, exact.total)
    np.testing.assert_allclose(whole.error, 0, atol=1e-6)


@pytest.mark.parametrize(("rounds", "functions"), [(20, 8), (60, 8), (20, 30)])
def test_the_error_of_a_sample_is_the_spread_of_its_estimates(rounds, functions):
    """Over many draws from a known table: unbiased, and off by as much as it says."""
    rng = np.random.default_rng(0)
    table = rng.gamma(2.0, size=(60, 1)) + rng.exponential(size=(60, 30))  # rounds, functions
    plays = History.of(np.zeros((60, 30, 3)))
    totals, errors = [], []
    for seed in range(1500):
        drawn = draw(CONCAVE, plays, measure.Sample(agents=1, functions=functions, rounds=rounds, seed=seed), "this")
        total, error = drawn.total(np.take_along_axis(table[drawn.rounds], drawn.functions, axis=1))
        totals.append(total)
        errors.append(error)
    spread = np.std(totals)
    assert abs(np.mean(totals) - table.mean(axis=1).sum()) < 4 * spread / np.sqrt(1500)
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(spread, rel=0.08)


def test_a_thin_record_can_be_sampled():
    thin = simulate(PROBLEM, AGENT, RING, key=0, record=Record(every=3))
    with pytest.warns(UserWarning, match="estimated from 12 of 36 rounds that were recorded at even distances"):
        found = measure.regret(PROBLEM, thin, sample=measure.Sample(agents=2))
    exact = measure.regret(PROBLEM, simulate(PROBLEM, AGENT, RING, key=0))
    assert np.all(np.abs(found.rewards - exact.rewards[found.agents]) <= 4 * found.error)
    assert np.all(found.error > 0)


def test_regret_refuses_what_it_cannot_know():
    thin = simulate(PROBLEM, AGENT, RING, key=0, record=Record(every=5))
    with pytest.raises(ValueError, match=f"adds up all {T} rounds, and 8 were recorded"):
        measure.regret(PROBLEM, thin)
    still = History.of(np.zeros((4, 2, 3)))
    with pytest.raises(ValueError, match="does not know its best point"):
        measure.regret(CONCAVE, still)
    with pytest.raises(ValueError, match=r"between 1 and the horizon 4; got .7."):
        measure.regret(CONCAVE, still, comparator=measure.best_fixed_point(CONCAVE, 4, 2, steps=2), at=[7])
    crowd = History.of(np.zeros((2, 50_000, 3)))
    with pytest.raises(ValueError, match=r"50000 agents over 2 rounds takes 5.0e\+09 evaluations of f. Pass sample="):
        measure.regret(CONCAVE, crowd)
    with pytest.raises(ValueError, match="two recorded rounds or more; got 0"):
        measure.regret(PROBLEM, simulate(PROBLEM, AGENT, RING, key=0, record=Record(every=0)), sample=measure.Sample())
    best = measure.best_fixed_point(CONCAVE, 8, 2, steps=2)
    with pytest.raises(ValueError, match="it was made for another horizon or for other agents"):
        measure.regret(CONCAVE, still, comparator=best)
    with pytest.raises(ValueError, match="5 coordinates, and the plays have 3"):
        measure.regret(PROBLEM, still)
    with pytest.raises(ValueError, match="posed for agents 0 to 3; got agents 0 to 8"):
        measure.rewards(PROBLEM, History.of(np.zeros((4, 9, 5))))
    with pytest.raises(ValueError, match="got agents 7 to 7"):
        measure.best_fixed_point(PROBLEM, 10, [7])
    with pytest.raises(ValueError, match="at least one round, step, start and pair"):
        measure.best_fixed_point(CONCAVE, 0, 2)
    with pytest.raises(ValueError, match="at least one agent"):
        measure.best_fixed_point(CONCAVE, 5, 0)
    holes = problems.from_function(
        lambda i, t, x: jnp.where(x[0] > 0.4, jnp.nan, x.sum()), CONCAVE.set, CONCAVE.linearization,
        gradient_bound=2.0, value_bound=3.0,
    )  # fmt: skip
    nowhere = problems.Comparator.searched(np.zeros(3), 0.0, np.inf)
    assert nowhere.kind == "found"
    with pytest.raises(ValueError, match="f is not finite where the agents played"):
        measure.regret(holes, History.of(np.full((4, 2, 3), 0.5)), comparator=nowhere)
    with pytest.raises(ValueError, match="f or its gradient is not finite where the agents played"):
        measure.certificate(holes, History.of(np.full((4, 2, 3), 0.5)))
    with pytest.raises(ValueError, match="one function for each of the 2 nodes"):
        History.of(np.zeros((4, 2, 3)), agents=[0])
    with pytest.raises(ValueError, match="at least 2 rounds; got 1"):
        measure.Sample(rounds=1)
    with pytest.raises(ValueError, match=r"finite arrays .rounds, agents, d. of the same shape; got .2, 3."):
        History.of(np.zeros((2, 3)))
