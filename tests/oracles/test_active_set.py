"""The active-set oracle projects exactly, keeps a memory, and makes about one LOO call per block."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.designs import PROBLEMS, RING, design
from tests.oracles.test_contract import SETS
from tests.reference import oracles as reference

from droculo import oracles, sets, simulate
from droculo.oracles import batching, gpu
from droculo.oracles.active_set import places
from droculo.precision import double


def walk(set_, steps, seed=5, length=0.4):
    """A point that moves about outside of the set, as y does in a run."""
    rng = np.random.default_rng(seed)
    y = np.asarray(set_.center, float)
    for _ in range(steps):
        y = 0.8 * y + length * rng.standard_normal(set_.dim)
        yield y


@pytest.mark.parametrize("name", ["budget", "polytope", "trees"])
def test_it_agrees_with_the_transcription_projection_by_projection(name):
    set_ = SETS[name]
    oracle = oracles.ActiveSet()
    eps = 0.01
    argmax = lambda c: np.asarray(set_.argmax(jnp.asarray(c)))  # noqa: E731
    inside = lambda y: set_.has_fast_contains and bool(set_.contains(jnp.asarray(y), 0.0))  # noqa: E731
    with double():
        start = argmax(np.arange(set_.dim) + 1.0)
        ours, theirs = oracle.init(set_, jnp.asarray(start)), [[start, 1.0, 0]]
        size = ours.used.shape[0]
        project = jax.jit(
            lambda y, memory: batching.project(oracle, set_, jnp.asarray(start), y, jnp.asarray(eps), memory)
        )
        asked = 0
        for y0 in walk(set_, 25):
            out = project(jnp.asarray(y0), ours)
            x, y, calls = reference.corrective(argmax, lambda y: y, inside, float(set_.radius), y0, eps, theirs, size)
            np.testing.assert_allclose(out.x, x, atol=1e-7)
            np.testing.assert_allclose(out.y, y, atol=1e-7)
            assert int(out.calls) == calls
            assert bool(out.converged)
            ours, asked = out.memory, asked + calls
        assert asked > 10


def project_on_budget(y, total):
    """The Euclidean projection onto {0 <= x <= 1, sum x <= total}, by bisection on the multiplier."""
    if np.clip(y, 0, 1).sum() <= total:
        return np.clip(y, 0, 1)
    low, high = 0.0, float(y.max())
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if np.clip(y - middle, 0, 1).sum() > total else (low, middle)
    return np.clip(y - low, 0, 1)


def test_with_a_small_tolerance_it_is_the_euclidean_projection():
    set_ = SETS["budget"]
    oracle = oracles.ActiveSet()
    with double():
        memory = oracle.init(set_, jnp.asarray(set_.center))
        run = jax.jit(
            lambda y, memory: batching.project(oracle, set_, jnp.asarray(set_.center), y, jnp.asarray(1e-10), memory)
        )
        for y0 in walk(set_, 30):
            out = run(jnp.asarray(y0), memory)
            np.testing.assert_allclose(out.x, project_on_budget(y0, 2.5), atol=1e-6)
            memory = out.memory


@pytest.mark.parametrize("case", ["A1", "A2"])
def test_about_one_call_per_block(case):
    calls = {}
    # The paper's makes thousands of calls per block, and more from block to block: its first ones are enough.
    for oracle, rounds in ((oracles.ActiveSet(), 400), (oracles.PaperFrankWolfe(), 80)):
        agent = design(case, "full_information", horizon=400, theta=1.0, oracle=oracle)
        run = simulate(PROBLEMS[case], agent, RING, key=0, rounds=rounds)
        assert run.ledger.not_converged.sum() == 0
        calls[type(oracle)] = run.ledger.loo_calls.mean() / rounds
    assert calls[oracles.ActiveSet] <= 1.5
    assert calls[oracles.PaperFrankWolfe] > 20 * calls[oracles.ActiveSet]


def test_a_memory_has_at_least_three_places():
    with pytest.raises(ValueError, match="at least 3 places, to merge two and add one; got size=2"):
        oracles.ActiveSet(size=2)


def test_the_default_number_of_places():
    set_ = SETS["budget"]
    with double():
        assert oracles.ActiveSet().init(set_, jnp.asarray(set_.center)).used.shape == (places(set_.dim),)
    assert places(1) == 5
    assert places(10_000) == 260


@pytest.mark.parametrize(
    ("backend", "dtype", "dim", "size"),
    [
        ("gpu", np.float32, 32, 32),
        ("gpu", np.float32, 20, 34),
        ("gpu", np.float64, 32, 52),
        ("cpu", np.float32, 32, 52),
    ],
)
def test_a_memory_fits_into_a_kernel_where_there_can_be_one(monkeypatch, backend, dtype, dim, size):
    monkeypatch.setattr(jax, "default_backend", lambda: backend)
    with double():
        memory = oracles.ActiveSet().init(sets.Box(np.zeros(dim), 1.0), jnp.zeros(dim, dtype))
    assert memory.used.shape == (size,)
    own = jax.tree.map(lambda leaf: np.zeros((1, *leaf.shape)), memory)
    assert gpu.fits((), jax.tree.map(lambda leaf: leaf.astype(dtype), own)) == (size == 32)
    assert gpu.warps(own, 1) == (1 if size == 32 else 4)
    assert gpu.warps(own, 2) == 4


@pytest.mark.parametrize("alone", [False, True], ids=["as it comes", "JAX alone"])
def test_a_memory_that_went_wrong_is_reset(alone):
    """Inner products that say all points are one: the search makes no progress, in this projection and all later ones, unless they are discarded."""
    set_, oracle = SETS["budget"], oracles.ActiveSet()
    with double():
        x0 = jnp.asarray(set_.center)
        way = oracle.project if alone else partial(batching.project, oracle)
        project = jax.jit(jax.vmap(lambda y, memory: way(set_, x0, y, jnp.asarray(1e-6), memory)))
        memory = jax.vmap(lambda _: oracle.init(set_, x0))(jnp.arange(2))
        points = [jnp.asarray(np.array([y, y])) for y in walk(set_, 6, length=1.0)]
        for y in points[:4]:
            memory = project(y, memory).memory
        assert int(memory.used[1].sum()) > 2
        memory = eqx.tree_at(
            lambda m: (m.gram, m.corral.inverse), memory, replace_fn=lambda a: a.at[1].set(a[1].max() / 10)
        )
        out = project(points[4], memory)
        np.testing.assert_array_equal(out.converged, [True, False])
        assert int(out.memory.used[1].sum()) == 1
        np.testing.assert_array_equal(out.memory.points[1][0], out.x[1])
        assert bool(jnp.all(project(points[5], out.memory).converged))
