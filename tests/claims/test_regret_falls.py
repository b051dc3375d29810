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
HORIZONS = {"adaptive": (2**7, 2**8, 2**9, 2**10, 2**11), "prescribed": (2**7, 2**9, 2**11)}
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


def adaptive(problem, model, theta, horizons):
    """(seeds, horizons): the certificate of the mean agent, in one run that need not know where it ends."""
    agent = Droculo.design(problem.setting, model, theta=theta)
    run = simulate(problem, agent, RING, key=KEYS, rounds=horizons[-1], progress=False)
    return measure.certificate(problem, run, at=horizons).curve.mean(axis=-1)


def prescribed(problem, model, theta, horizons):
    """The same in a run for each horizon, with the theorem's step times a constant. (Concave functions curve back.)"""
    found, scales = [], Scales(step=1.5 if problem.linearization.case == "concave" else 10.0)
    for horizon in horizons:
        agent = Droculo.prescribed(problem.setting, model, horizon=horizon, theta=theta, scales=scales)
        run = simulate(problem, agent, RING, key=KEYS, progress=False)
        found.append(measure.certificate(problem, run, at=[horizon]).bound.mean(axis=1))
    return np.stack(found, axis=1)


def test_no_step_has_to_be_chosen_where_long_ones_overshoot_and_short_ones_lag():
    """A surrogate of case A4 curves back even where f is linear."""
    problem = problems.Pricing.random(stores=3, products=6, seed=0)
    assert problem.linearization.case == "A4"
    network, model = networks.from_graph(networks.ring(3)), feedback.full_information()

    def bound(agent):
        return measure.certificate(
            problem, simulate(problem, agent, network, key=0, rounds=1024, progress=False)
        ).bound.mean()

    own, theirs, long = (
        bound(agent)
        for agent in (
            Droculo.design(problem.setting, model),
            Droculo.prescribed(problem.setting, model, horizon=1024),
            Droculo.prescribed(problem.setting, model, horizon=1024, scales=Scales(step=30.0)),
        )
    )
    assert own < theirs / 2
    assert own < long / 2


@pytest.mark.parametrize("certified", [adaptive, prescribed])
@pytest.mark.parametrize("name", CASES)
def test_certified_regret_grows_with_the_exponent_of_the_theorem(name, certified):
    problem, model, theta = CASES[name][0], getattr(feedback, CASES[name][1])(), CASES[name][2]
    promised = measure.guarantee(problem.setting, model, horizon=2**11, theta=theta).exponents.regret
    horizons = HORIZONS[certified.__name__]
    found = measure.fit_exponent(horizons, certified(problem, model, theta, horizons))
    bound = np.array(horizons, float) ** promised
    if certified is adaptive:  # the same rate up to one logarithm, that of the number of blocks
        bound *= 1 + theta * np.log(horizons)
    most = measure.fit_exponent(horizons, bound).slope
    assert found.low <= most, f"{found} lies above the {most:.3f} of the theorem"
    allowed = most if certified is adaptive else promised + 0.06
    assert found.slope <= allowed, f"{found}, and the theorem's exponent is {promised:.3f}, {allowed:.3f} is allowed"
    assert found.high < 1, f"{found}: regret per round need not fall"
