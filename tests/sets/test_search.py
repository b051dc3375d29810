"""The searches that see a set only through its oracle."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from droculo import sets
from droculo.sets import search
from droculo.sets.search import distance, distance_by, host_argmax, least_sup_norm, least_sup_norm_by

rng = np.random.default_rng(3)


@pytest.fixture(autouse=True)
def _same_numbers_in_any_order() -> None:
    """Every test draws from the start, whichever tests ran before it in this process."""
    rng.bit_generator.state = np.random.default_rng(3).bit_generator.state


def test_host_argmax_is_in_double_precision() -> None:
    point = host_argmax(sets.L2Ball(3, 1.0))(np.array([1.0, 1.0, 1.0]))
    assert point.dtype == np.float64
    np.testing.assert_allclose(point, 1 / np.sqrt(3), rtol=1e-15)


@pytest.mark.parametrize(
    "set_", [sets.Simplex(6), sets.fixed_budget(12, 3.5), sets.budget(5, 2.0), sets.Box([-1.0, 2.0], [1.0, 3.0])]
)
def test_least_sup_norm_is_exact_where_the_anchor_is_known(set_: sets.Set) -> None:
    found = least_sup_norm(set_)
    assert np.abs(found).max() == pytest.approx(np.abs(set_.anchor).max(), abs=1e-10)
    assert distance(set_, found, 1e-11) <= 1e-10


def test_least_sup_norm_of_a_polytope_agrees_with_a_linear_program() -> None:
    for _ in range(5):
        points = rng.standard_normal((15, 6)) + 1.0
        count = len(points)
        both = np.concatenate([points.T, -points.T])
        best = linprog(
            np.append(np.zeros(count), 1.0),
            A_ub=np.column_stack([both, -np.ones(12)]),
            b_ub=np.zeros(12),
            A_eq=np.append(np.ones(count), 0.0)[None],
            b_eq=[1.0],
        ).fun
        found = least_sup_norm_by(lambda c, p=points: p[np.argmax(p @ c)], 6, 10.0)
        assert np.abs(found).max() == pytest.approx(best, abs=1e-9)


def test_least_sup_norm_of_a_round_set() -> None:
    ball = sets.translated(sets.L2Ball(3, 1.0), [3.0, 3.0, 3.0])
    np.testing.assert_allclose(least_sup_norm(ball), 3 - 1 / np.sqrt(3), atol=1e-4)
    assert np.abs(least_sup_norm(ball)).max() == pytest.approx(3 - 1 / np.sqrt(3), abs=1e-7)


def test_least_sup_norm_gives_up_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MOST_VERTICES", 60)
    step = iter(range(10**6))
    with pytest.raises(RuntimeError, match="did not converge within 100 vertices"):
        # Not an oracle of any set: every answer is new and better than all before.
        least_sup_norm_by(lambda c: np.array([1.0, 2.0]) - 1e-3 * next(step), 2, 1.0, tolerance=-np.inf)


def test_distance_to_a_box_a_ball_and_a_simplex() -> None:
    for _ in range(10):
        x = 2 * rng.standard_normal(4)
        box = sets.Box(-np.ones(4), 0.5)
        assert distance(box, x) == pytest.approx(np.linalg.norm(x - np.clip(x, -1, 0.5)), abs=2e-9)
        assert distance(sets.L2Ball(4), x) == pytest.approx(max(np.linalg.norm(x) - 1, 0), abs=2e-9)
    assert distance(sets.Simplex(4), np.zeros(4)) == pytest.approx(0.5, abs=1e-9)


def test_distance_of_points_inside_is_zero_even_below_rounding() -> None:
    points = rng.standard_normal((30, 8))
    hull = sets.Hull(points, center=points.mean(axis=0), inner_radius=1e-3)
    for _ in range(20):
        x = rng.dirichlet(np.full(30, 0.2)) @ points
        assert distance(hull, x, 1e-12) <= 1e-12
        assert distance(hull, x, 0.0) <= 1e-13


def test_distance_stops_early_once_it_is_beyond() -> None:
    calls = []

    def oracle(c: np.ndarray) -> np.ndarray:
        calls.append(c)
        return c / np.linalg.norm(c)

    assert distance_by(oracle, np.array([5.0, 1.0, -2.0]), beyond=1e-3) > 4
    few = len(calls)
    assert distance_by(oracle, np.array([5.0, 1.0, -2.0])) == pytest.approx(np.sqrt(30) - 1, abs=1e-8)
    assert few < len(calls) - few


def test_distance_gives_up_in_a_sentence() -> None:
    drift = iter(range(10**6))
    with pytest.raises(RuntimeError, match="was not found within 1200 calls"):
        # Not an oracle of one set: it keeps finding points a little nearer to x than any before.
        distance_by(lambda c: np.array([1.0, 2.0 / (1 + next(drift))]) * 5, np.zeros(2), tolerance=0.0, beyond=np.inf)
