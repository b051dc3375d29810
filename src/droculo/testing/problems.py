"""The check of a problem: it is what it declares."""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from droculo.precision import double
from droculo.problems import Problem
from droculo.sets.geometry import Vector
from droculo.testing.points import all_inside, random_points


def check_problem(problem: Problem, /, *, horizon: int = 50, samples: int = 60, seed: int = 0) -> None:
    """Raise an AssertionError, in a full sentence, for the first declaration that fails.

    Checked over random agents, rounds and points: one finite number per point; the gradient against central
    differences; the declared bounds, Lipschitz constant and smoothness on K; the class: concave, or non-negative and gamma-weakly up-concave (the paper's
    (1)) over the whole box, and monotone where the case says so; and that an exact comparator is a point of K, earns
    what it says and is beaten by no sampled point.
    """
    rng = np.random.default_rng(seed)
    with double():
        if not problem.differentiable:
            _check_values(problem, rng, horizon, samples)
            return
        agents = rng.integers(0, problem.agents or 3, samples)
        rounds = rng.integers(0, horizon, samples)
        inside = random_points(problem.set, samples, rng)
        values, gradients = _sample(problem, agents, rounds, inside)
        assert values.shape == (samples,), f"f must return one number; got shape {values.shape[1:]}."
        assert np.all(np.isfinite(values) & np.all(np.isfinite(gradients), axis=1)), (
            "f or its gradient is not finite on K."
        )
        _check_gradient(problem, agents, rounds, inside, rng)
        _check_bounds(problem, values, gradients)
        _check_smoothness(problem, agents, rounds, inside, rng)
        case = problem.linearization.case
        if case == "concave":
            _check_concave(problem, agents, rounds, inside, rng)
        elif case in ("A1", "A2", "A3", "A4"):
            _check_up_concave(problem, agents, rounds, inside, rng, monotone=case in ("A1", "A2"))
        _check_comparator(problem, horizon, inside)


def _check_values(problem: Problem, rng: np.random.Generator, horizon: int, samples: int) -> None:
    """What can be seen of a black box that has no gradients: finite values within their bounds."""
    agents, rounds = rng.integers(0, problem.agents or 3, samples), rng.integers(0, horizon, samples)
    x = random_points(problem.set, samples, rng)
    y = x[rng.permutation(samples)]
    ask = eqx.filter_jit(lambda p, i, t, x: jax.vmap(p.value)(i, t, x))
    at_x, at_y = (np.asarray(ask(problem, jnp.asarray(agents), jnp.asarray(rounds), jnp.asarray(z))) for z in (x, y))
    assert at_x.shape == (samples,), f"f must return one number; got shape {at_x.shape[1:]}."
    assert np.all(np.isfinite(at_x) & np.isfinite(at_y)), "f is not finite on K."
    largest, bound = np.abs(at_x).max(), float(problem.bounds.value)
    assert largest <= bound * (1 + 1e-9), f"a value of size {largest:g} exceeds the declared bound {bound:g}."
    apart = np.linalg.norm(x - y, axis=1)
    size, constant = (
        np.max(np.abs(at_x - at_y)[apart > 1e-9] / apart[apart > 1e-9], initial=0.0),
        problem.bounds.lipschitz,
    )
    assert size <= constant * (1 + 1e-6), (
        f"the declared Lipschitz constant is {constant:g}, and two points show {size:g}."
    )


@eqx.filter_jit  # type: ignore[untyped-decorator]
def _both(problem: Problem, agents: jax.Array, rounds: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
    return jax.vmap(problem.value)(agents, rounds, x), jax.vmap(problem.gradient)(agents, rounds, x)


def _sample(problem: Problem, agents: np.ndarray, rounds: np.ndarray, x: Vector) -> tuple[Vector, Vector]:
    values, gradients = _both(problem, jnp.asarray(agents), jnp.asarray(rounds), jnp.asarray(x))
    return np.asarray(values), np.asarray(gradients)


def _check_gradient(
    problem: Problem, agents: np.ndarray, rounds: np.ndarray, x: Vector, rng: np.random.Generator
) -> None:
    """Central differences along segments of K, so that f is never asked outside of it."""
    other = x[rng.permutation(len(x))]
    middle, way = (x + other) / 2, other - x
    step = 1e-5
    up, _ = _sample(problem, agents, rounds, middle + step * way)
    down, _ = _sample(problem, agents, rounds, middle - step * way)
    _, gradients = _sample(problem, agents, rounds, middle)
    slope, claimed = (up - down) / (2 * step), np.sum(gradients * way, axis=1)
    worst = np.max(np.abs(slope - claimed))
    scale = 1 + np.abs(gradients).max() * float(problem.set.radius)
    assert worst <= 1e-4 * scale, f"the gradient differs from central differences by {worst:g} along a segment of K."


def _check_bounds(problem: Problem, values: Vector, gradients: Vector) -> None:
    largest, bound = np.linalg.norm(gradients, axis=1).max(), float(problem.bounds.gradient)
    assert largest <= bound * (1 + 1e-9), f"a gradient of norm {largest:g} exceeds the declared bound {bound:g}."
    largest, bound = np.abs(values).max(), float(problem.bounds.value)
    assert largest <= bound * (1 + 1e-9), f"a value of size {largest:g} exceeds the declared bound {bound:g}."


def _check_smoothness(
    problem: Problem, agents: np.ndarray, rounds: np.ndarray, x: Vector, rng: np.random.Generator
) -> None:
    """Far pairs and near ones: |f(x) - f(y)| <= M1 |x - y| and |grad f(x) - grad f(y)| <= L |x - y|."""
    other = x[rng.permutation(len(x))]
    for share in (1.0, 1e-3):
        y = x + share * (other - x)
        at_x, slope_x = _sample(problem, agents, rounds, x)
        at_y, slope_y = _sample(problem, agents, rounds, y)
        apart = np.linalg.norm(y - x, axis=1)
        for what, change, constant in (
            ("Lipschitz constant", np.abs(at_y - at_x), float(problem.bounds.lipschitz)),
            ("smoothness", np.linalg.norm(slope_y - slope_x, axis=1), float(problem.bounds.smoothness)),
        ):
            far = apart > 1e-9
            size = np.max(change[far] / apart[far], initial=0.0)
            assert size <= constant * (1 + 1e-6) + 1e-6, (
                f"the declared {what} is {constant:g}, and two points of K show {size:g}."
            )


def _check_concave(
    problem: Problem, agents: np.ndarray, rounds: np.ndarray, x: Vector, rng: np.random.Generator
) -> None:
    y = x[rng.permutation(len(x))]
    at_x, slope = _sample(problem, agents, rounds, x)
    at_y, _ = _sample(problem, agents, rounds, y)
    excess = at_y - at_x - np.sum(slope * (y - x), axis=1)
    assert np.all(excess <= 1e-9 * (1 + np.abs(at_x))), (
        f"f is declared concave and lies {excess.max():g} above a tangent."
    )


def _check_up_concave(
    problem: Problem, agents: np.ndarray, rounds: np.ndarray, x: Vector, rng: np.random.Generator, *, monotone: bool
) -> None:
    """gamma <grad f(y), y - x> <= f(y) - f(x) <= <grad f(x), y - x>/gamma for x <= y in the box [0, 1]^d, or K's own."""
    linearization = problem.linearization
    gamma = float(linearization.alpha / linearization.beta) if monotone and linearization.alpha is not None else 1.0
    box = np.maximum(1.0, x.max(axis=0))
    ends = np.sort(rng.uniform(size=(2, len(agents), problem.set.dim)), axis=0) * box
    corners = (rng.uniform(size=ends[1].shape) < 0.7) * box
    ends[1][::3] = np.maximum(ends[0], corners)[::3]  # every third pair ends in a corner, the top one among them
    ends[1][0] = box
    at_x, slope_x = _sample(problem, agents, rounds, ends[0])
    at_y, slope_y = _sample(problem, agents, rounds, ends[1])
    step = ends[1] - ends[0]
    rise = at_y - at_x
    slack = 1e-9 * (1 + np.abs(at_x) + np.abs(at_y))
    least = min(np.min(at_x + slack), np.min(at_y + slack))
    assert least >= 0, f"f must be non-negative on the unit box; got {least:g}."
    upper, lower = np.sum(slope_x * step, axis=1) / gamma, gamma * np.sum(slope_y * step, axis=1)
    worst = max(np.max(rise - upper - slack), np.max(lower - slack - rise))
    assert worst <= 0, f"f is not {gamma:g}-weakly up-concave: inequality (1) fails by {worst:g}."
    if monotone:
        fall = min(slope_x.min(), slope_y.min())
        assert fall >= -1e-9 * (1 + np.abs(slope_x).max()), f"f is declared monotone and has a slope of {fall:g}."
    if linearization.case == "A1" and linearization.alpha is not None:  # alpha rests on the declared curvature
        other = ends[1][rng.permutation(len(agents))]
        at_other, _ = _sample(problem, agents, rounds, other)
        excess = (
            linearization.alpha * at_other
            - at_x
            - linearization.beta * np.sum(slope_x * (other - ends[0]), axis=1)
            - slack
        )
        assert np.max(excess) <= 0, f"alpha and beta do not hold, by {np.max(excess):g}: is the curvature larger?"


def _check_comparator(problem: Problem, horizon: int, inside: Vector) -> None:
    number = problem.agents or 3
    best = problem.comparator(horizon, np.arange(number))
    if best is None:
        return
    assert all_inside(problem.set, best.point[None], 1e-7), "the comparator is not a point of K."
    total = _total(problem, horizon, number)
    earned = float(total(jnp.asarray(best.point)))
    assert abs(earned - best.total) <= 1e-7 * (1 + abs(earned)), (
        f"the comparator is said to earn {best.total} and earns {earned}."
    )
    if best.kind == "exact":
        others = np.array([float(total(jnp.asarray(x))) for x in inside])
        assert others.max() <= earned + 1e-7 * (1 + abs(earned)), (
            f"the comparator is said to be exact, but a sampled point earns {others.max()} against {earned}."
        )


def _total(problem: Problem, horizon: int, agents: int) -> Callable[[jax.Array], jax.Array]:
    """x -> (1/N) sum over rounds and agents of f(x)."""
    every = jnp.stack([grid.ravel() for grid in jnp.meshgrid(jnp.arange(agents), jnp.arange(horizon))])

    @jax.jit
    def total(x: jax.Array) -> jax.Array:
        return jnp.sum(jax.vmap(problem.value, (0, 0, None))(every[0], every[1], x)) / agents

    return total
