"""The agent that adapts itself needs no units: neither the size of the functions nor what is declared of them changes a bit."""

import warnings

import equinox as eqx
import numpy as np
import pytest
from tests.designs import PROBLEMS, RING, design, design_for

from droculo import simulate
from droculo.engine.breaches import DeclarationWarning
from droculo.linearizations import Bounds
from droculo.problems import Problem
from droculo.problems.wrappers import Wrapper

PAIRS = [("A2", "full_information"), ("A4", "semi_bandit"), ("A2", "bandit"), ("concave", "two_point")]
FACTORS = [2.0**k for k in (-20, -9, -1, 1, 10, 20)]


class Changed(Wrapper):
    """A problem with all functions multiplied by a number, and another added; its gradients are derived anew."""

    problem: Problem
    factor: np.ndarray
    constant: np.ndarray
    bounds: Bounds

    def value(self, agent, t, x):
        return self.factor * self.problem.value(agent, t, x) + self.constant


def played(case, model, factor=1.0, constant=0.0, bounds=None):
    """The run, by one program for all numbers: they are data of the problem."""
    own = np.asarray(factor), np.asarray(constant), Bounds() if bounds is None else bounds
    return simulate(Changed(PROBLEMS[case], *own), design(case, model), RING, key=5, progress=False)


def check_same(run, other):
    np.testing.assert_array_equal(run.actions, other.actions)
    np.testing.assert_array_equal(run.decisions, other.decisions)
    np.testing.assert_array_equal(run.ledger.loo_calls, other.ledger.loo_calls)
    np.testing.assert_array_equal(run.states.steps.boldness, other.states.steps.boldness)


@pytest.mark.parametrize(("case", "model"), PAIRS)
def test_functions_of_another_size_are_played_alike_to_the_last_bit(case, model):
    run = played(case, model)
    assert np.ptp(run.actions, axis=0).max() > 0.1, "the agents do not move"
    for factor in FACTORS:
        other = played(case, model, factor)
        check_same(run, other)
        np.testing.assert_array_equal(other.states.steps.energy, run.states.steps.energy * factor**2)


@pytest.mark.parametrize(("case", "model"), PAIRS[:2])
def test_a_constant_changes_nothing_for_gradients(case, model):
    run = played(case, model)
    for constant in (0.3, -7.0, 1e6):
        check_same(run, played(case, model, constant=constant))


@pytest.mark.parametrize(("case", "model"), [PAIRS[0], PAIRS[2]])
def test_what_is_declared_changes_nothing(case, model):
    """The bounds of the same functions as the problem has them, a hundred times too large, and too small, which is counted."""
    problem = PROBLEMS[case]
    truth, runs = problem.bounds, {}
    for times in (0.01, 1.0, 100.0):
        declared = eqx.tree_at(
            lambda p: (p.bounds.gradient, p.bounds.value), problem, (truth.gradient * times, truth.value * times)
        )
        agent = design_for(declared, model)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            runs[times] = simulate(declared, agent, RING, key=5, progress=False)
        assert any(issubclass(each.category, DeclarationWarning) for each in said) == (times < 1)
    check_same(runs[1.0], runs[0.01])
    check_same(runs[1.0], runs[100.0])
    unknown = eqx.tree_at(lambda p: p.bounds, problem, Bounds())
    check_same(runs[1.0], simulate(unknown, design_for(unknown, model), RING, key=5, progress=False))
