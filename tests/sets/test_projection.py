"""Projections find the nearest point, separation parts every point outside from the set, and errors say what to do."""

from __future__ import annotations

import functools
import pickle
from types import SimpleNamespace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import nnls

from droculo import sets
from droculo.precision import double
from droculo.sets import inequalities
from droculo.testing import check_set
from droculo.testing.points import all_inside, random_points

rng = np.random.default_rng(11)
groups = [0, 1, 0, 1, 1, 2, 2, 2]
members = (np.arange(3)[:, None] == np.array(groups)[None, :]).astype(float)
weights = np.append(rng.random(5) + 0.1, [0.0, 1e-4])
A = rng.uniform(size=(6, 9))
A_eq = rng.standard_normal((2, 7))
polytope = sets.Polytope(A, np.ones(6), 0.0, 1.0)
flat = sets.Polytope(rng.standard_normal((3, 7)), np.ones(3), -1.0, 2.0, A_eq=A_eq, b_eq=A_eq @ np.full(7, 0.2))

SETS: dict[str, sets.Set] = {
    "box": sets.Box([-1.0, 0.0, 2.0], [1.0, 3.0, 2.5]),
    "simplex": sets.Simplex(6),
    "budget": sets.budget(6, 2.5),
    "face": sets.fixed_budget(6, 2.5),
    "partition": sets.PartitionMatroid(groups, [1, 1.5, 2]),
    "bases": sets.PartitionMatroid(groups, [2, 1.5, 2], bases=True),  # the first group is full
    "knapsack": sets.Knapsack(weights, 0.8),
    "l1": sets.L1Ball(5, 2.0),
    "l2": sets.L2Ball(5, 2.0),
    "nuclear": sets.NuclearBall(3, 2, 1.5),
    "polytope": polytope,
    "flat polytope": flat,
    "image": sets.AffineImage(sets.fixed_budget(6, 2.5), 0.5, 40.0),
    "shrunk": sets.Shrunk(sets.budget(6, 2.5), 0.1),
    "product": sets.Product(sets.Simplex(3), polytope, sets.L2Ball(2)),
}
EVERY = pytest.mark.parametrize("name", SETS)

asked = eqx.filter_jit(lambda set_, points: (jax.vmap(set_.project)(points), jax.vmap(set_.separate)(points)))


@functools.cache
def sample(name: str) -> SimpleNamespace:
    """Points of the set z, others y near and far (NaN the last), and all answers about both, in double precision."""
    set_, rng = SETS[name], np.random.default_rng(3)
    with double():
        z = random_points(set_, 40, rng)
        middle = z.mean(axis=0)
        y = middle + float(set_.radius) * rng.standard_normal(z.shape) * rng.choice([0.1, 1.0, 30.0], (40, 1))
        y[-1, 0] = np.nan
        z[::2] = middle + 0.9 * (z[::2] - middle)
        of_y, of_z = (jax.tree.map(np.asarray, asked(set_, jnp.asarray(points))) for points in (y, z))
    return SimpleNamespace(set=set_, z=z, y=y[:-1], of_y=jax.tree.map(lambda a: a[:-1], of_y), of_z=of_z, of_nan=of_y)


@EVERY
def test_the_projection_is_the_nearest_point(name: str) -> None:
    """It is in K, and <y - p, z - p> <= 0 for every z of K: no other point is like this."""
    case = sample(name)
    p, size = case.of_y[0], float(case.set.radius)
    with double():
        assert all_inside(case.set, p, 1e-10 * size)
        again, _ = asked(case.set, jnp.asarray(np.vstack([p, p[:1]])))
    away = case.y - p
    angles = np.einsum("nd,nmd->nm", away, case.z[None] - p[:, None])
    assert np.all(angles <= 1e-9 * size * (1e-3 * size + np.linalg.norm(away, axis=1, keepdims=True)))
    assert np.linalg.norm(away, axis=1).max() > size  # some were far away
    np.testing.assert_allclose(again[:-1], p, rtol=0, atol=1e-11 * size)
    np.testing.assert_allclose(case.of_z[0], case.z, rtol=0, atol=1e-9 * size)  # their own projections


@EVERY
def test_separation(name: str) -> None:
    case = sample(name)
    cut, size = case.of_y[1], float(case.set.radius)
    with double():
        for points, told in ((case.y, cut), (case.z, case.of_z[1])):
            held = jax.vmap(lambda x: case.set.contains(x, case.set.rounding(x)))(jnp.asarray(points))
            np.testing.assert_array_equal(told.inside, held)
        assert np.all(case.of_z[1].inside[::2]), "points well inside, or level with the set, must be called inside"
        normals = np.vstack([cut.normal, cut.normal[:1]])
        reach = np.asarray(eqx.filter_jit(lambda s, c: jax.vmap(s.argmax)(c))(case.set, jnp.asarray(normals)))[:-1]
    assert not cut.normal[cut.inside].any()
    outside = ~cut.inside
    assert outside.sum() > 10
    for every in (case.z[None], reach[:, None]):
        gaps = np.einsum("nd,nmd->nm", cut.normal, case.y[:, None] - every)
        assert np.all(gaps[outside] > 1e-9 * size * np.linalg.norm(cut.normal[outside], axis=1)[:, None])


@EVERY
def test_nan_gives_nan(name: str) -> None:
    projected, cut = sample(name).of_nan
    assert np.isnan(projected[-1]).any()
    assert np.isnan(cut.normal[-1]).any()
    assert not cut.inside[-1]


@EVERY
def test_single_precision_is_kept(name: str) -> None:
    case = sample(name)
    single = jax.tree.map(
        lambda leaf: jnp.asarray(leaf, jnp.float32) if eqx.is_inexact_array_like(leaf) else leaf, case.set
    )
    y = np.vstack([case.y, case.y[:1]]).astype(np.float32)
    p, cut = asked(single, jnp.asarray(y))
    assert p.dtype == cut.normal.dtype == jnp.float32
    near = np.linalg.norm(y[:-1], axis=1, keepdims=True) + float(case.set.radius)
    assert np.all(np.abs(p[:-1] - case.of_y[0]) <= 3e-6 * near)
    far = np.linalg.norm(case.y - case.of_y[0], axis=1) > 1e-4 * near[:, 0]
    np.testing.assert_array_equal(cut.inside[:-1][far], False)
    assert all(asked(single, p)[1].inside)  # what was projected is inside, in the same precision


@pytest.mark.parametrize("name", ["budget", "bases", "knapsack", "nuclear", "product"])
def test_one_at_a_time_is_the_same_as_many_at_once(name: str) -> None:
    case = sample(name)
    alone = eqx.filter_jit(lambda set_, y: (set_.project(y), set_.separate(y)))
    with double():
        for i in range(4):
            p, cut = alone(case.set, jnp.asarray(case.y[i]))
            np.testing.assert_allclose(p, case.of_y[0][i], rtol=0, atol=1e-12 * case.set.radius)
            np.testing.assert_allclose(cut.normal, case.of_y[1].normal[i], rtol=0, atol=1e-12)
            assert bool(cut.inside) == case.of_y[1].inside[i]


def as_polytope(name: str) -> sets.Polytope:
    one, none = np.ones((1, 6)), np.zeros((0, 6))
    return {
        "simplex": lambda: sets.Polytope(none, [], 0.0, 1.0, A_eq=one, b_eq=[1.0]),
        "budget": lambda: sets.Polytope(one, [2.5], 0.0, 1.0),
        "face": lambda: sets.Polytope(none, [], 0.0, 1.0, A_eq=one, b_eq=[2.5]),
        "partition": lambda: sets.Polytope(members, [1, 1.5, 2], 0.0, 1.0),
        "bases": lambda: sets.Polytope(np.zeros((0, 8)), [], 0.0, 1.0, A_eq=members, b_eq=[2, 1.5, 2]),
        "knapsack": lambda: sets.Polytope(weights[None], [0.8], 0.0, 1.0),
    }[name]()


@pytest.mark.parametrize("name", ["simplex", "budget", "face", "partition", "bases", "knapsack"])
def test_the_quadratic_program_agrees_with_the_multiplier(name: str) -> None:
    case, same = sample(name), as_polytope(name)
    near = np.stack([same.program.nearest(y) for y in case.y])
    np.testing.assert_allclose(near, case.of_y[0], rtol=0, atol=1e-10)


def test_far_away_points_and_ties() -> None:
    budget = sets.fixed_budget(4, 2.0)
    with double():
        project = eqx.filter_jit(budget.project)
        np.testing.assert_allclose(project(jnp.full(4, 1e9)), 0.5, atol=1e-12)
        np.testing.assert_allclose(project(jnp.array([1e9, 1e9, 1e9, 0.0])), [2 / 3, 2 / 3, 2 / 3, 0], atol=1e-12)
        np.testing.assert_allclose(project(jnp.array([1e9, 5.0, 4.75, -1e9])), [1, 0.625, 0.375, 0], atol=1e-6)
        np.testing.assert_array_equal(project(jnp.array([1.0, 1.0, 0.0, 0.0])), [1, 1, 0, 0])


@pytest.mark.parametrize("dim", [20, 60])
def test_the_quadratic_program_meets_its_optimality_conditions(dim: int) -> None:
    """y - p is a combination, with weights >= 0, of the normals of the constraints that hold with equality at p."""
    rng = np.random.default_rng(dim)
    rows, level = rng.uniform(size=(dim // 2, dim)), rng.standard_normal((3, dim))
    rows = np.vstack([rows, 2 * rows[:1]])  # the same constraint twice, and an equality twice
    level = np.vstack([level, level[:1]])
    limits, heights = rows.sum(axis=1) * 0.05, level @ np.full(dim, 0.03)
    set_ = sets.Polytope(rows, limits, 0.0, 1.0, A_eq=level, b_eq=heights)
    for y in rng.normal(0.1, 1.0, (20, dim)) * rng.choice([0.05, 1.0, 20.0], (20, 1)):
        p = set_.program.nearest(y)
        assert max((rows @ p - limits).max(), abs(level @ p - heights).max(), -p.min(), p.max() - 1) <= 1e-10
        eye = np.eye(dim)
        normals = np.vstack([rows[rows @ p > limits - 1e-9], eye[p > 1 - 1e-9], -eye[p < 1e-9], level, -level])
        assert nnls(normals.T, y - p)[1] <= 1e-8 * max(1, np.linalg.norm(y))


def test_the_quadratic_program_depends_on_y_alone() -> None:
    y = np.random.default_rng(0).normal(0.2, 1.0, (30, 9))
    first = [polytope.program.nearest(point) for point in y]
    for twin in (polytope, pickle.loads(pickle.dumps(polytope))):
        back = [twin.program.nearest(point) for point in y[::-1]][::-1]
        np.testing.assert_array_equal(first, back)
    with double():
        np.testing.assert_array_equal(asked(polytope, jnp.asarray(y))[0], first)


def test_a_polytope_of_any_size() -> None:
    """The solver's tolerances follow the set's size, not the bounds', and reach a y that is far away."""
    unit = polytope.program.nearest(np.full(9, 0.7))
    for scale in (1e-5, 1e5):
        other = sets.Polytope(A, np.full(6, scale), 0.0, 1e3 * scale)
        np.testing.assert_allclose(other.program.nearest(np.full(9, 0.7 * scale)) / scale, unit, rtol=0, atol=1e-10)
    away = polytope.program.nearest(1e7 * np.arange(1.0, 10.0))
    assert np.all(A @ away <= 1 + 1e-6)
    assert np.arange(1, 10) @ away >= np.arange(1, 10) @ polytope.host.argmax(np.arange(1.0, 10.0)) - 1e-6


def test_a_looser_tolerance_is_tried_and_then_an_error_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def solve(*_, primal_tol, dual_tol):
        tried.append(primal_tol)
        return np.full(9, 1.0), 0.0, 1 if primal_tol > least else -1, {}

    monkeypatch.setattr(inequalities.QuadraticProgram, "require", lambda _: SimpleNamespace(solve=solve))
    program, least = pickle.loads(pickle.dumps(polytope.program)), 1e-10
    assert program.nearest(np.zeros(9)).tolist() == [1.0] * 9
    assert tried == [1e-11, 1e-9]
    least = 1.0
    with pytest.raises(RuntimeError, match="Check the scaling of A, b and the bounds"):
        program.nearest(np.zeros(9))


def test_sets_without_a_projection_say_so() -> None:
    hull = sets.Hull(np.eye(3))
    for set_ in (hull, sets.Birkhoff(2), sets.scaled(hull, 2.0), sets.Shrunk(hull, 0.1), sets.Product(hull, hull)):
        for ask in (set_.project, set_.separate):
            with pytest.raises(ValueError, match=r"no known projection\. Use a projection-free method such as Droculo"):
                ask(jnp.zeros(set_.dim))


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(inequalities, "import_module", missing)
    with pytest.raises(ImportError, match=r'pip install "droculo\[qp\]"'):
        eqx.filter_jit(polytope.project)(jnp.zeros(9))
    assert not polytope.separate(jnp.full(9, 2.0)).inside  # this one needs no solver
    check_set(polytope, samples=4)  # what is not installed is passed over


class OnlyProjects(sets.Box):
    separate = sets.Set.separate


class TooFar(sets.Box):
    def project(self, y):
        return jnp.where(jnp.all((y >= self.lower) & (y <= self.upper)), y, (super().project(y) + self.lower) / 2)


class Inwards(sets.Box):
    def separate(self, x):
        return sets.contract.Cut(super().separate(x).inside, -super().separate(x).normal)


class Everywhere(sets.Box):
    def separate(self, x):
        return sets.contract.Cut(jnp.all(jnp.isfinite(x)), jnp.where(jnp.isfinite(x), 0, jnp.nan))


def test_check_set_sees_wrong_projections_and_wrong_cuts() -> None:
    corner = np.zeros(2)
    check_set(OnlyProjects(corner, 1.0), samples=8)
    with pytest.raises(AssertionError, match="project does not find the nearest point"):
        check_set(TooFar(corner, 1.0), samples=8)
    with pytest.raises(AssertionError, match="the normal does not separate a point from the set"):
        check_set(Inwards(corner, 1.0), samples=8)
    with pytest.raises(AssertionError, match="reports a point as inside, but"):
        check_set(Everywhere(corner, 1.0), samples=8)
