"""Adversaries are what they say: their bounds hold, their totals are sums, and the dial moves only the agents' views."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from droculo import problems
from droculo.precision import double
from droculo.problems import Constant, Heterogeneous, IIDWeights, PeriodicWeights, Switching

AGENTS, ENTRIES, T = 3, 4, 40
RNG = np.random.default_rng(0)
LOW = RNG.uniform(0, 1, (AGENTS, ENTRIES))
HIGH = LOW + RNG.uniform(0, 1, (AGENTS, ENTRIES))
ALL = {
    "constant": Constant(LOW),
    "independent": IIDWeights(LOW, HIGH, seed=3),
    "waves": PeriodicWeights.random(AGENTS, ENTRIES, low=0.5, high=1.0, swing=2.0, seed=0),
    "switching": Switching(RNG.uniform(size=(5, AGENTS, ENTRIES)), every=3, opening=2),
    "against a follower": Switching.against_a_follower(LOW, HIGH, every=6),
    "disjoint": Heterogeneous(IIDWeights(LOW, HIGH, seed=3), agents=AGENTS, dial=1.0, floor=0.0),
}


def table(adversary, rounds=T):
    """(rounds, agents, entries)."""
    with double():
        grid = jax.vmap(jax.vmap(adversary.at, (0, None)), (None, 0))
        return np.asarray(jax.jit(grid)(jnp.arange(adversary.agents), jnp.arange(rounds)))


@pytest.mark.parametrize("name", ALL)
def test_bounds_and_totals(name):
    adversary = ALL[name]
    weights = table(adversary)
    assert weights.shape == (T, AGENTS, ENTRIES)
    assert np.all(weights >= adversary.lowest - 1e-12)
    assert np.all(weights <= adversary.highest + 1e-12)
    agents = np.array([2, 0, 0])
    expected = np.cumsum(weights[:, agents].mean(axis=1), axis=0)
    np.testing.assert_allclose(adversary.totals([1, 7, T], agents), expected[[0, 6, T - 1]], rtol=1e-12)


def test_independent_weights_are_uniform_and_independent():
    unit = IIDWeights(np.zeros((2, 3)), np.ones((2, 3)), seed=1)
    draws = table(unit, 4000)
    assert abs(draws.mean() - 0.5) < 4 * np.sqrt(1 / 12 / draws.size)
    assert draws.var() == pytest.approx(1 / 12, rel=0.03)
    columns = draws.reshape(4000, 6)
    off_diagonal = np.corrcoef(columns.T) - np.eye(6)
    assert np.abs(off_diagonal).max() < 4.5 / np.sqrt(4000)
    assert abs(np.corrcoef(columns[1:, 0], columns[:-1, 0])[0, 1]) < 4.5 / np.sqrt(4000)
    assert not np.array_equal(draws, table(IIDWeights(np.zeros((2, 3)), np.ones((2, 3)), seed=2), 4000))


def test_independent_weights_do_not_depend_on_the_precision():
    adversary = ALL["independent"]
    with jax.enable_x64(False):
        single = eqx.filter_jit(adversary.at)(jnp.asarray(1), jnp.asarray(5))
    assert single.dtype == jnp.float32
    np.testing.assert_allclose(single, table(adversary)[5, 1], rtol=1e-6)


def test_switching_switches():
    values = np.arange(2.0)[:, None, None]
    assert table(Switching(values, every=3), 8).ravel().tolist() == [0, 0, 0, 1, 1, 1, 0, 0]
    three = np.arange(3.0)[:, None, None]
    assert table(Switching(three, every=2, opening=1), 10).ravel().tolist() == [0, 0, 1, 1, 2, 2, 1, 1, 2, 2]


def test_who_follows_the_leader_loses_every_phase():
    """Who moves once a block, to the leader of all rounds so far or to that of the last block: blocks begin at 0."""
    block = 4
    hard = Switching.against_a_follower([[1.0, 0.0]], [[0.0, 1.0]], every=block)
    weights = table(hard, 44)[:, 0]
    for memory in (44, block):
        earned = 0.0
        for start in range(block, 44, block):
            leader = int(np.argmax(weights[max(0, start - memory) : start].sum(axis=0)))
            earned += weights[start : start + block, leader].sum()
        assert earned == 0
    assert weights.sum(axis=0).min() >= 20


@pytest.mark.parametrize("dial", [0.0, 0.3, 1.0])
def test_the_dial_leaves_the_network_as_it_is(dial):
    common = PeriodicWeights.random(1, 6, low=1.0, high=2.0, swing=1.0, seed=4)
    spread = Heterogeneous(common, agents=3, dial=dial, floor=0.5)
    weights = table(spread)
    np.testing.assert_allclose(weights.mean(axis=1), table(common)[:, 0], rtol=1e-12)
    if dial == 0:
        np.testing.assert_allclose(weights, weights[:, :1].repeat(3, axis=1))
    above = weights[0] > 0.5 + 1e-12
    assert np.all(above.sum(axis=0) == (1 if dial == 1 else 3))


def test_a_problem_keeps_its_optimum_under_the_dial():
    common = PeriodicWeights.random(1, 5, low=4.0, high=8.0, swing=2.0, seed=4)
    totals = [
        problems.TopB(Heterogeneous(common, agents=5, dial=dial, floor=4.0), 2).comparator(30, np.arange(5)).total
        for dial in (0.0, 0.5, 1.0)
    ]
    np.testing.assert_allclose(totals, totals[0])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Constant([1.0, 2.0]), r"finite table .agents, entries.; got shape .2,."),
        (lambda: Constant([[np.nan]]), "finite table"),
        (lambda: IIDWeights(HIGH + 1, HIGH, seed=0), "lowest <= highest"),
        (lambda: Switching(LOW, every=3), r"tables .phases, agents, entries.; got shape"),
        (lambda: Switching(LOW[None], every=0), "every >= 1"),
        (lambda: Switching(LOW[None], every=2.5), "whole number of rounds every >= 1"),
        (lambda: Switching(LOW[None], every=3, opening=1), "got every=3, opening=1 of 1"),
        (lambda: IIDWeights(LOW, HIGH, seed=-1), "a seed is a whole number from 0"),
        (lambda: PeriodicWeights(LOW, LOW, LOW, LOW[:1]), "four tables of PeriodicWeights must have one shape"),
        (lambda: PeriodicWeights(LOW, LOW, LOW * np.nan, LOW), "finite table"),
        (lambda: Heterogeneous(ALL["waves"], agents=3, dial=1.0, floor=np.nan), "floor of heterogeneous weights"),
        (lambda: problems.WeakQuadratic(Constant([[1.0]]), [[[1, 5], [0, 1]]], 1.0, 1), "symmetric and semidefinite"),
        (lambda: problems.PlantedCut(Constant([[1.0]]), [[0, -1]], [0], 3), "one edge .i, j. with 0 <= i, j < 3"),
        (lambda: Heterogeneous(ALL["waves"], agents=3, dial=1.5), "between 0 .identical. and 1 .disjoint.; got 1.5"),
        (lambda: Heterogeneous(ALL["waves"], agents=9, dial=1.0), "9 agents cannot own disjoint shares of 4 entries"),
        (lambda: problems.Coverage(ALL["waves"], np.full((4, 3), 2.0), 1), "a table of 0 and 1"),
        (lambda: problems.Coverage(Constant(-np.ones((1, 2))), np.eye(2), 1), "weights must be non-negative; got -1"),
        (lambda: problems.Coverage.random(agents=2, dim=5, budget=5, elements=3, seed=0), "between 1 and 4; got 5"),
        (lambda: problems.Coverage.random(agents=2, dim=40, budget=9, elements=3, seed=0), "more than the 200000"),
        (lambda: problems.WeakQuadratic(Constant([[1.0]]), -np.eye(2)[None], 1.0, 1), "entries >= 0"),
        (lambda: problems.WeakQuadratic(Constant([[1.0]]), np.eye(2)[None], 0.0, 1), "positive slope c; got 0"),
        (lambda: problems.WorstCase("B7", ALL["waves"]), "traps for the cases A1, A2, A3, A4; got 'B7'"),
        (lambda: problems.WorstCase("A2", Constant([[-1.0]])), "weights of the pairs are non-negative; got -1"),
    ],
)
def test_errors(make, message):
    with pytest.raises(ValueError, match=message):
        make()
