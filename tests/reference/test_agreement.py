"""The kernel agrees with the transcriptions of Algorithms 1-5, fed the same random numbers, to 1e-10."""

import dataclasses
from fractions import Fraction

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from droculo import Droculo, Record, feedback, linearizations, oracles, problems, simulate
from droculo.algorithms import AdaptiveStep, EvenDraws, Growing, IndependentDraws, SendXY, SendY
from droculo.oracles.active_set import places
from droculo.precision import double
from tests.designs import BOLD, PAIRS, PROBLEMS, RING, N, T, design, paper
from tests.reference import adaptive
from tests.reference import algorithms as reference
from tests.reference import oracles as reference_oracles

KEY = 3
OWN = {"oracle": oracles.FrankWolfe(), "exchange": SendY(), "draws": EvenDraws()}


def top(b, c, face):
    """The LOO of {0 <= x <= 1, sum x <= b} or {sum x = b}, by sorting."""
    x, left = np.zeros(len(c)), b
    for i in sorted(range(len(c)), key=lambda i: (-c[i], i)):
        if left <= 0 or (not face and c[i] <= 0):
            break
        x[i] = min(1, left)
        left -= x[i]
    return x


class Geometry:
    """The set of a planted problem in NumPy: its oracle, its center and radii, and its shrunk version."""

    def __init__(self, problem):
        self.d, self.b = problem.set.dim, float(problem.set.capacities[0])
        self.face = problem.set.bases
        d, b = self.d, self.b
        if self.face:
            self.c, self.r, self.k = np.full(d, b / d), min(b / d, 1 - b / d) * np.sqrt(d / (d - 1)), d - 1
        else:
            s = min(0.5, b / (d + np.sqrt(d)))
            self.c, self.r, self.k = np.full(d, s), s, d
        self.R = np.sqrt(np.floor(b) + (b - np.floor(b)) ** 2)

    def foot(self, y):
        """On the affine hull: the sum put right, in equal parts."""
        return y - (y.sum() - self.b) / self.d if self.face else y

    def shrunk(self, delta):
        share = delta / self.r

        def argmax(direction):
            return (1 - share) * top(self.b, direction, self.face) + share * self.c

        def contains(y):
            x = (y - share * self.c) / (1 - share)
            slack, tiny = self.b - x.sum(), 8 * np.finfo(float).eps * max(1, self.R) / (1 - share)
            if not self.face:
                return bool(np.all((x >= 0) & (x <= 1)) and slack >= 0)
            return bool(np.all((x >= -tiny) & (x <= 1 + tiny)) and abs(slack) <= tiny * self.d)

        anchor = self.c if self.face else share * self.c
        return argmax, contains, anchor


def linearization(case, anchor):
    """h, query, pull and the inverse law of Z, written out again."""
    if case in ("concave", "A1"):
        return lambda x: x, lambda x, z: x, lambda x, z, g: g, lambda u: u
    if case == "A2":
        law = lambda u: 1 + np.log(np.exp(-1) + u * (1 - np.exp(-1)))  # noqa: E731
        return lambda x: x, lambda x, z: anchor + z * (x - anchor), lambda x, z, g: g, law
    if case == "A3":
        law = lambda u: 2 * (1 - 1 / np.sqrt(1 + 3 * u))  # noqa: E731
        return lambda x: (x + anchor) / 2, lambda x, z: anchor + z / 2 * (x - anchor), lambda x, z, g: g, law
    law = lambda u: 1 + np.log(np.exp(-1) + u * (1 - np.exp(-1)))  # noqa: E731
    return lambda x: 1 - np.exp(-x), lambda x, z: 1 - np.exp(-z * x), lambda x, z, g: g * np.exp(-z * x), law


def equal(agent):
    """The first round and the slots' rounds of the block that round t lies in, for a prescribed schedule."""
    L, length = agent.timetable.slot, agent.timetable.block * agent.timetable.slot
    return lambda t: (t // length * length, L)


def drawer(agent, law, block_of=None):
    """The simulator's random numbers for agent i in the slot that begins in round t."""
    for_agents, _ = jax.random.split(jax.random.key(KEY))
    block_of = block_of or equal(agent)
    even = isinstance(agent.draws, EvenDraws)

    def draw(i, t):
        for_block, for_slots = jax.random.split(jax.random.fold_in(for_agents, i))
        first, L = block_of(t)
        q, sign = (t - first) // L, 1
        if even and agent.feedback.order == 0 and agent.feedback.kind.values != 2:
            if q % 2 == 1:
                t, sign = t - L, -1
            q = q // 2
        for_chance, for_v = jax.random.split(jax.random.fold_in(for_slots, t))
        u, share = np.asarray(jax.random.uniform(for_chance, (2,)))
        if even:
            u = (float(jax.random.uniform(jax.random.fold_in(for_block, first))) + q * (np.sqrt(5) - 1) / 2) % 1
        v = sign * np.asarray(agent.feedback.signal.draw(for_v, agent.domain.dim, np.float64))
        return law(u), share, v

    return draw


#: sharper oracle, y alone sent, even draws
OURS = [
    ("A2", "full_information"),
    ("A1", "bandit"),
    ("A2", "bandit"),
    ("A3", "zeroth_order"),
    ("A3", "two_point"),
    ("A4", "semi_bandit"),
]


@pytest.mark.parametrize(
    ("case", "model", "variant"), [(*pair, "paper") for pair in PAIRS] + [(*pair, "ours") for pair in OURS]
)
def test_the_kernel_is_the_papers_algorithm(case, model, variant):
    problem, agent = PROBLEMS[case], paper(case, model, **({} if variant == "paper" else OWN))
    horizon = agent.horizon
    run = simulate(problem, agent, RING, key=KEY, record=Record(queries=True))

    geometry = Geometry(problem)
    delta = float(getattr(agent.feedback.signal, "delta", 0.0))
    argmax, contains, anchor = geometry.shrunk(delta)
    R, eps = geometry.R, float(agent.steps.tolerance)

    def project(own, mixed, y0):
        if variant == "paper":
            return reference_oracles.paper(argmax, R, mixed, y0, eps)
        return reference_oracles.sharp(argmax, geometry.foot, contains, R, own, y0, eps)

    control = True if variant == "paper" else "alone"

    h, query, pull, law = linearization(case, anchor)
    with double():
        gradient = eqx.filter_jit(problem.gradient)
        value = eqx.filter_jit(problem.value)
        f = lambda i, t, x: float(value(jnp.asarray(i), jnp.asarray(t), jnp.asarray(x)))  # noqa: E731
        g = lambda i, t, x: np.asarray(gradient(jnp.asarray(i), jnp.asarray(t), jnp.asarray(x)))  # noqa: E731
        draw = drawer(agent, law)
        A, c, eta, K, L, k = (
            RING.to_matrix(),
            geometry.c,
            float(agent.steps.step_size),
            agent.timetable.block,
            agent.timetable.slot,
            geometry.k,
        )
        trivial = case in ("concave", "A1")
        if model == "full_information" or (model == "semi_bandit" and trivial):
            expected = reference.algorithm_1(g, h, query, pull, draw, project, A, c, horizon, K, eta)
        elif model == "semi_bandit":
            expected = reference.algorithm_3(g, h, query, pull, draw, project, A, c, horizon, K, L, eta)
        elif model == "bandit" and trivial:
            expected = reference.algorithm_2(f, draw, project, A, c, horizon, K, eta, delta, k, control)
        elif model == "bandit":
            expected = reference.algorithm_5(f, h, query, draw, project, A, c, horizon, K, L, eta, delta, k, control)
        else:
            expected = reference.algorithm_4(
                f, h, query, draw, project, A, c, horizon, K, eta, delta, k, control, two_point=model == "two_point"
            )
    np.testing.assert_allclose(run.actions, expected.actions, rtol=0, atol=1e-10)
    assert len(expected.queries) == N * -(-horizon // agent.timetable.slot)
    for (i, start), points in expected.queries.items():
        np.testing.assert_allclose(run.queries[start, i], points, rtol=0, atol=1e-10)
    np.testing.assert_array_equal(run.ledger.loo_calls, expected.calls)
    assert run.ledger.loo_calls.sum() > 0, "the oracle was never needed, so nothing was compared"
    assert run.ledger.not_converged.sum() == 0


@pytest.mark.parametrize("model", ["zeroth_order", "bandit"])
def test_the_plain_estimator_agrees_too(model):
    problem = PROBLEMS["A1"]
    agent = Droculo.prescribed(
        problem.setting,
        getattr(feedback, model)(control_variate=False),
        horizon=T,
        theta=0.6,
        oracle=oracles.PaperFrankWolfe(),
        scales=BOLD[False],
        exchange=SendXY(),
        draws=IndependentDraws(),
    )
    run = simulate(problem, agent, RING, key=KEY, record=Record(queries=True))
    geometry = Geometry(problem)
    delta = float(agent.feedback.signal.delta)
    argmax, _, _ = geometry.shrunk(delta)
    h, query, _, law = linearization("A1", None)

    def project(own, mixed, y0):
        return reference_oracles.paper(argmax, geometry.R, mixed, y0, float(agent.steps.tolerance))

    with double():
        value = eqx.filter_jit(problem.value)
        f = lambda i, t, x: float(value(jnp.asarray(i), jnp.asarray(t), jnp.asarray(x)))  # noqa: E731
        rest = (
            drawer(agent, law), project, RING.to_matrix(), geometry.c, T, agent.timetable.block,
            float(agent.steps.step_size), delta, geometry.k, False,
        )  # fmt: skip
        expected = reference.algorithm_2(f, *rest) if model == "bandit" else reference.algorithm_4(f, h, query, *rest)
    np.testing.assert_allclose(run.actions, expected.actions, rtol=0, atol=1e-10)


#: the power of b that the rounds of a slot grow with, and the one that the distance of values falls with: those of Table 1
POWERS = {
    ("A2", "full_information"): (Fraction(0), None),
    ("A2", "semi_bandit"): (Fraction(1, 2), None),
    ("A1", "bandit"): (Fraction(0), 1 / 4),
    ("A2", "bandit"): (Fraction(1, 4), 1 / 4),
    ("A3", "zeroth_order"): (Fraction(0), 1 / 4),
}


#: the oracle that remembers, which goes with y alone sent, is the default
ADAPTIVE = [
    ("A2", "full_information", None, SendY),
    ("A2", "full_information", oracles.FrankWolfe(), SendXY),
    ("A2", "semi_bandit", oracles.FrankWolfe(), SendXY),
    ("A1", "bandit", oracles.FrankWolfe(), SendY),
    ("A2", "bandit", oracles.FrankWolfe(), SendY),
    ("A3", "zeroth_order", oracles.FrankWolfe(), SendXY),
]


@pytest.mark.parametrize(("case", "model", "oracle", "exchange"), ADAPTIVE)
def test_the_kernel_is_the_agent_that_adapts_itself(case, model, oracle, exchange):
    """37 rounds end within a block, which is played and not exchanged."""
    problem, horizon, (slots, falls) = PROBLEMS[case], 37, POWERS[case, model]
    steps = {"slack": 0.0, "exactness": 0.1} if exchange is SendXY and model == "full_information" else {}
    steps["caution"] = 0.5  # so little that no agent's h lies at its end, where all would be the same
    parts = {
        "oracle": oracle,
        "exchange": None if oracle is None else exchange(),
        "steps": AdaptiveStep(problem.set, **steps),
    }
    agent = design(case, model, horizon=None, **parts)
    if model == "bandit":  # shorter slots, so that blocks have several, which go in pairs
        agent = dataclasses.replace(agent, timetable=Growing(0.6, float(slots)))
    assert isinstance(agent.exchange, exchange)
    run = simulate(problem, agent, RING, key=KEY, rounds=horizon, record=Record(queries=True))

    geometry = Geometry(problem)
    argmax, contains, anchor = geometry.shrunk(0.0)
    R, c, A = geometry.R, geometry.c, RING.to_matrix()
    blocks = adaptive.growing(Fraction(3, 5), slots, horizon, agent.timetable.first)
    h, query, pull, law = linearization(case, anchor)

    memories = [[[c, 1.0, 0]] for _ in range(N)]

    def project(i, own, mixed, y0, eps):
        if oracle is None:
            return reference_oracles.corrective(
                argmax, geometry.foot, contains, R, y0, eps, memories[i], places(len(c))
            )
        x0 = mixed if exchange is SendXY else own
        return reference_oracles.sharp(argmax, geometry.foot, contains, R, x0, y0, eps)

    def block_of(t):
        return next((first, slot) for first, end, slot in blocks if t < end)

    names = ("rise", "settle", "caution", "apart", "slack", "least", "most", "exactness")
    numbers = {name: float(getattr(agent.steps, name)) for name in names}
    steps = [adaptive.Step(c, R, lambda o: o - o.mean() * geometry.face, numbers) for _ in range(N)]
    with double():
        answer = eqx.filter_jit(problem.gradient if falls is None else problem.value)
        ask = lambda i, t, x: np.asarray(answer(jnp.asarray(i), jnp.asarray(t), jnp.asarray(x)))  # noqa: E731
        expected, exchanges = adaptive.adaptive(
            ask, h, query, pull, drawer(agent, law, block_of), project, steps, A, c, horizon, blocks,
            played=model in ("semi_bandit", "bandit"), values=None if falls is None else (geometry.k, geometry.r, falls),
        )  # fmt: skip
    np.testing.assert_allclose(run.actions, expected.actions, rtol=0, atol=1e-10)
    for (i, start), points in expected.queries.items():
        np.testing.assert_allclose(run.queries[start, i], points, rtol=0, atol=1e-10)
    np.testing.assert_allclose(run.states.steps.energy, [step.V for step in steps], rtol=1e-9)
    np.testing.assert_allclose(run.states.steps.boldness, [step.h for step in steps], rtol=0, atol=1e-9)
    np.testing.assert_array_equal(run.ledger.loo_calls, expected.calls)
    np.testing.assert_array_equal(run.ledger.exchanges, exchanges)
    assert exchanges == len(blocks) - 1, "the run ends within a block"
    assert run.ledger.loo_calls.sum() > 0, "the oracle was never needed, so nothing was compared"
    assert len({slot for _, _, slot in blocks}) > 1 or not slots
    assert np.ptp(run.states.steps.boldness) > 0, "all agents are equally bold: mixing was not compared"


def test_the_shortcuts_of_the_linearizations_are_the_tables_numbers():
    face = problems.PlantedCut.random(agents=N, left=2, right=4, seed=1).set
    link = linearizations.NonMonotoneGeneral().for_set(face)
    assert float(link.alpha) == pytest.approx((1 - 2 / 6) / 4)
    assert float(linearizations.MonotoneOrigin(0.5).beta) == pytest.approx((1 - np.exp(-0.5)) / 0.5)
    assert float(linearizations.MonotoneGeneral(0.5, 0.3).alpha) == pytest.approx(0.25 / (1 + 0.3 * 0.25))
