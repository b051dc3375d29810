"""Claim: against an adversary without a trend the certified alpha-regret grows with the exponent of the theorem, in every case.

The certificate bounds the regret from above, and unlike the regret it is positive, so that it has a growth exponent.
"""

import equinox as eqx
import jax
import numpy as np
import pytest

from droculo import Droculo, Scales, feedback, linearizations, measure, networks, problems, simulate

N = 8
RING = networks.from_graph(networks.ring(N))
BUDGET = problems.TopB.random(agents=N, dim=10, budget=3, seed=0, swing=0.0)
FACE = problems.TopB.random(agents=N, dim=10, budget=3, seed=0, face=True, swing=0.0)
HORIZONS = (2**7, 2**9, 2**11)
KEYS = jax.random.split(jax.random.key(0), 4)


def seen_as(problem, linearization):
    """A monotone DR-submodular function belongs to the non-monotone classes too."""
    return eqx.tree_at(lambda p: p.linearization, problem, linearization)


CASES = {  # problem, feedback, and the largest theta that the theorems cover
    "A1": (FACE, "semi_bandit", 1.0),
    "A2": (BUDGET, "full_information", 1.0),
    "A2 played": (BUDGET, "semi_bandit", 2 / 3),
    "A3": (seen_as(FACE, linearizations.NonMonotoneGeneral()), "full_information", 1.0),
    "A4": (seen_as(BUDGET, linearizations.NonMonotoneDownClosed()), "semi_bandit", 2 / 3),
    "concave": (problems.WaterFilling.random(agents=N, dim=10, budget=3.0, seed=0), "semi_bandit", 1.0),
}


def adaptive(problem, model, theta):
    """(seeds, horizons): the certificate of the mean agent, in one run that need not know where it ends."""
    agent = Droculo.design(problem.setting, model, theta=theta)
    run = simulate(problem, agent, RING, key=KEYS, rounds=HORIZONS[-1], progress=False)
    return measure.certificate(problem, run, at=HORIZONS).bound.mean(axis=-1)


def prescribed(problem, model, theta):
    """The same in a run for each horizon."""
    found = []
    for horizon in HORIZONS:
        agent = Droculo.prescribed(problem.setting, model, horizon=horizon, theta=theta, scales=Scales(step=10.0))
        run = simulate(problem, agent, RING, key=KEYS, progress=False)
        found.append(measure.certificate(problem, run, at=[horizon]).bound.mean(axis=1))
    return np.stack(found, axis=1)


@pytest.mark.parametrize("certified", [adaptive, prescribed])
@pytest.mark.parametrize("name", CASES)
def test_certified_regret_grows_with_the_exponent_of_the_theorem(name, certified):
    problem, model, theta = CASES[name][0], getattr(feedback, CASES[name][1])(), CASES[name][2]
    promised = measure.guarantee(problem.setting, model, horizon=2**11, theta=theta).exponents.regret
    found = measure.fit_exponent(HORIZONS, certified(problem, model, theta))
    assert found.low <= promised, f"{found} lies above the theorem's {promised:.3f}"
    assert found.slope <= promised + 0.06, f"{found}, and the theorem's exponent is {promised:.3f}"
    assert found.high < 1, f"{found}: regret per round need not fall"
