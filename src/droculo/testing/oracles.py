"""Lemma 1, word for word."""

from __future__ import annotations

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from droculo.oracles import InfeasibleProjection, Projection, batching, lemma_bound
from droculo.precision import double
from droculo.sets import Set
from droculo.sets.base import Cut
from droculo.sets.geometry import Vector
from droculo.testing.points import all_inside, random_points


def check_oracle(
    oracle: InfeasibleProjection,
    set_: Set,
    /,
    *,
    tolerances: tuple[float, ...] = (1e-1, 1e-2),
    samples: int = 12,
    seed: int = 0,
) -> None:
    """Raise an AssertionError, in a full sentence, where the contract of Lemma 1 fails.

    For random x0 in K and y0 near and far: x in K, |y| <= R, |x - y|^2 <= 3 eps, y no farther than y0 from sampled
    z in K, LOO calls within the bound and counted as they are made. Besides, it must return for anything: ties, an
    eps below rounding, NaN, and float32.
    """
    rng = np.random.default_rng(seed)
    with double():
        x0 = random_points(set_, samples, rng)
        z = random_points(set_, 60, rng)
        step = rng.standard_normal((samples, set_.dim)) * float(set_.radius)
        y0 = x0 + step * np.geomspace(1e-3, 2.0, samples)[:, None]
        y0[0] = x0[0]  # nothing to do
        for eps in tolerances:
            eps = eps * float(set_.radius) ** 2
            _check_lemma(set_, _project(oracle, set_, x0, y0, eps), x0, y0, z, eps)
        _check_count(oracle, set_, x0[-1], y0[-1], tolerances[0] * float(set_.radius) ** 2)
        _check_returns(oracle, set_, x0, y0)
    _check_single(oracle, set_, x0, y0, tolerances[0])


@eqx.filter_jit  # type: ignore[untyped-decorator]
def _run(oracle: InfeasibleProjection, set_: Set, x0: jax.Array, y0: jax.Array, eps: jax.Array) -> Projection:
    def one(x: jax.Array, y: jax.Array) -> Projection:
        return batching.project(oracle, set_, x, y, eps, oracle.init(set_, x))

    return jax.vmap(one)(x0, y0)


def _project(oracle: InfeasibleProjection, set_: Set, x0: Vector, y0: Vector, eps: float) -> Projection:
    return _run(oracle, set_, jnp.asarray(x0), jnp.asarray(y0), jnp.asarray(eps))


def _check_lemma(set_: Set, out: Projection, x0: Vector, y0: Vector, z: Vector, eps: float) -> None:
    R = float(set_.radius)
    x, y = np.asarray(out.x), np.asarray(out.y)
    near = np.sum((x - y) ** 2, axis=1)
    assert all_inside(set_, x, 1e-8 * max(1, R)), "x is not in K."
    assert np.all(np.linalg.norm(y, axis=1) <= R * (1 + 1e-9)), "y is outside the ball of radius R."
    assert np.all(near <= 3 * eps * (1 + 1e-9)), f"|x - y|^2 = {near.max():g} exceeds 3 eps = {3 * eps:g}."
    after = np.linalg.norm(y[:, None] - z[None], axis=2)
    before = np.linalg.norm(y0[:, None] - z[None], axis=2)
    assert np.all(after <= before + 1e-9 * max(1, R)), (
        f"y is farther from some z in K than y0 was, by {np.max(after - before):g}: it was pulled past a point of K."
    )
    bound = np.asarray(
        jax.vmap(lambda a, b: lemma_bound(set_, a, b, jnp.asarray(eps)))(jnp.asarray(x0), jnp.asarray(y0))
    )
    calls = np.asarray(out.calls)
    assert np.all(calls <= bound), f"{calls.max()} LOO calls, more than Lemma 1's bound."
    assert np.all(np.asarray(out.converged)), "the contract holds, but the oracle says that it stopped early."
    assert calls[0] == 0, "y0 = x0 needs no LOO call."


class _Counting(Set):
    """The same set, writing down every direction it is asked for."""

    base: Set
    asked: list = eqx.field(static=True)
    projected: list = eqx.field(static=True, default_factory=list)
    separated: list = eqx.field(static=True, default_factory=list)

    @property
    def geometry(self):  # type: ignore[no-untyped-def]
        return self.base.geometry

    @property
    def has_fast_contains(self) -> bool:  # type: ignore[override]
        return self.base.has_fast_contains

    def argmax(self, direction: jax.Array) -> jax.Array:
        if bool(jnp.any(direction != 0)):
            self.asked.append(1)
        return self.base.argmax(direction)

    def contains(self, x: jax.Array, tolerance: float | jax.Array = 1e-9) -> jax.Array:
        return self.base.contains(x, tolerance)

    def project(self, y: jax.Array) -> jax.Array:
        self.projected.append(1)
        return self.base.project(y)

    def separate(self, x: jax.Array) -> Cut:
        self.separated.append(1)
        return self.base.separate(x)


def _check_count(oracle: InfeasibleProjection, set_: Set, x0: Vector, y0: Vector, eps: float) -> None:
    """The reported calls are those really made: run step by step, without compilation, and count."""
    asked: list[int] = []
    counting = _Counting(set_, asked)
    with jax.disable_jit():
        out = oracle(
            counting, jnp.asarray(x0), jnp.asarray(y0), jnp.asarray(eps), oracle.init(counting, jnp.asarray(x0))
        )
    made = len(asked)
    assert int(out.calls) == made, f"the oracle reports {int(out.calls)} LOO calls and made {made}."


def _check_returns(oracle: InfeasibleProjection, set_: Set, x0: Vector, y0: Vector) -> None:
    R = float(set_.radius)
    tiny = _project(_capped(oracle), set_, x0, y0, 1e-18 * R**2)
    assert all_inside(set_, np.asarray(tiny.x), 1e-8 * max(1, R)), "with an eps below rounding, x left K."
    odd = np.where(np.arange(len(x0))[:, None] % 2 == 0, x0 + 2 * R, np.nan)
    met = np.asarray(_project(oracle, set_, x0, odd, 1e-2 * R**2).converged)
    assert np.all(met[::2]), "with all entries of the direction tied, the tolerance was not met."
    assert not np.any(met[1::2]), "a y0 of NaN was reported as projected."


def _capped(oracle: InfeasibleProjection) -> InfeasibleProjection:
    """With a small cap where the oracle has one: an eps below rounding may need the lemma's 10^18 calls."""
    return dataclasses.replace(oracle, limit=200) if hasattr(oracle, "limit") else oracle


def _check_single(oracle: InfeasibleProjection, set_: Set, x0: Vector, y0: Vector, tolerance: float) -> None:
    """float32, as on an accelerator: types are kept and the promise holds up to single precision."""
    R = float(set_.radius)
    eps = np.float32(tolerance * R**2)
    single = jax.tree.map(
        lambda leaf: np.asarray(leaf, np.float32) if eqx.is_inexact_array(leaf) else leaf, (set_, x0, y0)
    )
    with jax.enable_x64(False):
        out = _run(oracle, single[0], jnp.asarray(single[1]), jnp.asarray(single[2]), jnp.asarray(eps))
        assert out.x.dtype == out.y.dtype == jnp.float32, f"float32 in, {out.x.dtype} out."
        near = np.sum((np.asarray(out.x) - np.asarray(out.y)) ** 2, axis=1)
    with double():
        assert all_inside(set_, np.asarray(out.x, np.float64), 1e-5 * max(1, R)), "in float32 x is not in K."
    assert np.all(near <= 3 * eps * 1.001), f"in float32 |x - y|^2 = {near.max():g} exceeds 3 eps = {3 * eps:g}."
