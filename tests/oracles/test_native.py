"""`native.c` computes the same as JAX alone, which is used if there is no compiler."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.oracles.test_active_set import walk
from tests.oracles.test_contract import SETS

from droculo import oracles, sets
from droculo.oracles import batching, native
from droculo.oracles.active_set import places
from droculo.precision import double

pytestmark = pytest.mark.skipif(not native.available(), reason="needs a C compiler, and a CPU to run on")

AGENTS = 7


def both_ways(oracle, domain, kind, eps, rounds, length=0.4):
    """The projections of all agents, round by round, with C and in JAX alone, each with a memory of its own."""
    paths = [walk(domain, rounds, seed, length) for seed in range(AGENTS)]
    x0 = jnp.asarray(domain.argmax(jnp.arange(domain.dim) + 1.0), kind)
    ways = [
        jax.jit(jax.vmap(lambda y, memory, way=way: way(domain, x0, y, jnp.asarray(eps, kind), memory)))
        for way in (partial(batching.project, oracle), oracle.project)
    ]
    start = jax.vmap(lambda _: oracle.init(domain, x0))(jnp.arange(AGENTS))
    memories = [start, start]
    for points in zip(*paths, strict=True):
        y = jnp.asarray(np.array(points), kind)
        found = [way(y, memory) for way, memory in zip(ways, memories, strict=True)]
        yield found
        memories = [out.memory for out in found]


@pytest.mark.parametrize("name", ["budget", "simplex"])
def test_it_is_the_same_oracle(name):
    domain, asked = SETS[name], 0
    with double():
        for here, there in both_ways(oracles.ActiveSet(), domain, jnp.float64, 1e-3, 20):
            np.testing.assert_array_equal(here.calls, there.calls)
            for one, other in zip(jax.tree.leaves(here), jax.tree.leaves(there), strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-8)
            asked += int(here.calls.sum())
    assert asked > 20 * AGENTS / 2


def test_a_linear_program_with_ties_may_choose_other_vertices():
    """Where all of a face is optimal, the last digits of the direction choose the vertex, and later memories differ: both
    results are within the tolerance of the same projection, and cost about the same."""
    eps, asked = 1e-3, np.zeros(2)
    with double():
        for found in both_ways(oracles.ActiveSet(), SETS["polytope"], jnp.float64, eps, 20):
            here, there = found
            assert bool(jnp.all(here.converged & there.converged))
            assert float(jnp.max(jnp.abs(here.x - there.x))) < np.sqrt(3 * eps)
            asked += [float(out.calls.sum()) for out in found]
    assert asked[1] > 20 * AGENTS / 2
    assert abs(asked[0] - asked[1]) < 0.1 * asked[1]


@pytest.mark.parametrize("size", [3, 5])
def test_with_too_few_places_points_are_merged(size):
    domain = SETS["budget"]
    with double():
        for here, there in both_ways(oracles.ActiveSet(size=size), domain, jnp.float64, 1e-2, 12):
            assert bool(jnp.all(here.converged))
            np.testing.assert_array_equal(here.calls, there.calls)
            np.testing.assert_allclose(here.x, there.x, atol=1e-6)


def test_in_single_precision():
    """Rounding may lead to other vertices, but both results are within the tolerance of the same projection. Rarely, on
    some processors, it ends a search early; the projection then says that it did not converge, and begins again."""
    domain, eps, missed = SETS["budget"], 1e-3, 0
    for here, there in both_ways(oracles.ActiveSet(), domain, jnp.float32, eps, 20):
        assert here.x.dtype == jnp.float32
        met = np.asarray(here.converged & there.converged)
        missed += int(np.sum(~met))
        assert float(jnp.max(jnp.abs(here.x - there.x)[met])) < np.sqrt(3 * eps)
    assert missed <= 2, f"{missed} of {20 * AGENTS} projections did not converge"


def test_nested_batches_equal_flat_ones():
    domain, oracle, eps = SETS["budget"], oracles.ActiveSet(), 1e-3
    with double():
        x0 = jnp.asarray(domain.center)
        y = jax.random.normal(jax.random.key(0), (3, 5, domain.dim))

        def one(y):
            return batching.project(oracle, domain, x0, y, jnp.asarray(eps), oracle.init(domain, x0))

        nested = jax.jit(jax.vmap(jax.vmap(one)))(y)
        flat = jax.jit(jax.vmap(one))(y.reshape(15, -1))
        alone = jax.jit(one)(y[1, 2])
    for two, single in zip(jax.tree.leaves(nested), jax.tree.leaves(flat), strict=True):
        np.testing.assert_array_equal(two.reshape(single.shape), single)
    np.testing.assert_array_equal(alone.x, nested.x[1, 2])


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e300])
def test_it_returns_for_any_input(bad):
    domain, oracle = SETS["budget"], oracles.ActiveSet()
    with double():
        x0 = jnp.asarray(domain.center)
        y = jnp.asarray(np.array([np.full(domain.dim, bad), np.full(domain.dim, 2.0)]))
        one = lambda y: batching.project(oracle, domain, x0, y, jnp.asarray(1e-3), oracle.init(domain, x0))  # noqa: E731
        out = jax.jit(jax.vmap(one))(y)
        assert bool(out.converged[1]), "the other agent is not affected"
        assert bool(domain.contains(out.x[1], 1e-9))
        assert int(out.calls[0]) <= 40 * places(domain.dim)
        if bad == 1e300:
            assert bool(domain.contains(out.x[0], 1e-9))
            assert bool(out.converged[0])
        else:
            assert not bool(out.converged[0])


def test_the_argument_is_computed_once():
    """Without the barrier XLA computes the cosines again at every use of y0."""
    domain, oracle = SETS["budget"], oracles.ActiveSet()
    with double():
        x0 = jnp.asarray(domain.center)
        one = lambda y: batching.project(oracle, domain, x0, jnp.cos(y), jnp.asarray(1e-3), oracle.init(domain, x0))  # noqa: E731
        program = jax.jit(jax.vmap(one)).lower(jnp.ones((4, domain.dim))).compile().as_text()
    assert program.count(" cosine(") == 1


@pytest.fixture
def fresh():
    """Libraries are searched for again, in the test and after it."""
    native._library.cache_clear()
    yield
    native._library.cache_clear()


def refuse(name):
    return None


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize(
    "why", ["no compiler", "switched off", "a compiler that fails", "a library without its functions"]
)
def test_without_it_jax_is_used(why, monkeypatch, tmp_path):
    monkeypatch.setenv("DROCULO_CACHE", str(tmp_path))
    if why == "no compiler":
        monkeypatch.setattr(native.shutil, "which", refuse)
    elif why == "switched off":
        monkeypatch.setenv("DROCULO_NATIVE", "0")
    elif why == "a compiler that fails":
        monkeypatch.setattr(native, "FLAGS", ("--no-such-flag",))
    else:
        monkeypatch.setattr(native, "SOURCE", tmp_path / "empty.c")
        (tmp_path / "empty.c").write_text("int nothing;")
    assert not native.available()
    assert not native.available(np.float32)
    domain, oracle = sets.budget(6, 2), oracles.ActiveSet()
    with double():
        x0 = jnp.asarray(domain.center)
        one = lambda y: batching.project(oracle, domain, x0, y, jnp.asarray(1e-3), oracle.init(domain, x0))  # noqa: E731
        program = jax.jit(jax.vmap(one))
        y = jnp.full((2, 6), 1.0)
        assert "droculo_" not in program.lower(y).as_text()
        assert bool(jnp.all(program(y).converged))


def test_a_damaged_library_is_compiled_again(monkeypatch, tmp_path):
    monkeypatch.setenv("DROCULO_CACHE", str(tmp_path))
    monkeypatch.setattr(native, "_key", lambda real, compiler: "damaged")
    library = tmp_path / "native-damaged.so"
    library.write_bytes(b"")
    assert set(native._functions(np.dtype(np.float64))) == {"step", "once"}
    assert library.stat().st_size > 10_000


@pytest.mark.parametrize("why", ["others can write there", "it is a file"])
def test_a_folder_that_cannot_be_used(why, monkeypatch, tmp_path):
    folder = tmp_path / "cache"
    if why == "it is a file":
        folder.write_text("")
    else:
        folder.mkdir()
        folder.chmod(0o777)
    monkeypatch.setenv("DROCULO_CACHE", str(folder))
    assert native._functions(np.dtype(np.float64)), "it is compiled in a folder of the process"
    assert folder.is_file() or not list(folder.iterdir())


def test_arrays_of_other_types_or_shapes_are_refused():
    """C would misread them."""
    domain, oracle = sets.budget(6, 2), oracles.ActiveSet()
    with double():
        x0 = jnp.asarray(domain.center)
        memory, y = oracle.init(domain, x0), jnp.full(6, 1.0)
        other = oracle.init(sets.budget(9, 2), jnp.zeros(9))
        with pytest.raises(TypeError, match=r"expected float64 of shape \(1, 9\).* got float64 of shape \(1, 6\)"):
            batching.project(oracle, domain, x0, y, jnp.asarray(1e-3), other)
        with pytest.raises(TypeError, match=r"expected float64 .* got float32"):
            batching.project(oracle, domain, x0, y.astype(jnp.float32), jnp.asarray(1e-3), memory)
        with pytest.raises(TypeError, match=r"shape \(1,\).* got float64 of shape \(1, 2\)"):
            batching.project(oracle, domain, x0, y, jnp.full(2, 1e-3), memory)
        plain = batching.project(oracle, domain, x0, y, jnp.asarray(0.25), memory)
        single = batching.project(oracle, domain, x0, y, jnp.asarray(0.25, jnp.float32), memory)
        np.testing.assert_array_equal(plain.x, single.x)


def test_the_barrier_can_be_differentiated():
    with double():
        value, slope = jax.jvp(lambda y: native.once(y) ** 2, (jnp.asarray(3.0),), (jnp.asarray(1.0),))
    assert (float(value), float(slope)) == (9.0, 6.0)


def test_both_ways_share_a_memory():
    """Each way can continue with the memory of the other."""
    domain, oracle, eps = SETS["budget"], oracles.ActiveSet(), 1e-3
    with double():
        x0 = jnp.asarray(domain.center)
        ways = [
            eqx.filter_jit(lambda y, memory, way=way: way(domain, x0, y, jnp.asarray(eps), memory))
            for way in (partial(batching.project, oracle), oracle.project)
        ]
        memory = oracle.init(domain, x0)
        for k, y in enumerate(walk(domain, 10)):
            here, there = (ways[(k + other) % 2](jnp.asarray(y), memory) for other in (0, 1))
            np.testing.assert_allclose(here.x, there.x, atol=1e-8)
            memory = here.memory
