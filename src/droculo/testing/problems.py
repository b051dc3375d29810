"""The check of a problem: it is what it declares."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from droculo.precision import double
from droculo.problems import Problem
from droculo.sequencing import after
from droculo.sets.geometry import Vector
from droculo.testing.points import all_inside, random_points

#: values and gradients at one point for each of some agents and rounds
Ask = Callable[[Vector], tuple[Vector, Vector]]


def check_problem(problem: Problem, /, *, horizon: int = 50, samples: int = 60, seed: int = 0) -> None:
    """Raise an AssertionError, in a full sentence, for the first declaration that fails.

    Checked over random agents, rounds and points: one finite number per point; the gradient against central
    differences; the declared bounds, Lipschitz constant and smoothness on K; the class: concave, or non-negative and
    gamma-weakly up-concave (the paper's (1)) over the whole box, and monotone where the case says so; and that an exact
    comparator is a point of K, earns what it says and is beaten by no sampled point. Of a black box, the bounds of values.
    """
    rng = np.random.default_rng(seed)
    with double():
        agents = jnp.asarray(rng.integers(0, problem.agents or 3, samples))
        rounds = jnp.asarray(rng.integers(0, horizon, samples))

        def ask(x: Vector) -> tuple[Vector, Vector]:
            values, gradients = _both(problem, agents, rounds, jnp.asarray(x))
            return np.asarray(values), np.asarray(gradients)

        x = random_points(problem.set, samples, rng)
        other = x[rng.permutation(samples)]
        _check_bounds(problem, ask, x, other)
        if not problem.differentiable:
            return
        _check_gradient(problem, ask, x, other)
        case = problem.linearization.case
        if case == "concave":
            (at_x, slope), (at_y, _) = ask(x), ask(other)
            excess = at_y - at_x - np.sum(slope * (other - x), axis=1)
            below = np.all(excess <= 1e-9 * (1 + np.abs(at_x)))
            assert below, f"f is declared concave and lies {excess.max():g} above a tangent."
        elif case in ("A1", "A2", "A3", "A4"):
            _check_up_concave(problem, ask, x, rng)
        _check_comparator(problem, horizon, x)


@eqx.filter_jit  # type: ignore[untyped-decorator]
def _both(problem: Problem, agents: Array, rounds: Array, x: Array) -> tuple[Array, Array]:
    """Values and gradients; zeros for the gradients of a black box, which has none."""
    values = jax.vmap(problem.value)(agents, rounds, x)
    x = after(x, values)
    return values, jax.vmap(problem.gradient)(agents, rounds, x) if problem.differentiable else jnp.zeros_like(x)


def _check_bounds(problem: Problem, ask: Ask, x: Vector, other: Vector) -> None:
    """Finite numbers within their bounds. For far pairs and near ones (far ones only of a black box):
    |f(x) - f(y)| <= M1 |x - y| and |grad f(x) - grad f(y)| <= L |x - y|."""
    values, gradients = ask(x)
    smooth, bounds = problem.differentiable, problem.bounds
    assert values.shape == (len(x),), f"f must return one number; got shape {values.shape[1:]}."
    finite = np.all(np.isfinite(values)) and np.all(np.isfinite(gradients))
    assert finite, f"f{' or its gradient' if smooth else ''} is not finite on K."
    for what, largest, bound in (
        ("a gradient of norm", np.linalg.norm(gradients, axis=1).max(), float(bounds.gradient)),
        ("a value of size", np.abs(values).max(), float(bounds.value)),
    ):
        assert largest <= bound * (1 + 1e-9), f"{what} {largest:g} exceeds the declared bound {bound:g}."
    for share in (1.0, 1e-3) if smooth else (1.0,):
        y = x + share * (other - x)
        at_y, slope_y = ask(y)
        apart = np.linalg.norm(y - x, axis=1)
        for what, change, constant in (
            ("Lipschitz constant", np.abs(at_y - values), float(bounds.lipschitz)),
            ("smoothness", np.linalg.norm(slope_y - gradients, axis=1), float(bounds.smoothness)),
        ):
            size = np.max(change[apart > 1e-9] / apart[apart > 1e-9], initial=0.0)
            points = "two points of K" if smooth else "two points"
            few = size <= constant * (1 + 1e-6) + 1e-6
            assert few, f"the declared {what} is {constant:g}, and {points} show {size:g}."


def _check_gradient(problem: Problem, ask: Ask, x: Vector, other: Vector) -> None:
    """Central differences along segments of K, so that f is never asked outside of it."""
    middle, way, step = (x + other) / 2, other - x, 1e-5
    (up, _), (down, _), (_, gradients) = ask(middle + step * way), ask(middle - step * way), ask(middle)
    worst = np.max(np.abs((up - down) / (2 * step) - np.sum(gradients * way, axis=1)))
    scale = 1 + np.abs(gradients).max() * float(problem.set.radius)
    assert worst <= 1e-4 * scale, f"the gradient differs from central differences by {worst:g} along a segment of K."


def _check_up_concave(problem: Problem, ask: Ask, x: Vector, rng: np.random.Generator) -> None:
    """gamma <grad f(y), y - x> <= f(y) - f(x) <= <grad f(x), y - x>/gamma for x <= y in the box [0, 1]^d, or K's own."""
    linearization = problem.linearization
    alpha, beta, monotone = linearization.alpha, linearization.beta, linearization.monotone
    gamma = float(alpha / beta) if monotone and alpha is not None else 1.0
    box = np.maximum(1.0, x.max(axis=0))
    low, high = np.sort(rng.uniform(size=(2, *x.shape)), axis=0) * box
    corners = (rng.uniform(size=x.shape) < 0.7) * box
    high[::3] = np.maximum(low, corners)[::3]  # every third pair ends in a corner, the top one among them
    high[0] = box
    (at_x, slope_x), (at_y, slope_y) = ask(low), ask(high)
    step, rise = high - low, at_y - at_x
    slack = 1e-9 * (1 + np.abs(at_x) + np.abs(at_y))
    least = min(np.min(at_x + slack), np.min(at_y + slack))
    assert least >= 0, f"f must be non-negative on the unit box; got {least:g}."
    upper, lower = np.sum(slope_x * step, axis=1) / gamma, gamma * np.sum(slope_y * step, axis=1)
    worst = max(np.max(rise - upper - slack), np.max(lower - slack - rise))
    assert worst <= 0, f"f is not {gamma:g}-weakly up-concave: inequality (1) fails by {worst:g}."
    if monotone:
        fall = min(slope_x.min(), slope_y.min())
        assert fall >= -1e-9 * (1 + np.abs(slope_x).max()), f"f is declared monotone and has a slope of {fall:g}."
    if linearization.case == "A1" and alpha is not None:  # alpha rests on the declared curvature
        other = high[rng.permutation(len(x))]
        excess = alpha * ask(other)[0] - at_x - beta * np.sum(slope_x * (other - low), axis=1) - slack
        assert np.max(excess) <= 0, f"alpha and beta do not hold, by {np.max(excess):g}: is the curvature larger?"


def _check_comparator(problem: Problem, horizon: int, inside: Vector) -> None:
    number = problem.agents or 3
    best = problem.comparator(horizon, np.arange(number))
    if best is None:
        return
    assert all_inside(problem.set, best.point[None], 1e-7), "the comparator is not a point of K."
    every = jnp.stack([grid.ravel() for grid in jnp.meshgrid(jnp.arange(number), jnp.arange(horizon))])

    @jax.jit
    def total(x: Array) -> Array:
        """(1/N) sum over rounds and agents of f(x)."""
        return jnp.sum(jax.vmap(problem.value, (0, 0, None))(every[0], every[1], x)) / number

    earned = float(total(jnp.asarray(best.point)))
    slack = 1e-7 * (1 + abs(earned))
    right = abs(earned - best.total) <= slack
    assert right, f"the comparator is said to earn {best.total} and earns {earned}."
    if best.kind == "exact":
        most = max(float(total(jnp.asarray(x))) for x in inside)
        beaten = most > earned + slack
        assert not beaten, f"the comparator is said to be exact, but a sampled point earns {most} against {earned}."
