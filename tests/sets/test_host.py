"""Oracles on the host, called from compiled code."""

from __future__ import annotations

import copy
import pickle

import equinox as eqx
import jax
import jax.numpy as jnp
import networkx as nx
import numpy as np
import pytest

from droculo import sets
from droculo.precision import double

rng = np.random.default_rng(11)


@pytest.fixture(autouse=True)
def _same_numbers_in_any_order() -> None:
    """Every test draws from the start, whichever tests ran before it in this process."""
    rng.bit_generator.state = np.random.default_rng(11).bit_generator.state


A = np.array([[1.0, 1, 1, 0, 0], [-1, -1, -1, 0, 0], [0, 0, 1, 1, 1], [1, 0, 0, 0, 1]])


def polytope() -> sets.Polytope:
    """With many ties and degenerate vertices, where a solver's past could show."""
    return sets.Polytope(A, [1.5, -1.5, 1.5, 1.0], 0.0, 1.0)


def everything() -> list[sets.host.HostSet]:
    return [
        polytope(),
        sets.Birkhoff(3),
        sets.SpanningTrees(nx.complete_graph(4)),
        sets.Flows(nx.DiGraph([(0, 1), (0, 2), (1, 3), (2, 3), (1, 2)]), 0, 3),
    ]


@pytest.mark.parametrize("index", range(4))
def test_answers_do_not_depend_on_what_was_solved_before(index: int) -> None:
    set_, other = everything()[index], everything()[index]
    directions = rng.integers(-2, 3, (60, set_.dim)).astype(float)
    directions = directions[np.any(directions != 0, axis=1)]
    first = [set_.host.argmax(c) for c in directions]
    for _ in range(3):
        for i in rng.permutation(len(directions)):
            assert set_.host.argmax(directions[i]).tobytes() == first[i].tobytes()
    for i in rng.permutation(len(directions)):
        assert other.host.argmax(directions[i]).tobytes() == first[i].tobytes()


@pytest.mark.parametrize("index", range(4))
def test_batches_agree_with_single_calls_bit_for_bit(index: int) -> None:
    set_ = everything()[index]
    with double():
        directions = jnp.asarray(rng.standard_normal((2, 3, 4, set_.dim)))
        nested = jax.jit(jax.vmap(jax.vmap(jax.vmap(set_.argmax))))(directions)
        assert nested.shape == directions.shape
        assert nested.dtype == jnp.float64
        alone = np.stack([set_.host.argmax(c) for c in np.asarray(directions).reshape(-1, set_.dim)])
    assert np.array_equal(np.asarray(nested).reshape(-1, set_.dim), alone)
    single = jax.vmap(set_.argmax, in_axes=1, out_axes=1)(jnp.asarray(np.asarray(directions)[0, 0].T, jnp.float32))
    assert single.dtype == jnp.float32
    np.testing.assert_allclose(single.T, np.asarray(nested)[0, 0], atol=1e-5)


def test_zero_rows_are_not_solved_and_non_finite_rows_give_nan() -> None:
    for set_ in everything():
        before = set_.host.solves
        rows = np.zeros((6, set_.dim))
        rows[1], rows[4] = 1.0, -1.0
        rows[2, 0], rows[3, 1] = np.nan, np.inf
        with double():
            found = np.asarray(jax.jit(jax.vmap(set_.argmax))(rows))
            assert set_.host.solves == before + 2
            assert set_.contains(found[0])
        assert np.array_equal(found[0], set_.host.rest)
        assert np.array_equal(found[5], set_.host.rest)
        assert np.isnan(found[2:4]).all()
        assert np.isfinite(found[[1, 4]]).all()


def test_inside_a_while_loop_with_finished_agents() -> None:
    set_ = polytope()
    before = set_.host.solves

    @eqx.filter_jit
    def run(set_: sets.Set, start: jax.Array) -> jax.Array:
        def step(state):
            i, x = state
            left = jnp.arange(3)[:, None] > i  # agent k has work for k steps
            return i + 1, x + jax.vmap(set_.argmax)(jnp.where(left, start - x, 0))

        return jax.lax.while_loop(lambda state: state[0] < 3, step, (0, jnp.zeros_like(start)))[1]

    with double():
        start = jnp.asarray(rng.standard_normal((3, set_.dim)))
        found = np.asarray(run(set_, start))
    assert set_.host.solves == before + 0 + 1 + 2
    np.testing.assert_array_equal(found[0], 3 * set_.host.rest)


def test_double_precision_survives_the_runtimes_own_threads() -> None:
    """Some callbacks run on threads where JAX is in single precision; nothing may be rounded there."""
    set_ = sets.from_oracle(lambda c: c / 16, 3, 1e3, host=True)

    def many(x: jax.Array) -> list[jax.Array]:
        # Enough work around the calls for the runtime to spread them over threads.
        busy = jax.lax.fori_loop(0, 20, lambda _, m: m @ m / jnp.linalg.norm(m), jnp.ones((200, 200)) + x[0])
        return [set_.argmax(x * k + 0 * busy[0, 0]) for k in range(1, 7)]

    with double():
        x = rng.standard_normal(3)
        for _ in range(5):
            found = [np.asarray(part) for part in jax.jit(many)(jnp.asarray(x))]
    for k, part in enumerate(found, start=1):
        np.testing.assert_array_equal(part, x * k / 16)


def test_copies_solve_the_same_and_count_for_themselves() -> None:
    for set_ in everything():
        c = rng.integers(-1, 2, set_.dim).astype(float) + 0.25
        expected = set_.host.argmax(c)
        for twin in (copy.deepcopy(set_), pickle.loads(pickle.dumps(set_))):
            assert twin.host is not set_.host
            assert twin.host.solves == 0
            with double():
                assert np.array_equal(np.asarray(eqx.filter_jit(twin.argmax)(c)), expected)
            assert twin.host.solves == 1


def test_membership_on_the_host() -> None:
    set_ = sets.SpanningTrees(nx.complete_graph(4))
    assert not set_.has_fast_contains
    assert polytope().has_fast_contains
    with double():
        points = jnp.stack([set_.center, set_.center * 1.01, set_.host.rest, jnp.full(6, jnp.nan), jnp.zeros(6)])
        nested = jax.jit(jax.vmap(jax.vmap(set_.contains)))(points[None])
    assert nested.tolist() == [[True, False, True, False, False]]
    with double():
        loosened = jax.vmap(set_.contains)(points[:2], jnp.array([1e-9, 0.1]))
    assert loosened.tolist() == [True, True]
    assert bool(set_.contains(jnp.asarray(set_.center, jnp.float32), 1e-5))


def test_membership_of_a_traced_oracle_inside_compiled_code() -> None:
    ball = sets.from_oracle(lambda c: c / jnp.maximum(jnp.linalg.norm(c), 1e-30), 3, 1.0)
    with double():
        inside = jax.jit(jax.vmap(ball.contains))(jnp.array([[0.5, 0.5, 0.5], [0.6, 0.6, 0.6]]))
    assert inside.tolist() == [True, False]


def test_a_direction_is_scaled_before_it_is_solved() -> None:
    set_ = polytope()
    c = rng.standard_normal(5)
    wanted = set_.host.argmax(c)
    for power in (-60, -20, 20, 60):
        assert np.array_equal(set_.host.argmax(c * 2.0**power), wanted)


def test_own_membership_on_the_host() -> None:
    known = sets.from_oracle(lambda c: np.sign(c), 2, 2.0, contains=lambda x, t: np.all(abs(x) <= 1 + t), host=True)
    assert [bool(known.contains(jnp.full(2, v))) for v in (0.5, 1.5)] == [True, False]
    assert known.host.solves == 0
