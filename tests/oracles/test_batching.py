"""Agents in flocks, or in a GPU's kernel, do what each does alone."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas

from droculo import oracles, sets
from droculo.oracles import batching, gpu
from droculo.precision import double

ORACLES = {
    "active-set": oracles.ActiveSet(size=8),
    "frank-wolfe": oracles.FrankWolfe(),
    "paper": oracles.PaperFrankWolfe(limit=200),
}


def everyone(agents, dim, kind):
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
@pytest.mark.parametrize("agents", [3 * batching.NATIVE_CHUNK - 1])  # the last flock is not full
def test_flocks_change_nothing(name, agents):
    oracle = ORACLES[name]
    with double():
        domain, x0, y0 = everyone(agents, 8, jnp.float64)
        eps = jnp.asarray(1e-3)
        together = batched(oracle.project, oracle, domain, x0, y0, eps)
        apart = batched(partial(batching.project, oracle), oracle, domain, x0, y0, eps)
    assert int(together.calls.sum()) > agents
    np.testing.assert_array_equal(apart.calls, together.calls)
    np.testing.assert_allclose(apart.x, together.x, atol=1e-9)
    np.testing.assert_allclose(apart.y, together.y, atol=1e-9)
    assert bool(jnp.all(apart.converged))


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
    domain, x0, y0 = everyone(agents, 8, jnp.float32)
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
    domain, x0, y0 = everyone(100, 8, jnp.float32)
    out = batched(partial(batching.project, oracle), oracle, domain, x0, y0, jnp.asarray(1e-2, jnp.float32))
    assert bool(jnp.all(out.converged))
    assert bool(jnp.all(jax.vmap(lambda x: domain.contains(x, 1e-5))(out.x)))
