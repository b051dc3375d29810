"""The 33-bus feeder: its data, its losses by three routes, and both problems posed on it."""

import warnings
from dataclasses import replace
from itertools import combinations

import jax
import jax.numpy as jnp
import networkx as nx
import numpy as np
import pytest

from droculo.precision import double
from droculo.problems.applications.feeder import Reconfiguration, TieLines
from droculo.problems.applications.feeder_data import BARAN_WU, Loads, area_graph
from droculo.testing import check_problem

AS_BUILT = (33, 34, 35, 36, 37)
BEST_KNOWN = (7, 9, 14, 32, 37)  # the best radial configuration in the literature: these lines open

#: the published loads, the same in every round, and nobody strays
PUBLISHED = Loads(
    active=BARAN_WU.active[None],
    reactive=BARAN_WU.reactive[None],
    area=np.arange(32) % 2,
    swing=np.zeros(2),
    period=np.ones(2),
    phase=np.zeros(2),
)
ties, trees, from_open = TieLines(), Reconfiguration(), Reconfiguration(from_open=True)


def linear_loss(weights, active=BARAN_WU.active, reactive=BARAN_WU.reactive):
    """E in kW, straight from the Laplacian."""
    B = BARAN_WU.incidence
    L = B.T @ np.diag(weights / BARAN_WU.resistance) @ B
    return sum(load @ np.linalg.solve(L, load) for load in (active, reactive)) / BARAN_WU.kilovolts**2 / 1000


def weights(opened, low=0.0):
    return np.where(np.isin(np.arange(1, 38), opened), low, 1.0)


def downstream_first(opened):
    """(line, bus, parent) of every bus of the radial feeder, leaves before their parents."""
    number = {frozenset(line): k for k, line in enumerate(BARAN_WU.lines.tolist()) if k + 1 not in opened}
    graph = nx.Graph([tuple(line) for line in number])
    assert nx.is_tree(graph)
    pairs = list(nx.bfs_edges(graph, 1))
    return [(number[frozenset(pair)], pair[1], pair[0]) for pair in reversed(pairs)]


def ac_loss(opened):
    """The AC loss of a radial configuration in kW, by backward and forward sweeps over currents and voltages."""
    Z = BARAN_WU.resistance + 1j * BARAN_WU.reactance
    load = np.concatenate([[0], BARAN_WU.active + 1j * BARAN_WU.reactive]) * 1e3
    volts = np.full(33, BARAN_WU.kilovolts * 1e3, complex)
    order = downstream_first(opened)
    for _ in range(50):
        current = np.conj(load / volts)
        for _, bus, parent in order:
            current[parent - 1] += current[bus - 1]
        for line, bus, parent in reversed(order):
            volts[bus - 1] = volts[parent - 1] - Z[line] * current[bus - 1]
    return sum(BARAN_WU.resistance[line] * abs(current[bus - 1]) ** 2 for line, bus, _ in order) / 1e3


@pytest.mark.parametrize("problem", [ties, trees, from_open], ids=["ties (A2)", "trees (concave)", "trees (A1)"])
def test_contract(problem):
    check_problem(problem)


def test_the_linear_loss_is_the_sum_over_lines_of_what_flows_through_them():
    for opened in (AS_BUILT, BEST_KNOWN):
        power = np.concatenate([[0], BARAN_WU.active + 1j * BARAN_WU.reactive])
        total = 0.0
        for line, bus, parent in downstream_first(opened):
            total += BARAN_WU.resistance[line] * abs(power[bus - 1]) ** 2 / BARAN_WU.kilovolts**2 / 1000
            power[parent - 1] += power[bus - 1]
        assert linear_loss(weights(opened)) == pytest.approx(total, abs=1e-9)


def test_the_published_ac_losses():
    assert ac_loss(AS_BUILT) == pytest.approx(202.7, abs=0.1)
    assert ac_loss(BEST_KNOWN) == pytest.approx(139.6, abs=0.1)


def test_pandapower_agrees():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pandapower = pytest.importorskip("pandapower")
        net = pytest.importorskip("pandapower.networks").case33bw()
        line, load = net.line, net.load.sort_values("bus")
        assert np.array_equal(line[["from_bus", "to_bus"]].to_numpy() + 1, BARAN_WU.lines)
        np.testing.assert_allclose(line.r_ohm_per_km * line.length_km, BARAN_WU.resistance, rtol=1e-9)
        np.testing.assert_allclose(line.x_ohm_per_km * line.length_km, BARAN_WU.reactance, rtol=1e-9)
        assert np.array_equal(load.bus, np.arange(1, 33))
        np.testing.assert_allclose(load.p_mw * 1e3, BARAN_WU.active, rtol=1e-9)
        np.testing.assert_allclose(load.q_mvar * 1e3, BARAN_WU.reactive, rtol=1e-9)
        assert np.array_equal(line.in_service, BARAN_WU.closed)
        for opened, published in ((AS_BUILT, 202.7), (BEST_KNOWN, 139.6)):
            net.line["in_service"] = weights(opened) > 0
            pandapower.runpp(net, numba=False)
            loss = float(net.res_line.pl_mw.sum()) * 1e3
            assert loss == pytest.approx(published, abs=0.1)
            assert loss == pytest.approx(ac_loss(opened), abs=1e-3)


def test_values_are_differences_of_losses():
    x = np.random.default_rng(0).uniform(size=37)
    with double():
        zero = jnp.array(0)
        tied = TieLines(PUBLISHED)
        assert float(tied.value(zero, zero, jnp.zeros(5))) == 0
        closed = np.concatenate([np.ones(32), x[:5]])
        saved = linear_loss(weights(AS_BUILT)) - linear_loss(closed)
        assert float(tied.value(zero, zero, jnp.asarray(x[:5]))) == pytest.approx(saved, abs=1e-9)
        for open_start in (False, True):
            problem = Reconfiguration(PUBLISHED, low=0.05, from_open=open_start)
            start = np.full(37, 0.05) if open_start else weights(AS_BUILT, 0.05)
            saved = linear_loss(start) - linear_loss(0.05 + 0.95 * x)
            in_its_order = jnp.asarray(x[problem.lines - 1])
            assert float(problem.value(zero, zero, in_its_order)) == pytest.approx(saved, rel=1e-9)


def test_coordinates_of_the_trees_are_the_lines_they_say():
    for edge, line in zip(trees.set.edges, trees.lines, strict=True):
        assert set(edge) == set(BARAN_WU.lines[line - 1].tolist())
    with double():
        as_built = jnp.asarray(trees.lines <= 32, jnp.float64)
        tree = trees.set.argmax(as_built)
        assert np.array_equal(tree, as_built)
        assert float(trees.value(jnp.array(0), jnp.array(0), tree)) == 0  # the saving counts from here


@pytest.mark.parametrize("problem", [ties, trees], ids=["ties", "trees"])
def test_the_gradient_formula_is_the_derivative(problem):
    with double():
        x = jnp.asarray(np.random.default_rng(1).uniform(size=problem.set.dim))
        asked = jnp.array(2), jnp.array(1000), x
        exact = jax.jit(jax.grad(problem.value, argnums=2))(*asked)
        np.testing.assert_allclose(problem.gradient(*asked), exact, rtol=1e-8, atol=1e-10)


def test_two_ties_can_save_more_together_than_one_by_one():
    """So the reward is up-concave without being DR-submodular."""
    tied = TieLines(PUBLISHED)
    with double():
        zero = jnp.array(0)
        save = {s: float(tied.value(zero, zero, jnp.asarray(np.isin(np.arange(5), s) * 1.0))) for s in _subsets(5)}
    gains = {(a, b): save[a, b] - save[(a,)] - save[(b,)] for a, b in combinations(range(5), 2)}
    assert gains[2, 3] == pytest.approx(2.507, abs=1e-3)  # lines 35 and 36
    assert min(gains.values()) < 0  # and others less


def _subsets(number):
    return [s for size in (1, 2) for s in combinations(range(number), size)]


def test_agents_on_average_see_the_true_saving():
    """Each sees only its own area stray, sqrt(6) times as far; over 100 days the mean is that of the true loads."""
    loads, rounds = Loads.daily(), 9600
    x = np.array([0.3, 0.1, 0.6, 0.2, 0.4])
    t = np.arange(rounds)
    wave = loads.swing * np.sin(2 * np.pi * t[:, None] / loads.period + loads.phase)
    scale = (1 + wave)[:, loads.area]
    B = BARAN_WU.incidence

    def inverse(w):
        return np.linalg.inv(B.T @ np.diag(w / BARAN_WU.resistance) @ B)

    saving = (inverse(weights(AS_BUILT)) - inverse(np.concatenate([np.ones(32), x]))) / BARAN_WU.kilovolts**2 / 1000

    def mean(scale):
        drawn = [table[t % 96] * scale for table in (loads.active, loads.reactive)]
        return sum(np.einsum("tb,bc,tc->", power, saving, power) for power in drawn) / rounds

    with double():
        seen = jax.jit(jax.vmap(jax.vmap(ties.value, (0, None, None)), (None, 0, None)))
        seen = float(jnp.mean(seen(jnp.arange(6), jnp.arange(rounds), jnp.asarray(x))))
    assert seen == pytest.approx(mean(scale), rel=2e-3)
    assert abs(mean(np.ones_like(scale)) - seen) > 5 * abs(mean(scale) - seen)  # the forecast alone is further off


def test_areas_and_days():
    loads = Loads.daily()
    assert loads.active.shape == (96, 32)
    assert np.bincount(loads.area).tolist() == [5, 6, 6, 4, 3, 8]
    assert np.all(loads.active <= 1.01 * BARAN_WU.active)  # the published loads are the peaks
    assert loads.active[50].min() < 0  # at noon the sun feeds in
    assert nx.is_connected(area_graph())
    assert not np.array_equal(Loads.daily(seed=1).phase, loads.phase)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TieLines(budget_size=0), "between 0 and 5; got 0"),
        (lambda: TieLines(budget_size=6), "between 0 and 5; got 6"),
        (lambda: Reconfiguration(low=0), "0 < low < 1; got low=0"),
        (lambda: TieLines(replace(PUBLISHED, area=np.zeros(31, int))), "two tables .* got the shapes"),
        (lambda: replace(PUBLISHED, swing=np.zeros(3)), "got 3, 2 and 2 for 2 areas"),
        (lambda: replace(BARAN_WU, closed=np.arange(37) < 33), "must form a tree on its buses 1 to 33; got 33"),
        (lambda: replace(BARAN_WU, resistance=0 * BARAN_WU.resistance), "positive resistance; got 0"),
        (lambda: replace(BARAN_WU, lines=np.vstack([BARAN_WU.lines[:36], [[1, 2]]])), "join the same two buses"),
        (lambda: TieLines(feeder=_without_ties()), "needs 1 to 12 tie lines; the feeder has 0"),
        (
            lambda: TieLines(
                replace(
                    PUBLISHED,
                    active=PUBLISHED.active[:, 1:],
                    reactive=PUBLISHED.reactive[:, 1:],
                    area=PUBLISHED.area[1:],
                )
            ),
            "loads at 32 buses, the table at 31",
        ),
    ],
)
def test_errors(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def _without_ties():
    kept = {name: getattr(BARAN_WU, name)[:32] for name in ("lines", "resistance", "reactance", "closed")}
    return replace(BARAN_WU, **kept)
