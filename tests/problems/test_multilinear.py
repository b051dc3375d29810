"""Multilinear extensions: exact ones, sampled ones, and the problem made of them."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from droculo import sets
from droculo.precision import double
from droculo.problems import Constant, MultilinearExtension, PeriodicWeights, SetFunctions
from droculo.problems.multilinear import all_masks
from droculo.testing import check_problem

WORTH = np.random.default_rng(0).uniform(size=(7, 5))
GROUPS = [0, 0, 0, 1, 1]


def facilities(chosen):
    return WORTH[:, chosen].max(axis=1, initial=0).sum()


def leaving(chosen):
    return WORTH[:5][chosen][:, ~chosen].sum()


def by_definition(function, x):
    total = 0.0
    for bits in itertools.product([False, True], repeat=len(x)):
        mask = np.array(bits)
        total += function(mask) * np.prod(np.where(mask, x, 1 - x))
    return total


def test_it_is_the_mean_over_random_sets():
    extension = MultilinearExtension(facilities, 5)
    points = np.random.default_rng(1).uniform(size=(6, 5))
    expected = [by_definition(facilities, x) for x in points]
    np.testing.assert_allclose([extension(x) for x in points], expected, rtol=1e-12)
    with double():
        batch = jax.jit(jax.vmap(extension))(jnp.asarray(points))
        np.testing.assert_allclose(batch, expected, rtol=1e-12)
        np.testing.assert_allclose(eqx.filter_jit(extension)(jnp.asarray(points[0])), expected[0], rtol=1e-12)


def test_the_gradient_is_the_mean_marginal_at_whole_points_too():
    extension = MultilinearExtension(leaving, 5)
    points = np.vstack([np.random.default_rng(1).uniform(size=(3, 5)), [[0, 1, 0, 1, 1]], np.zeros((1, 5))])
    slopes = np.array([extension.gradient(x) for x in points])
    for i, unit in enumerate(np.eye(5)):
        with_i, without = np.where(unit, 1.0, points), np.where(unit, 0.0, points)
        marginals = [
            by_definition(leaving, a) - by_definition(leaving, b) for a, b in zip(with_i, without, strict=True)
        ]
        np.testing.assert_allclose(slopes[:, i], marginals, atol=1e-12)
    with double():
        np.testing.assert_allclose(jax.jit(jax.vmap(jax.grad(extension)))(jnp.asarray(points)), slopes, atol=1e-12)
        np.testing.assert_allclose(eqx.filter_jit(extension.gradient)(jnp.asarray(points[0])), slopes[0], atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_at_sets_it_is_the_set_function(n):
    values = np.random.default_rng(n).uniform(size=2**n)
    extension = MultilinearExtension.from_table(values)
    assert extension.n == n
    for mask, value in zip(all_masks(n), values, strict=True):
        assert extension.of(mask) == value == extension(mask.astype(float))


def test_sixteen_members():
    extension = MultilinearExtension(lambda chosen: float(chosen.any()), 16)
    x = np.linspace(0.0, 0.3, 16)
    assert extension(x) == pytest.approx(1 - np.prod(1 - x), rel=1e-12)


def test_a_function_may_spoil_its_mask():
    def spoiling(chosen):
        number = chosen.sum()
        chosen[:] = False
        return number

    np.testing.assert_array_equal(MultilinearExtension(spoiling, 2).table, [0, 1, 1, 2])
    rough = MultilinearExtension.sampled(spoiling, 2, samples=5, bound=2.0)
    np.testing.assert_array_equal(rough.estimate_gradient([0.5, 0.5], seed=0).value, [1, 1])


def test_samples_are_as_good_as_they_say():
    x = np.array([0.3, 0.9, 0.5, 0.0, 1.0])
    exact = MultilinearExtension(leaving, 5)
    bound = exact.table.max()
    rough = MultilinearExtension.sampled(leaving, 5, samples=40, bound=bound, confidence=0.9)
    values = [rough.estimate(x, seed=seed) for seed in range(300)]
    off = np.array([value - exact(x) for value, _ in values])
    assert values[0].error == pytest.approx(bound * np.sqrt(np.log(2 / 0.1) / 80))
    assert np.mean(np.abs(off) > values[0].error) <= 0.1
    assert abs(off.mean()) <= 4 * off.std() / np.sqrt(300)
    slopes = [rough.estimate_gradient(x, seed=seed) for seed in range(100)]
    off = np.array([slope - exact.gradient(x) for slope, _ in slopes])
    assert slopes[0].error == pytest.approx(2 * bound * np.sqrt(np.log(2 * 5 / 0.1) / 80))
    assert np.mean(np.abs(off).max(axis=1) > slopes[0].error) <= 0.1
    assert np.all(np.abs(off.mean(axis=0)) <= 4 * off.std(axis=0) / 10)


def test_the_same_seed_gives_the_same_estimate():
    rough = MultilinearExtension.sampled(lambda s: s.sum() - 3.0, 6, samples=20, bound=3.0, signed=True)
    assert rough.estimate([0.5] * 6, seed=1) == rough.estimate([0.5] * 6, seed=1)
    assert rough.estimate([0.5] * 6, seed=1) != rough.estimate([0.5] * 6, seed=2)


def pose(domain, *functions, **options):
    weights = PeriodicWeights.random(3, len(functions), low=0.2, high=1.0, swing=1.0, seed=0)
    return SetFunctions(weights, functions, domain, **options)


PROBLEMS = {
    "A1": pose(sets.PartitionMatroid(GROUPS, [2, 1], bases=True), facilities, lambda s: float(s.any())),
    "A2": SetFunctions.random(agents=3, dim=5, budget=2, seed=0),
    "A3": SetFunctions.random(agents=3, dim=5, budget=2, seed=0, monotone=False, face=True),
    "A4": pose(sets.PartitionMatroid(GROUPS, [2, 1]), facilities, leaving),
}


@pytest.mark.parametrize("case", PROBLEMS)
def test_contract(case):
    assert PROBLEMS[case].linearization.case == case
    check_problem(PROBLEMS[case], horizon=20, samples=30)


@pytest.mark.parametrize(("case", "number"), [("A1", 3 * 2), ("A2", 1 + 5 + 10), ("A3", 10), ("A4", 7 * 3)])
def test_the_best_set_is_the_best_of_all_in_the_matroid(case, number):
    problem = PROBLEMS[case]
    assert len(problem.feasible) == number
    best = problem.comparator(20, np.arange(3))
    mean = problem.mean(20, np.arange(3))
    fits = [mask for mask in all_masks(5) if bool(problem.set.contains(jnp.asarray(mask, float)))]
    assert len(fits) == number
    assert best.total / 20 == pytest.approx(max(mean.of(mask) for mask in fits))


def test_bounds_hold_on_the_whole_box_and_are_not_idle():
    problem = SetFunctions(Constant([[2.0], [3.0]]), [leaving], sets.budget(5, 2))
    between = WORTH[:5] + WORTH[:5].T
    np.fill_diagonal(between, 0)  # both arcs: the second differences of a cut, whatever the set
    assert problem.bounds.smoothness == pytest.approx(3 * np.linalg.norm(between, 2))
    extension = MultilinearExtension(leaving, 5)
    largest = 3 * max(np.linalg.norm(extension.gradient(mask)) for mask in all_masks(5))
    assert largest <= problem.bounds.gradient <= 1.5 * largest
    assert problem.bounds.value == pytest.approx(3 * extension.table.max())


def test_monotone_is_read_off_and_may_be_forgone():
    assert pose(sets.budget(5, 2), facilities).linearization.case == "A2"
    assert pose(sets.budget(5, 2), facilities, monotone=True).linearization.case == "A2"
    assert pose(sets.budget(5, 2), facilities, monotone=False).linearization.case == "A4"
    assert pose(sets.fixed_budget(5, 2), facilities, leaving).linearization.case == "A3"


small = MultilinearExtension.from_table([0.0, 1.0, 1.0, 1.5])
rough = MultilinearExtension.sampled(lambda s: 5.0 - s.sum(), 3, samples=10, bound=3.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MultilinearExtension(facilities, 17), "needs 1 to 16 members; got 17"),
        (lambda: MultilinearExtension(facilities, 0), "needs 1 to 16 members; got 0"),
        (lambda: MultilinearExtension(lambda s: np.nan, 2), r"one finite number; f\({}\) is"),
        (lambda: MultilinearExtension(lambda s: s, 2), r"one finite number; f\({}\) is"),
        (lambda: MultilinearExtension.from_table([1.0, 2.0, 3.0]), r"all 2\^n subsets, n at least 1; got shape \(3,\)"),
        (lambda: small([0.5]), r"vector with 2 coordinates; got shape \(1,\)"),
        (lambda: small.gradient([0.5] * 3), r"vector with 2 coordinates; got shape \(3,\)"),
        (lambda: small.of([0.5, 0.5]), r"a boolean mask of 2; got float64 of shape \(2,\)"),
        (lambda: rough.estimate([0.5, 0.5], seed=0), "a vector of 3 probabilities"),
        (lambda: rough.estimate([0.5, 0.5, 1.5], seed=0), "a vector of 3 probabilities"),
        (lambda: rough.estimate([0.0, 0.0, 0.0], seed=0), r"range of f is 0 to 3, and f\({}\) is 5"),
        (lambda: MultilinearExtension.sampled(leaving, 5, samples=0, bound=1.0), "whole samples of at least 1; got 0"),
        (lambda: MultilinearExtension.sampled(leaving, 5, samples=9, bound=-1.0), "a positive bound"),
        (lambda: MultilinearExtension.sampled(leaving, 5, samples=9, bound=1.0, confidence=1.0), "got 1.0 and 1.0"),
        (
            lambda: pose(sets.budget(3, 1), lambda s: float(s[0] and s[2])),
            r"function 0 is not submodular: adding 2 to \{\} gains 0, and to the larger \{0\} it gains 1",
        ),
        (
            lambda: pose(sets.budget(3, 1), lambda s: 3.0, lambda s: s.sum() - 2.0 * s[1]),
            r"function 1 must be non-negative; f\(\{1\}\) is -1",
        ),
        (lambda: pose(sets.budget(5, 2), leaving, monotone=True), "function 0 is declared monotone, and falls"),
        (lambda: pose(sets.budget(3, 2), small), r"set has 3 coordinates; got set functions of \[2\]"),
        (lambda: pose(sets.budget(5, 1.5), leaving), r"needs whole capacities.*got \[1.5\]"),
        (lambda: pose(sets.Simplex(5), leaving), "budgets and partition matroids; got Simplex"),
        (lambda: pose(sets.budget(20, 2), leaving), "needs 1 to 16 members; got 20"),
        (lambda: SetFunctions(Constant([[1.0]]), [leaving, leaving], sets.budget(5, 2)), "got 1 and 2"),
        (lambda: SetFunctions(Constant([[-1.0]]), [leaving], sets.budget(5, 2)), "must be non-negative; got -1"),
    ],
)
def test_errors(make, message):
    with pytest.raises(ValueError, match=message):
        make()
