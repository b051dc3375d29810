"""Rounding: always a set of the matroid, and never a worse one."""

import numpy as np
import pytest

from droculo import sets
from droculo.problems.multilinear import MultilinearExtension
from droculo.problems.rounding import pipage, randomized_pipage

GROUPS = np.array([0, 0, 0, 1, 1, 2, 2])
DIM = len(GROUPS)
MATROIDS = {
    "budget": sets.budget(DIM, 3),
    "roomy budget": sets.budget(DIM, 9),
    "face": sets.fixed_budget(DIM, 3),
    "partition": sets.PartitionMatroid(GROUPS, [1, 2, 1]),
    "bases": sets.PartitionMatroid(GROUPS, [2, 1, 1], bases=True),
}


def random_function(rng):
    """Coverage, facility location (both monotone), or a directed cut."""
    kind = rng.integers(3)
    worth, arcs = rng.uniform(size=(9, DIM)) ** 3, rng.uniform(size=(DIM, DIM)) ** 3
    covers, weights = rng.uniform(size=(9, DIM)) < 0.4, rng.uniform(size=9)
    functions = [
        lambda s: weights @ covers[:, s].any(axis=1),
        lambda s: worth[:, s].max(axis=1, initial=0).sum(),
        lambda s: arcs[s][:, ~s].sum(),
    ]
    return MultilinearExtension(functions[kind], DIM)


def random_point(matroid, rng):
    """A random mixture of random sets of the matroid."""
    point = np.zeros(DIM)
    for share in rng.dirichlet(np.ones(4)):
        for group, capacity in enumerate(matroid.capacities):
            members = rng.permutation(np.flatnonzero(matroid.groups == group))
            number = capacity if matroid.bases else rng.integers(min(capacity, len(members)) + 1)
            point[members[: int(number)]] += share
    return np.minimum(point, 1)


def in_matroid(matroid, masks):
    counts = np.atleast_2d(masks) @ np.eye(len(matroid.capacities))[matroid.groups]
    return np.all(counts == matroid.capacities if matroid.bases else counts <= matroid.capacities)


@pytest.mark.parametrize("name", MATROIDS)
def test_pipage_never_loses(name):
    rng = np.random.default_rng(0)
    matroid = MATROIDS[name]
    for _ in range(40):
        extension, x = random_function(rng), random_point(matroid, rng)
        asked = []
        chosen = pipage(lambda point, F=extension, asked=asked: asked.append(0) or F(point), matroid, x)
        assert chosen.dtype == bool
        assert in_matroid(matroid, chosen)
        assert extension.of(chosen) >= extension(x) - 1e-9
        assert len(asked) <= 2 * DIM


@pytest.mark.parametrize("name", MATROIDS)
def test_random_rounding_keeps_the_mean_and_does_not_lose_on_average(name):
    rng = np.random.default_rng(1)
    matroid, draws = MATROIDS[name], 4000
    for seed in range(5):
        x = random_point(matroid, rng)
        drawn = randomized_pipage(matroid, x, seed=seed, draws=draws)
        assert drawn.shape == (draws, DIM)
        assert in_matroid(matroid, drawn)
        assert np.all(np.abs(drawn.mean(axis=0) - x) <= 4.5 * np.sqrt(x * (1 - x) / draws) + 1e-12)
        for _ in range(4):
            extension = random_function(rng)
            values = extension.table[drawn @ (1 << np.arange(DIM)[::-1])]
            assert values.mean() >= extension(x) - 4 * values.std() / np.sqrt(draws) - 1e-12


def test_thousands_of_draws_are_independent():
    drawn = randomized_pipage(MATROIDS["face"], np.full(DIM, 3 / 7), seed=0, draws=20_000)
    pairs = drawn[:-1, 0] & drawn[1:, 0]
    assert pairs.mean() == pytest.approx((3 / 7) ** 2, abs=0.015)


def test_one_draw_is_one_mask():
    one = randomized_pipage(MATROIDS["bases"], MATROIDS["bases"].center, seed=3)
    assert one.shape == (DIM,)
    np.testing.assert_array_equal(one, randomized_pipage(MATROIDS["bases"], MATROIDS["bases"].center, seed=3))


@pytest.mark.parametrize("name", ["partition", "bases"])
def test_a_set_stays_what_it_is(name):
    whole = np.array([1, 0, 0, 1, 0, 0, 1]) if name == "partition" else np.array([1, 0, 1, 1, 0, 0, 1])
    extension = random_function(np.random.default_rng(0))
    np.testing.assert_array_equal(pipage(extension, MATROIDS[name], whole), whole == 1)
    np.testing.assert_array_equal(
        randomized_pipage(MATROIDS[name], whole, seed=0, draws=9), np.tile(whole == 1, (9, 1))
    )


@pytest.mark.parametrize("name", MATROIDS)
def test_a_point_that_is_off_by_rounding_errors(name):
    rng = np.random.default_rng(2)
    matroid = MATROIDS[name]
    for _ in range(40):
        extension, x = random_function(rng), random_point(matroid, rng) + rng.uniform(-1e-7, 1e-7, DIM)
        assert in_matroid(matroid, pipage(extension, matroid, x))
        assert in_matroid(matroid, randomized_pipage(matroid, x, seed=0, draws=50))


@pytest.mark.parametrize(
    "who", [lambda *given: pipage(np.sum, *given), lambda *given: randomized_pipage(*given, seed=0)]
)
@pytest.mark.parametrize(
    ("domain", "x", "message"),
    [
        (sets.Knapsack(np.ones(3), 2.0), np.zeros(3), "pipage works in budgets and partition matroids; got Knapsack"),
        (sets.budget(3, 1.5), np.zeros(3), r"needs whole capacities.*got \[1.5\]"),
        (sets.budget(3, 1), np.zeros(2), r"the set's 3 coordinates; got shape \(2,\)"),
        (sets.budget(3, 1), [0.0, 1.5, -0.5], "unit box; its entries reach from -0.5 to 1.5"),
        (sets.budget(3, 1), [0.0, np.nan, 0.5], "unit box"),
        (sets.budget(3, 1), [0.5, 0.5, 0.5], "group 0 sums to 1.5, and the set asks for at most 1"),
        (
            sets.PartitionMatroid([0, 0, 1, 1], [1, 1], bases=True),
            [0.5, 0.5, 0.2, 0.2],
            "group 1 sums to 0.4, and the set asks for exactly 1",
        ),
    ],
)
def test_errors(who, domain, x, message):
    with pytest.raises(ValueError, match=message):
        who(domain, x)


def test_draws_are_counted():
    with pytest.raises(ValueError, match="whole number of at least 1, or None for a single mask; got 0"):
        randomized_pipage(sets.budget(3, 1), np.zeros(3), seed=0, draws=0)
