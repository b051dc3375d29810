"""The rivals agree with their NumPy transcriptions, fed the same random numbers."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from droculo import Record, Scales, networks, problems, simulate
from droculo.algorithms import DMFW, DOBGA, DecBFTRL, MonoDMFW, dpobga
from droculo.precision import double
from tests.reference import adaptive, algorithms, rivals
from tests.reference import oracles as reference_oracles

N, D, B, KEY = 5, 6, 2, 3
PROBLEM = problems.TopB.random(agents=N, dim=D, budget=B, seed=1)
NETWORK = networks.from_graph(networks.ring(N))
BOLD = Scales(step=20.0)
C = np.full(D, min(0.5, B / (D + np.sqrt(D))))


def argmax(c):
    x = np.zeros(D)
    order = sorted(range(D), key=lambda i: (-c[i], i))
    for i in order[:B]:
        x[i] = float(c[i] > 0)
    return x


def project(y):
    """Onto {0 <= x <= 1, sum x <= B}: the shift at which the clipped sum is right, by its kinks."""
    if np.clip(y, 0, 1).sum() <= B:
        return np.clip(y, 0, 1)
    kinks = np.sort(np.concatenate([y, y - 1]))
    sums = np.array([np.clip(y - k, 0, 1).sum() for k in kinks])
    j = np.searchsorted(-sums, -B) - 1
    share = (sums[j] - B) / (sums[j] - sums[j + 1]) if sums[j] > sums[j + 1] else 0.0
    return np.clip(y - (kinks[j] + share * (kinks[j + 1] - kinks[j])), 0, 1)


def separate(x):
    """The most violated of x >= 0, x <= 1, sum x <= B, each inequality with a normal of length 1."""
    violations = [(-x[i], -np.eye(D)[i]) for i in range(D)] + [(x[i] - 1, np.eye(D)[i]) for i in range(D)]
    violations.append(((x.sum() - B) / np.sqrt(D), np.ones(D) / np.sqrt(D)))
    worst = max(violations, key=lambda v: v[0])
    return None if worst[0] <= 0 else worst[1]


def agents_key(i):
    return jax.random.fold_in(jax.random.split(jax.random.key(KEY), 3)[0], i)


def draw(i, t):
    u = float(jax.random.uniform(jax.random.fold_in(agents_key(i), t), ()))
    return 1 + np.log(np.exp(-1) + u * (1 - np.exp(-1)))


def noise_of(key, K):
    return np.asarray(jax.random.uniform(key, (K, D)))


def answers():
    gradient = eqx.filter_jit(PROBLEM.gradient)
    return lambda i, t, x: np.asarray(gradient(jnp.asarray(i), jnp.asarray(t), jnp.asarray(x)))


def compare(agent, expected, calls, **options):
    run = simulate(PROBLEM, agent, NETWORK, key=KEY, record=Record(queries=True), **options)
    np.testing.assert_allclose(run.actions, expected.actions, rtol=0, atol=1e-9)
    for (i, t), points in expected.queries.items():
        np.testing.assert_allclose(run.queries[t, i], points, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(getattr(run.ledger, calls), expected.calls)
    assert np.ptp(expected.actions[-1], axis=0).max() > 1e-6, "all agents agree: mixing was not compared"
    return run


def test_dmfw():
    T, K = 7, 9
    agent = DMFW.design(PROBLEM.setting, horizon=T, inner=K, scales=BOLD)
    with double():
        noise = lambda i, t: noise_of(jax.random.fold_in(agents_key(i), t), K)  # noqa: E731
        expected = rivals.dmfw(answers(), argmax, noise, NETWORK.to_matrix(), C, T, K, float(agent.width))
    run = compare(agent, expected, "loo_calls")
    assert np.all(run.ledger.exchanges == 2 * K * T)
    assert np.all(run.ledger.gradient_queries == K * T)
    assert np.isclose(float(agent.width), float(PROBLEM.bounds.gradient) * np.sqrt(T) / 20)


def test_mono_dmfw():
    T, K = 40, 9  # the last block is shorter
    agent = MonoDMFW.design(PROBLEM.setting, horizon=T, scales=BOLD)
    assert agent.timetable.block == K
    with double():
        keys = lambda i, t: jax.random.split(jax.random.fold_in(agents_key(i), t))  # noqa: E731
        noise = lambda i, t: noise_of(keys(i, t)[1], K)  # noqa: E731
        order = lambda i, t: np.argsort(np.argsort(np.asarray(jax.random.uniform(keys(i, t)[0], (K,)))))  # noqa: E731
        expected = rivals.mono_dmfw(answers(), argmax, noise, order, NETWORK.to_matrix(), C, T, K, float(agent.width))
    run = compare(agent, expected, "loo_calls")
    assert np.all(run.ledger.gradient_queries == T)
    assert np.all(run.ledger.exchanges == 2 * run.ledger.loo_calls)


def test_dobga():
    T = 50
    agent = DOBGA.design(PROBLEM.setting, horizon=T, scales=BOLD)
    with double():
        expected = rivals.dobga(answers(), project, draw, NETWORK.to_matrix(), C, T, float(agent.steps.step_size))
    run = compare(agent, expected, "projections")
    assert np.all(run.ledger.projections == T)
    assert np.all(run.ledger.loo_calls == 0)


def test_dobga_with_the_step_that_adapts_itself():
    """Blocks of one round, an exact projection, and the boosted gradient for a signal."""
    T, beta = 40, 1 - np.exp(-1)
    agent = DOBGA.design(PROBLEM.setting, adaptive=True)
    names = ("rise", "settle", "caution", "apart", "slack", "least", "most", "exactness")
    numbers = {name: float(getattr(agent.steps, name)) for name in names}
    steps = [adaptive.Step(C, np.sqrt(B), lambda o: o, numbers) for _ in range(N)]
    with double():
        gradient = answers()
        expected, exchanges = adaptive.adaptive(
            gradient, lambda x: x, lambda x, z: z * x, lambda x, z, g: beta * g, lambda i, t: (draw(i, t), 0.0, None),
            lambda i, own, mixed, y, eps: (project(y), None, 1), steps, NETWORK.to_matrix(), C, T,
            [(t, t + 1, 1) for t in range(T)], played=False,
        )  # fmt: skip
    run = compare(agent, expected, "projections", rounds=T)
    assert exchanges == T
    assert np.all(run.ledger.exchanges == T)
    np.testing.assert_allclose(run.states.steps.boldness, [step.h for step in steps], rtol=0, atol=1e-9)


def test_dec_bftrl():
    T = 50
    agent = DecBFTRL.design(PROBLEM.setting, horizon=T, mixing_rate=NETWORK.mixing_rate, scales=Scales(step=200.0))
    with double():
        expected = rivals.dec_bftrl(
            answers(), separate, draw, NETWORK.to_matrix(), C, C[0], np.sqrt(B) + np.linalg.norm(C), T,
            float(agent.curvature),
        )  # fmt: skip
    run = compare(agent, expected, "separations")
    assert np.all(run.ledger.exchanges == T)
    assert run.ledger.separations.max() > 2 * T, "the leader never left K, so the bisection was not compared"


def test_dpobga_is_algorithm_1_with_a_scaled_gradient():
    T = 84
    agent = dpobga(PROBLEM.setting, horizon=T, scales=Scales(step=20.0, tolerance=0.05))
    eta = 20 * np.sqrt(B) / (float(PROBLEM.bounds.gradient) * np.sqrt(9 * T))
    with double():
        for_slots = lambda i: jax.random.split(agents_key(i))[1]  # noqa: E731

        def z_of(i, t):
            key = jax.random.split(jax.random.fold_in(for_slots(i), t))[0]
            u = float(jax.random.uniform(key, (2,))[0])
            return 1 + np.log(np.exp(-1) + u * (1 - np.exp(-1))), 0.0, None

        scaled = answers()
        expected = algorithms.algorithm_1(
            lambda i, t, x: (1 - np.exp(-1)) * scaled(i, t, x), lambda x: x, lambda x, z: z * x, lambda x, z, g: g, z_of,
            lambda own, mixed, y: reference_oracles.paper(argmax, np.sqrt(B), mixed, y, float(agent.steps.tolerance)),
            NETWORK.to_matrix(), C, T, 9, eta,
        )  # fmt: skip
    run = compare(agent, expected, "loo_calls")
    assert np.all(run.ledger.exchanges == 10)


@pytest.mark.parametrize("design", [DMFW.design, MonoDMFW.design, dpobga])
def test_the_rivals_need_zero_and_monotone_functions(design):
    cut = problems.PlantedCut.random(agents=N, left=2, right=4, seed=1)
    with pytest.raises(ValueError, match="monotone functions on a set that contains 0"):
        design(cut.setting, horizon=10)
