"""Claim: with first-order feedback the mean alpha-regret per round falls from T = 2^8 to T = 2^12, in every case."""

import equinox as eqx
import numpy as np
import pytest

from droculo import Droculo, feedback, linearizations, measure, networks, problems, simulate

N = 8
BUDGET = problems.TopB.random(agents=N, dim=10, budget=3, seed=0)
FACE = problems.TopB.random(agents=N, dim=10, budget=3, seed=0, face=True)


def seen_as(problem, linearization):
    """A monotone DR-submodular function belongs to the non-monotone classes too."""
    return eqx.tree_at(lambda p: p.linearization, problem, linearization)


CASES = {
    "A1": (FACE, "semi_bandit"),
    "A2": (BUDGET, "full_information"),
    "A2 played": (BUDGET, "semi_bandit"),
    "A3": (seen_as(FACE, linearizations.NonMonotoneGeneral()), "full_information"),
    "A4": (seen_as(BUDGET, linearizations.NonMonotoneDownClosed()), "semi_bandit"),
    "concave": (problems.WaterFilling.random(agents=N, dim=10, budget=3.0, seed=0), "semi_bandit"),
}


@pytest.mark.parametrize("name", CASES)
def test_regret_per_round_falls(name):
    problem, model = CASES[name]
    per_round = []
    for horizon in (2**8, 2**12):
        agent = Droculo.design(problem.setting, getattr(feedback, model)(), horizon=horizon, theta=0.5)
        run = simulate(problem, agent, networks.from_graph(networks.ring(N)), key=0, progress=False)
        per_round.append(np.mean(measure.regret(problem, run).total) / horizon)
    assert per_round[1] < per_round[0]
