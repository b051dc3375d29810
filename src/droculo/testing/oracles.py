"""Lemma 1, word for word."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from droculo.oracles import InfeasibleProjection, Projection, batching, lemma_bound
from droculo.precision import double
from droculo.sets import Set
from droculo.sets.geometry import Vector
from droculo.testing.counting import CallCounter, counting
from droculo.testing.points import all_inside, in_single, random_points


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
    z in K, LOO calls within the bound. It must also return for any input: ties, an eps below rounding, NaN, and
    float32. All of this runs compiled and batched, as in a simulation (`oracles.batching`), and in every run the LOO
    calls that the oracle reports must be those that were made.
    """
    rng = np.random.default_rng(seed)
    counted, counter = counting(set_)
    project = _Projector(oracle, counted, counter)
    with double():
        x0, z = np.split(random_points(set_, samples + 60, rng), [samples])
        step = rng.standard_normal((samples, set_.dim)) * float(set_.radius)
        y0 = x0 + step * np.geomspace(1e-3, 2.0, samples)[:, None]
        y0[0] = x0[0]  # nothing to do
        for eps in tolerances:
            eps = eps * float(set_.radius) ** 2
            out, bound = project(x0, y0, eps)
            _check_lemma(set_, out, bound, x0, y0, z, eps)
        _check_returns(project, set_, x0, y0)
    _check_single(project, set_, x0, y0, tolerances[0])


@eqx.filter_jit  # type: ignore[untyped-decorator]
def _run(oracle: InfeasibleProjection, set_: Set, x0: Array, y0: Array, eps: Array) -> tuple[Projection, Array]:
    """The projections of all y0, without memories, and Lemma 1's bound of each."""

    def one(x: Array, y: Array) -> tuple[Projection, Array]:
        out = batching.project(oracle, set_, x, y, eps, oracle.init(set_, x))
        return dataclasses.replace(out, memory=None), lemma_bound(set_, x, y, eps)

    return jax.vmap(one)(x0, y0)


@dataclasses.dataclass(frozen=True)
class _Projector:
    """Runs an oracle on a batch, and compares the LOO calls that it reports with those made."""

    oracle: InfeasibleProjection
    set_: Set  # a counting one
    counter: CallCounter

    def __call__(self, x0: Vector, y0: Vector, eps: float | np.floating) -> tuple[Projection, Vector]:
        out, bound = _run(self.oracle, self.set_, jnp.asarray(x0), jnp.asarray(y0), jnp.asarray(eps))
        said, made = int(np.sum(out.calls)), self.counter.take().loo_calls
        assert said == made, (
            f"the oracle reports {said} LOO calls and made {made}. In a batched loop an agent that is done must send a zero "
            "direction, which costs no solve: argmax(jnp.where(done, 0, direction))."
        )
        return out, np.asarray(bound)


def _check_lemma(set_: Set, out: Projection, bound: Vector, x0: Vector, y0: Vector, z: Vector, eps: float) -> None:
    R = float(set_.radius)
    x, y = np.asarray(out.x), np.asarray(out.y)
    near = np.sum((x - y) ** 2, axis=1)
    assert all_inside(set_, x, 1e-8 * max(1, R)), "x is not in K."
    assert np.all(np.linalg.norm(y, axis=1) <= R * (1 + 1e-9)), "y is outside the ball of radius R."
    assert np.all(near <= 3 * eps * (1 + 1e-9)), f"|x - y|^2 = {near.max():g} exceeds 3 eps = {3 * eps:g}."
    after, before = (np.linalg.norm(each[:, None] - z[None], axis=2) for each in (y, y0))
    farther = f"y is farther from some z in K than y0 was, by {np.max(after - before):g}"
    assert np.all(after <= before + 1e-9 * max(1, R)), f"{farther}: it was pulled past a point of K."
    calls = np.asarray(out.calls)
    assert np.all(calls <= bound), f"{calls.max()} LOO calls, more than Lemma 1's bound."
    assert np.all(np.asarray(out.converged)), "the contract holds, but the oracle says that it stopped early."
    assert calls[0] == 0, "y0 = x0 needs no LOO call."


def _check_returns(project: _Projector, set_: Set, x0: Vector, y0: Vector) -> None:
    R = float(set_.radius)
    # With a small cap where the oracle has one: an eps below rounding may need the lemma's 10^18 calls.
    cap = {"limit": 200} if hasattr(project.oracle, "limit") else {}
    capped = dataclasses.replace(project, oracle=dataclasses.replace(project.oracle, **cap))
    tiny, _ = capped(x0, y0, 1e-18 * R**2)
    assert all_inside(set_, np.asarray(tiny.x), 1e-8 * max(1, R)), "with an eps below rounding, x left K."
    odd = np.where(np.arange(len(x0))[:, None] % 2 == 0, x0 + 2 * R, np.nan)
    converged = np.asarray(project(x0, odd, 1e-2 * R**2)[0].converged)
    assert np.all(converged[::2]), "with all entries of the direction tied, the tolerance was not met."
    assert not np.any(converged[1::2]), "a y0 of NaN was reported as projected."


def _check_single(project: _Projector, set_: Set, x0: Vector, y0: Vector, tolerance: float) -> None:
    """float32, as on an accelerator: types are kept and the promise holds up to single precision."""
    R = float(set_.radius)
    eps = np.float32(tolerance * R**2)
    with jax.enable_x64(False):
        x0, y0 = in_single(x0), in_single(y0)
        out, _ = dataclasses.replace(project, set_=in_single(project.set_))(x0, y0, eps)
        assert out.x.dtype == out.y.dtype == jnp.float32, f"float32 in, {out.x.dtype} out."
        near = np.sum((np.asarray(out.x) - np.asarray(out.y)) ** 2, axis=1)
    with double():
        assert all_inside(set_, np.asarray(out.x, np.float64), 1e-5 * max(1, R)), "in float32 x is not in K."
    assert np.all(near <= 3 * eps * 1.001), f"in float32 |x - y|^2 = {near.max():g} exceeds 3 eps = {3 * eps:g}."
