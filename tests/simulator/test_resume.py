"""A run that goes on is the run that was never interrupted, bit for bit, wherever it was interrupted."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from droculo import Checkpoint, Droculo, Record, feedback, linearizations, networks, oracles, problems, sets, simulate
from droculo.algorithms import DOBGA, Anytime, SendY
from droculo.engine import compiling, plan
from droculo.engine.breaches import BREACHES
from droculo.engine.costs import COUNTED
from droculo.runtime import MemoryTransport, assign_agents, gather, partition, run_process
from droculo.runtime.transports.memory import Hub

pytestmark = pytest.mark.filterwarnings("ignore::droculo.engine.breaches.DeclarationWarning")

N, T = 3, 125
#: its answers are beyond their bounds now and then, more often in later rounds
PROBLEM = problems.from_function(
    lambda agent, t, x: jnp.where((t * t + agent) % 23 < 2 + t // 30, 5.0, 1.0) * jnp.log1p(jnp.cos(agent + t + jnp.arange(4.0)) ** 2 @ x),
    sets.budget(4, 2.0), linearizations.MonotoneOrigin(), gradient_bound=3.0, value_bound=3.0, agents=N,
)  # fmt: skip
RING = networks.from_graph(networks.ring(N))
ALL = Record(queries=True)


def agent(model="semi_bandit", theta=0.5):
    return Droculo.design(
        PROBLEM.setting, getattr(feedback, model)(), theta=theta, oracle=oracles.FrankWolfe(), exchange=SendY()
    )


AGENT = agent()
SPANS = AGENT.timetable.until(T)
#: a late block with several slots, of more than one round each
LATE = max(b for b in range(len(SPANS.number)) if SPANS.end[b] < T and SPANS.slots[b] > 1 and SPANS.slot[b] > 1)
FIRST, SLOT, END = (int(each[LATE]) for each in (SPANS.first, SPANS.slot, SPANS.end))
PLACES = {
    "after one round": 1,
    "at the end of a block": FIRST,
    "within a slot": FIRST + 1,
    "at the end of a slot": FIRST + SLOT,
    "within the last slot of a block": END - 1,
    "one round before the end": T - 1,
}


def play(rounds, algorithm=AGENT, **options):
    options = {"network": RING, "key": 0, "record": ALL} | options
    return simulate(PROBLEM, algorithm, rounds=rounds, **options)


def check_same(one, other):
    """Everything but the clock, and the curve of costs where both have it."""
    assert one.horizon == other.horizon
    assert one.record == other.record
    for name in ("rounds", "actions", "decisions", "queries", "agents", "key"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    jax.tree.map(np.testing.assert_array_equal, one.states, other.states)
    for name, cost in one.ledger.counts.items():
        np.testing.assert_array_equal(cost, other.ledger.counts[name], err_msg=name)
    for kind in BREACHES:
        np.testing.assert_array_equal(one.ledger.first[kind], other.ledger.first[kind], err_msg=kind)
    assert one.warnings == other.warnings
    common, mine, theirs = np.intersect1d(one.spending.rounds, other.spending.rounds, return_indices=True)
    assert common[-1] == one.horizon
    for name in COUNTED:
        curves = one.spending.counts[name][..., mine, :], other.spending.counts[name][..., theirs, :]
        np.testing.assert_array_equal(*curves, err_msg=name)


@pytest.fixture(scope="module")
def whole():
    run = play(T)
    assert run.ledger.beyond_bounds.any()
    assert run.ledger.loo_calls.any()
    return run


@pytest.mark.parametrize("rounds", PLACES.values(), ids=PLACES)
def test_a_run_goes_on_from_any_place(whole, rounds):
    part = play(rounds)
    np.testing.assert_array_equal(part.actions, whole.actions[:rounds])
    run = play(T, resume=part)
    check_same(whole, run)
    assert run.ledger.seconds > part.ledger.seconds
    assert np.all(np.diff(run.spending.rounds) > 0)


def test_a_run_goes_on_again_and_again(whole):
    run = play(1)
    for rounds in (2, 9, FIRST + 1, FIRST + 2, T):
        run = play(rounds, resume=run)
    check_same(whole, run)
    assert len(np.intersect1d(whole.spending.rounds, run.spending.rounds)) > 3


@pytest.mark.parametrize("every", [3, 7, 0])
def test_records_are_continued(every):
    record = Record(every, queries=every == 3)
    for rounds in (FIRST + 1, END):
        check_same(play(T, record=record), play(T, record=record, resume=play(rounds, record=record)))


@pytest.mark.parametrize(("model", "theta"), [("bandit", 0.6), ("full_information", 0.6), ("full_information", 1.0)])
def test_other_designs_go_on(model, theta):
    algorithm, options = agent(model, theta), {"network": networks.Failing(RING, 0.4), "key": 5}
    check_same(play(T, algorithm, **options), play(T, algorithm, **options, resume=play(50, algorithm, **options)))


def test_a_batch_of_seeds_goes_on_in_single_precision():
    options = {"key": jax.random.split(jax.random.key(3), 2), "agents": [2, 0, 1], "dtype": np.float32}
    run, again = play(T, **options), play(T, **options, resume=play(FIRST + 1, **options))
    check_same(run, again)
    assert run.actions.shape == (2, T, N, 4)
    assert run.actions.dtype == again.actions.dtype == np.float32
    one = {"key": options["key"][:1]}  # a batch of one is not a run without a batch
    check_same(play(T, **one), play(T, **one, resume=play(FIRST, **one)))


def test_a_run_goes_on_where_programs_change(monkeypatch):
    """Blocks of a short run are compiled quickly, and later ones for speed; longer blocks and slots need more room."""
    monkeypatch.setattr(compiling, "FEW", 6 * N * 4**2)  # six exchanges
    monkeypatch.setattr(plan, "ROOM", 8)
    monkeypatch.setattr(plan, "LONG_SLOT", 1)
    run = play(T)
    played = plan.Played(T, ALL, N)
    assert len(set(plan.shape_of(AGENT, played, plan.pieces(AGENT, played)))) > 2
    for rounds in (int(SPANS.end[3]) + 1, int(SPANS.end[5]), FIRST + 1):
        check_same(run, play(T, resume=play(rounds)))


@pytest.mark.parametrize("rounds", [3, 4, 21])
def test_a_run_with_a_horizon_goes_on_up_to_it(rounds):
    """Even one that did not come to the end of its first block."""
    algorithm = Droculo.prescribed(
        PROBLEM.setting, feedback.semi_bandit(), horizon=36, theta=0.5, oracle=oracles.FrankWolfe()
    )
    assert algorithm.timetable.block * algorithm.timetable.slot == 4
    check_same(play(36, algorithm), play(36, algorithm, resume=play(rounds, algorithm)))


def processes():
    """A run of one process, put together."""
    alone = networks.from_graph(networks.single())
    place = partition(alone, assign_agents(1, 1), 0)
    part = run_process(PROBLEM, AGENT, alone, place, MemoryTransport(Hub(), 0, ()), key=0, rounds=4)
    return gather(AGENT, [part], rounds=4).trajectory


def phases():
    return simulate(PROBLEM, Anytime(lambda T: DOBGA.design(PROBLEM.setting, horizon=T)), RING, key=0, rounds=8)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda part: {"key": 1}, "had another key. Pass the same"),
        (lambda part: {"key": jax.random.split(jax.random.key(0), 2)}, "had another key"),
        (lambda part: {"record": Record()}, "had another record"),
        (lambda part: {"agents": [1, 2, 0]}, "had another agents"),
        (lambda part: {"dtype": np.float32, "record": Record(every=2)}, "had another record, dtype"),
        (lambda part: {"rounds": FIRST}, f"has {FIRST} rounds already; ask for more than that, not {FIRST}"),
        (lambda part: {"rounds": FIRST - 1}, f"has {FIRST} rounds already"),
        (lambda part: {"algorithm": agent("bandit")}, "played by another algorithm or on another network"),
        (lambda part: {"algorithm": agent(theta=0.6)}, "played by another algorithm or on another network"),
        (lambda part: {"algorithm": DOBGA.design(PROBLEM.setting, horizon=T)}, "played by another algorithm"),
        (lambda part: {"checkpoint": Checkpoint("somewhere")}, "for one algorithm without a checkpoint folder"),
        (
            lambda part: {"algorithm": Anytime(lambda T: DOBGA.design(PROBLEM.setting, horizon=T))},
            "for one algorithm without a checkpoint folder",
        ),
        (lambda part: {"resume": processes()}, r"of processes, which go on from their own folders \(see run_process\)"),
        (lambda part: {"resume": phases()}, "of the phases of an Anytime"),
    ],
)
def test_what_cannot_go_on_is_refused(change, message):
    part = play(FIRST)
    with pytest.raises(ValueError, match=message):
        play(**{"rounds": T, "resume": part} | change(part))


def test_what_is_no_run_is_refused():
    with pytest.raises(TypeError, match="Pass what simulate returned"):
        play(T, resume=play(4).states)
