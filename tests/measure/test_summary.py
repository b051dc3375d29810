"""Shares of the best fixed point, beside what costs nothing."""

import jax.numpy as jnp
import numpy as np
import pytest
from tests.designs import PROBLEMS, RING, N, T, paper

from droculo import Droculo, History, Record, Scales, feedback, linearizations, measure, problems, sets, simulate
from droculo.experiments import load, sweep
from droculo.experiments.rows import SHARES
from droculo.testing.points import random_points

BUDGET, A2 = sets.budget(3, 1.0), linearizations.MonotoneOrigin()


def linear(agent, t, x):
    """Coordinate 0 earns 3, coordinate 1 earns 1, in the first half of 8 rounds; then the other way round."""
    early = jnp.asarray(t) < 4
    return jnp.where(early, 3.0, 1.0) * x[0] + jnp.where(early, 1.0, 5.0) * x[1]


def posed(**options):
    return problems.from_function(linear, BUDGET, A2, gradient_bound=6.0, value_bound=6.0, **options)


def constant(point, rounds=8, agents=2):
    return History.of(np.broadcast_to(np.asarray(point, float), (rounds, agents, len(point))))


def test_a_share_by_hand():
    """e_1 is best: 4 rounds of 1 and 4 of 5. e_0 earns 4 rounds of 3 and 4 of 1."""
    problem, plays = posed(), constant([1, 0, 0])
    np.testing.assert_allclose(measure.share(problem, plays), np.full(2, 16 / 24), rtol=1e-6)
    np.testing.assert_allclose(measure.share(problem, plays, last=0.5), np.full(2, 4 / 20), rtol=1e-6)
    np.testing.assert_allclose(measure.share(problem, constant([0, 1, 0])), 1, rtol=1e-6)
    found = measure.summary(problem, plays)
    assert (found.share, found.share_last) == pytest.approx((2 / 3, 0.2))
    assert (found.still, found.still_last) == pytest.approx((2 / 3, 0.2))
    assert not found.learned
    assert "do not beat standing still" in str(found)
    # A vertex is 0 where the direction is negative, and else a coordinate: what all vertices earn is between the two.
    assert 0 < found.luck < 1
    assert 0 < found.luck_last < 1


def test_the_share_over_all_rounds_is_that_of_regret():
    for case in ("A2", "A3"):
        problem = PROBLEMS[case]
        points = random_points(problem.set, T * N, np.random.default_rng(0)).reshape(T, N, -1)
        plays = History.of(points)
        np.testing.assert_allclose(measure.share(problem, plays), measure.regret(problem, plays).ratio, rtol=1e-9)


def test_what_learns_beats_standing_still_and_what_does_not_is_said_to():
    problem = problems.TopB.random(agents=N, dim=6, budget=2, seed=0)

    def run(step):
        agent = Droculo.prescribed(
            problem.setting,
            feedback.full_information(),
            horizon=256,
            theta=1.0,
            scales=Scales(step=step, tolerance=0.1),
        )
        return measure.summary(problem, simulate(problem, agent, RING, key=0))

    still, learns = run(1e-9), run(10.0)
    assert learns.learned
    assert learns.share_last > still.share_last + 0.05
    assert still.share == pytest.approx(still.still, abs=1e-6)
    assert "do not beat" not in str(learns)
    worse = learns.luck_last >= learns.share_last
    assert ("chosen by luck earns as much" in str(learns)) == worse


def test_a_batch_of_seeds_is_averaged():
    problem, points = PROBLEMS["A2"], random_points(PROBLEMS["A2"].set, 2 * T * N, np.random.default_rng(3))
    plays = points.reshape(2, T, N, -1)
    both = measure.summary(problem, History.of(plays)).share
    assert both == pytest.approx(np.mean([measure.summary(problem, History.of(each)).share for each in plays]))
    assert measure.share(problem, History.of(plays)).shape == (2, N)


@pytest.mark.parametrize(
    ("given", "point"),
    [
        ([0, 1, 0], [0, 1, 0]),
        (lambda horizon: [1, 0, 0] if horizon <= 4 else [0, 1, 0], [0, 1, 0]),
        (3.0, None),
        (lambda horizon: 3.0, None),
    ],
)
def test_a_comparator_of_ones_own(given, point):
    problem, plays = posed(comparator=given), constant([1, 0, 0])
    best = measure.best_fixed_point(problem, 8, 2)
    assert best.kind == "given"
    assert best.total == pytest.approx(24)
    assert point is None or np.array_equal(best.point, point)
    exact = measure.regret(problem, plays)
    np.testing.assert_allclose(exact.total, (1 - np.exp(-1)) * 24 - 16)
    np.testing.assert_allclose(measure.share(problem, plays), 2 / 3)
    if callable(given) and point is not None:
        assert problem.comparator(4, np.arange(2)).total == pytest.approx(12)


def test_a_black_box_with_a_comparator():
    problem = problems.from_black_box(
        lambda agent, t, x: float(linear(agent, t, x)),
        BUDGET,
        A2,
        gradient_bound=6.0,
        value_bound=6.0,
        comparator=[0, 1, 0],
    )
    np.testing.assert_allclose(measure.share(problem, constant([1, 0, 0])), 2 / 3)
    np.testing.assert_allclose(measure.regret(problem, constant([1, 0, 0])).ratio, 2 / 3)


def test_a_constant_in_single_precision_is_noticed():
    weights = jnp.asarray([0.1, 0.2, 0.3])  # float32, as long as double precision is off
    with pytest.warns(UserWarning, match="make it with NumPy"):
        problems.from_function(lambda agent, t, x: weights @ x, BUDGET, A2, gradient_bound=1.0, value_bound=1.0)
    double = np.array([0.1, 0.2, 0.3])
    problems.from_function(lambda agent, t, x: double @ x, BUDGET, A2, gradient_bound=1.0, value_bound=1.0)


def test_errors():
    problem = PROBLEMS["A2"]
    thin = simulate(problem, paper("A2", "full_information"), RING, key=0, record=Record(every=2))
    with pytest.raises(ValueError, match=r"37 rounds, and 19 were recorded. Run with record=Record\(every=1\)"):
        measure.share(problem, thin)
    with pytest.raises(ValueError, match="above 0 and at most 1; got 0"):
        measure.share(problem, constant([1, 0, 0, 0, 0], agents=N), last=0)
    for wrong in ("best", lambda horizon: None):
        with pytest.raises(ValueError, match=r"in finite numbers; got ('best'|None)"):
            posed(comparator=wrong).comparator(8, np.arange(2))
    with pytest.raises(ValueError, match=r"or 3 coordinates; got shape \(2,\)"):
        posed(comparator=[1.0, 0.0]).comparator(8, np.arange(2))
    below = problems.from_function(
        lambda agent, t, x: -1.0 - x.sum(), BUDGET, linearizations.Concave(), gradient_bound=2.0, value_bound=2.0
    )
    with pytest.raises(ValueError, match=r"a share of that means nothing\. Add a constant to f"):
        measure.share(below, constant([0, 0, 0]))


def test_a_last_quarter_in_which_the_best_point_earns_nothing_has_no_share(tmp_path):
    """Its shares would be of zero, or of a loss: refused, and left out of the rows of a sweep."""
    for late in (0.0, -1.0):
        problem = problems.from_function(
            lambda agent, t, x, late=late: jnp.where(jnp.asarray(t) < 6, 2.0, late) * (1 + x.sum()), BUDGET,
            linearizations.Concave(), gradient_bound=4.0, value_bound=4.0, comparator=[1.0, 0.0, 0.0],
        )  # fmt: skip
        with pytest.raises(ValueError, match=r"earns .* in the last rounds, and a share of that means nothing"):
            measure.summary(problem, constant([1, 0, 0]))
        with pytest.raises(ValueError, match="in the last rounds"):
            measure.share(problem, constant([1, 0, 0]), last=0.25)
        assert measure.share(problem, constant([1, 0, 0])).tolist() == pytest.approx([1, 1])
    (tmp_path / "mine.py").write_text(
        "import jax.numpy as jnp\nfrom droculo import linearizations, problems, sets\n"
        "f = lambda agent, t, x: jnp.where(jnp.asarray(t) < 12, 2.0, -1.0) * (1 + x.sum())\n"
        "problem = problems.from_function(f, sets.budget(3, 1.0), linearizations.Concave(), gradient_bound=4.0, value_bound=4.0, "
        "agents=2, comparator=[1.0, 0.0, 0.0])\n"
    )
    (tmp_path / "spec.toml").write_text('problems = "mine:problem"\nalgorithms = "dobga"\nhorizons = 16\n')
    (row,) = sweep(load(tmp_path / "spec.toml"), tmp_path / "out", processes=1).results.runs.to_pylist()
    assert row["best"] > 0
    assert {row[name] for name in SHARES} == {None}
