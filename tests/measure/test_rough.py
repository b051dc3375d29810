"""Bounds on rough functions, for which an integral over z with few nodes may be far off."""

import os
import subprocess
import sys

import jax.numpy as jnp
import numpy as np
import pytest
from tests import counterexamples

from droculo import History, linearizations, measure, problems, sets
from droculo.testing import check_problem

SHARPNESS = 30.0


def kinked(agent, t, x):
    """A smoothed min(60 x_1, 1) + 2 x_2: by the time the first of 12 Gauss nodes is reached, the first part is flat."""
    return counterexamples.softened(60 * x[0], 1.0, SHARPNESS) + 2 * x[1]


PROBLEM = problems.from_function(
    kinked, sets.budget(2, 1), linearizations.MonotoneOrigin(), gradient_bound=61.0, value_bound=3.0
)
OPTIMUM = 1 - np.log(2) / SHARPNESS + 2 * 59 / 60


def stuck(rounds=4):
    """All agents play e_1."""
    return History.of(np.broadcast_to([1.0, 0.0], (rounds, 3, 2)))


@pytest.mark.parametrize("nodes", [None, 1, 2, 3, 12, 13, 50])
def test_a_certificate_is_above_the_true_regret_with_any_nodes(nodes):
    check_problem(PROBLEM)
    run = stuck()
    best = measure.best_fixed_point(PROBLEM, 4, 3)
    assert best.total / 4 >= OPTIMUM - 1e-3
    exact = measure.regret(PROBLEM, run, comparator=best)
    found = measure.certificate(PROBLEM, run, nodes=nodes)
    assert np.all(exact.total / 4 > 0.85)
    assert np.all(found.bound >= exact.total)
    assert found.optimum_low <= best.total <= found.optimum_high
    assert best.gap + best.total >= 4 * OPTIMUM


def test_more_values_of_z_are_taken_where_functions_are_rough():
    run = stuck()
    rough, twelve, many = (measure.certificate(PROBLEM, run, nodes=nodes) for nodes in (None, 12, 2000))
    assert twelve.roughness > measure.certificate(PROBLEM, run, nodes=96).roughness
    assert rough.bound[0] <= twelve.bound[0]
    assert np.all(many.excess <= 0.02)
    smooth = problems.TopB.random(agents=3, dim=5, budget=2, seed=0)
    still = History.of(np.broadcast_to(smooth.set.center, (4, 3, 5)))
    np.testing.assert_allclose(measure.certificate(smooth, still).excess, 0, atol=1e-9)


def test_a_class_without_a_bound_for_every_z_adds_the_error_of_its_integral():
    own = linearizations.Custom(
        1 - np.exp(-1), 1 - np.exp(-1), query=lambda x, z: (1 + jnp.log(np.exp(-1) + z * (1 - np.exp(-1)))) * x
    )
    problem = problems.from_function(kinked, sets.budget(2, 1), own, gradient_bound=61.0, value_bound=3.0)
    found = measure.certificate(problem, stuck())
    assert np.all(found.bound / 4 >= own.alpha * OPTIMUM - 1)
    assert found.optimum_high >= 4 * OPTIMUM


BATCHES = """
import os
import numpy as np
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
from droculo import History, measure, problems
problem = problems.LogDetSensors.random(agents=6, sites=9, budget=3, seed=0)
plays = History.of(np.broadcast_to(problem.set.center, (60, 6, 9)))
print([bool(measure.certificate(problem, plays).bound.max() > 0) for _ in range(5)])
"""


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="processors are not chosen on this system")
def test_batches_of_lapack_calls_do_not_wait_for_each_other():
    """With two threads, values and gradients that call LAPACK at the same time hang in jaxlib."""
    done = subprocess.run([sys.executable, "-c", BATCHES], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == str([True] * 5), done.stderr


@pytest.mark.parametrize("name", [name for name in counterexamples.CLASSES if name[:2] not in ("co", "A1")])
def test_no_counterexample_is_found(name):
    """A moment of the search, where there is an integral; `python -m tests.counterexamples --minutes 60` is the long one."""
    worst, most, tried = counterexamples.search(name, np.random.default_rng(20), seconds=0.5)
    assert tried >= 200
    assert most <= counterexamples.ROUNDING
    assert counterexamples.excess(name, worst) <= counterexamples.ROUNDING


def test_the_search_finds_what_is_wrong(monkeypatch):
    """With the integral of twelve nodes in the place of bounds for every z."""
    monkeypatch.setattr(linearizations.MonotoneOrigin, "bound_at", linearizations.Linearization.bound_at)
    _, most, _ = counterexamples.search("A2, knapsack", np.random.default_rng(0), seconds=30.0, nodes=12, enough=1e-3)
    assert most > 1e-3
