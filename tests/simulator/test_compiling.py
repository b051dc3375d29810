"""Quickly compiled programs find the same, and only short runs get them unasked."""

import jax
import numpy as np
import pytest
from tests.designs import PROBLEMS, RING

from droculo import simulate
from droculo.algorithms import DOBGA
from droculo.simulator import compiling

AGENT = DOBGA.design(PROBLEMS["A2"].setting, horizon=30)


def test_both_programs_find_the_same():
    quick, slow, usual = (simulate(PROBLEMS["A2"], AGENT, RING, key=0, quick=quick) for quick in (True, False, None))
    np.testing.assert_allclose(quick.actions, slow.actions, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(quick.actions, usual.actions)


def test_what_is_short():
    assert compiling.is_short(6, 1920, 5)
    assert not compiling.is_short(8, 2**16, 10)


def test_a_compiler_that_does_not_know_the_options_is_left_alone(monkeypatch):
    monkeypatch.setattr(compiling, "HASTE", {"no_such_option": True})
    compiling._understood.cache_clear()
    try:
        assert compiling._understood() is None
    finally:
        compiling._understood.cache_clear()


def test_an_accelerator_is_left_alone(monkeypatch):
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    compiling._understood.cache_clear()
    try:
        assert compiling._understood() is None
    finally:
        compiling._understood.cache_clear()


@pytest.mark.parametrize("quick", [True, False])
def test_a_program_is_made_once(quick):
    assert compiling.program(quick) is compiling.program(quick)
