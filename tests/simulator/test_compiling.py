"""Quickly compiled programs find the same, and only short runs get them unasked."""

import jax
import numpy as np
import pytest
from tests.designs import PROBLEMS, RING

from droculo import Droculo, feedback, simulate
from droculo.algorithms import DOBGA
from droculo.engine import compiling
from droculo.simulator.stretch import stretch

AGENT = DOBGA.design(PROBLEMS["A2"].setting, horizon=30)


def test_both_programs_find_the_same():
    quick, slow, usual = (simulate(PROBLEMS["A2"], AGENT, RING, key=0, quick=quick) for quick in (True, False, None))
    np.testing.assert_allclose(quick.actions, slow.actions, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(quick.actions, usual.actions)


@pytest.mark.parametrize(
    ("horizon", "theta", "agents", "short"),
    [(1920, 0.5, 6, True), (1920, 1.0, 6, True), (2**16, 0.5, 8, False), (4000, 1.0, 8, False), (4000, 0.5, 8, True)],
)
def test_what_is_short(horizon, theta, agents, short):
    setting = PROBLEMS["A2"].setting
    agent = Droculo.design(setting, feedback.full_information(), horizon=horizon, theta=theta)
    assert compiling.is_short(agent, agents) == short


def test_a_compiler_that_does_not_know_the_options_is_left_alone(monkeypatch):
    monkeypatch.setattr(compiling, "FAST_COMPILE", {"no_such_option": True})
    compiling.supported_options.cache_clear()
    try:
        assert compiling.supported_options() is None
    finally:
        compiling.supported_options.cache_clear()


def test_an_accelerator_is_left_alone(monkeypatch):
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    compiling.supported_options.cache_clear()
    try:
        assert compiling.supported_options() is None
    finally:
        compiling.supported_options.cache_clear()


@pytest.mark.parametrize("quick", [True, False])
def test_a_program_is_made_once(quick):
    assert compiling.program(stretch, quick=quick) is compiling.program(stretch, quick=quick)
