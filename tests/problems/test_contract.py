"""Every problem is what it declares."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from droculo import linearizations, problems, sets
from droculo.testing import check_problem

PROBLEMS = {
    "top-b on a budget (A2)": problems.TopB.random(agents=4, dim=7, budget=3, seed=0),
    "top-b on a face (A1)": problems.TopB.random(agents=4, dim=7, budget=3, seed=1, face=True),
    "top-b, fixed weights": problems.TopB.random(agents=2, dim=5, budget=2, seed=2, swing=0.0),
    "cut (A3)": problems.PlantedCut.random(agents=3, left=3, right=4, seed=0),
    "cut, down-closed (A4)": problems.PlantedCut.random(agents=3, left=3, right=4, seed=0, down_closed=True),
    "Davis cut (A3)": problems.PlantedCut.davis(agents=2),
    "coverage on a budget (A2)": problems.Coverage.random(agents=3, dim=6, budget=2, elements=8, seed=0),
    "coverage on a face (A1)": problems.Coverage.random(agents=3, dim=6, budget=2, elements=8, seed=1, face=True),
    "gamma < 1 on a budget (A2)": problems.WeakQuadratic.random(agents=3, dim=6, budget=2, seed=0),
    "gamma < 1 on a face (A1)": problems.WeakQuadratic.random(agents=3, dim=6, budget=2, seed=1, slope=0.4, face=True),
    **{
        f"trap ({case})": problems.WorstCase.random(case, agents=3, pairs=3, seed=0)
        for case in ("A1", "A2", "A3", "A4")
    },
    "trap (A1, curvature 0.3)": problems.WorstCase.random("A1", agents=3, pairs=3, seed=0, curvature=0.3),
    **{f"spike ({case})": problems.Spike.random(case, agents=3, pairs=3, seed=0) for case in ("A3", "A4")},
    "pushed into a spike": problems.Spike.pushed("A4", agents=3, pairs=2, seed=0, rounds=9),
    "noisy": problems.Noisy(problems.TopB.random(agents=4, dim=7, budget=3, seed=0), gradient=1.0, value=1.0),
    "delayed": problems.Shifted(problems.TopB.random(agents=4, dim=7, budget=3, seed=0), 9),
    "set functions (A2)": problems.SetFunctions.random(agents=3, dim=5, budget=2, seed=0),
    "set functions (A4)": problems.SetFunctions.random(agents=3, dim=5, budget=2, seed=0, monotone=False),
    "tie lines": problems.TieLines(),
    "reconfiguration": problems.Reconfiguration(),
    "recommendation": problems.Recommendation.synthetic(agents=3, items=6, users=12, budget=2, batch=3, seed=1),
    "pricing": problems.Pricing.random(stores=3, products=8, seed=0),
    "inventory": problems.Inventory.random(agents=3, products=5, supplies=4, seed=0),
    "mean field": problems.MeanField.synthetic(agents=3, items=5),
    "revenue": problems.Revenue.karate(agents=3, budget=2),
    "influence": problems.Influence.davis(agents=3),
    "log det sensors": problems.LogDetSensors.random(agents=3, sites=6, budget=2, seed=0),
    "mutual information": problems.MutualInformation.random(agents=3, sites=6, budget=3, seed=0),
    "NQP": problems.NQP.random(agents=3, dim=8, constraints=5, seed=0),
    "water-filling (concave)": problems.WaterFilling.random(agents=3, dim=6, budget=2.5, seed=0),
    "a function of one's own": problems.from_function(
        lambda agent, t, x: jnp.log1p((1 + agent) * x).sum() * (1 + jnp.cos(t) / 2),
        sets.budget(4, 2.0),
        linearizations.MonotoneOrigin(),
        gradient_bound=10.0,
        value_bound=10.0,
    ),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_contract(name):
    check_problem(PROBLEMS[name])


def test_the_davis_cut_is_the_known_one():
    problem = problems.PlantedCut.davis(agents=2)
    assert problem.set.dim == 32
    assert problem.ends.shape == (89, 2)
    assert problem.planted.sum() == 14
    unit = problem.reward(jnp.ones(89), jnp.asarray(problem.planted))
    assert float(unit) == 89


@pytest.mark.parametrize(
    ("f", "link", "message"),
    [
        (lambda i, t, x: jnp.sum(x**2), linearizations.Concave(), "declared concave"),
        (lambda i, t, x: jnp.sum(x**2), linearizations.MonotoneOrigin(), "not 1-weakly up-concave"),
        (lambda i, t, x: 5 - jnp.sum(x), linearizations.MonotoneOrigin(), "declared monotone and has a slope of -1"),
        (lambda i, t, x: jnp.sum(x) - 3, linearizations.NonMonotoneGeneral(), "must be non-negative"),
        (lambda i, t, x: 100 * jnp.sum(x), linearizations.MonotoneOrigin(), "exceeds the declared bound"),
        (lambda i, t, x: jnp.log(x).sum(), linearizations.Concave(), "not finite on K"),
        (lambda i, t, x: 2 - jnp.sum(x), linearizations.NonMonotoneGeneral(), "must be non-negative"),
        (
            lambda i, t, x: 1 - jnp.prod(1 - x),
            linearizations.MonotoneGeneral(curvature=0.0),
            "is the curvature larger",
        ),
    ],
)
def test_the_check_notices(f, link, message):
    problem = problems.from_function(f, sets.budget(3, 2.0), link, gradient_bound=20.0, value_bound=20.0)
    with pytest.raises(AssertionError, match=message), np.errstate(all="ignore"):
        check_problem(problem)


class WrongBest(problems.TopB):
    def best(self, weights):
        return np.eye(len(weights))[0] + np.eye(len(weights))[1]


def test_the_check_looks_beyond_the_unit_box_where_the_set_does():
    def bends_up_beyond_one(i, t, x):
        return jnp.sum(jnp.log1p(x) + 0.3 * jnp.maximum(x - 1, 0) ** 2)

    problem = problems.from_function(
        bends_up_beyond_one,
        sets.Box(np.zeros(2), 5.0),
        linearizations.MonotoneOrigin(),
        gradient_bound=20.0,
        value_bound=20.0,
    )
    with pytest.raises(AssertionError, match="not 1-weakly up-concave"):
        check_problem(problem)


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ({"smoothness": 0.01}, "the declared smoothness is 0.01, and two points of K show"),
        ({"lipschitz": 0.5}, "the declared Lipschitz constant is 0.5, and two points of K show"),
    ],
)
def test_the_check_notices_constants_that_are_too_small(bounds, message):
    honest = problems.from_function(
        lambda i, t, x: jnp.log1p(x).sum(), sets.budget(3, 2.0), linearizations.MonotoneOrigin(),
        gradient_bound=2.0, value_bound=3.0, smoothness=1.0,
    )  # fmt: skip
    check_problem(honest)
    with pytest.raises(AssertionError, match=message):
        check_problem(eqx.tree_at(lambda p: p.bounds, honest, linearizations.Bounds(2.0, 3.0, **bounds)))


def test_the_gradient_is_not_asked_for_outside_of_the_set():
    problem = problems.from_function(
        lambda i, t, x: jnp.sqrt(x).sum(), sets.translated(sets.budget(3, 1.5), 1e-3), linearizations.Concave(),
        gradient_bound=100.0, value_bound=10.0,
    )  # fmt: skip
    check_problem(problem)


def test_the_check_notices_a_wrong_optimum():
    right = problems.TopB.random(agents=2, dim=6, budget=2, seed=5)
    with pytest.raises(AssertionError, match="said to be exact, but a sampled point earns"):
        check_problem(WrongBest(right.weights, 2))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: problems.TopB.random(agents=2, dim=4, budget=4, seed=0), "whole budget between 1 and 3; got 4"),
        (
            lambda: problems.TopB(problems.PeriodicWeights.random(2, 4, low=1, high=2, swing=0, seed=0), 2),
            "at least d - 1 = 3",
        ),
        (
            lambda: problems.PlantedCut(
                problems.PeriodicWeights.random(2, 1, low=1, high=2, swing=0, seed=0), [[0, 1]], [0, 1], 3
            ),
            "joins the left side to the right one",
        ),
        (
            lambda: problems.PlantedCut(
                problems.PeriodicWeights.random(2, 1, low=-2, high=-1, swing=0, seed=0), [[0, 1]], [0], 3
            ),
            "weights of a cut are non-negative",
        ),
        (
            lambda: problems.WaterFilling(
                problems.PeriodicWeights.random(2, 3, low=1, high=2, swing=0, seed=0), [1, 0, 1], 1.0
            ),
            "positive weights and rates",
        ),
    ],
)
def test_errors(make, message):
    with pytest.raises(ValueError, match=message):
        make()
