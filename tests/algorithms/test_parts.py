"""The parts of DROCULO keep their contracts, the checks notice parts that do not, and parts with state and messages run."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.designs import PROBLEMS, RING, N, T

from droculo import Droculo, Record, feedback, networks, oracles, problems, simulate
from droculo.algorithms import AdaptiveStep, EvenDraws, Exchange, FixedStep, IndependentDraws, SendXY, SendY, StepRule
from droculo.algorithms.contract import message_bytes, numbers
from droculo.algorithms.exchange import Mixed
from droculo.algorithms.steps import Here, Move
from droculo.feedback import Feedback, Gradient, OnePoint, TwoPoint
from droculo.sets import Box
from droculo.testing import check_draws, check_exchange, check_steps

DIM = 5
BOX = Box(np.zeros(DIM), np.ones(DIM))
SIGNALS = {
    "gradient": Gradient(),
    "one point": OnePoint().prepare(BOX, 0.1),
    "two points": TwoPoint().prepare(BOX, 0.1),
    "on a face": OnePoint().prepare(PROBLEMS["A1"].set, 0.1),
}


@pytest.mark.parametrize("signal", SIGNALS)
@pytest.mark.parametrize("draws", [EvenDraws(), IndependentDraws()], ids=lambda draws: type(draws).__name__)
def test_draws(draws, signal):
    check_draws(draws, signal=SIGNALS[signal], dim=DIM)


def test_slots_of_one_round_have_nothing_to_choose():
    check_draws(EvenDraws(), dim=DIM, slot=1)


class Changed(IndependentDraws):
    """Each draw of `IndependentDraws`, changed by a function of the draw and the slot."""

    change: object = eqx.field(static=True, default=None)

    def draw(self, signal, slot, dim, dtype, state):
        draw = super().draw(signal, slot, dim, dtype, state)
        return eqx.tree_at(lambda d: (d.u, d.when, d.v), draw, self.change(draw, slot))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d, slot: (d.u**2, d.when, d.v), "u in slot 0 is not uniform"),
        (lambda d, slot: (d.u + 0.2, d.when, d.v), r"u in slot 0 must lie in \[0, 1\]"),
        (lambda d, slot: (jnp.where(slot.index == 5, d.u / 2, d.u), d.when, d.v), "u in slot 5 is not uniform"),
        (lambda d, slot: (d.u, d.when + 1, d.v), r"the query round of slot 0 must lie in 0..3"),
        (lambda d, slot: (d.u, 0 * d.when, d.v), "the query round of slot 0 is not uniform"),
        (lambda d, slot: (d.u, d.when, jnp.abs(d.v)), "directions of slot 0 have mean"),
        (lambda d, slot: (d.u, d.when, 2 * d.v), "second moments of the directions of slot 0"),
        (lambda d, slot: (d.u, d.when, jnp.sign(d.u - 0.5) * jnp.eye(DIM)[0]), "second moments"),
    ],
)
def test_biased_draws_are_noticed(change, message):
    with pytest.raises(AssertionError, match=message):
        check_draws(Changed(change=change), dim=DIM)


def test_draws_that_differ_each_time_are_noticed():
    generator = np.random.default_rng(0)

    class Restless(IndependentDraws):
        def draw(self, signal, slot, dim, dtype, state):
            draw = super().draw(signal, slot, dim, dtype, state)
            return eqx.tree_at(lambda d: d.u, draw, (draw.u + generator.random()) % 1)

    with pytest.raises(AssertionError, match="the same slot must have the same draw"):
        check_draws(Restless(), dim=DIM)


class Shrinking(StepRule):
    """eta / sqrt(b) in block b, times the mean over the neighbourhood of (1 + b) - b: a message with no effect."""

    first: float
    power: float = 0.5

    @property
    def message(self):
        return numbers(2)

    @property
    def outside(self):
        return jnp.asarray(1.0)

    def init(self, x):
        return jnp.ones((), x.dtype)

    def say(self, state):
        return jnp.stack([state, 1 + state])

    def step(self, signal, here, heard, state):
        eta = self.first / state**self.power * (heard[1] - heard[0])
        return Move(eta * signal, 0.1 / state), state + 1


@pytest.mark.parametrize(
    "steps",
    [
        FixedStep(0.1, 0.01), Shrinking(0.5), AdaptiveStep(BOX), AdaptiveStep(BOX, slack=0.0), AdaptiveStep(BOX, slack=5.0),
        AdaptiveStep(BOX, rise=0.0, caution=0.0), AdaptiveStep(BOX, rise=50.0, settle=1e6, most=1.0),
    ],
)  # fmt: skip
def test_step_rules(steps):
    check_steps(steps)


class SaysLess(Shrinking):
    def say(self, state):
        return state


class LosesItsState(Shrinking):
    def step(self, signal, here, heard, state):
        return super().step(signal, here, heard, state)[0], ()


class DividesByTheSignal(Shrinking):
    def step(self, signal, here, heard, state):
        return Move(signal / jnp.linalg.norm(signal), jnp.ones(())), state


class GoesBack(Shrinking):
    def step(self, signal, here, heard, state):
        return Move(-signal, jnp.ones(())), state


class BelievesNobody(Shrinking):
    def credible(self, told):
        return jnp.zeros((), bool)


class KeepsAll(Shrinking):
    def keep(self, target, out):
        return target


class Wavers(Shrinking):
    """Another length every time that it is asked outside of a compiled program."""

    def step(self, signal, here, heard, state):
        return Move(GENERATOR.uniform(1, 2) * signal, jnp.ones(())), state


GENERATOR = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (DividesByTheSignal(0.5), "the move of block 10 is not finite"),
        (GoesBack(0.5), "the move of block 0 does not follow its signal"),
        (AdaptiveStep(BOX, exactness=0.0), "the tolerance of block 0 must be positive and finite; got 0.0"),
        (SaysLess(0.5), r"the rule says arrays of shapes \[\(\)\], and its message declares"),
        (BelievesNobody(0.5), "would not believe what it says itself in block 0"),
        (LosesItsState(0.5), r"step\(\) changes the types of the state"),
        (KeepsAll(0.5), "a y was kept at distance .* and `outside` is 1"),
        (Wavers(0.5), "the compiled rule gives another move"),
    ],
)
def test_broken_step_rules_are_noticed(steps, message):
    with pytest.raises(AssertionError, match=message):
        check_steps(steps)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FixedStep(-0.1, 0.01), "the step_size of a fixed step is a positive, finite number; got -0.1"),
        (lambda: FixedStep(np.nan, 0.01), "the step_size of a fixed step is a positive, finite number; got nan"),
        (lambda: FixedStep(np.ones(3), 0.01), "the step_size of a fixed step is a positive, finite number"),
        (lambda: FixedStep(0.1, 0.0), "the tolerance of a fixed step is a positive, finite number; got 0.0"),
        (lambda: FixedStep(0.1, np.inf), "the tolerance of a fixed step is a positive, finite number; got inf"),
        (lambda: AdaptiveStep(BOX, rise=-1.0), "rise of an adaptive step is a finite number, not negative; got -1.0"),
        (lambda: AdaptiveStep(BOX, settle=np.inf), "settle of an adaptive step is a finite number"),
        (lambda: AdaptiveStep(BOX, caution=np.nan), "caution of an adaptive step is a finite number"),
        (lambda: AdaptiveStep(BOX, slack=[1.0, 2.0]), "slack of an adaptive step is a finite number"),
        (lambda: AdaptiveStep(BOX, apart=0.0), "apart of an adaptive step is positive.*got 0.0"),
        (lambda: AdaptiveStep(BOX, least=1.0), "least of an adaptive step is a finite number, not positive; got 1.0"),
        (lambda: AdaptiveStep(BOX, least=-np.inf), "least of an adaptive step is a finite number"),
    ],
)
def test_numbers_that_make_no_step_rule(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("oracle", [None, oracles.FrankWolfe(), oracles.PaperFrankWolfe()])
def test_moves_that_are_shorter_than_the_tolerance_add_up(oracle):
    """An oracle that starts from x may return x itself while y is near: what y has gone must not be lost."""
    problem = PROBLEMS["A1"]
    agent = Droculo.design(problem.setting, feedback.full_information(), theta=1.0, oracle=oracle)
    run = simulate(problem, agent, RING, key=0, rounds=300, record=Record(every=10))
    assert run.ledger.loo_calls.min() > 0
    assert np.linalg.norm(run.decisions[-1] - problem.set.center, axis=1).min() > 0.3 * float(problem.set.radius)


def test_an_adaptive_step_believes_only_what_another_one_can_say():
    steps = AdaptiveStep(BOX, least=-1.0, most=2.0)
    told = [(0.0, 0.0), (1e300, -1.0), (-1e-9, 0.0), (1.0, 2.1), (1.0, -1.1)]
    assert [bool(steps.credible(tuple(map(jnp.asarray, each)))) for each in told] == [True, True, False, False, False]


@pytest.mark.parametrize("agree", [True, False])
def test_what_pushes_against_the_boundary_does_not_hide_an_agreement(agree):
    """An agent at a facet of the box whose signal is nearly normal to it, and whose last move went along the facet: h rises
    by what the part along the facet says, not by the small cosine of the whole signal, unless neighbours sit elsewhere."""
    steps, R = AdaptiveStep(BOX, caution=0.0), float(BOX.radius)
    d = BOX.dim
    normal, along = np.eye(d)[0], np.eye(d)[1]
    x, before = np.full(d, 0.5), np.full(d, 0.5)
    x[0], before[0], before[1] = 1.0, 1.0, 0.3
    y, far = x + R * normal, 0.0 if agree else 5.0
    mixed = y + far * along
    state = steps.init(jnp.asarray(before))._replace(x=jnp.asarray(before), mixed=jnp.asarray(before + R * normal))
    here = Here(jnp.asarray(x), jnp.asarray(y), jnp.asarray(mixed))
    _, after = steps.step(jnp.asarray(10 * normal + along), here, (jnp.zeros(()), jnp.zeros(())), state)
    gone = np.linalg.norm(mixed - before)
    free = along + 10 * normal * min(1.0, far / gone)
    assert float(after.boldness) == pytest.approx(2.0 * free[1] / np.linalg.norm(free))


NETWORKS = {
    "ring": RING,
    "star": networks.from_graph(networks.star(9)),
    "complete": networks.from_graph(networks.complete(4)),
    "karate": networks.from_graph(networks.examples.karate()),
    "one agent": networks.from_graph(networks.single()),
}


class Compensated(Exchange):
    """Sends the difference to what was sent before, and keeps what the neighbourhood's average is made of."""

    def message(self, dim, more):
        return numbers(dim), more

    def init(self, y):
        return jnp.zeros_like(y), jnp.zeros_like(y)  # what was sent so far, and its average over the neighbourhood

    def mix(self, ports, x, y, more, state):
        sent, average = state
        new, heard = ports.mix((y - sent, more))
        return Mixed(x, average + new, heard, (y, average + new))

    def credible(self, tree, domain, distance):
        return jnp.linalg.norm(tree[0]) <= 2 * (domain.radius + distance)


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("exchange", [SendY(), SendXY(), Compensated()], ids=lambda exchange: type(exchange).__name__)
def test_exchanges(exchange, name):
    check_exchange(exchange, network=NETWORKS[name], rounds=200 if name in ("karate", "star") else 30)


class LosesTheAverage(SendY):
    def mix(self, ports, x, y, more, state):
        mixed = super().mix(ports, x, y, more, state)
        return mixed._replace(y=0.99 * mixed.y)


class SendsLess(SendY):
    def mix(self, ports, x, y, more, state):
        half = ports.mix((y[:2], more))[0]
        return Mixed(x, y.at[:2].set(half), more, state)


class TalksTwice(SendY):
    def mix(self, ports, x, y, more, state):
        return super().mix(ports, x, super().mix(ports, x, y, more, state).y, more, state)


class Deaf(SendY):
    def mix(self, ports, x, y, more, state):
        return super().mix(ports, x, y, more, state)._replace(y=y)


class DropsWhatTheStepRuleAdds(SendY):
    def mix(self, ports, x, y, more, state):
        mixed = super().mix(ports, x, y, more, state)
        return mixed._replace(heard=0 * mixed.heard)


class BelievesNothing(SendY):
    def credible(self, tree, domain, distance):
        return jnp.zeros((), bool)


class ForgetsWhatItSent(Compensated):
    def mix(self, ports, x, y, more, state):
        return super().mix(ports, x, y, more, state)._replace(state=(y,))


@pytest.mark.parametrize(
    ("exchange", "message"),
    [
        (LosesTheAverage(), "exchange 0 moved the network average of y by"),
        (SendsLess(), r"sent arrays of shapes \[\(2,\), \(2,\)\] and declares \[\(5,\), \(2,\)\]"),
        (TalksTwice(), "an exchange calls ports.mix once; it did so 2 times"),
        (Deaf(), "exchanges left disagreement"),
        (DropsWhatTheStepRuleAdds(), "moved the network average of what the step rule adds"),
        (BelievesNothing(), "would not believe"),
        (ForgetsWhatItSent(), r"mix\(\) changes the types of the state"),
    ],
)
def test_broken_exchanges_are_noticed(exchange, message):
    with pytest.raises(AssertionError, match=message):
        check_exchange(exchange)


class Drifting(IndependentDraws):
    """Its state is a number of the block, which every draw of u is shifted by."""

    def init(self, dim, dtype):
        return jnp.zeros((), dtype)

    def draw(self, signal, slot, dim, dtype, state):
        draw = super().draw(signal, slot, dim, dtype, state)
        return eqx.tree_at(lambda d: d.u, draw, (draw.u + state) % 1)

    def next(self, state, keys):
        return jax.random.uniform(keys.own, (), state.dtype)


class Tracking(OnePoint):
    """Adds up the values of all played actions in the place of its own values."""

    hears_earned = True

    def tally(self, answers, v, alone=True, earned=None):
        tally = super().tally(answers, v, alone)
        return eqx.tree_at(lambda t: (t.values, t.count), tally, (earned.sum(), jnp.asarray(1.0)))


@pytest.mark.parametrize("schedule", ["design", "prescribed"])
def test_parts_with_state_and_messages_run_and_cost_what_they_declare(schedule):
    """Slots of a growing timetable have fewer rounds than there is room for; what is not played earns nothing."""
    problem = PROBLEMS["A2"]
    agent = getattr(Droculo, schedule)(
        problem.setting, Feedback(Tracking(), played=True), horizon=T, theta=0.6,
        steps=Shrinking(0.5), exchange=Compensated(), draws=Drifting(),
    )  # fmt: skip
    run = simulate(problem, agent, RING, key=0, record=Record(queries=True))
    spans = agent.timetable.until(T)
    ended = spans.at(spans.complete)
    last = int(ended.end[-1])
    assert (len(np.unique(spans.slot)) > 1) == (schedule == "design")
    np.testing.assert_array_equal(run.states.steps, np.full(N, 1.0 + len(ended.number)))
    np.testing.assert_array_equal(run.states.block, np.full(N, len(ended.number)))
    np.testing.assert_array_equal(run.states.exchange[0].shape, (N, DIM))
    assert len(np.unique(run.states.draws)) == N, "every agent has draws of its own"
    assert message_bytes(agent) == (DIM + 2) * 8
    np.testing.assert_array_equal(run.ledger.exchanges, len(ended.number))
    np.testing.assert_array_equal(run.ledger.bytes, run.ledger.messages * (DIM + 2) * 8)
    np.testing.assert_array_equal(run.ledger.value_queries, spans.slots.sum())
    value = jax.jit(jax.vmap(jax.vmap(problem.value, in_axes=(0, None, 0)), in_axes=(None, 0, 0)))
    with jax.enable_x64(True):
        earned = value(jnp.arange(N), jnp.arange(last), jnp.asarray(run.actions[:last]))
    np.testing.assert_allclose(run.states.past.values, np.asarray(earned).sum(axis=0), rtol=1e-12)
    np.testing.assert_array_equal(run.states.past.count, np.full(N, ended.slots.sum()))


def test_the_exchange_with_memory_gives_what_plain_exchange_gives():
    """In exact arithmetic the differences add up to y itself, as long as every link works."""
    problem = problems.WaterFilling.random(agents=N, dim=DIM, budget=2.0, seed=2)
    runs = [
        simulate(
            problem,
            Droculo.design(problem.setting, feedback.full_information(), horizon=16, theta=1.0, exchange=exchange),
            RING,
            key=0,
        )
        for exchange in (SendY(), Compensated())
    ]
    np.testing.assert_allclose(runs[0].actions, runs[1].actions, atol=1e-9)
