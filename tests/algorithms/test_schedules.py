"""Every power of T, and every way to get a schedule wrong."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from droculo import Droculo, Scales, algorithms, feedback, linearizations, oracles, problems, sets
from droculo.algorithms.schedules import Schedule
from droculo.feedback import TABLE_1
from droculo.feedback.table import Refusal, look_up
from droculo.precision import double

A1 = problems.TopB.random(agents=3, dim=6, budget=2, seed=0, face=True)
A2 = problems.TopB.random(agents=3, dim=6, budget=2, seed=0)
A3 = problems.PlantedCut.random(agents=3, left=2, right=4, seed=0)
A4 = problems.PlantedCut.random(agents=3, left=2, right=4, seed=0, down_closed=True)
CONCAVE = problems.WaterFilling.random(agents=3, dim=6, budget=2.0, seed=0)
WIDE = problems.from_function(
    lambda i, t, x: x.sum() * 0 + 1, sets.Box(np.full(3, -0.05), 1.05), linearizations.NonMonotoneGeneral(),
    gradient_bound=1.0, value_bound=1.0,
)  # fmt: skip


class Unlisted(linearizations.Concave):
    case = "A9"


class Pulling(linearizations.Concave):
    case = "own"

    def pull(self, x, z, gradient):
        return 2 * gradient


def design(problem, model, T, theta, **options):
    return Droculo.prescribed(problem.setting, getattr(feedback, model)(), horizon=T, theta=theta, **options)


def adaptive(problem, model, theta, **options):
    return Droculo.design(problem.setting, getattr(feedback, model)(), theta=theta, **options)


@pytest.mark.parametrize(
    ("problem", "model", "block", "slot", "step", "delta"),
    [
        # exponents of T at theta: block, slot, step size, delta, as the theorems print them
        (A2, "full_information", lambda a: 1 - a, lambda a: 0, lambda a: a / 2 - 1, None),
        (A1, "semi_bandit", lambda a: 1 - a, lambda a: 0, lambda a: a / 2 - 1, None),
        (A1, "bandit", lambda a: 1 - a, lambda a: 0, lambda a: a / 4 - 1, lambda a: -a / 4),
        (A2, "semi_bandit", lambda a: 1 - 3 * a / 2, lambda a: a / 2, lambda a: a - 1, None),
        (A3, "zeroth_order", lambda a: 1 - a, lambda a: 0, lambda a: a / 4 - 1, lambda a: -a / 4),
        (A3, "bandit", lambda a: 1 - 5 * a / 4, lambda a: a / 4, lambda a: a / 2 - 1, lambda a: -a / 4),
        (A2, "two_point", lambda a: 1 - a, lambda a: 0, lambda a: a / 2 - 1, lambda a: -a / 2),
    ],
)
def test_the_powers_are_the_theorems(problem, model, block, slot, step, delta):
    theta = 0.5
    low, high = (design(problem, model, T, theta) for T in (2**16, 2**32))

    def slope(of):
        return math.log(of(high) / of(low)) / math.log(2**16)

    assert slope(lambda a: a.timetable.block) == pytest.approx(block(theta), abs=1e-3)
    assert slope(lambda a: a.timetable.slot) == pytest.approx(slot(theta), abs=1e-3)
    assert slope(lambda a: float(a.steps.step_size)) == pytest.approx(step(theta), abs=1e-3)
    assert slope(lambda a: float(a.steps.tolerance)) == pytest.approx(-theta, abs=1e-3)
    exchanges = [math.ceil(a.horizon / (a.timetable.block * a.timetable.slot)) for a in (low, high)]
    assert math.log(exchanges[1] / exchanges[0]) / math.log(2**16) == pytest.approx(theta, abs=1e-3)
    if delta is not None:
        assert slope(lambda a: float(a.feedback.signal.delta)) == pytest.approx(delta(theta), abs=1e-9)


def test_units_are_the_problems_own():
    plan = design(A2, "full_information", 1024, 0.5)
    R, G, K = float(A2.set.radius), float(A2.bounds.gradient), plan.timetable.block
    assert float(plan.steps.step_size) == pytest.approx(R / (G * math.sqrt(K * 1024)))
    assert float(plan.steps.tolerance) == pytest.approx((K * float(plan.steps.step_size) * G) ** 2)


def test_scales_multiply():
    plain = design(A3, "bandit", 4096, 0.5)
    scaled = design(A3, "bandit", 4096, 0.5, scales=Scales(block=2, slot=2, step=3, tolerance=0.5, delta=0.25))
    assert scaled.timetable.slot == 2 * plain.timetable.slot
    assert scaled.timetable.block == pytest.approx(2 * plain.timetable.block, abs=1)
    slots = [4096 / a.timetable.slot for a in (plain, scaled)]
    steps = [
        math.sqrt(a.timetable.block * s) * float(a.steps.step_size) / float(a.feedback.signal.delta)
        for a, s in zip((plain, scaled), slots, strict=True)
    ]
    assert steps[1] == pytest.approx(3 * steps[0])
    tolerances = [float(a.steps.tolerance) * s / a.timetable.block for a, s in zip((plain, scaled), slots, strict=True)]
    assert tolerances[1] == pytest.approx(tolerances[0] / 2)
    assert float(scaled.feedback.signal.delta) == pytest.approx(float(plain.feedback.signal.delta) / 2)


def test_the_default_scales_are_the_theorems_own():
    """Those of every method with a prescribed step."""
    assert Scales() == Scales(block=1.0, slot=1.0, step=1.0, tolerance=1.0, delta=0.5)
    G, R = float(A2.bounds.gradient), float(A2.set.radius)
    assert float(algorithms.DOBGA.design(A2.setting, horizon=64).steps.step_size) == pytest.approx(R / (G * 8))
    assert float(
        algorithms.DOBGA.design(A2.setting, horizon=64, scales=Scales(step=5.0)).steps.step_size
    ) == pytest.approx(5 * R / (G * 8))
    own = algorithms.dpobga(A2.setting, horizon=64)
    assert float(own.steps.step_size) == pytest.approx((1 - math.exp(-1)) * R / (G * math.sqrt(8 * 64)))


def test_a_prescribed_step_needs_the_bounds_that_it_is_made_of():
    unknown = problems.from_function(lambda i, t, x: -((x - 0.5) ** 2).sum(), sets.L2Ball(3), linearizations.Concave())
    for make in (
        lambda: design(unknown, "full_information", 64, 0.5), lambda: algorithms.DOBGA.design(unknown.setting, horizon=64),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"needs a bound on the length of gradients.* declare gradient="):
            make()
    with pytest.raises(ValueError, match=r"needs a bound on the size of values.* declare value="):
        design(unknown, "bandit", 64, 0.5)
    with pytest.raises(ValueError, match="needs a bound on the Lipschitz constant of the functions"):
        design(unknown, "two_point", 64, 0.5)
    for model in ("full_information", "bandit", "two_point"):
        assert adaptive(unknown, model, 0.5).horizon is None


def test_the_paper_as_it_stands():
    agent = algorithms.published(A2.setting, feedback.bandit(), horizon=256, theta=0.5)
    assert isinstance(agent.oracle, oracles.PaperFrankWolfe)
    assert isinstance(agent.exchange, algorithms.SendXY)
    assert isinstance(agent.draws, algorithms.IndependentDraws)
    assert not agent.feedback.signal.control_variate
    theirs = design(A2, "bandit", 256, 0.5)
    assert float(agent.steps.step_size) == float(theirs.steps.step_size)
    assert float(agent.steps.tolerance) == float(theirs.steps.tolerance)
    assert algorithms.contract.message_size(agent) == 2 * algorithms.contract.message_size(theirs)
    with pytest.raises(TypeError, match="feedback must be a Feedback"):
        algorithms.published(A2.setting, "bandit", horizon=256, theta=0.5)


@pytest.mark.parametrize("T", [1, 2, 3, 7])
@pytest.mark.parametrize("theta", [0.0, 0.5])
def test_short_horizons_have_schedules(T, theta):
    for problem in (A1, A2, A3):
        for model in ("full_information", "semi_bandit", "zeroth_order", "bandit", "two_point"):
            agent = design(problem, model, T, theta)
            assert 1 <= agent.timetable.block * agent.timetable.slot <= T
            delta = getattr(agent.feedback.signal, "delta", 0.0)
            assert delta < problem.set.inner_radius


@pytest.mark.parametrize(
    ("problem", "model", "power"), [(A1, "bandit", 1 / 4), (A2, "bandit", 1 / 4), (A3, "two_point", 1 / 2)]
)
def test_without_a_horizon_values_are_asked_ever_nearer(problem, model, power):
    """At delta b^-power in block b, which is T^(-power theta) after T rounds; and around points of K itself, moved inward."""
    agent = adaptive(problem, model, 0.5)
    signal, center, radius = agent.feedback.signal, problem.set.center, float(problem.set.inner_radius)
    corner, nowhere = np.asarray(problem.set.argmax(jnp.arange(6.0)), float), jnp.zeros(6)
    assert agent.run_set is agent.domain is problem.set
    with double():
        v = signal.draw(jax.random.key(0), 6, np.dtype(np.float64))
        found = []
        for block in (0.0, 15.0, 255.0):
            there = signal.points(corner, v, jnp.asarray(block))[0]
            inward = signal.points(corner, nowhere, jnp.asarray(block))[0]
            distance = float(jnp.linalg.norm(there - inward))
            np.testing.assert_allclose(inward, corner + distance / radius * (center - corner), atol=1e-12)
            assert bool(problem.set.contains(there, 1e-9))
            found.append(distance)
    assert found[0] < radius
    np.testing.assert_allclose(found, found[0] * np.array([1, 16, 256.0]) ** -power, rtol=1e-9)


def test_table_1_is_complete():
    models = ("full information", "semi-bandit", "zeroth order", "bandit", "two-point")
    assert set(TABLE_1) == {(c, m) for c in ("concave", "A1", "A2", "A3", "A4") for m in models}
    refused = {pair for pair, row in TABLE_1.items() if isinstance(row, Refusal)}
    assert refused == {("A4", m) for m in ("zeroth order", "bandit", "two-point")}
    paper = {  # the paper's ten: exponent of the regret at the largest theta, and that theta
        ("A1", "semi-bandit"): (1 / 2, 1), ("A1", "bandit"): (3 / 4, 1),
        ("A2", "full information"): (1 / 2, 1), ("A2", "semi-bandit"): (2 / 3, 2 / 3),
        ("A2", "zeroth order"): (3 / 4, 1), ("A2", "bandit"): (4 / 5, 4 / 5),
        ("A3", "full information"): (1 / 2, 1), ("A3", "semi-bandit"): (2 / 3, 2 / 3),
        ("A3", "zeroth order"): (3 / 4, 1), ("A3", "bandit"): (4 / 5, 4 / 5),
    }  # fmt: skip
    for pair, (regret, theta) in paper.items():
        row = TABLE_1[pair]
        assert float(row.theta_max) == theta
        assert row.regret_exponent(theta) == pytest.approx(regret)


def test_ones_own_class_gets_the_row_of_the_case_it_behaves_like():
    own = linearizations.Custom(0.5, 1.0, trivial=True, zeroth_order=True)
    assert look_up(own, feedback.bandit(), 1.0).algorithm == 2
    assert look_up(linearizations.Custom(0.5, 1.0, zeroth_order=True), feedback.bandit(), 0.5).algorithm == 5
    with pytest.raises(ValueError, match="Custom is not known to work with values"):
        look_up(linearizations.Custom(0.5, 1.0), feedback.bandit(), 0.5)
    with pytest.raises(ValueError, match="Pulling is not known to work with values"):
        look_up(Pulling(), feedback.two_point(), 0.5)
    assert look_up(linearizations.Custom(0.5, 1.0), feedback.semi_bandit(), 0.5).algorithm == 3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: design(A2, "semi_bandit", 100, 0.7), r"theta must lie in \[0, 2/3\].* got theta=0.7"),
        (lambda: design(A3, "bandit", 100, 0.9), r"theta must lie in \[0, 4/5\]"),
        (lambda: design(A2, "full_information", 100, -0.1), r"theta must lie in \[0, 1\]"),
        (lambda: design(A2, "full_information", 100, float("nan")), r"theta must lie in \[0, 1\]"),
        (lambda: design(A4, "bandit", 100, 0.5), "no ball of known size around it"),
        (lambda: design(A2, "full_information", 0, 0.5), "whole number of rounds, at least 1; got 0"),
        (lambda: design(A2, "full_information", 10.5, 0.5), "whole number of rounds, at least 1; got 10.5"),
        (lambda: Scales(step=0.0), "scale of step must be positive and finite; got 0.0"),
        (lambda: Scales(delta=1.0), "scale of delta must be below 1"),
        (lambda: design(A2, "full_information", 10, 0.5, start=np.ones(6)), "start is not a point of the set"),
        (lambda: design(A2, "full_information", 10, 0.5, start=np.ones(3)), "must be a vector of 6 numbers"),
        (lambda: look_up(Unlisted(), feedback.bandit(), 0.5), "no row for case 'A9' with feedback 'bandit'"),
        (
            lambda: look_up(linearizations.Custom(0.5, 1.0, trivial=True), feedback.bandit(), 0.5),
            "say zeroth_order=True",
        ),
        (lambda: feedback.Feedback(feedback.TwoPoint(), played=True), "cannot all be played"),
        (lambda: design(WIDE, "bandit", 100, 0.5), "lives in the unit box"),
        (lambda: design(A2, "full_information", float("inf"), 0.5), "whole number of rounds, at least 1; got inf"),
        (lambda: Schedule(10, 0, 1, 1.0, 1.0, 0.0), "schedule's block is at least 1; got 0"),
        (lambda: Schedule(10, 1, 1, math.nan, 1.0, 0.0), "schedule's step_size is positive and finite; got nan"),
        (lambda: Schedule(10, 1, 1, 1.0, 1.0, -1.0), "schedule's delta is not negative and finite; got -1.0"),
        (
            lambda: Droculo.from_schedule(A2.setting, feedback.bandit(), Schedule(10, 1, 1, 1.0, 1.0, 0.0)),
            "asks at a distance delta > 0",
        ),
    ],
)
def test_errors(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: adaptive(A2, "semi_bandit", 0.7), r"theta must lie in \[0, 2/3\].* got theta=0.7"),
        (lambda: adaptive(A3, "bandit", 0.9), r"theta must lie in \[0, 4/5\]"),
        (lambda: adaptive(A2, "full_information", float("nan")), r"theta must lie in \[0, 1\]"),
        (lambda: adaptive(A4, "bandit", 0.5), "no ball of known size around it"),
        (lambda: adaptive(A2, "full_information", 0.5, horizon=0), "whole number of rounds, at least 1; got 0"),
        (lambda: adaptive(A2, "full_information", 0.5, start=np.ones(6)), "start is not a point of the set"),
        (lambda: adaptive(WIDE, "bandit", 0.5), "lives in the unit box"),
    ],
)
def test_errors_without_a_horizon(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Droculo.design(A2, feedback.bandit(), horizon=10, theta=0.5),
            "setting must be a Setting; got TopB. Pass problem.setting",
        ),
        (
            lambda: Droculo.prescribed(A2, feedback.bandit(), horizon=10),
            "setting must be a Setting; got TopB. Pass problem.setting",
        ),
        (
            lambda: Droculo.design(A2.setting, feedback.bandit, horizon=10, theta=0.5),
            "feedback must be a Feedback; got function",
        ),
        (lambda: design(A2, "bandit", 10, "0.5"), "theta must be a int or float or number; got str"),
        (lambda: design(A2, "bandit", None, 0.5), "horizon must be a .*; got NoneType"),
        (lambda: adaptive(A2, "bandit", "0.5"), "theta must be a int or float or number; got str"),
        (lambda: adaptive(A2, "bandit", 0.5, horizon="10"), "horizon must be a .*; got str"),
        (
            lambda: adaptive(A2, "bandit", 0.5, steps=algorithms.FixedStep),
            "steps must be a .*; got the class FixedStep itself",
        ),
        (lambda: adaptive(A2, "bandit", 0.5, draws=2), "draws must be a Draws or NoneType; got int"),
        (lambda: design(A2, "bandit", 10, 0.5, scales=2.0), "scales must be a Scales or NoneType; got float"),
        (
            lambda: design(A2, "bandit", 10, 0.5, oracle=oracles.FrankWolfe),
            "oracle must be a .*; got the class FrankWolfe itself",
        ),
        (lambda: Scales(step="2"), "the scale of step must be a .*; got str"),
        (
            lambda: feedback.Feedback(feedback.OnePoint, played=False),
            "signal must be a Signal; got the class OnePoint itself",
        ),
    ],
)
def test_the_wrong_kind_of_thing_is_named(make, message):
    with pytest.raises(TypeError, match=message):
        make()


def test_value_feedback_asks_the_set_for_its_inner_ball():
    mystery = sets.from_oracle(lambda c: c / (1e-9 + abs(c).sum()), 3, 1.0)
    problem = problems.from_function(
        lambda i, t, x: -x.sum(), mystery, linearizations.Concave(), gradient_bound=2.0, value_bound=2.0
    )
    for make in (Droculo.design, Droculo.prescribed):
        make(problem.setting, feedback.full_information(), horizon=10)
        with pytest.raises(ValueError, match=r"does not know its inner_radius.*Pass inner_radius="):
            make(problem.setting, feedback.bandit(), horizon=10)
