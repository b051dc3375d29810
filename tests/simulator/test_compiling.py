"""Quickly compiled programs find the same, and only short runs get them unasked."""

import importlib

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
    """Up to a known horizon all blocks are compiled quickly, or none."""
    setting = PROBLEMS["A2"].setting
    agent = Droculo.prescribed(setting, feedback.full_information(), horizon=horizon, theta=theta)
    assert compiling.quick_blocks(agent, agents) == (np.inf if short else 0)


@pytest.mark.parametrize(("theta", "agents", "rounds"), [(0.5, 8, 25_000), (1.0, 8, 2500), (1.0, 200_000, 0)])
def test_the_beginning_of_a_run_without_a_horizon_is_short(theta, agents, rounds):
    """The blocks that a short run has, whatever number of rounds is played: at most 10^6 numbers and 2500 exchanges of 8 agents."""
    agent = Droculo.design(PROBLEMS["A2"].setting, feedback.full_information(), theta=theta)
    blocks = compiling.quick_blocks(agent, agents)
    exact = len(agent.timetable.until(rounds).number) if rounds else 0
    assert exact <= blocks <= exact + 2  # a timetable counts a few blocks more


def test_a_run_goes_from_quick_to_fast_programs(monkeypatch):
    """The change is between two blocks, and at the same one in a shorter run."""
    simulating, made = importlib.import_module("droculo.simulator.simulate"), []
    agent = Droculo.design(PROBLEMS["A2"].setting, feedback.full_information(), theta=0.6)

    def listening(function, *, quick):
        made.append(quick)
        return compiling.program(function, quick=quick)

    def play(rounds, **options):
        made.clear()
        return simulate(PROBLEMS["A2"], agent, RING, key=0, rounds=rounds, **options), list(made)

    monkeypatch.setattr(simulating, "program", listening)
    whole, _ = play(70, quick=True)
    monkeypatch.setattr(compiling, "FEW", 5 * RING.n_agents * agent.domain.dim**2)  # five exchanges
    assert compiling.quick_blocks(agent, RING.n_agents) == 5
    (long, pieces), (short, fewer) = play(70), play(40)
    for each in (pieces, fewer):
        assert set(each) == {True, False}
        assert each == sorted(each, reverse=True)
    np.testing.assert_allclose(long.actions, whole.actions, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(long.actions[:40], short.actions)


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
