"""CostCurve over time, DataFrames and one-line plots say what the arrays say."""

import jax
import numpy as np
import pytest
from tests.designs import PROBLEMS, RING, N

from droculo import History, measure, simulate
from droculo.algorithms import DOBGA, Anytime

pandas = pytest.importorskip("pandas")
PROBLEM = PROBLEMS["A2"]
T, SEEDS = 45, 2


@pytest.fixture(scope="module")
def run():
    keys = jax.random.split(jax.random.key(0), SEEDS)
    return simulate(PROBLEM, DOBGA.design(PROBLEM.setting, horizon=T), RING, key=keys)


def test_spending_ends_in_the_ledger(run):
    spent = run.spending
    assert spent.rounds[-1] == T
    assert np.all(np.diff(spent.rounds) > 0)
    assert spent.projections.shape == (SEEDS, len(spent.rounds), N)
    np.testing.assert_array_equal(spent.projections, np.broadcast_to(spent.rounds[:, None], spent.projections.shape))
    for name, curve in spent.counts.items():
        np.testing.assert_array_equal(curve[:, -1], run.ledger.counts[name])


def test_spending_goes_on_from_phase_to_phase():
    agent = Anytime(lambda horizon: DOBGA.design(PROBLEM.setting, horizon=horizon), first=8)
    run = simulate(PROBLEM, agent, RING, key=0, rounds=20)
    assert run.spending.rounds[-1] == 20
    np.testing.assert_array_equal(run.spending.projections[:, 0], run.spending.rounds)
    np.testing.assert_array_equal(run.spending.messages[-1], run.ledger.messages)


def test_frames(run):
    frame = run.frame()
    assert len(frame) == SEEDS * T * N
    row = frame[(frame.seed == 1) & (frame["round"] == 7) & (frame.agent == 2)].iloc[0]
    assert [row[f"action_{k}"] for k in range(5)] == run.actions[1, 7, 2].tolist()
    assert [row[f"decision_{k}"] for k in range(5)] == run.decisions[1, 7, 2].tolist()
    bill = run.ledger.frame()
    assert list(bill[bill.seed == 0]["messages"]) == run.ledger.messages[0].tolist()
    assert "seconds" not in bill
    lost = measure.regret(PROBLEM, run)
    long = lost.frame()
    last = long[(long.seed == 1) & (long["round"] == T)]
    assert list(last.regret) == lost.total[1].tolist()


def test_the_certificate_over_time_is_that_of_the_beginning(run):
    """At every time, what one would certify if the run had ended there."""
    times = [1, 2, 9, 30]
    found = measure.certificate(PROBLEM, run, at=times)
    assert found.times.tolist() == [*times, T]
    np.testing.assert_array_equal(found.curve[:, -1], found.bound)
    for k, t in enumerate(times):
        early = measure.certificate(PROBLEM, History.of(run.actions[:, :t], run.decisions[:, :t]))
        np.testing.assert_allclose(found.curve[:, k], early.bound, rtol=1e-10)
    frame = found.frame()
    assert len(frame) == SEEDS * 5 * N
    sampled = measure.certificate(PROBLEM, run, sample=measure.Sample(agents=2, functions=2, rounds=9))
    assert sampled.curve.shape == (SEEDS, 0, 2)
    with pytest.raises(ValueError, match="a sample has no curve to plot"):
        sampled.plot()
    with pytest.raises(ValueError, match="whole numbers between 1 and the horizon"):
        measure.certificate(PROBLEM, run, at=[0])


def test_plots(run):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    axes = run.plot()
    assert len(axes.lines) == 5
    np.testing.assert_allclose(axes.lines[3].get_ydata(), run.decisions[..., 3].mean(axis=(0, 2)))
    found = measure.certificate(PROBLEM, run, at=[3, 10])
    drawn = found.plot(pyplot.subplots()[1])
    np.testing.assert_allclose(drawn.lines[0].get_ydata(), (found.curve / found.times[:, None]).mean(axis=(0, 2)))
    lost = measure.regret(PROBLEM, run).plot()
    assert lost.get_ylabel() == "alpha-regret a round"
    pyplot.close("all")
