"""The driver: same key, same result; batches, precisions, records, odd horizons, and every refusal."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.designs import matchings

from droculo import Droculo, Record, Scales, feedback, linearizations, networks, oracles, problems, sets, simulate
from droculo.algorithms import AdaptiveStep, SendXY, SendY
from droculo.engine import block, plan
from droculo.engine.compiling import program
from droculo.simulator.stretch import stretch

N = 4
PROBLEM = problems.TopB.random(agents=N, dim=5, budget=2, seed=0)
RING = networks.from_graph(networks.ring(N))


def agent(horizon=36, model="semi_bandit", theta=0.5, **options):
    """With the oracle that compiles fastest and y alone sent; the others are checked with the algorithms."""
    options = {"oracle": oracles.FrankWolfe(), "exchange": SendY()} | options
    return Droculo.design(PROBLEM.setting, getattr(feedback, model)(), horizon=horizon, theta=theta, **options)


def prescribed(horizon=36, model="semi_bandit", theta=0.5, **options):
    """The same with equal blocks, and steps so long that the oracle has work to do."""
    options = {
        "scales": Scales(step=20.0, tolerance=0.1),
        "oracle": oracles.FrankWolfe(),
        "exchange": SendY(),
    } | options
    return Droculo.prescribed(PROBLEM.setting, getattr(feedback, model)(), horizon=horizon, theta=theta, **options)


#: one record for all, and so one program for each design
ALL = Record(queries=True)


def test_a_batch_of_keys_is_the_runs_of_its_keys():
    keys = jax.random.split(jax.random.key(9), 3)
    batch = simulate(PROBLEM, agent(), RING, key=keys, record=ALL)
    assert batch.actions.shape == (3, 36, N, 5)
    assert batch.ledger.loo_calls.shape == (3, N)
    for i, key in enumerate(keys):
        alone = simulate(PROBLEM, agent(), RING, key=key, record=ALL)
        np.testing.assert_allclose(batch.actions[i], alone.actions, atol=1e-12)
        np.testing.assert_array_equal(batch.ledger.loo_calls[i], alone.ledger.loo_calls)
    assert not np.array_equal(batch.actions[0], batch.actions[1])


def test_a_thinned_record_is_a_part_of_the_full_one():
    full = simulate(PROBLEM, agent(41), RING, key=1, record=ALL)
    for every in (7, 100):
        thin = simulate(PROBLEM, agent(41), RING, key=1, record=Record(every=every, queries=True))
        np.testing.assert_array_equal(thin.rounds, np.arange(0, 41, every))
        # Another record is another program, which may round differently in the last digit.
        np.testing.assert_allclose(thin.actions, full.actions[::every], rtol=0, atol=1e-12)
        np.testing.assert_allclose(thin.decisions, full.decisions[::every], rtol=0, atol=1e-12)
        np.testing.assert_allclose(thin.queries, full.queries[::every], rtol=0, atol=1e-12)
    none = simulate(PROBLEM, agent(41), RING, key=1, record=Record(every=0))
    assert none.actions.shape == (0, N, 5)
    np.testing.assert_allclose(none.states.x, full.states.x, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(none.ledger.loo_calls, full.ledger.loo_calls)


@pytest.mark.parametrize("horizon", [1, 2, 5, 13])
def test_short_and_odd_horizons(horizon):
    for algorithm in (agent(horizon, "bandit"), prescribed(horizon, "full_information"), prescribed(horizon, "bandit")):
        run = simulate(PROBLEM, algorithm, RING, key=0)
        assert run.actions.shape == (horizon, N, 5)
        assert np.all(np.isfinite(run.actions))


@pytest.mark.parametrize("nodes", [1, 2])
def test_one_and_two_agents(nodes):
    problem = problems.TopB.random(agents=nodes, dim=5, budget=2, seed=0)
    network = networks.from_graph(networks.ring(nodes))
    run = simulate(problem, agent(), network, key=0)
    assert run.actions.shape == (36, nodes, 5)
    np.testing.assert_array_equal(run.ledger.messages, run.ledger.exchanges * (nodes - 1))


def test_the_ledger():
    # theta=1/2: slots of 41^(1/4), blocks of 41^(1/4) slots
    run = simulate(PROBLEM, prescribed(41), RING, key=1, record=ALL)
    assert (prescribed(41).timetable.block, prescribed(41).timetable.slot) == (3, 3)
    np.testing.assert_array_equal(run.ledger.exchanges, np.full(N, 5))  # 41 rounds in blocks of 9
    np.testing.assert_array_equal(run.ledger.messages, np.full(N, 10))
    np.testing.assert_array_equal(run.ledger.bytes, np.full(N, 10 * 5 * 8))
    np.testing.assert_array_equal(run.ledger.gradient_queries, np.full(N, 14))  # one for each slot, the short one too
    np.testing.assert_array_equal(run.ledger.value_queries, np.zeros(N))
    two = simulate(PROBLEM, prescribed(36, "two_point", 0.6), RING, key=0, record=ALL)
    np.testing.assert_array_equal(two.ledger.value_queries, np.full(N, 72))
    both = simulate(PROBLEM, prescribed(exchange=SendXY()), RING, key=0, record=ALL)  # the paper's (x, y)
    alone = simulate(PROBLEM, prescribed(), RING, key=0, record=ALL)
    np.testing.assert_array_equal(both.ledger.bytes, 2 * alone.ledger.bytes)
    assert run.ledger.mean()["exchanges"] == 5


def test_the_ledger_of_blocks_that_grow():
    """A block that the run does not play to its end has no exchange, and a slot that it begins has its question."""
    algorithm = agent(int(agent().timetable.blocks(6).end[-1]) + 1)
    spans = algorithm.timetable.until(algorithm.horizon)
    assert spans.complete.tolist() == [True] * 6 + [False]
    run = simulate(PROBLEM, algorithm, RING, key=1, record=ALL)
    blocks = len(spans.number) - 1
    np.testing.assert_array_equal(run.ledger.exchanges, np.full(N, blocks))
    np.testing.assert_array_equal(run.ledger.messages, np.full(N, 2 * blocks))
    np.testing.assert_array_equal(run.ledger.bytes, np.full(N, 2 * blocks * (5 + 2) * 8))  # two numbers beside y
    np.testing.assert_array_equal(run.ledger.gradient_queries, np.full(N, spans.slots.sum()))
    assert (run.states.block == blocks).all()
    whole = simulate(PROBLEM, algorithm, RING, key=1, record=ALL, rounds=int(spans.end[-2]))
    np.testing.assert_array_equal(whole.ledger.exchanges, run.ledger.exchanges)
    np.testing.assert_array_equal(whole.ledger.loo_calls, run.ledger.loo_calls)


def test_failing_links_send_fewer_messages():
    failing = networks.Failing(RING, 0.5)
    run = simulate(PROBLEM, agent(200, theta=0.6), failing, key=0)
    sent, possible = run.ledger.messages.sum(), run.ledger.exchanges.sum() * 2
    assert 0.35 * possible < sent < 0.65 * possible
    assert sent % 2 == 0, "a link is up for both ends or for neither"


def test_a_time_varying_network_alternates():
    pairs = [networks.from_matrix(m) for m in matchings()]
    network = networks.TimeVarying(pairs)
    run = simulate(PROBLEM, agent(), network, key=0)
    np.testing.assert_array_equal(run.ledger.messages, run.ledger.exchanges)


def test_float32_stays_close_and_single():
    double = simulate(PROBLEM, agent(), RING, key=0, record=ALL)
    single = simulate(PROBLEM, agent(), RING, key=0, record=ALL, dtype=np.float32)
    assert single.actions.dtype == np.float32
    assert single.ledger.bytes[0] * 2 == double.ledger.bytes[0]
    assert np.all(np.asarray(jax.vmap(lambda x: PROBLEM.set.contains(x, 1e-5))(single.actions.reshape(-1, 5))))


def test_the_users_configuration_is_left_alone():
    before = jnp.ones(2).dtype
    simulate(PROBLEM, agent(), RING, key=0, record=ALL)
    assert jnp.ones(2).dtype == before == jnp.float32


def shapes(algorithm, agents=N):
    run = plan.Played(50, Record(), agents)
    return plan.shape_of(algorithm, run, plan.pieces(algorithm, run))


@pytest.mark.parametrize("designed", [agent, prescribed])
def test_chunks_of_slots_do_not_change_the_run(monkeypatch, designed):
    algorithm = designed(50, "bandit", 0.3)
    full, before = simulate(PROBLEM, algorithm, RING, key=0), shapes(algorithm)[0].chunk
    monkeypatch.setattr(plan, "AT_ONCE", 100)
    assert shapes(algorithm)[0].chunk < before
    chunked = simulate(PROBLEM, algorithm, RING, key=0)
    np.testing.assert_allclose(full.actions, chunked.actions, atol=1e-12)


@pytest.mark.parametrize("designed", [agent, prescribed])
def test_an_accelerator_plays_more_slots_side_by_side(monkeypatch, designed):
    algorithm = designed(50, "bandit", 0.3)
    monkeypatch.setattr(plan.jax, "default_backend", lambda: "gpu")
    elsewhere = shapes(algorithm, 200_000)[0].chunk
    monkeypatch.setattr(plan.jax, "default_backend", lambda: "cpu")
    assert elsewhere > shapes(algorithm, 200_000)[0].chunk


@pytest.mark.parametrize("shape", [(4, 7, 5), (4, 7)])
def test_how_an_accelerator_lays_shares_out_does_not_change_their_sum(monkeypatch, shape):
    shares = jnp.arange(float(np.prod(shape))).reshape(shape)
    monkeypatch.setattr(block.jax, "default_backend", lambda: "gpu")
    total = jax.jit(lambda shares: jax.vmap(lambda mine: block._rows(mine).sum(axis=0))(shares))
    # minor to major: the last axis, the coordinates, comes first
    assert ("result_layouts = [dense<[2, 1, 0]>" in total.lower(shares).as_text()) == (len(shape) == 3)
    np.testing.assert_array_equal(total(shares), shares.sum(axis=1))


def test_data_and_seeds_do_not_recompile():
    simulate(PROBLEM, prescribed(), RING, key=0, record=ALL)
    simulate(PROBLEM, agent(), RING, key=0, record=ALL)
    size = program(stretch, quick=True)._cached._cache_size()
    other = problems.TopB.random(agents=N, dim=5, budget=2, seed=77)
    simulate(other, prescribed(scales=Scales(step=3.0, tolerance=0.7)), RING, key=5, record=ALL)
    steps = jax.tree.map(lambda leaf: 0.9 * leaf if np.ndim(leaf) == 0 else leaf, AdaptiveStep(PROBLEM.set))
    bold = agent(steps=steps)
    simulate(other, bold, RING, key=5, record=ALL)
    simulate(other, bold, RING, key=5, record=ALL, rounds=211)  # the same shape serves any number of rounds
    assert program(stretch, quick=True)._cached._cache_size() == size


def test_host_sets_run_and_repeat():
    rng = np.random.default_rng(0)
    set_ = sets.Polytope(rng.uniform(0, 1, (3, 5)), np.ones(3), np.zeros(5), np.ones(5))
    problem = problems.from_function(
        lambda i, t, x: jnp.dot(1 + jnp.cos(i + t + jnp.arange(5.0)), x),
        set_,
        linearizations.MonotoneOrigin(),
        gradient_bound=5.0,
        value_bound=5.0,
    )
    algorithm = Droculo.design(problem.setting, feedback.full_information(), theta=0.7)
    made = set_.host.solves
    one, two = (simulate(problem, algorithm, RING, key=0, rounds=31, record=ALL) for _ in range(2))
    assert one.ledger.loo_calls.sum() > 0
    np.testing.assert_array_equal(one.actions, two.actions)
    assert set_.host.solves == made + one.ledger.loo_calls.sum() + two.ledger.loo_calls.sum()


def with_value(f, **options):
    return problems.from_function(f, PROBLEM.set, PROBLEM.linearization, gradient_bound=5.0, value_bound=5.0, **options)


LEAVING = problems.from_function(
    lambda i, t, x: x.sum(), PROBLEM.set, linearizations.Custom(0.5, 1.0, query=lambda x, z: 3 * x),
    gradient_bound=5.0, value_bound=5.0,
)  # fmt: skip


def leaving():
    return Droculo.design(LEAVING.setting, feedback.full_information(), horizon=20, theta=0.5)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: simulate(PROBLEM, agent(), networks.ring(4), key=0),
            TypeError,
            "network must be a Network; got Graph. Turn a graph",
        ),
        (lambda: simulate(PROBLEM.setting, agent(), RING, key=0), TypeError, "problem must be a Problem; got Setting"),
        (
            lambda: simulate(PROBLEM, PROBLEM, RING, key=0),
            TypeError,
            "algorithm must be a Algorithm or Anytime; got TopB",
        ),
        (lambda: simulate(PROBLEM, agent(), RING, key=0, record=10), TypeError, "record must be a .*; got int"),
        (
            lambda: simulate(PROBLEM, agent(), RING, key=0, checkpoint="folder"),
            TypeError,
            "checkpoint must be a .*; got str",
        ),
        (lambda: simulate(PROBLEM, agent(), RING, key=2**70), TypeError, "from 0 to 2\\^32 - 1"),
        (
            lambda: simulate(PROBLEM, agent(), RING, key=jax.random.split(jax.random.key(0), 0)),
            TypeError,
            "key must be",
        ),
        (
            lambda: simulate(PROBLEM, agent(), RING, key=0, agents=[0.5, 1, 2, 3]),
            TypeError,
            "agents must be whole numbers",
        ),
        (lambda: simulate(PROBLEM, agent(), RING, key=0, agents=[0, 1, 2, 9]), ValueError, "are to be agents 0 to 9"),
        (lambda: simulate(PROBLEM, agent(None), RING, key=0), ValueError, "say how many rounds, with rounds="),
        (lambda: simulate(PROBLEM, agent(None), RING, key=0, rounds=0), ValueError, "at least 1; got 0"),
        (lambda: simulate(PROBLEM, prescribed(), RING, key=0, rounds=37), ValueError, "horizon, 36; got 37"),
        (lambda: Record(every=1.5), ValueError, "got every=1.5"),
        (
            lambda: simulate(with_value(lambda i, t, x: x.sum() if t > 3 else 0 * x.sum()), agent(), RING, key=0),
            TypeError,
            "cannot be traced: write it with jax.numpy",
        ),
        (
            lambda: simulate(with_value(lambda i, t, x: x), agent(), RING, key=0),
            ValueError,
            r"f must return a single number; got an array of shape \(5,\)",
        ),
        (
            lambda: simulate(LEAVING, leaving(), RING, key=0),
            ValueError,
            "actions and queries between rounds .* lie outside",
        ),
        (
            lambda: simulate(PROBLEM, agent(), networks.from_graph(networks.ring(5)), key=0),
            ValueError,
            "posed for agents 0 to 3, and the 5 nodes",
        ),
        (
            lambda: simulate(PROBLEM, agent(), RING, key=0, agents=[0, 1]),
            ValueError,
            r"one function for each of the 4 nodes; got \(2,\)",
        ),
        (lambda: simulate(PROBLEM, agent(), RING, key="seed"), TypeError, "key must be a whole number"),
        (
            lambda: simulate(PROBLEM, agent(), RING, key=0, dtype=np.int32),
            ValueError,
            "dtype must be float64 or float32; got int32",
        ),
        (lambda: Record(every=-1), ValueError, "got every=-1"),
        (
            lambda: simulate(problems.TopB.random(agents=N, dim=6, budget=2, seed=0), agent(), RING, key=0),
            ValueError,
            r"designed for another set .* 5 coordinates\) than the problem's .* 6",
        ),
        (
            lambda: simulate(with_value(lambda i, t, x: x), agent(model="bandit"), RING, key=0),
            ValueError,
            r"f must return a single number; got an array of shape \(5,\)",
        ),
        (
            lambda: simulate(with_value(lambda i, t, x: x.sum() * jnp.nan), agent(), RING, key=0),
            ValueError,
            "gradient of agent 0 in round 0 at the starting point is not finite",
        ),
        (
            lambda: simulate(with_value(lambda i, t, x: jnp.where(t > 20, jnp.nan, 1) * x.sum()), agent(), RING, key=0),
            FloatingPointError,
            "stopped being finite between rounds",
        ),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_gradient_of_the_wrong_shape_is_refused():
    class Short(problems.TopB):
        def gradient(self, agent, t, x):
            return x[:2]

    with pytest.raises(ValueError, match=r"gradient of the problem must have shape \(5,\); got \(2,\)"):
        simulate(Short(PROBLEM.weights, 2), agent(), RING, key=0)
