"""Regret is the paper's, to the last digit, and says when it cannot be had."""

import jax.numpy as jnp
import numpy as np
import pytest

from droculo import Droculo, Record, feedback, linearizations, measure, networks, problems, sets, simulate
from droculo.precision import double

N, T = 3, 25
PROBLEM = problems.PlantedCut.random(agents=N, left=2, right=3, seed=0)
RING = networks.connect(networks.ring(N))
AGENT = Droculo.design(PROBLEM.setting, feedback.semi_bandit(), horizon=T, theta=0.5)


def test_regret_is_the_papers():
    run = simulate(PROBLEM, AGENT, RING, key=0)
    result = measure.regret(PROBLEM, run)
    alpha = (1 - 2 / 5) / 4  # |u|_inf = 2/5 on {sum x = 2} in five dimensions
    assert result.alpha == pytest.approx(alpha)
    with double():
        f = lambda j, t, x: float(PROBLEM.value(jnp.asarray(j), jnp.asarray(t), jnp.asarray(x)))  # noqa: E731
        best = sum(f(j, t, PROBLEM.planted) for t in range(T) for j in range(N)) / N
        earned = [sum(f(j, t, run.actions[t, i]) for t in range(T) for j in range(N)) / N for i in range(N)]
    np.testing.assert_allclose(result.total, alpha * best - np.array(earned), rtol=1e-12)
    assert result.comparator.kind == "exact"


def test_regret_knows_which_functions_were_played():
    twice = simulate(PROBLEM, AGENT, RING, key=0, agents=[1, 1, 1])
    alone = measure.regret(PROBLEM, simulate(PROBLEM, AGENT, networks.connect(networks.single()), key=0, agents=[1]))
    assert measure.regret(PROBLEM, twice).comparator.total == pytest.approx(alone.comparator.total)
    np.testing.assert_allclose(measure.regret(PROBLEM, twice).total, alone.total[0])


def test_regret_refuses_what_it_cannot_know():
    thin = simulate(PROBLEM, AGENT, RING, key=0, record=Record(every=5))
    with pytest.raises(ValueError, match="adds up all 25 rounds, and 5 were recorded"):
        measure.regret(PROBLEM, thin)
    unknown = problems.from_function(
        lambda i, t, x: jnp.log1p(x).sum(), sets.budget(5, 2.0), linearizations.MonotoneOrigin(),
        gradient_bound=3.0, value_bound=3.0,
    )  # fmt: skip
    agent = Droculo.design(unknown.setting, feedback.full_information(), horizon=T, theta=0.5)
    with pytest.raises(ValueError, match="does not know its best point"):
        measure.regret(unknown, simulate(unknown, agent, RING, key=0))
