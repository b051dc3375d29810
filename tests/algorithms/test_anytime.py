"""Doubling: nothing depends on how long the run will be."""

import jax
import numpy as np
import pytest
from tests.designs import PROBLEMS, RING

from droculo import Checkpoint, Droculo, Record, feedback, measure, problems, simulate
from droculo.algorithms import DOBGA, Anytime

PROBLEM = PROBLEMS["A2"]


def design(T):
    return DOBGA.design(PROBLEM.setting, horizon=T)


ANYTIME = Anytime(design, first=9)


def test_a_shorter_run_is_the_beginning_of_a_longer_one():
    long = simulate(PROBLEM, ANYTIME, RING, key=4, rounds=50, record=Record(queries=True))
    short = simulate(PROBLEM, ANYTIME, RING, key=4, rounds=33, record=Record(queries=True))
    assert long.horizon == 50
    np.testing.assert_array_equal(long.rounds, np.arange(50))
    # The last phase is cut short: another number of rounds is another program, which may round differently.
    np.testing.assert_allclose(short.actions, long.actions[:33], rtol=1e-13)
    np.testing.assert_allclose(short.queries, long.queries[:33], rtol=1e-13)
    assert np.all(short.ledger.exchanges < long.ledger.exchanges)


@pytest.mark.parametrize("rounds", [1, 3])
def test_a_run_may_end_within_a_slot(rounds):
    """The round of a slot that asks is drawn for the whole slot, however much of it is played."""
    agent = Droculo.prescribed(PROBLEM.setting, feedback.bandit(), horizon=64, theta=0.5)
    assert agent.timetable.slot == 2
    whole = simulate(PROBLEM, agent, RING, key=1)
    part = simulate(PROBLEM, agent, RING, key=1, rounds=rounds)
    np.testing.assert_array_equal(part.actions, whole.actions[:rounds])
    assert len(part.rounds) == part.horizon == rounds


def test_every_phase_is_a_run_of_its_own_against_what_the_problem_has_become():
    run = simulate(PROBLEM, ANYTIME, RING, key=4, rounds=50)
    key = jax.random.fold_in(jax.random.key(4), 1)  # the second phase: 18 rounds from round 9 on
    alone = simulate(problems.Shifted(PROBLEM, 9), design(18), RING, key=key)
    np.testing.assert_array_equal(run.actions[9:27], alone.actions)


def test_some_rounds_of_a_known_horizon():
    whole = simulate(PROBLEM, design(36), RING, key=0)
    part = simulate(PROBLEM, design(36), RING, key=0, rounds=20)
    np.testing.assert_array_equal(part.actions, whole.actions[:20])
    assert part.horizon == 20
    assert np.all(part.ledger.gradient_queries < whole.ledger.gradient_queries)


def test_regret_is_a_constant_factor_away_from_knowing_the_horizon():
    problem = problems.WaterFilling.random(agents=4, dim=5, budget=2.0, seed=2)
    known = DOBGA.design(problem.setting, horizon=1000)
    unknown = Anytime(lambda T: DOBGA.design(problem.setting, horizon=T), first=50)
    regrets = [
        float(np.mean(measure.certificate(problem, simulate(problem, agent, RING, key=0, **rounds)).bound))
        for agent, rounds in ((known, {}), (unknown, {"rounds": 1000}))
    ]
    assert regrets[1] <= regrets[0] * 2**0.5 / (1 - 2**-0.5)


def test_seeds_and_checkpoints(tmp_path):
    keys = jax.random.split(jax.random.key(0), 2)
    run = simulate(PROBLEM, ANYTIME, RING, key=keys, rounds=30, checkpoint=Checkpoint(tmp_path / "run"))
    assert run.actions.shape == (2, 30, 4, 5)
    again = simulate(PROBLEM, ANYTIME, RING, key=keys, rounds=30, checkpoint=Checkpoint(tmp_path / "run"))
    np.testing.assert_array_equal(run.actions, again.actions)
    names = sorted(p.name for p in (tmp_path / "run").iterdir())
    assert names == ["phase-00", "phase-01", "phase-02-first-3"]
    (tmp_path / "run" / "phase-01" / "piece-00011.npz").unlink()  # interrupted: the rest of this phase is played again
    longer = simulate(PROBLEM, ANYTIME, RING, key=keys, rounds=40, checkpoint=Checkpoint(tmp_path / "run"))
    np.testing.assert_array_equal(run.actions, longer.actions[:, :30])


def test_refusals():
    with pytest.raises(ValueError, match="an Anytime has no horizon: say with rounds"):
        simulate(PROBLEM, ANYTIME, RING, key=0)
    with pytest.raises(ValueError, match="whole number from 1 to the algorithm's horizon, 36; got 40"):
        simulate(PROBLEM, design(36), RING, key=0, rounds=40)
    with pytest.raises(TypeError, match="design is a function of the horizon"):
        Anytime(design(36))
    for first in (0, True, 2.5):
        with pytest.raises(ValueError, match="whole number of rounds, at least one"):
            Anytime(design, first=first)
    with pytest.raises(ValueError, match=r"10, .*, must divide the first phase, 9 rounds"):
        simulate(PROBLEM, ANYTIME, RING, key=0, rounds=30, record=Record(every=10))
    with pytest.raises(ValueError, match=r"design\(9\) returned an algorithm for 36 rounds"):
        Anytime(lambda T: design(36), first=9).phases(10)
    with pytest.raises(TypeError, match="what design returns must be a Algorithm"):
        Anytime(lambda T: T).phases(10)
    with pytest.raises(ValueError, match="by, the number of rounds that are skipped, must be >= 0; got -1"):
        problems.Shifted(PROBLEM, -1)
