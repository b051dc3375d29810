"""Every algorithm plays by the rules: the ten of the paper, and the concave, A4 and two-point versions."""

import pytest

from droculo import Droculo, Scales, feedback, networks, oracles, problems
from droculo.testing import check_algorithm

N = 4
PROBLEMS = {
    "concave": problems.WaterFilling.random(agents=N, dim=5, budget=2.0, seed=2),
    "A1": problems.TopB.random(agents=N, dim=5, budget=2, seed=2, face=True),
    "A2": problems.TopB.random(agents=N, dim=5, budget=2, seed=2),
    "A3": problems.PlantedCut.random(agents=N, left=2, right=3, seed=2),
    "A4": problems.PlantedCut.random(agents=N, left=2, right=3, seed=2, down_closed=True),
}
MODELS = ("full_information", "semi_bandit", "zeroth_order", "bandit", "two_point")
PAIRS = [(c, m) for c in PROBLEMS for m in MODELS if c != "A4" or m in ("full_information", "semi_bandit")]
NETWORK = networks.connect(networks.ring(N))


@pytest.mark.parametrize(("case", "model"), PAIRS)
def test_contract(case, model):
    problem = PROBLEMS[case]
    scales = Scales(step=20.0 if model in ("full_information", "semi_bandit") else 100.0, tolerance=0.1)
    agent = Droculo.design(problem.setting, getattr(feedback, model)(), horizon=36, theta=0.6, scales=scales)
    check_algorithm(problem, agent, NETWORK)


def test_lean_exchange_sends_half():
    problem = PROBLEMS["A2"]
    agent = Droculo.design(problem.setting, feedback.full_information(), horizon=36, theta=0.6, lean=True)
    assert agent.payload == problem.set.dim
    check_algorithm(problem, agent, NETWORK)


def test_the_papers_oracle():
    problem = PROBLEMS["A3"]
    agent = Droculo.design(
        problem.setting,
        feedback.semi_bandit(),
        horizon=36,
        theta=0.6,
        oracle=oracles.Paper(),
        scales=Scales(step=20.0),
    )
    check_algorithm(problem, agent, NETWORK)


def test_the_check_notices_a_false_bill():
    class Forgetful(Droculo):
        @property
        def payload(self):
            return 1

    problem = PROBLEMS["A1"]
    honest = Droculo.design(
        problem.setting, feedback.full_information(), horizon=20, theta=0.5, scales=Scales(step=20.0, tolerance=0.05)
    )
    liar = Forgetful(**{name: getattr(honest, name) for name in honest.__dataclass_fields__})
    with pytest.raises(AssertionError, match="declares a payload of 1 numbers"):
        check_algorithm(problem, liar, NETWORK)


def test_the_check_notices_an_infeasible_query():
    """The query as printed in the paper, z x, with its ball: outside of K for a shrunk set."""
    import equinox as eqx
    import numpy as np

    problem = PROBLEMS["A2"]
    agent = Droculo.design(problem.setting, feedback.bandit(), horizon=36, theta=0.6, scales=Scales(delta=0.9))
    printed = eqx.tree_at(lambda a: a.link.origin, agent, np.zeros(5))
    with pytest.raises(AssertionError, match="is outside the set"):
        check_algorithm(problem, printed, NETWORK)
