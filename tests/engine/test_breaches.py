"""Answers that break what a problem declares are counted during the run, with the first round and agent of each kind."""

import dataclasses
import threading

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.runtime.cases import CASES

from droculo import Checkpoint, Droculo, Record, feedback, linearizations, networks, problems, sets, simulate, testing
from droculo.algorithms import DOBGA, Anytime
from droculo.engine.block import RunKeys
from droculo.engine.breaches import BREACHES, DeclarationWarning
from droculo.engine.costs import COUNTED
from droculo.runtime import MemoryTransport, assign_agents, gather, partition, run_process
from droculo.runtime.transports.memory import Hub

PAIR = networks.from_graph(networks.complete(2))
SQUARE = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])


def steep(agent, t, x):
    """A gradient of 50 times the bound, for agent 1, from round 1000 on."""
    return jnp.where((jnp.asarray(t) >= 1000) & (agent == 1), 50.0, 1.0) * jnp.log1p(x).sum()


def sinking(agent, t, x):
    """-sum x, every 100th round."""
    return jnp.where(jnp.asarray(t) % 100 == 99, -1.0, 1.0) * x.sum()


def broken(agent, t, x):
    """No number, for agent 0, in round 7."""
    return jnp.where((jnp.asarray(t) == 7) & (agent == 0), jnp.nan, 1.0) * x.sum()


def posed(f, domain=None, linearization=None):
    domain, linearization = domain or sets.budget(3, 1.0), linearization or linearizations.MonotoneOrigin()
    return problems.from_function(f, domain, linearization, gradient_bound=2.0, value_bound=3.0, agents=2)


def designed(problem, model, horizon=1100):
    return Droculo.design(problem.setting, getattr(feedback, model)(), horizon=horizon, theta=0.5)


@pytest.mark.parametrize(
    ("f", "model", "kind", "agent", "first"),
    [
        (steep, "full_information", "beyond_bounds", 1, 1000),
        (sinking, "full_information", "falling", 0, 99),
        (sinking, "semi_bandit", "falling", 0, 99),
    ],
)
def test_what_a_check_before_the_run_misses_is_said_after_it(f, model, kind, agent, first):
    problem = posed(f, linearization=linearizations.MonotoneGeneral() if model == "semi_bandit" else None)
    testing.check_problem(problem)  # 50 rounds: nothing to see
    with pytest.warns(DeclarationWarning, match=f"given to agent {agent} in round {first}"):
        run = simulate(problem, designed(problem, model), PAIR, key=0)
    assert run.ledger.first[kind][agent] == first
    when = {other: run.ledger.counts[other].sum() for other in BREACHES if other != kind}
    assert not any(when.values())
    if f is steep:
        # Every gradient from round 1000 on has 50 times the slope of log(1 + x) in [1/2, 1].
        assert run.ledger.counts[kind].tolist() == [0, 100]
        assert run.ledger.first[kind][0] == -1
    else:
        assert run.ledger.counts[kind].tolist() == [11, 11]
    assert len(run.warnings) == 1
    with pytest.raises(ValueError, match=f"given to agent {agent} in round {first}.*This run is strict"):
        simulate(problem, designed(problem, model), PAIR, key=0, strict=True, record=Record(every=0))


def test_values_below_zero_are_counted_for_classes_that_have_none():
    problem = posed(sinking)
    with pytest.warns(DeclarationWarning, match="values below zero"):
        run = simulate(problem, designed(problem, "two_point"), PAIR, key=0)
    asked = run.ledger.value_queries.sum()
    assert 0 < run.ledger.below_zero.sum() < asked
    assert all(run.ledger.first["below_zero"] % 100 == 99)
    concave = posed(sinking, linearization=linearizations.Concave())
    assert simulate(concave, designed(concave, "two_point"), PAIR, key=0).warnings == ()


def test_noise_is_no_breach():
    problem = problems.Noisy(posed(lambda agent, t, x: 1e-3 * x.sum()), gradient=0.5, value=0.5)
    for model in ("full_information", "two_point"):
        run = simulate(problem, designed(problem, model, 64), PAIR, key=0)
        assert run.warnings == ()
        assert not any(run.ledger.counts[kind].any() for kind in BREACHES)


def test_the_error_of_a_state_that_is_not_finite_says_which_answer_was_first():
    problem = posed(broken)
    with pytest.raises(FloatingPointError, match="not finite; the first was given to agent 0 in round 7"):
        simulate(problem, designed(problem, "full_information", 32), PAIR, key=0)


def test_phases_count_from_the_first_round_of_the_run():
    problem = posed(sinking)
    anytime = Anytime(lambda T: DOBGA.design(problem.setting, horizon=T), first=64)
    with pytest.warns(DeclarationWarning, match="in round 99"):
        run = simulate(problem, anytime, PAIR, key=0, rounds=250)
    assert run.ledger.first["falling"].tolist() == [99, 99]
    assert run.ledger.falling.tolist() == [2, 2]


def test_processes_count_the_same():
    problem = posed(steep)
    algorithm = DOBGA.design(problem.setting, horizon=1010)
    homes, hub, parts = assign_agents(2, 2), Hub(), {}

    def play(me):
        place = partition(PAIR, homes, me)
        transport = MemoryTransport(hub, me, place.neighbours)
        parts[me] = run_process(problem, algorithm, PAIR, place, transport, key=0, record=Record(every=0))

    threads = [threading.Thread(target=play, args=(me,)) for me in range(2)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    with pytest.warns(DeclarationWarning, match="agent 1 in round 1000"):
        together = gather(algorithm, [parts[0], parts[1]], record=Record(every=0)).trajectory
    with pytest.warns(DeclarationWarning):
        run = simulate(problem, algorithm, PAIR, key=0, record=Record(every=0))
    for kind in BREACHES:
        assert together.ledger.first[kind].tolist() == run.ledger.first[kind].tolist()
        assert together.ledger.counts[kind].tolist() == run.ledger.counts[kind].tolist()
    alone = networks.from_graph(networks.complete(1))
    place = partition(alone, assign_agents(1, 1), 0)
    one = DOBGA.design(posed(sinking).setting, horizon=200)
    with pytest.raises(ValueError, match=r"agent 0 in round 99.*This run is strict"):
        run_process(posed(sinking), one, alone, place, MemoryTransport(Hub(), 0, ()), key=0, strict=True)


def test_strict_decides_membership_of_every_recorded_point(monkeypatch):
    from droculo.engine import run as engine_run

    looked = []
    real = engine_run.outside_of_a_sample

    def counted(domain, points, looks, seed, calls):
        looked.append((points.size // domain.dim, looks))
        return real(domain, points, looks, seed=seed, calls=calls)

    monkeypatch.setattr(engine_run, "outside_of_a_sample", counted)
    problem = posed(lambda agent, t, x: x.sum(), sets.Hull(SQUARE), linearizations.Concave())
    agent = designed(problem, "full_information", 16)
    simulate(problem, agent, PAIR, key=0)
    assert looked
    assert all(looks == engine_run.LOOKS_A_PIECE for _, looks in looked)
    looked.clear()
    simulate(problem, agent, PAIR, key=0, strict=True)
    assert all(number == looks for number, looks in looked)
    assert sum(number for number, _ in looked) == 16 * 2


@pytest.mark.parametrize("domain", [sets.Hull(SQUARE), sets.Box(np.zeros(2), np.ones(2))], ids=["search", "fast"])
def test_a_run_that_records_nothing_is_looked_at_too(domain):
    leaving = linearizations.Custom(1.0, 1.0, action=lambda x: x + 2.0, trivial=True, query=lambda x, z: x)
    problem = posed(lambda agent, t, x: x.sum(), domain, leaving)
    with pytest.raises(ValueError, match="lie outside the set"):
        simulate(problem, designed(problem, "full_information", 16), PAIR, key=0, record=Record(every=0))


def test_breaches_are_costs_of_a_ledger():
    assert set(BREACHES) < set(COUNTED)
    problem, algorithm, network = CASES["full_information"]
    run = simulate(problem, algorithm, network, key=0)
    frame = run.ledger.frame()
    assert not frame[list(BREACHES)].to_numpy().any()
    assert all((first == -1).all() for first in run.ledger.first.values())


def test_one_action_outside_is_found_by_a_strict_run():
    """Agent 1 leaves the hull in one round of 64."""

    class Leaving(Droculo):
        def play(self, ports, state, slot):
            share, played = super().play(ports, state, slot)
            out = (slot.start == 37) & (slot.keys.own == leaves)
            return share, eqx.tree_at(lambda p: p.actions, played, played.actions + jnp.where(out, 3.0, 0.0))

    leaves = RunKeys.of(jax.random.key(0)).of_agent(jnp.asarray(1)).own
    problem = posed(lambda agent, t, x: x.sum(), sets.Hull(SQUARE), linearizations.Concave())
    agent = Droculo.design(problem.setting, feedback.full_information(), horizon=64, theta=1.0)
    agent = Leaving(**{field.name: getattr(agent, field.name) for field in dataclasses.fields(agent)})
    with pytest.raises(ValueError, match=r"^1 of the recorded actions .* lie outside the set"):
        simulate(problem, agent, PAIR, key=0, strict=True)


def test_a_strict_run_that_resumes_judges_what_was_played_before(tmp_path):
    problem = posed(sinking)
    algorithm, checkpoint = DOBGA.design(problem.setting, horizon=200), Checkpoint(tmp_path / "kept")
    with pytest.warns(DeclarationWarning):
        simulate(problem, algorithm, PAIR, key=0, checkpoint=checkpoint)
    with pytest.raises(ValueError, match=r"in round 99.*This run is strict"):
        simulate(problem, algorithm, PAIR, key=0, checkpoint=checkpoint, strict=True)
    alone = networks.from_graph(networks.complete(1))
    place, one = partition(alone, assign_agents(1, 1), 0), posed(sinking)

    def play(**options):
        transport = MemoryTransport(Hub(), 0, ())
        return run_process(one, algorithm, alone, place, transport, key=0, folder=tmp_path / "journal", **options)

    play()
    with pytest.raises(ValueError, match=r"in round 99.*This run is strict"):
        play(strict=True)


def test_phases_of_a_strict_run_name_the_round_of_the_run():
    problem = posed(sinking)
    anytime = Anytime(lambda T: DOBGA.design(problem.setting, horizon=T), first=64)
    with pytest.raises(ValueError, match=r"in round 99.*This run is strict"):
        simulate(problem, anytime, PAIR, key=0, rounds=250, strict=True)
    bad = posed(lambda agent, t, x: jnp.where(jnp.asarray(t) == 99, jnp.nan, 1.0) * x.sum())
    anytime = Anytime(lambda T: DOBGA.design(bad.setting, horizon=T), first=64)
    with pytest.raises(FloatingPointError, match=r"between rounds 9\d and .* agent 0 in round 99"):
        simulate(bad, anytime, PAIR, key=0, rounds=250)


def test_rounds_after_the_end_of_a_run_are_none_of_it():
    """The last slot of a run is played as a longer run would play it."""
    setting = posed(sinking).setting
    for agent in (
        Droculo.prescribed(setting, feedback.bandit(), horizon=256, theta=0.8),
        Droculo.design(setting, feedback.bandit(), theta=0.75),
    ):
        spans = agent.timetable.until(256)
        end = next(
            int(first) + 1 for first, slot in zip(spans.first, spans.slot, strict=True) if first > 60 and slot > 1
        )
        late = posed(lambda agent, t, x, end=end: jnp.where(jnp.asarray(t) >= end, -1.0, 1.0) * x.sum())
        assert simulate(late, agent, PAIR, key=0, rounds=end).warnings == ()
        with pytest.warns(DeclarationWarning):
            assert min(simulate(late, agent, PAIR, key=0, rounds=256).ledger.first["below_zero"]) >= end


def test_what_is_no_breach():
    """Values in whole numbers; a class of the user's that may lie below zero; noise that only the user knows; single precision."""
    steps = posed(lambda agent, t, x: jnp.where(x.sum() > 0.5, 2, 1))
    simulate(steps, designed(steps, "zeroth_order", 16), PAIR, key=0)
    own = linearizations.Custom(0.5, 0.5, trivial=True, zeroth_order=True)
    below = posed(lambda agent, t, x: x.sum() - 1, linearization=own)
    assert simulate(below, designed(below, "two_point", 16), PAIR, key=0).warnings == ()

    class Shaken(type(steps)):
        noisy = True

        def answer(self, agent, t, x, order, key):
            return super().answer(agent, t, x, order, key) + 0.5 * jax.random.normal(key).clip(-1, 1)

    calm = posed(lambda agent, t, x: 0.1 * x.sum())
    shaken = Shaken(**{field.name: getattr(calm, field.name) for field in dataclasses.fields(calm)})
    assert simulate(shaken, designed(shaken, "two_point", 64), PAIR, key=0).warnings == ()
    slope = np.float32(0.3)
    with pytest.warns(UserWarning, match="single precision"):
        tight = problems.from_function(
        lambda agent, t, x: jnp.asarray(slope) * x.astype(jnp.float32).sum(), sets.budget(3, 1.0), linearizations.MonotoneOrigin(),
        gradient_bound=0.3 * np.sqrt(3), value_bound=1.0,
    )  # fmt: skip
    assert simulate(tight, designed(tight, "full_information", 16), PAIR, key=0).warnings == ()


def test_an_algorithm_that_asks_within_a_loop_is_told_so():
    class Looping(DOBGA):
        def play(self, ports, state, slot):
            def one(x, _):
                return x, DOBGA.play(self, ports, state, slot)[0]

            jax.lax.scan(one, state, None, length=2)
            return super().play(ports, state, slot)

    problem = posed(lambda agent, t, x: x.sum())
    agent = DOBGA.design(problem.setting, horizon=16)
    agent = Looping(**{field.name: getattr(agent, field.name) for field in dataclasses.fields(agent)})
    with pytest.raises(TypeError, match=r"ports\.ask has to be called in play itself"):
        simulate(problem, agent, PAIR, key=0)


def test_identities_seeds_and_precision_are_counted_apart():
    """Agent 7 alone breaks its bound; two seeds; single precision; put together from processes as well."""
    problem = problems.from_function(
        lambda agent, t, x: jnp.where(agent == 7, 9.0, 1.0) * x.sum(), sets.budget(3, 1.0), linearizations.MonotoneOrigin(),
        gradient_bound=2.0, value_bound=3.0,
    )  # fmt: skip
    algorithm = DOBGA.design(problem.setting, horizon=12)
    options = {"agents": [3, 7], "record": Record(every=0)}
    with pytest.warns(DeclarationWarning, match="agent 7 in round 0"):
        run = simulate(
            problem, algorithm, PAIR, key=jax.random.split(jax.random.key(0), 2), dtype=np.float32, **options
        )
    assert run.ledger.beyond_bounds.tolist() == [[0, 12], [0, 12]]
    assert run.ledger.first["beyond_bounds"].tolist() == [[-1, 0], [-1, 0]]
    homes, hub, parts = assign_agents(2, 2), Hub(), {}

    def play(me):
        place = partition(PAIR, homes, me)
        parts[me] = run_process(
            problem, algorithm, PAIR, place, MemoryTransport(hub, me, place.neighbours), key=0, **options
        )

    threads = [threading.Thread(target=play, args=(me,)) for me in range(2)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    with pytest.warns(DeclarationWarning, match="agent 7 in round 0"):
        together = gather(algorithm, [parts[0], parts[1]], **options).trajectory
    assert together.agents.tolist() == [3, 7]
