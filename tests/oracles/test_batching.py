"""Chunks and the GPU's kernel compute what every agent computes alone."""

import ast
from functools import partial
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas

from droculo import oracles, sets
from droculo.oracles import batching, contract, gpu, native
from droculo.precision import double
from droculo.testing.counting import counting

ORACLES = {
    "active-set": oracles.ActiveSet(size=8),
    "frank-wolfe": oracles.FrankWolfe(),
    "paper": oracles.PaperFrankWolfe(limit=200),
}


def points_around_a_budget(agents, dim, kind):
    """Points around a budget set, and a memory for each agent."""
    rng = np.random.default_rng(0)
    domain = jax.tree.map(
        lambda leaf: jnp.asarray(leaf, kind if np.issubdtype(np.asarray(leaf).dtype, np.floating) else jnp.int32),
        sets.budget(dim, dim / 4),
    )
    x0 = jnp.broadcast_to(jnp.asarray(domain.center, kind), (agents, dim))
    return domain, x0, jnp.asarray(rng.normal(0, 0.6, (agents, dim)), kind)


def batched(call, oracle, domain, x0, y0, eps):
    def one(x, y):
        return call(domain, x, y, eps, oracle.init(domain, x))

    return jax.jit(jax.vmap(one))(x0, y0)


@pytest.mark.parametrize("name", ["active-set", "frank-wolfe"])
def test_chunks_change_nothing(name):
    oracle = ORACLES[name]
    agents = 3 * (batching.NATIVE_CHUNK if native.available() and name == "active-set" else batching.CHUNK)
    with double():
        domain, x0, y0 = points_around_a_budget(agents - 1, 8, jnp.float64)  # the last chunk is not full
        eps = jnp.asarray(1e-3)
        together = batched(oracle.project, oracle, domain, x0, y0, eps)
        apart = batched(partial(batching.project, oracle), oracle, domain, x0, y0, eps)
        alone = batching.project(oracle, domain, x0[3], y0[3], eps, oracle.init(domain, x0[3]))
    assert int(together.calls.sum()) > agents
    np.testing.assert_array_equal(apart.calls, together.calls)
    np.testing.assert_allclose(apart.x, together.x, atol=1e-9)
    np.testing.assert_allclose(apart.y, together.y, atol=1e-9)
    np.testing.assert_allclose(alone.x, together.x[3], atol=1e-9)
    assert int(alone.calls) == int(together.calls[3])
    assert bool(jnp.all(apart.converged))


def test_calls_in_chunks_are_those_made():
    """Full chunks make the calls that are reported; filling up a chunk repeats those of its last agent."""
    oracle = ORACLES["frank-wolfe"]
    with double():
        domain, x0, y0 = points_around_a_budget(2 * batching.CHUNK + 1, 8, jnp.float64)
        counted, counter = counting(domain)
        project, eps = partial(batching.project, oracle), jnp.asarray(1e-3)
        full = batched(project, oracle, counted, x0[:-1], y0[:-1], eps)
        assert counter.take().loo_calls == int(full.calls.sum()) > 0
        more = batched(project, oracle, counted, x0, y0, eps)
        assert counter.take().loo_calls == int(more.calls.sum() + more.calls[-1])


def test_the_contract_knows_sets_alone():
    tree = ast.parse(Path(contract.__file__).read_text())
    used = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {module for module in used if module.startswith("droculo")} == {"droculo.sets"}


@pytest.mark.parametrize("name", ORACLES)
def test_the_kernel_computes_the_same(name, monkeypatch):
    """Interpreted, so that it runs without a GPU."""
    interpreted = pallas.pallas_call
    monkeypatch.setattr(
        gpu.pallas,
        "pallas_call",
        lambda *given, compiler_params, **options: interpreted(*given, **options, interpret=True),
    )
    oracle, agents = ORACLES[name], 6
    domain, x0, y0 = points_around_a_budget(agents, 8, jnp.float32)
    arrays, rest = eqx.partition(domain, eqx.is_array)
    memories = jax.vmap(lambda x: oracle.init(domain, x))(x0)
    own = (x0, y0, jnp.full(agents, 1e-2, jnp.float32), memories)
    assert gpu.fits(arrays, own)

    def one(arrays, own):
        return oracle.project(eqx.combine(arrays, rest), *own)

    found = gpu.in_kernel(one, arrays, own, 4)  # two programs, the second half full
    expected = jax.jit(jax.vmap(one, in_axes=(None, 0)))(arrays, own)
    np.testing.assert_array_equal(found.calls, expected.calls)
    np.testing.assert_allclose(found.x, expected.x, atol=1e-4)
    np.testing.assert_allclose(found.y, expected.y, atol=1e-4)


def test_what_a_kernel_takes():
    three = (jnp.zeros((5, 3), jnp.float32),)
    four = (jnp.zeros((5, 4), jnp.float32),)
    assert gpu.fits((), four)
    assert not gpu.fits((), three), "lengths must be powers of two"
    with double():
        assert not gpu.fits((), (jnp.zeros((5, 4)),)), "float64 is too wide"


@pytest.mark.skipif(jax.default_backend() != "gpu", reason="needs a GPU; the kernel itself is tested interpreted")
def test_on_a_gpu():
    oracle = oracles.ActiveSet(size=8)
    domain, x0, y0 = points_around_a_budget(100, 8, jnp.float32)
    out = batched(partial(batching.project, oracle), oracle, domain, x0, y0, jnp.asarray(1e-2, jnp.float32))
    assert bool(jnp.all(out.converged))
    assert bool(jnp.all(jax.vmap(lambda x: domain.contains(x, 1e-5))(out.x)))
