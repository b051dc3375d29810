"""Compiled programs are forgotten before they exhaust the process's memory mappings."""

import jax
import jax.numpy as jnp

from droculo.simulator import room


def test_programs_are_forgotten_only_when_there_are_too_many(monkeypatch, tmp_path):
    maps = tmp_path / "maps"
    monkeypatch.setattr(room, "MAPS", maps)
    assert not room.make_room(), "where mappings cannot be counted, nothing is done"
    maps.write_text("one\n" * 10)
    double = jax.jit(lambda x: 2 * x)
    double(jnp.ones(3))
    assert not room.make_room(10)
    assert double._cache_size() == 1
    assert room.make_room(9)
    assert double._cache_size() == 0
    assert float(double(jnp.ones(()))) == 2
