"""Worlds that move: dynamic and interval regret are what brute force says, and a switch is seen where it is."""

from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.designs import PROBLEMS

from droculo import History, linearizations, measure, problems, sets
from droculo.precision import double
from droculo.problems import Constant, Heterogeneous, Noisy, PeriodicWeights, Shifted, Switching
from droculo.testing.points import random_points

T, N, D, B = 24, 3, 4, 2
RNG = np.random.default_rng(0)
TABLES = RNG.uniform(3, 8, (3, N, D))
WORLD = Switching(TABLES, every=7)
SWITCHED = problems.TopB(WORLD, B)
RATES = RNG.uniform(1, 4, D)
DRIFTING = problems.WaterFilling(PeriodicWeights.random(N, D, low=0.5, high=1.5, swing=2.0, seed=1), RATES, 1.5)
FUNCTION = problems.from_function(
    lambda i, t, x: (1 + jnp.cos(t)) * jnp.dot(jnp.asarray([3.0, 2.0, 1.0]), jnp.log1p(x)),
    sets.budget(3, 1.5), linearizations.Concave(), gradient_bound=40.0, value_bound=40.0,
)  # fmt: skip


def played(problem, *shape):
    points = random_points(problem.set, int(np.prod(shape)), np.random.default_rng(3))
    return History.of(points.reshape(*shape, problem.set.dim))


def weights_of(problem, rounds=T):
    """(rounds, entries): the network's mean weights."""
    with double():
        grid = jax.vmap(jax.vmap(problem.weights.at, (0, None)), (None, 0))
        return np.asarray(jax.jit(grid)(jnp.arange(N), jnp.arange(rounds))).mean(axis=1)


def reward(problem, weights, x):
    """In NumPy."""
    if problem is SWITCHED:
        return weights @ x - (x.sum() ** 2 - x @ x) / 2
    return weights @ np.log1p(RATES * x)


def best(problem, weights):
    """By sorting, and by a bisection for one vector of weights."""
    if problem is SWITCHED:
        point = np.zeros(D)
        point[np.argsort(-weights)[:B]] = 1
        return point
    low, high = 0.0, 100.0
    for _ in range(200):
        level = (low + high) / 2
        full = np.clip(weights / level - 1 / RATES, 0, 1).sum() > 1.5
        low, high = (level, high) if full else (low, level)
    return np.clip(weights / high - 1 / RATES, 0, 1)


def brute_force(problem, plays, starts, ends):
    """The points of the windows, what they earn in every round of theirs, and what the agents earned in every round."""
    weights = weights_of(problem)
    points = [best(problem, weights[a:b].mean(axis=0)) for a, b in zip(starts, ends, strict=True)]
    theirs = [
        [reward(problem, weights[t], u) for t in range(a, b)] for a, b, u in zip(starts, ends, points, strict=True)
    ]
    earned = np.array([[reward(problem, weights[t], x) for x in plays.actions[t]] for t in range(T)])
    return np.array(points), theirs, earned


@pytest.mark.parametrize("problem", [SWITCHED, DRIFTING], ids=["switching", "drifting"])
@pytest.mark.parametrize("windows", [None, 5, [7, 14, 21]])
def test_dynamic_regret_is_that_of_brute_force(problem, windows):
    plays = played(problem, T, N)
    found = measure.dynamic(problem, plays, windows=windows, at=[1, 9, 10])
    starts = np.arange(T) if windows is None else np.arange(0, T, 5) if windows == 5 else np.array([0, 7, 14, 21])
    points, theirs, earned = brute_force(problem, plays, starts, [*starts[1:], T])
    np.testing.assert_array_equal(found.windows.starts, starts)
    np.testing.assert_allclose(found.windows.points, points, atol=1e-9)
    np.testing.assert_allclose(found.windows.totals, [sum(part) for part in theirs])
    alpha = 1 - 1 / np.e if problem is SWITCHED else 1.0
    curve = alpha * np.cumsum(np.concatenate(theirs))[:, None] - np.cumsum(earned, axis=0)
    assert found.times.tolist() == [1, 9, 10, T]
    np.testing.assert_allclose(found.curve, curve[[0, 8, 9, T - 1]], atol=1e-9)
    np.testing.assert_allclose(found.total, curve[-1], atol=1e-9)
    np.testing.assert_allclose(found.share, earned.sum(axis=0) / np.concatenate(theirs).sum())
    path = sum(np.linalg.norm(b - a) for a, b in pairwise(points))
    assert found.path_length == pytest.approx(path, abs=1e-9)
    assert found.windows.kind == "exact"
    assert not found.windows.gaps.any()


@pytest.mark.parametrize("problem", [SWITCHED, DRIFTING], ids=["switching", "drifting"])
def test_interval_regret_is_that_of_brute_force(problem):
    plays = played(problem, T, N)
    found = measure.interval(problem, plays, length=9, step=4, alpha=0.5)
    starts = np.array([0, 4, 8, 12, 15])  # the last one ends with the run
    points, theirs, earned = brute_force(problem, plays, starts, starts + 9)
    optimum = np.array([sum(part) for part in theirs])
    mine = np.array([earned[a : a + 9].sum(axis=0) for a in starts])
    np.testing.assert_array_equal(found.windows.starts, starts)
    np.testing.assert_allclose(found.windows.points, points, atol=1e-9)
    np.testing.assert_allclose(found.curve, 0.5 * optimum[:, None] - mine, atol=1e-9)
    np.testing.assert_allclose(found.worst, (0.5 * optimum[:, None] - mine).max(axis=0), atol=1e-9)
    np.testing.assert_allclose(found.worst_share, (mine / optimum[:, None]).min(axis=0))
    np.testing.assert_array_equal(found.worst_share_start, starts[(mine / optimum[:, None]).argmin(axis=0)])
    assert (found.length, found.alpha, found.windows.kind) == (9, 0.5, "exact")


def test_the_path_of_a_switching_world_by_hand():
    """Two members of two leave at every switch, at a distance of 2 each; in a fixed world nothing moves."""
    first, second = [[9.0, 8.0, 4.0, 4.0]], [[4.0, 4.0, 8.0, 9.0]]
    world = Switching([first, second], every=5)
    plays = History.of(np.tile([1.0, 1.0, 0.0, 0.0], (20, 1, 1)))
    for windows in (None, world.starts(20), 5):
        found = measure.dynamic(problems.TopB(world, 2), plays, windows=windows)
        assert found.path_length == pytest.approx(6.0)
        assert found.optimum == pytest.approx(20 * 16)
        np.testing.assert_allclose(found.share, [(10 * 16 + 10 * 7) / (20 * 16)])
    assert world.starts(20).tolist() == [0, 5, 10, 15]
    ties = problems.TopB(
        Constant(np.full((1, 4), 6.1)), 2
    )  # every pair is best: the comparator does not jump between them
    assert measure.dynamic(ties, plays).path_length == 0


def test_in_a_fixed_world_dynamic_regret_is_regret():
    problem = problems.TopB(Constant(TABLES[0]), B)
    plays = played(problem, T, N)
    static = measure.regret(problem, plays, at=[3, 11])
    for windows in (None, 5, [0]):
        moving = measure.dynamic(problem, plays, windows=windows, at=[3, 11])
        np.testing.assert_allclose(moving.curve, static.curve, atol=1e-9)
        np.testing.assert_allclose(moving.share, static.ratio)
        assert moving.path_length == 0
    parts = measure.interval(problem, plays, length=T)
    np.testing.assert_allclose(parts.curve[0], static.total)
    one = measure.dynamic(SWITCHED, plays, windows=[0])  # one window is the whole run in any world
    np.testing.assert_allclose(one.total, measure.regret(SWITCHED, plays, at=[T]).total)


def test_the_window_after_a_switch_is_the_worst():
    """Agents that find out about a switch five rounds late: regret over the whole run hides it."""
    first, second = np.array([[9.0, 4.0, 4.0]]), np.array([[4.0, 4.0, 9.0]])
    problem = problems.TopB(Switching([first, second], every=20), 1)
    follow = np.repeat([[1.0, 0, 0], [0, 0, 1.0]], [25, 15], axis=0)[:, None]
    found = measure.interval(problem, History.of(follow), length=5, step=1)
    assert found.worst_start.tolist() == found.worst_share_start.tolist() == [20]
    np.testing.assert_allclose(found.worst_share, 4 / 9)
    np.testing.assert_allclose(np.delete(found.shares[:, 0], range(16, 25)), 1)
    assert measure.share(problem, History.of(follow))[0] > 1  # no fixed point earns as much
    assert measure.regret(problem, History.of(follow), at=[40]).total[0] < 0 < found.worst[0]
    coarse = measure.interval(problem, History.of(follow), length=12)
    assert np.diff(coarse.windows.starts).tolist() == [3] * 9 + [1]
    assert coarse.worst_start.tolist() == [21]  # four wrong rounds; where most are before the switch, they were right


def test_a_batch_of_seeds_has_an_axis():
    plays = played(SWITCHED, 2, T, N)
    alone = History.of(plays.actions[1])
    moving, parts = measure.dynamic(SWITCHED, plays), measure.interval(SWITCHED, plays, length=6)
    assert moving.curve.shape == (2, len(moving.times), N)
    assert moving.share.shape == parts.worst.shape == parts.worst_start.shape == (2, N)
    assert parts.curve.shape == (2, len(parts.windows.starts), N)
    np.testing.assert_allclose(moving.curve[1], measure.dynamic(SWITCHED, alone).curve)
    np.testing.assert_allclose(parts.curve[1], measure.interval(SWITCHED, alone, length=6).curve)
    np.testing.assert_array_equal(parts.worst_start[1], measure.interval(SWITCHED, alone, length=6).worst_start)
    for found, rows in ((moving, 2 * len(moving.times) * N), (parts, 2 * len(parts.windows.starts) * N)):
        assert len(found.frame()) == rows
    assert list(parts.frame().columns) == ["seed", "start", "agent", "regret", "share"]
    np.testing.assert_allclose(
        moving.frame().query("seed == 1 and agent == 2")["dynamic_regret"], moving.curve[1, :, 2]
    )


def test_plots():
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot

    plays = played(SWITCHED, 2, T, N)
    assert measure.dynamic(SWITCHED, plays).plot().get_ylabel() == "dynamic alpha-regret a round"
    assert "in 6 rounds" in measure.interval(SWITCHED, plays, length=6).plot().get_ylabel()
    pyplot.close("all")


def test_windows_of_a_problem_are_those_of_its_shifted_self():
    """Wrappers pass them on, and horizons are windows from 0 on."""
    starts, ends, agents = np.array([3, 0, 9, 3]), np.array([11, 5, 10, 4]), np.arange(N)
    known = SWITCHED.comparators_between(starts, ends, agents)
    for problem in (Noisy(SWITCHED, value=1.0), Shifted(Noisy(SWITCHED, value=1.0), 0)):
        assert [c.total for c in problem.comparators_between(starts, ends, agents)] == [c.total for c in known]
    for a, b, each in zip(starts, ends, known, strict=True):
        shifted = Shifted(SWITCHED, int(a)).comparator(int(b - a), agents)
        assert shifted.total == pytest.approx(each.total)
        np.testing.assert_array_equal(shifted.point, each.point)
    assert SWITCHED.comparators([11], agents)[0].total == SWITCHED.comparators_between([0], [11], agents)[0].total
    plays = played(SWITCHED, T, N)
    spread = problems.TopB(Heterogeneous(Switching(TABLES[:, :1] + 2, every=7), agents=N, dial=0.5, floor=4.0), B)
    shared = problems.TopB(Switching(np.repeat(TABLES[:, :1] + 2, N, axis=1), every=7), B)
    one, other = (measure.dynamic(problem, plays, windows=WORLD.starts(T)) for problem in (spread, shared))
    np.testing.assert_allclose(one.windows.totals, other.windows.totals)


@pytest.mark.parametrize("name", ["coverage", "sensors", "recommendation"])
def test_other_problems_know_their_windows(name):
    """Whatever the first rounds are, a window is the whole of the problem that begins there."""
    made = {
        "coverage": lambda: problems.Coverage.random(agents=2, dim=4, budget=2, elements=5, seed=0),
        "sensors": lambda: problems.LogDetSensors.random(agents=2, sites=4, budget=2, seed=0),
        "recommendation": lambda: problems.Recommendation.synthetic(agents=2, items=5, budget=2),
    }
    problem = made[name]()
    window = Shifted(problem, 3).comparator(6, np.arange(2))
    still = History.of(np.broadcast_to(window.point, (6, 2, problem.set.dim)))
    earned = measure.rewards(Shifted(problem, 3), still).sum(axis=0)
    np.testing.assert_allclose(earned, window.total)
    for point in random_points(problem.set, 3, np.random.default_rng(0)):
        fixed = measure.fixed_rewards(Shifted(problem, 3), still, point).sum()
        assert fixed <= window.total + window.gap + 1e-9


def test_totals_between_are_sums():
    """Over more rounds than are computed at a time, in any order, and to the last bit where weights are the same."""
    rounds = 2100
    weights = weights_of(SWITCHED, rounds)
    starts, ends = np.array([1500, 0, 3, 0, 21]), np.array([2100, 2000, 4, 5, 26])
    totals = WORLD.totals_between(starts, ends, np.arange(N))
    np.testing.assert_allclose(totals, [weights[a:b].sum(axis=0) for a, b in zip(starts, ends, strict=True)])
    each = WORLD.totals_between(np.arange(rounds), np.arange(1, rounds + 1), np.arange(N))
    assert len(np.unique(each, axis=0)) == len(TABLES)


def test_a_search_for_every_window_can_be_passed():
    plays = History.of(np.full((8, 1, 3), 0.5))
    with pytest.raises(
        ValueError, match=r"FromFunction does not know the best points of 8 of the 8 windows. Choose a few"
    ):
        measure.dynamic(FUNCTION, plays)
    with pytest.raises(ValueError, match=r"pass comparators=\[measure.best_fixed_point"):
        measure.interval(FUNCTION, plays, length=4)
    searched = [measure.best_fixed_point(Shifted(FUNCTION, start), 4, 1, steps=200, pairs=8) for start in (0, 4)]
    found = measure.dynamic(FUNCTION, plays, windows=4, comparators=searched)
    assert found.windows.kind == "certified"
    np.testing.assert_array_equal(found.windows.gaps, [c.gap for c in searched])
    assert np.all(found.share < 1)
    parts = measure.interval(FUNCTION, plays, length=4, step=4, comparators=searched)
    np.testing.assert_allclose(parts.curve.sum(axis=0), found.total)
    with pytest.raises(ValueError, match="one comparator for each of the 2 windows; got 1"):
        measure.dynamic(FUNCTION, plays, windows=4, comparators=searched[:1])
    with pytest.raises(ValueError, match=r"comparator of rounds 0 to 3 is said to earn .* made for other rounds"):
        measure.dynamic(FUNCTION, plays, windows=4, comparators=searched[::-1])
    rewards = [problems.Comparator(np.full(3, np.nan), total, "given", 0.0) for total in (40.0, 20.0)]
    given = measure.dynamic(FUNCTION, plays, windows=4, comparators=rewards, at=[2, 6])
    np.testing.assert_allclose(
        np.diff(given.curve[:, 0] + measure.rewards(FUNCTION, plays)[:, 0].cumsum()[[1, 5, 7]]), [30, 10]
    )


def test_errors():
    plays = played(SWITCHED, T, N)
    for windows in ([30], [-1], [0.5], [], 0, [[1]]):
        with pytest.raises(
            ValueError, match=r"windows are the rounds in which a window begins, whole numbers from 0 to 23"
        ):
            measure.dynamic(SWITCHED, plays, windows=windows)
    for length in (0, T + 1, 2.5):
        with pytest.raises(ValueError, match=f"a whole number of rounds between 1 and the horizon {T}; got {length}"):
            measure.interval(SWITCHED, plays, length=length)
    for step in (0, 1.5):
        with pytest.raises(ValueError, match=f"at most 1000 windows; got {step} for windows of 5 of {T} rounds"):
            measure.interval(SWITCHED, plays, length=5, step=step)
    thin = History(horizon=T, rounds=np.arange(0, T, 2), actions=plays.actions[::2], decisions=plays.decisions[::2], agents=np.arange(N))  # fmt: skip
    with pytest.raises(
        ValueError, match=r"dynamic regret looks at all 24 rounds, and 12 were recorded. Run with record="
    ):
        measure.dynamic(SWITCHED, thin)
    with pytest.raises(ValueError, match="interval regret looks at all 24 rounds"):
        measure.interval(SWITCHED, thin, length=4)
    with pytest.raises(ValueError, match="4 coordinates, and the plays have 5"):
        measure.dynamic(SWITCHED, played(PROBLEMS["A2"], 4, 3))
    with pytest.raises(
        ValueError, match=r"of 50000 agents over 2 rounds takes 5.0e\+09 evaluations of f, and is not estimated"
    ):
        measure.interval(FUNCTION, History.of(np.zeros((2, 50_000, 3))), length=1)


def test_windows_are_bounded_in_number():
    long = History.of(np.tile([1.0, 0.0, 0.0], (3000, 1, 1)))
    problem = problems.TopB(Switching([[[6.0, 4.0, 4.0]], [[4.0, 4.0, 6.0]]], every=1500), 1)
    found = measure.interval(problem, long, length=4)
    assert len(found.windows.starts) <= 1000
    assert found.windows.ends[-1] == 3000
    with pytest.raises(ValueError, match="at most 1000 windows; got 1 for"):
        measure.interval(problem, long, length=4, step=1)
