"""The rivals play by the same rules as DROCULO, and cost what Table 1 says."""

import functools

import equinox as eqx
import jax
import networkx as nx
import numpy as np
import pytest
from tests.designs import PROBLEMS, RING, N

from droculo import Scales, measure, networks, problems, sets, simulate
from droculo.algorithms import DMFW, DOBGA, DecBFTRL, Equal, MonoDMFW, dpobga
from droculo.algorithms.contract import message_size
from droculo.linearizations import Bounds
from droculo.testing import check_algorithm

A2 = PROBLEMS["A2"].setting
BOLD = Scales(step=20.0)
ADAPTIVE = {
    "adaptive DOBGA": DOBGA.design(A2, horizon=36, adaptive=True),
    "adaptive DPOBGA": dpobga(A2, horizon=256, adaptive=True),  # its oracle moves when it is far enough away
}
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


@pytest.mark.parametrize("name", ADAPTIVE)
def test_contract_of_those_with_the_step_that_adapts_itself(name):
    """They need neither a horizon nor bounds, and send two numbers more."""
    agent, problem = ADAPTIVE[name], PROBLEMS["A2"]
    check_algorithm(problem, agent, RING)
    vectors = 1 if isinstance(agent, DOBGA) else 2
    assert message_size(agent) == vectors * problem.set.dim + 2
    unbounded = eqx.tree_at(lambda p: p.bounds, problem, Bounds())
    make = DOBGA.design if isinstance(agent, DOBGA) else dpobga
    endless = make(unbounded.setting, adaptive=True)
    assert endless.horizon is None
    np.testing.assert_array_equal(
        simulate(unbounded, endless, RING, key=3, rounds=agent.horizon).actions,
        simulate(problem, agent, RING, key=3).actions,
    )
    assert make(A2, horizon=36).timetable == Equal(1 if isinstance(agent, DOBGA) else 6, 1, 36)


@pytest.mark.parametrize("case", ["concave", "A3", "A4"])
def test_the_projecting_and_separating_ones_cover_every_case(case):
    """Their steps go through the linearization, which the papers state for monotone functions and 0 in K alone."""
    problem = PROBLEMS[case]
    for agent in (
        DOBGA.design(problem.setting, horizon=200),
        DecBFTRL.design(problem.setting, horizon=200, mixing_rate=RING.mixing_rate),
    ):
        run = simulate(problem, agent, RING, key=0)
        assert measure.count_infeasible(problem.set, run) == 0
        earned = measure.rewards(problem, run).mean(axis=1)
        assert earned[-50:].mean() > earned[:10].mean(), "nothing was learned"


@pytest.mark.parametrize("case", ["A1", "A3"])
def test_the_separating_one_stays_on_a_face_and_moves(case):
    """On {sum x = b}: the sums it carries stay parallel to the face, and its leader leaves K and is brought back."""
    problem = PROBLEMS[case]
    agent = DecBFTRL.design(problem.setting, horizon=200, mixing_rate=RING.mixing_rate, scales=Scales(step=200.0))
    run = simulate(problem, agent, RING, key=0)
    assert run.ledger.separations.min() > 2 * 200, "the leader never left K"
    assert np.abs(run.states.slope.sum(axis=1)).max() < 1e-9
    assert np.abs(run.states.leader.sum(axis=1)).max() < 1e-9
    assert np.linalg.norm(run.decisions[-50:] - problem.set.center, axis=-1).min() > 0.2


def test_costs_on_links_that_fail_and_in_single_precision():
    agent = DMFW.design(A2, horizon=8, inner=6)
    run = simulate(PROBLEMS["A2"], agent, networks.Failing(RING, 0.3), key=0, dtype=np.float32)
    assert np.all(run.ledger.exchanges == 2 * 6 * 8)
    assert np.all(run.ledger.loo_calls == 6 * 8)
    assert np.all(run.ledger.messages < 2 * run.ledger.exchanges), "no link ever failed"
    assert np.all(run.ledger.bytes == run.ledger.messages * 5 * 4)
    assert run.actions.dtype == np.float32


@pytest.mark.parametrize("design", [DOBGA.design, functools.partial(DecBFTRL.design, mixing_rate=RING.mixing_rate)])
def test_single_precision_goes_the_same_way(design):
    """Concave functions are asked where the agent is, so no random number makes a difference."""
    problem = PROBLEMS["concave"]
    agent = design(problem.setting, horizon=36, scales=BOLD)
    single, double = (simulate(problem, agent, RING, key=0, dtype=dtype) for dtype in (np.float32, np.float64))
    assert np.ptp(double.actions, axis=0).max() > 0.1
    np.testing.assert_allclose(single.actions, double.actions, atol=1e-3)


def test_single_precision_earns_as_much():
    """It draws other random numbers: the means over many seeds agree up to their standard errors."""
    problem, keys = PROBLEMS["A2"], jax.random.split(jax.random.key(0), 64)
    lost = [
        measure.regret(problem, simulate(problem, RIVALS["Mono-DMFW"], RING, key=keys, dtype=dtype)).total.mean(axis=1)
        for dtype in (np.float32, np.float64)
    ]
    error = np.sqrt(sum(np.var(each, ddof=1) / len(keys) for each in lost))
    assert 0 < error < 0.05 * np.abs(np.mean(lost))
    assert abs(lost[0].mean() - lost[1].mean()) < 3 * error


def test_other_kinds_of_random_keys():
    for name in ("DMFW", "Mono-DMFW"):
        run = simulate(PROBLEMS["A2"], RIVALS[name], RING, key=jax.random.key(0, impl="rbg"))
        assert np.ptp(run.actions[-1], axis=0).max() > 0


def test_one_agent_and_one_round():
    problem = problems.TopB.random(agents=1, dim=4, budget=1, seed=0)
    alone = networks.from_graph(networks.single())
    for agent in (
        DMFW.design(problem.setting, horizon=1),
        MonoDMFW.design(problem.setting, horizon=1),
        DOBGA.design(problem.setting, horizon=1),
        DecBFTRL.design(problem.setting, horizon=1, mixing_rate=0.0),
    ):
        run = simulate(problem, agent, alone, key=0)
        np.testing.assert_allclose(run.actions[0, 0], problem.set.center)
        assert run.ledger.bytes.sum() == 0, "one agent has no neighbours"


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
    for inner in (0, 2.5, True):
        with pytest.raises(ValueError, match="inner, the number of inner steps a round, is a whole number"):
            DMFW.design(A2, horizon=10, inner=inner)
    with pytest.raises(ValueError, match="block, the rounds of a block, is a whole number"):
        MonoDMFW.design(A2, horizon=10, block=2.5)
    for design in (DOBGA.design, MonoDMFW.design):
        with pytest.raises(TypeError, match="setting must be a Setting; got TopB"):
            design(PROBLEMS["A2"], horizon=10)
    with pytest.raises(TypeError, match="mixing_rate must be a"):
        DecBFTRL.design(A2, horizon=10, mixing_rate=RING)
    with pytest.raises(ValueError, match="blocks of 1 to T = 10"):
        MonoDMFW.design(A2, horizon=10, block=11)
    with pytest.raises(ValueError, match="whole number of rounds"):
        DOBGA.design(A2, horizon=2.5)


def test_they_beat_their_guarantee():
    """alpha-regret is negative on an easy problem, for each of them."""
    problem = problems.TopB.random(agents=N, dim=5, budget=2, seed=3, swing=0.0)
    for agent in (
        MonoDMFW.design(problem.setting, horizon=400),
        DOBGA.design(problem.setting, horizon=400),
        DecBFTRL.design(problem.setting, horizon=400, mixing_rate=RING.mixing_rate),
    ):
        run = simulate(problem, agent, RING, key=0)
        found = measure.regret(problem, run)
        assert np.all(found.total < 0)
        assert np.all(measure.certificate(problem, run).bound >= found.total)
