"""The NumPy baselines of the speed benchmark do the library's job, and the exact projection is one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from benchmarks.baselines import batched, per_agent
from benchmarks.baselines.exact import Exact
from scipy.optimize import minimize

from droculo import Droculo, Record, Scales, feedback, networks, oracles, problems, sets, simulate
from droculo.precision import double

N, D, T = 6, 8, 64
PROBLEM = problems.TopB.random(agents=N, dim=D, budget=3, seed=0)
RING = networks.from_graph(networks.ring(N))
BASELINES = pytest.mark.parametrize("baseline", [per_agent, batched], ids=["per agent", "batched"])


def design(theta=1.0, tolerance=0.1, oracle=None, problem=PROBLEM):
    scales = Scales(step=3.0, tolerance=tolerance)
    return Droculo.prescribed(
        problem.setting, feedback.full_information(), horizon=T, theta=theta, oracle=oracle, scales=scales
    )


def played(agent):
    """The library's run, and the z with which it asked: every query is z times the decision."""
    run = simulate(PROBLEM, agent, RING, key=0, record=Record(queries=True), progress=False)
    z = np.sum(run.queries[:, :, 0] * run.decisions, axis=2) / np.sum(run.decisions**2, axis=2)
    return run, z


def mean_reward(decisions):
    with double():
        value = jax.jit(jax.vmap(jax.vmap(PROBLEM.value, (0, None, 0)), (None, 0, 0)))
        return float(jnp.mean(value(jnp.arange(N), jnp.arange(len(decisions)), jnp.asarray(decisions))))


@BASELINES
@pytest.mark.parametrize("theta", [1.0, 0.5])
def test_with_the_same_draws_and_exact_projections_the_decisions_are_the_same(baseline, theta):
    agent = design(theta, tolerance=1e-7)
    run, z = played(agent)
    decisions, calls = baseline.run(PROBLEM, agent, RING, T, seed=0, draws=z)
    np.testing.assert_allclose(decisions, run.decisions, rtol=0, atol=1e-6)
    assert calls.mean() == pytest.approx(run.ledger.loo_calls.mean(), rel=0.2)
    assert calls.min() > 0


@BASELINES
def test_with_other_draws_they_earn_the_same_at_the_same_price(baseline):
    agent = design()
    run = simulate(PROBLEM, agent, RING, key=0, progress=False)
    decisions, calls = baseline.run(PROBLEM, agent, RING, T, seed=1)
    assert mean_reward(decisions) == pytest.approx(mean_reward(run.decisions), rel=0.02)
    assert calls.mean() == pytest.approx(run.ledger.loo_calls.mean(), rel=0.2)
    inside = (decisions >= -1e-9) & (decisions <= 1 + 1e-9)
    assert inside.all()
    assert decisions.sum(axis=2).max() <= 3 + 1e-9


@BASELINES
def test_a_full_memory_merges(baseline):
    agent = design(oracle=oracles.ActiveSet(size=4))
    run, z = played(agent)
    decisions, calls = baseline.run(PROBLEM, agent, RING, T, seed=0, draws=z)
    np.testing.assert_allclose(decisions, run.decisions, rtol=0, atol=0.1)  # as near as the tolerance keeps them
    assert calls.mean() == pytest.approx(run.ledger.loo_calls.mean(), rel=0.2)


@BASELINES
def test_another_job_is_refused(baseline):
    face = problems.TopB.random(agents=N, dim=D, budget=3, seed=0, face=True)
    with pytest.raises(ValueError, match="play TopB on"):
        baseline.run(face, design(problem=face), RING, T, seed=0)
    with pytest.raises(ValueError, match="corrective oracle"):
        baseline.run(PROBLEM, design(oracle=oracles.FrankWolfe()), RING, T, seed=0)


COVERED = {
    "budget": sets.budget(8, 2.5),
    "long budget": sets.budget(80, 20.3),
    "simplex": sets.Simplex(7),
    "long simplex": sets.Simplex(70),
    "box": sets.Box([-1.0, 0.0, 0.5], [0.0, 2.0, 1.0]),
    "ball": sets.L2Ball(5, 1.5),
}


def by_other_means(domain, y):
    """The projection in NumPy; for a bound on the sum, its multiplier by interpolation between the kinks, sorted."""
    if isinstance(domain, sets.Box):
        return np.minimum(np.maximum(y, domain.lower), domain.upper)
    if isinstance(domain, sets.L2Ball):
        return y * float(domain.size) / max(float(domain.size), np.linalg.norm(y))
    total, equal = (1.0, True) if isinstance(domain, sets.Simplex) else (float(domain.capacities[0]), False)
    if not equal and np.clip(y, 0, 1).sum() <= total:
        return np.clip(y, 0, 1)
    kinks = np.sort(np.concatenate([y, y - 1]))
    sums = np.clip(y - kinks[:, None], 0, 1).sum(axis=1)
    return np.clip(y - np.interp(total, sums[::-1], kinks[::-1]), 0, 1)


@pytest.mark.parametrize("name", COVERED)
def test_the_exact_projection(name):
    domain = COVERED[name]
    rng = np.random.default_rng(0)
    y = rng.normal(0.3, 1.0, (200, domain.dim)) * rng.choice([0.05, 0.5, 1.0, 5.0], (200, 1))
    y[0], y[1] = 0, 3  # nothing to do for most sets; ties
    expected = np.array([by_other_means(domain, point) for point in y])
    with double():
        project = jax.jit(jax.vmap(lambda point: Exact().project(domain, point, point, jnp.asarray(0.1), ())))
        out = project(jnp.asarray(y))
    np.testing.assert_allclose(out.x, expected, rtol=0, atol=1e-10)
    np.testing.assert_array_equal(out.y, out.x)
    assert not np.any(out.calls)
    assert np.all(out.converged)


@pytest.mark.parametrize("name", ["budget", "simplex"])
def test_a_general_solver_agrees(name):
    domain, rng = COVERED[name], np.random.default_rng(1)
    kind, total = ("eq", 1.0) if name == "simplex" else ("ineq", 2.5)
    for y in rng.normal(0.3, 1.0, (5, domain.dim)):
        with double():
            x = np.asarray(Exact().project(domain, jnp.asarray(y), jnp.asarray(y), jnp.asarray(0.1), ()).x)
        found = minimize(
            lambda p, y=y: np.sum((p - y) ** 2), np.full(domain.dim, 1 / domain.dim), jac=lambda p, y=y: 2 * (p - y),
            bounds=[(0, 1)] * domain.dim, constraints={"type": kind, "fun": lambda p: total - p.sum()},
            method="SLSQP", options={"ftol": 1e-15, "maxiter": 500},
        )  # fmt: skip
        np.testing.assert_allclose(x, found.x, rtol=0, atol=1e-6)


def test_exact_takes_the_place_of_the_oracle():
    near = simulate(PROBLEM, design(tolerance=1e-7), RING, key=0, progress=False)
    exact = simulate(PROBLEM, design(oracle=Exact()), RING, key=0, progress=False)
    assert mean_reward(exact.decisions) == pytest.approx(mean_reward(near.decisions), rel=0.02)
    assert exact.ledger.loo_calls.sum() == exact.ledger.not_converged.sum() == 0


def test_other_sets_are_refused():
    point = jnp.zeros(4)
    for domain in (sets.Birkhoff(2), sets.Hull(np.eye(4)), sets.Product(sets.L1Ball(2), sets.Hull(np.eye(2)))):
        with pytest.raises(ValueError, match="has no known projection"):
            Exact().project(domain, point, point, jnp.asarray(0.1), ())
