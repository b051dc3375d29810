"""The check of a linearization: it keeps its promise on functions of its class."""

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from scipy import integrate, stats

from droculo.linearizations import Linearization
from droculo.precision import double
from droculo.sequencing import after
from droculo.sets import Set
from droculo.testing.points import all_inside, random_points

Density = Callable[[float], float]

#: Draws of Z whose law is tested; with a fixed seed the test is deterministic, so its level is a tolerance.
DRAWS = 20_000
#: nodes of quadratures over Z
COARSE, FINE = 3, 40


def check_linearization(
    linearization: Linearization,
    set_: Set,
    functions: Sequence[Callable[[jax.Array], jax.Array]],
    /,
    *,
    density: Density | None = None,
    samples: int = 40,
    seed: int = 0,
) -> None:
    """Raise an AssertionError, in a full sentence, for the first promise that fails.

    `functions` are members of the class, written in JAX; `density(z)` is the law of Z on [0, 1] as the theory states
    it, where the class has one. Checked on random pairs of points: the inequality
    alpha f(y) - f(h(x)) <= beta <g(f, x), y - x>; the affine upper bounds from few z and from many; that actions and
    queries stay in the set; the law of Z (Kolmogorov-Smirnov); and that the estimate's mean, integrated against
    `density`, is g.
    """
    rng = np.random.default_rng(seed)
    with double():
        linearization = linearization.for_set(set_)
        assert linearization.alpha is not None, "alpha must be known once the linearization knows its set"
        assert 0 < float(linearization.alpha) <= 1, f"alpha must lie in (0, 1]; got {float(linearization.alpha)}."
        assert float(linearization.beta) > 0, f"beta must be positive; got {float(linearization.beta)}."
        x, y = (jnp.asarray(random_points(set_, samples, rng)) for _ in range(2))
        _check_feasible(linearization, set_, x, rng)
        if density is not None:
            _check_law(linearization, density, rng)
        for number, f in enumerate(functions):
            _check_inequality(linearization, set_, f, x, y, f"function {number}")
            if density is not None:
                _check_mean(linearization, f, x[0], density, f"function {number}")


def _check_feasible(linearization: Linearization, set_: Set, x: jax.Array, rng: np.random.Generator) -> None:
    z = linearization.quantile(jnp.asarray(rng.uniform(size=len(x))))
    actions, queries = jax.vmap(linearization.action)(x), jax.vmap(linearization.query)(x, z)
    assert all_inside(set_, np.asarray(actions), 1e-9), "an action h(x) leaves the set."
    assert all_inside(set_, np.asarray(queries), 1e-9), "a query point leaves the set."
    same = not linearization.trivial or np.allclose(queries, actions, rtol=0, atol=1e-12)
    assert same, "the linearization says that its query is its action (trivial), and it is not."


def _check_inequality(
    linearization: Linearization, set_: Set, f: Callable, x: jax.Array, y: jax.Array, name: str
) -> None:
    """(2) with a fine quadrature, and the bounds that need none: from few z and from many."""
    reach = 2 * float(set_.radius)

    def sides(x: jax.Array, y: jax.Array) -> tuple[jax.Array, ...]:
        earned = f(linearization.action(x))
        left = linearization.alpha * f(after(y, earned)) - earned
        below = left + earned  # alpha f(y)
        right = linearization.beta * jnp.dot(linearization.signal(jax.grad(f), after(x, below), nodes=FINE), y - x)
        bounds = [linearization.upper_bounds(f, jax.grad(f), after(x, right), COARSE, reach)]
        bounds += [linearization.upper_bounds(f, jax.grad(f), after(x, *bounds[0].theorem), FINE, reach)]
        theorem, tight = (jnp.stack([getattr(b, kind)(y) for b in bounds]) for kind in ("theorem", "tight"))
        return left, right, below, theorem, tight, jnp.stack([b.excess for b in bounds])

    left, right, below, theorem, tight, excess = (np.asarray(side) for side in jax.jit(jax.vmap(sides))(x, y))
    scale = 1e-9 * (1 + np.abs(below).max())
    worst = int(np.argmax(left - right))
    assert np.all(left <= right + scale), (
        f"upper-linearizability fails for {name}: alpha f(y) - f(h(x)) = {left[worst]:g} exceeds "
        f"beta <g, y - x> = {right[worst]:g} at x = {np.asarray(x[worst])}, y = {np.asarray(y[worst])}."
    )
    short = (below[:, None] - tight).max()
    assert short <= scale, f"an upper bound of {name} does not lie above alpha f, by {short:g}."
    assert np.all(tight <= theorem + scale), f"the tight upper bound of {name} lies above that of the theorem."
    coarse, fine = excess.max(axis=0)
    fewer = fine <= coarse / 4 + 1e3 * scale
    assert fewer, (
        f"with {FINE} values of z instead of {COARSE}, the excess of the bound of {name} only falls to {fine:g}."
    )


def _check_law(linearization: Linearization, density: Density, rng: np.random.Generator) -> None:
    total, _ = integrate.quad(density, 0, 1)
    assert abs(total - 1) < 1e-9, f"the stated density of Z integrates to {total}, not to 1."
    grid = np.linspace(0, 1, 2001)
    cumulative = integrate.cumulative_trapezoid([density(z) for z in grid], grid, initial=0)
    draws = np.asarray(linearization.quantile(jnp.asarray(rng.uniform(size=DRAWS))))
    p = stats.kstest(draws, lambda z: np.interp(z, grid, cumulative)).pvalue
    assert p > 1e-3, f"Z does not follow its stated law: Kolmogorov-Smirnov gives p = {p:g} on {DRAWS} draws."


def _check_mean(linearization: Linearization, f: Callable, x: jax.Array, density: Density, name: str) -> None:
    """E[estimate] against the stated density, which nothing in the linearization's own code knows of."""
    points, weights = np.polynomial.legendre.leggauss(60)
    z = (points + 1) / 2
    mass = weights / 2 * np.array([density(float(v)) for v in z])

    def estimate(z: jax.Array) -> jax.Array:
        return linearization.pull(x, z, jax.grad(f)(linearization.query(x, z)))

    g = np.asarray(linearization.signal(jax.grad(f), x))
    estimates = np.asarray(jax.vmap(estimate)(jnp.asarray(z)))
    np.testing.assert_allclose(mass @ estimates, g, rtol=1e-5, atol=1e-7, err_msg=f"E[estimate] is not g for {name}")
