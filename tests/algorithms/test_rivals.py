"""The rivals play by the same rules as DROCULO, and cost what Table 1 says."""

import networkx as nx
import numpy as np
import pytest
from tests.designs import PROBLEMS, RING, N

from droculo import Scales, measure, networks, problems, sets, simulate
from droculo.algorithms import DMFW, DOBGA, DecBFTRL, MonoDMFW, dpobga
from droculo.testing import check_algorithm

A2 = PROBLEMS["A2"].setting
BOLD = Scales(step=20.0)
RIVALS = {
    "DMFW": DMFW.design(A2, horizon=12, inner=5, scales=BOLD),
    "Mono-DMFW": MonoDMFW.design(A2, horizon=36, scales=BOLD),
    "DOBGA": DOBGA.design(A2, horizon=36, scales=BOLD),
    "DPOBGA": dpobga(A2, horizon=36, scales=Scales(step=20.0, tolerance=0.1)),
    "Dec-BFTRL": DecBFTRL.design(A2, horizon=36, mixing_rate=RING.mixing_rate, scales=Scales(step=200.0)),
}


@pytest.mark.parametrize("name", RIVALS)
def test_contract(name):
    check_algorithm(PROBLEMS["A2"], RIVALS[name], RING)


@pytest.mark.parametrize("case", ["concave", "A1", "A3", "A4"])
def test_the_projecting_and_separating_ones_cover_every_case(case):
    """Their steps go through the linearization, which the papers state for monotone functions and 0 in K alone."""
    problem = PROBLEMS[case]
    for agent in (
        DOBGA.design(problem.setting, horizon=200),
        DecBFTRL.design(problem.setting, horizon=200, mixing_rate=RING.mixing_rate),
    ):
        run = simulate(problem, agent, RING, key=0)
        assert measure.infeasible(problem.set, run) == 0
        earned = measure.rewards(problem, run).mean(axis=1)
        assert earned[-50:].mean() > earned[:10].mean(), "nothing was learned"


@pytest.mark.parametrize("horizon", [16, 64])
def test_dmfw_costs_what_the_table_says(horizon):
    agent = DMFW.design(A2, horizon=horizon)
    K = round(horizon**1.5)
    assert (agent.inner, agent.exchanges) == (K, 2 * K)


def test_one_agent_and_one_round():
    problem = problems.TopB.random(agents=1, dim=4, budget=1, seed=0)
    alone = networks.connect(networks.single())
    for agent in (
        DMFW.design(problem.setting, horizon=1),
        MonoDMFW.design(problem.setting, horizon=1),
        DOBGA.design(problem.setting, horizon=1),
        DecBFTRL.design(problem.setting, horizon=1, mixing_rate=0.0),
    ):
        run = simulate(problem, agent, alone, key=0)
        np.testing.assert_allclose(run.actions[0, 0], problem.set.center)
        assert run.ledger.bytes.sum() == 0, "one agent has nobody to talk to"


def test_refusals():
    trees = sets.SpanningTrees(nx.cycle_graph(3))
    problem = problems.from_function(
        lambda agent, t, x: x.sum(), trees, problems.WaterFilling.random(agents=2, dim=3, budget=1.0, seed=0).linearization,
        gradient_bound=2.0, value_bound=3.0,
    )  # fmt: skip
    with pytest.raises(ValueError, match="projection"):
        DOBGA.design(problem.setting, horizon=10)
    with pytest.raises(ValueError, match=r"mixing rate \|W - J\| lies in \[0, 1\); got 1.0"):
        DecBFTRL.design(A2, horizon=10, mixing_rate=1.0)
    with pytest.raises(ValueError, match="at least one inner step"):
        DMFW.design(A2, horizon=10, inner=0)
    with pytest.raises(ValueError, match="blocks of 1 to T = 10"):
        MonoDMFW.design(A2, horizon=10, block=11)
    with pytest.raises(ValueError, match="whole number of rounds"):
        DOBGA.design(A2, horizon=2.5)


def test_they_beat_their_guarantee():
    """alpha-regret is negative on an easy problem, for each of them."""
    problem = problems.TopB.random(agents=N, dim=5, budget=2, seed=3, swing=0.0)
    for agent in (
        DMFW.design(problem.setting, horizon=60, inner=10),
        MonoDMFW.design(problem.setting, horizon=400),
        DOBGA.design(problem.setting, horizon=400),
        DecBFTRL.design(problem.setting, horizon=400, mixing_rate=RING.mixing_rate),
    ):
        run = simulate(problem, agent, RING, key=0)
        found = measure.regret(problem, run)
        assert np.all(found.total < 0)
        assert np.all(measure.certificate(problem, run).bound >= found.total)
