"""Theory in numbers: Table 1's exponents, the corrected bounds, and plans that runs keep to."""

import math

import numpy as np
import pytest
from tests.designs import PAIRS, PROBLEMS, RING, N, matchings, prescribed

from droculo import Droculo, Record, Scales, feedback, linearizations, measure, networks, problems, sets, simulate
from droculo.engine.plan import questions
from droculo.feedback.table import look_up
from droculo.measure import guarantee, plan
from droculo.precision import double

#: the paper's Table 1 for its own algorithm, and its theorems: (case, feedback) -> regret exponent's slope in theta, largest theta
TABLE_1 = {
    ("A1", "full_information"): (1 / 2, 1),
    ("A1", "semi_bandit"): (1 / 2, 1),
    ("A1", "bandit"): (1 / 4, 1),
    ("A2", "full_information"): (1 / 2, 1),
    ("A2", "semi_bandit"): (1 / 2, 2 / 3),
    ("A2", "zeroth_order"): (1 / 4, 1),
    ("A2", "bandit"): (1 / 4, 4 / 5),
    ("A3", "full_information"): (1 / 2, 1),
    ("A3", "semi_bandit"): (1 / 2, 2 / 3),
    ("A3", "zeroth_order"): (1 / 4, 1),
    ("A3", "bandit"): (1 / 4, 4 / 5),
}


@pytest.mark.parametrize(("case", "model"), TABLE_1)
def test_the_planners_exponents_are_the_papers(case, model):
    slope, largest = TABLE_1[case, model]
    setting, signal = PROBLEMS[case].setting, getattr(feedback, model)()
    free = plan(setting, signal, horizon=4096)
    assert free.theta == pytest.approx(largest)
    for theta in (0.0, 0.3, largest):
        found = guarantee(setting, signal, horizon=4096, theta=theta).exponents
        assert found.regret == pytest.approx(1 - slope * theta)
        assert found.exchanges == pytest.approx(theta)
        assert found.loo_calls == pytest.approx(2 * theta)
    with pytest.raises(ValueError, match="theta must lie in"):
        guarantee(setting, signal, horizon=4096, theta=largest + 0.01)


@pytest.mark.parametrize("noise", [0.0, 1e3])
@pytest.mark.parametrize(("case", "model"), PAIRS)
def test_the_numbers_grow_with_the_exponents(case, model, noise):
    """Between two long horizons, bounds and counts grow by the promised powers of T (the set's own r and R fixed)."""
    problem = problems.Noisy(PROBLEMS[case], gradient=noise, value=noise)
    setting, signal = problem.setting, getattr(feedback, model)()
    for theta in (0.3, float(look_up(setting.linearization, signal, 0.0, noisy=noise > 0).theta_max)):
        short, long = (guarantee(setting, signal, horizon=T, theta=theta, network=RING) for T in (10**12, 10**18))
        for name in ("exchanges", "loo_calls", "queries", "regret"):
            power = math.log(getattr(long, name) / getattr(short, name)) / math.log(1e6)
            assert power == pytest.approx(getattr(short.exponents, name), abs=0.02), (name, theta)


def test_two_noisy_values_have_the_rate_of_one():
    """A difference of two noisy values is off by noise/delta: with the remark's delta the bound would grow linearly."""
    problem, signal = PROBLEMS["A2"], feedback.two_point()
    exact, noisy = (
        guarantee(p.setting, signal, horizon=10**6, theta=1.0) for p in (problem, problems.Noisy(problem, value=1))
    )
    assert (exact.exponents.regret, noisy.exponents.regret) == (0.5, 0.75)
    assert noisy.source == "Theorem 3, the one value replaced by two that are noisy"
    assert noisy.schedule.delta > exact.schedule.delta


def test_theorem_1_term_by_term():
    """Against the formula written out again, with T and sqrt(3) restored."""
    problem, T, theta = PROBLEMS["A2"], 4096, 0.5
    found = guarantee(problem.setting, feedback.full_information(), horizon=T, theta=theta, network=RING)
    eta, eps, K = found.schedule.step_size, found.schedule.tolerance, found.schedule.block
    R, G = float(problem.set.radius), float(problem.bounds.gradient)
    gamma, L = 1.0, float(problem.bounds.smoothness)
    L1 = L * (gamma + np.exp(-gamma) - 1) / (gamma * (1 - np.exp(-gamma)))
    beta, gap = 1 - np.exp(-1), 1 - RING.mixing_rate
    first = 2 * R**2 / eta + 18 * eps * T / (eta * K) + 7 * eta * T * K * G**2 + 13 * T * G * np.sqrt(3 * eps)
    second = (12 * eps * T / (eta * K) + 9 * eta * T * K * G**2 + 12 * T * G * np.sqrt(3 * eps)) / gap
    consensus = 3 * np.sqrt(2 * eps) + np.sqrt(3) * (3 * eta * K * G + 2 * np.sqrt(3 * eps)) / gap
    third = T * (G + 2 * L1 * R) * (np.sqrt(N) + 1) * consensus
    assert found.regret == pytest.approx(beta * (first + second + third))
    # With eps = (K eta G)^2 the LOO bound is 27 R^2/eps * 15 for each block.
    assert found.loo_calls == pytest.approx(found.exchanges * 27 * R**2 / eps * 15)


@pytest.mark.parametrize("graph", [networks.ring(N), networks.star(N), networks.complete(N)])
def test_agents_agree_as_the_lemma_says(graph):
    """|x_i - mean|^2 <= 18 eps + 3 |y_i - mean|^2 with sqrt(sum |y_i - mean|^2) <= sqrt(N)(3 eta K G + 2 sqrt(3 eps)) times
    the geometric sum, for heterogeneous agents and a tolerance that leaves room for nothing else."""
    problem, network = PROBLEMS["A2"], networks.from_graph(graph)
    agent = prescribed("A2", "full_information", scales=Scales(step=0.5, tolerance=1e-4))
    run = simulate(problem, agent, network, key=0)
    eps, eta, G = float(agent.steps.tolerance), float(agent.steps.step_size), float(problem.bounds.gradient)
    y = np.sqrt(N) * (3 * eta * agent.timetable.block * G + 2 * np.sqrt(3 * eps)) / (1 - network.mixing_rate)
    gap = measure.consensus_gap(run).max()
    assert 0 < gap <= np.sqrt(18 * eps + 3 * y**2)


def test_time_varying_links_count_a_whole_cycle():
    """Two matchings in turn average exactly after both: one exchange alone does not, so the bound is not that of rate 0."""
    matched = networks.TimeVarying([networks.from_matrix(part) for part in matchings()])
    setting, signal = PROBLEMS["A2"].setting, feedback.full_information()
    bounds = [
        guarantee(setting, signal, horizon=1000, theta=0.5, network=network).regret
        for network in (networks.from_graph(networks.complete(N)), matched)
    ]
    assert bounds[1] > 1.5 * bounds[0]


@pytest.mark.parametrize(("case", "model"), PAIRS)
def test_oracle_calls_stay_below_the_theorem(case, model):
    problem = PROBLEMS[case]
    promised = guarantee(
        problem.setting, getattr(feedback, model)(), horizon=36, theta=0.6, network=RING,
        scales=Scales(step=20.0 if model in ("full_information", "semi_bandit") else 60.0, tolerance=0.1),
    )  # fmt: skip
    run = simulate(problem, prescribed(case, model), RING, key=0, record=Record(queries=True))
    assert np.all(run.ledger.loo_calls <= promised.loo_calls)


def planned(case, model):
    """A plan with budgets of everything that can be planned."""
    setting, signal = PROBLEMS[case].setting, getattr(feedback, model)()
    free = guarantee(setting, signal, horizon=36, theta=0.5)
    return plan(setting, signal, horizon=36, exchanges=6, queries=2 * 36, loo_calls=20 * free.loo_calls)


@pytest.mark.parametrize(("case", "model"), PAIRS)
def test_a_plan_keeps_to_its_budgets(case, model):
    """Exchanges and queries follow from the timetable and from what a slot asks."""
    found = planned(case, model)
    agent = found.design()
    assert found.guarantee.exchanges <= 6
    assert found.guarantee.queries <= 2 * 36
    spans = agent.timetable.until(36)
    assert found.guarantee.exchanges == spans.complete.sum() * agent.exchanges
    with double():
        assert found.guarantee.queries == spans.slots.sum() * questions(agent)


@pytest.mark.parametrize(
    ("case", "model"), [("A3", "semi_bandit"), ("concave", "full_information"), ("A1", "two_point")]
)
def test_a_planned_run_keeps_to_its_budgets(case, model):
    found = planned(case, model)
    run = simulate(PROBLEMS[case], found.design(), RING, key=1, record=Record(queries=True))
    assert np.all(run.ledger.exchanges == found.guarantee.exchanges)
    assert np.all(run.ledger.gradient_queries + run.ledger.value_queries == found.guarantee.queries)
    assert np.all(run.ledger.loo_calls <= found.guarantee.loo_calls)


def test_the_largest_theta_within_the_budgets_is_taken():
    setting, signal = PROBLEMS["A2"].setting, feedback.semi_bandit()
    found = plan(setting, signal, horizon=10_000, exchanges=50)
    more = Droculo.design(setting, signal, theta=found.theta + 0.01).timetable.until(10_000)
    assert found.guarantee.exchanges <= 50 < more.complete.sum()
    fewer = plan(setting, signal, horizon=10_000, queries=1000)
    assert fewer.guarantee.queries <= 1000


@pytest.mark.parametrize(
    ("budgets", "message"),
    [
        (
            {"loo_calls": 10},
            r"LOO calls \(the bound on them\): the least is \d+, at theta = 0\.\d+, and the budget is 10",
        ),
        ({"queries": 100}, "queries: the least is 1000, .* and the budget is 100"),
        ({"exchanges": 0.5}, r"exchanges: the least is 1, at theta = 0\.\d+, and the budget is 0.5"),
        ({"exchanges": -1}, "budget of exchanges must be positive; got -1"),
        ({"exchanges": "many"}, "the budget of exchanges"),
    ],
)
def test_why_there_is_no_plan(budgets, message):
    with pytest.raises((ValueError, TypeError), match=message):
        plan(PROBLEMS["A2"].setting, feedback.full_information(), horizon=1000, **budgets)


def test_budgets_that_contradict_one_another():
    with pytest.raises(
        measure.NoPlanError, match=r"Each alone can be met, not all together: exchanges need theta from 0\.\d+ to"
    ):
        plan(PROBLEMS["A2"].setting, feedback.semi_bandit(), horizon=10_000, exchanges=3, queries=1000)


def test_unknown_smoothness_gives_no_number_but_for_one_agent():
    unknown = problems.from_function(
        lambda i, t, x: x.sum(),
        sets.budget(3, 1.0),
        linearizations.MonotoneOrigin(),
        gradient_bound=2.0,
        value_bound=3.0,
    )
    signal = feedback.full_information()
    assert guarantee(unknown.setting, signal, horizon=100, theta=0.5, network=RING).regret == math.inf
    assert guarantee(unknown.setting, signal, horizon=100, theta=0.5).regret < math.inf
    own = linearizations.Custom(0.5, 1.0, trivial=True)
    assert own.signal_smoothness(1.0, 1.0) == math.inf
