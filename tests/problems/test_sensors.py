"""Sensor placement: both criteria are what they say, of the class they say, with the best point they say."""

from pathlib import Path
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from droculo.precision import double
from droculo.problems import Constant, PeriodicWeights
from droculo.problems.applications.sensors import (
    LogDetSensors,
    MutualInformation,
    principal_log_dets,
    random_fields,
)
from droculo.problems.multilinear import all_masks
from droculo.testing import check_problem

NOISE = 0.5
POSITIONS, COVARIANCES = random_fields(3, 6, seed=0)
GAIN = LogDetSensors.random(agents=3, sites=6, budget=2, seed=0, noise=NOISE)


def once(covariance, kind, **options):
    """One agent, one weather, weight 1: the criterion itself."""
    return kind(Constant([[1.0]]), [[covariance]], 3, noise=NOISE, **options)


def log_det(matrix):
    return np.linalg.slogdet(matrix)[1]


@pytest.mark.parametrize(
    ("problem", "case"),
    [
        (GAIN, "A2"),
        (LogDetSensors.random(agents=3, sites=6, budget=2.5, seed=0, concave=True), "concave"),
        (MutualInformation.random(agents=3, sites=6, budget=3, seed=0), "A4"),
        (MutualInformation.random(agents=3, sites=6, budget=3, seed=1, face=True), "A3"),
    ],
    ids=["gain", "gain, as a concave function", "mutual information", "mutual information on a face"],
)
def test_contract(problem, case):
    assert problem.linearization.case == case
    check_problem(problem, horizon=20, samples=30)


def test_principal_minors():
    matrices = COVARIANCES[0] + 0.1 * np.eye(6)
    found = principal_log_dets(matrices)
    for row, mask in zip(found.T, all_masks(6), strict=True):
        np.testing.assert_allclose(row, [log_det(m[mask][:, mask]) for m in matrices], atol=1e-9)


def test_the_gain_is_that_of_sensors_that_are_on_for_a_part_of_the_day():
    covariance = COVARIANCES[0, 1]
    problem = once(covariance, LogDetSensors)
    x = np.array([1.0, 0.5, 0.25, 0.0, 0.0, 1.0])
    on = x > 0
    variances = NOISE**2 / x[on]
    expected = log_det(covariance[on][:, on] + np.diag(variances)) / 2 - np.log(variances).sum() / 2
    with double():
        assert float(problem.value(jnp.array(0), jnp.array(7), jnp.asarray(x))) == pytest.approx(expected, rel=1e-10)


def test_its_second_derivatives_are_as_printed_and_within_the_bound():
    problem = once(COVARIANCES[0, 0], LogDetSensors)
    B = problem.factors[0, 0]
    x = np.random.default_rng(0).uniform(size=6)
    with double():
        bends = jax.jit(jax.hessian(lambda x: problem.value(jnp.array(0), jnp.array(0), x)))
        found, at_zero = np.asarray(bends(jnp.asarray(x))), np.asarray(bends(jnp.zeros(6)))
    np.testing.assert_allclose(found, -((B @ np.linalg.inv(np.eye(6) + (B.T * x) @ B) @ B.T) ** 2) / 2, atol=1e-10)
    assert np.linalg.norm(found, 2) <= problem.bounds.smoothness
    assert np.linalg.norm(at_zero, 2) == pytest.approx(problem.bounds.smoothness)  # which is where it is attained


def test_the_softmax_extension_needs_large_eigenvalues_to_be_monotone():
    """log det(I + diag(x)(L - I)): second derivatives are never positive, slopes are never negative only for L >= I."""
    rng = np.random.default_rng(0)
    factor = rng.standard_normal((4, 4))
    for least in (0.0, 1.0):
        gap = factor @ factor.T / 8 + (least - 1) * np.eye(4)  # L - I
        for x in rng.uniform(size=(20, 4)):
            P = gap @ np.linalg.inv(np.eye(4) + x[:, None] * gap)  # slopes: the diagonal; bends: -P o P'
            assert np.all(-P * P.T <= 1e-12)
            assert least < 1 or np.all(np.diagonal(P) >= 0)
    assert np.any(np.diagonal(factor @ factor.T / 8 - np.eye(4)) < 0)


def test_mutual_information_is_that_between_chosen_and_other_sites():
    covariance = COVARIANCES[1, 2]
    table = once(covariance, MutualInformation).tables[0]
    K = covariance + NOISE**2 * np.eye(6)
    direct = [log_det(K[m][:, m]) + log_det(K[~m][:, ~m]) - log_det(K) for m in all_masks(6)]
    np.testing.assert_allclose(table, np.array(direct) / 2, atol=1e-10)
    assert table[0] == table[-1] == pytest.approx(0, abs=1e-12)
    assert table[1:-1].min() > 0


def test_the_mean_agrees_at_sets_and_lies_below_in_between():
    everyone = np.arange(3)
    mean = GAIN.mean(5, everyone)

    @jax.jit
    def averaged(x):
        each = jax.vmap(jax.vmap(GAIN.value, (0, None, None)), (None, 0, None))
        return jnp.mean(each(jnp.arange(3), jnp.arange(5), x))

    with double():
        for mask in all_masks(6)[::9]:
            assert mean.of(mask) == pytest.approx(float(averaged(jnp.asarray(mask, float))), abs=1e-10)
        for x in np.random.default_rng(0).uniform(size=(10, 6)):
            assert mean(x) < float(averaged(jnp.asarray(x)))


@pytest.mark.parametrize("nodes", [[0, 1, 2], [2, 2, 0, 2]])
def test_the_best_shares_are_certified(nodes):
    short, long = GAIN.comparators([3, 40], np.array(nodes))
    assert short.total < long.total
    for best, horizon in ((short, 3), (long, 40)):
        assert best.kind == "certified"
        assert 0 <= best.gap <= 1e-6 * best.total
        assert best.point.sum() <= 2 + 1e-9
        assert best.total + best.gap >= GAIN.mean(horizon, np.array(nodes)).table[all_masks(6).sum(axis=1) <= 2].max()
    with double():
        each = jax.jit(jax.vmap(jax.vmap(GAIN.value, (0, None, None)), (None, 0, None)))
        earned = each(jnp.array([*nodes, 0][:4]), jnp.arange(3), jnp.asarray(short.point))[:, : len(nodes)]
    assert short.total == pytest.approx(np.asarray(earned).mean(axis=1).sum())


def test_the_stories_draw_what_was_learned():
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    from droculo.experiments.cell import build
    from droculo.gallery.sensors import MUTUAL, STORY

    for story in (STORY, MUTUAL):
        problem, network, _ = build(story.cell, Path())
        ax = Figure().subplots()
        run = SimpleNamespace(horizon=10, agents=np.arange(8), decisions=np.tile(problem.set.center, (1, 8, 1)))
        story.draw(ax, problem, run)
        assert ax.get_xlabel()
        assert ax.get_ylabel()
        assert "sensors" in ax.get_title()
        assert network.n_agents == problem.agents == 8


WEIGHTS = PeriodicWeights.random(3, 3, low=0.1, high=0.5, swing=1.0, seed=0)


@pytest.mark.parametrize("kind", [LogDetSensors, MutualInformation])
@pytest.mark.parametrize(
    ("weights", "covariances", "options", "message"),
    [
        (
            WEIGHTS,
            COVARIANCES[:2],
            {},
            r"shape \(agents, weathers, sites, sites\), and \(3, 3\) weights .* \(2, 3, 6, 6\)",
        ),
        (WEIGHTS, COVARIANCES + np.triu(np.ones((6, 6)), 1), {}, "finite and symmetric"),
        (WEIGHTS, COVARIANCES - np.eye(6), {}, "no negative eigenvalues; one of these has -"),
        (Constant(-np.ones((3, 3))), COVARIANCES, {}, "weights must be non-negative; got -1"),
        (WEIGHTS, COVARIANCES, {"noise": 0.0}, "positive standard deviation; got 0"),
        (WEIGHTS, COVARIANCES, {"positions": np.zeros((4, 2))}, r"6 points of the plane; got shape \(4, 2\)"),
    ],
)
def test_errors(kind, weights, covariances, options, message):
    with pytest.raises(ValueError, match=message):
        kind(weights, covariances, 2, **({"noise": NOISE} | options))


def test_tables_have_their_limits():
    with pytest.raises(ValueError, match="at most 16 sites; got 17"):
        MutualInformation.random(agents=1, sites=17, budget=2, seed=0)
    with pytest.raises(ValueError, match="at most 16 sites; got 17"):
        LogDetSensors.random(agents=1, sites=17, budget=2, seed=0).mean(10, np.arange(1))
