"""Compiled programs are forgotten before they exhaust the process's memory mappings."""

import jax
import jax.numpy as jnp

from droculo.engine import memory_maps


def test_programs_are_forgotten_only_when_there_are_too_many(monkeypatch, tmp_path):
    maps = tmp_path / "maps"
    monkeypatch.setattr(memory_maps, "MAPS", maps)
    assert not memory_maps.clear_caches_if_needed(), "where mappings cannot be counted, nothing is done"
    maps.write_text("one\n" * 10)
    double = jax.jit(lambda x: 2 * x)
    double(jnp.ones(3))
    assert not memory_maps.clear_caches_if_needed(10)
    assert double._cache_size() == 1
    assert memory_maps.clear_caches_if_needed(9)
    assert double._cache_size() == 0
    assert float(double(jnp.ones(()))) == 2


def test_maps_are_counted_only_where_there_could_be_too_many(monkeypatch, tmp_path):
    maps = tmp_path / "maps"
    monkeypatch.setattr(memory_maps, "MAPS", maps)
    monkeypatch.setattr(memory_maps, "_certain", 0)
    few, many = memory_maps.MOST - 2 * memory_maps.GROWTH, memory_maps.MOST + 1
    maps.write_text("one\n" * few)
    assert not memory_maps.clear_caches_if_needed()
    maps.write_text("one\n" * many)
    found = [memory_maps.clear_caches_if_needed() for _ in range(4)]
    assert found == [False, False, True, True]
