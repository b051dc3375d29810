"""What answers: noise that is bounded and unbiased, and black boxes on the host."""

from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.designs import PROBLEMS, RING, design_for

from droculo import Droculo, feedback, linearizations, measure, problems, sets, simulate
from droculo.oracles import FrankWolfe
from droculo.precision import double
from droculo.problems import Noisy
from droculo.testing import check_problem

QUIET = PROBLEMS["A2"]
NOISY = Noisy(QUIET, gradient=3.0, value=2.0)


def answers(order, number=4000):
    agent, t, x = jnp.asarray(1), jnp.asarray(4), jnp.full(5, 0.2)
    with double():
        keys = jax.random.split(jax.random.key(0), number)
        told = jax.jit(jax.vmap(lambda key: NOISY.answer(agent, t, x, order, key)))(keys)
        exact = QUIET.answer(agent, t, x, order, keys[0])
        return np.asarray(told - exact)


def test_noise_of_gradients_has_its_length_and_no_mean():
    off = answers(1)
    np.testing.assert_allclose(np.linalg.norm(off, axis=1), 3.0)
    assert np.all(np.abs(off.mean(axis=0)) < 4.5 * 3.0 / np.sqrt(5 * len(off)))


def test_noise_of_values_is_bounded_and_has_no_mean():
    off = answers(0)
    assert np.abs(off).max() <= 2.0
    assert np.abs(off).max() > 1.9
    assert abs(off.mean()) < 4.5 * 2.0 / np.sqrt(3 * len(off))


def test_noise_is_in_the_answers_alone():
    with double():
        agent, t, x = jnp.asarray(0), jnp.asarray(2), jnp.full(5, 0.3)
        assert NOISY.value(agent, t, x) == QUIET.value(agent, t, x)
        np.testing.assert_array_equal(NOISY.gradient(agent, t, x), QUIET.gradient(agent, t, x))
    assert NOISY.comparator(9, np.arange(2)).total == QUIET.comparator(9, np.arange(2)).total
    assert NOISY.bounds.gradient == QUIET.bounds.gradient + 3
    assert NOISY.bounds.value == QUIET.bounds.value + 2
    assert NOISY.bounds.value_noise == 2
    assert NOISY.bounds.lipschitz == QUIET.bounds.lipschitz


@pytest.mark.parametrize("model", ["full_information", "two_point"])
def test_a_run_hears_the_noise_and_repeats_it(model):
    agent = design_for(NOISY, model)
    one, again = (simulate(NOISY, agent, RING, key=0).decisions for _ in range(2))
    np.testing.assert_array_equal(one, again)
    quiet = simulate(QUIET, agent, RING, key=0).decisions
    assert np.abs(one - quiet).max() > 1e-3
    assert np.abs(one[-1] - simulate(NOISY, agent, RING, key=1).decisions[-1]).max() > 1e-3


@pytest.mark.parametrize("sizes", [{"gradient": -1.0}, {"value": np.inf}])
def test_noise_has_a_size(sizes):
    with pytest.raises(ValueError, match="must be non-negative and finite; got"):
        Noisy(QUIET, **sizes)


def box(**options):
    """log(1 + x), in NumPy."""
    settings = {"gradient_bound": 8.0, "value_bound": 8.0, "agents": 4} | options
    function = settings.pop("function", lambda i, t, x: (1 + i) * np.log1p(x).sum())
    return problems.from_black_box(function, sets.budget(3, 1.5), linearizations.MonotoneOrigin(), **settings)


def slope(i, t, x):
    return (1 + i) / (1 + x)


def test_a_black_box_plays_like_the_same_function_in_jax():
    traced = problems.from_function(
        lambda i, t, x: (1 + i) * jnp.log1p(x).sum(), sets.budget(3, 1.5), linearizations.MonotoneOrigin(),
        gradient_bound=8.0, value_bound=8.0, agents=4,
    )  # fmt: skip
    opaque = box(gradient=slope)
    check_problem(opaque, samples=20, horizon=3)
    agent = design_for(traced, "bandit")
    one, other = (simulate(problem, agent, RING, key=0) for problem in (traced, opaque))
    np.testing.assert_allclose(one.actions, other.actions, atol=1e-9)
    np.testing.assert_allclose(measure.rewards(traced, one), measure.rewards(opaque, other), rtol=1e-9)


@pytest.mark.parametrize("designed", [Droculo.design, Droculo.prescribed])
@pytest.mark.parametrize("model", ["zeroth_order", "bandit", "two_point"])
def test_a_black_box_is_asked_as_often_as_the_ledger_says(model, designed):
    """Once before the run, and then for every question; programs have room for more rounds, about which nothing is asked."""
    heard = []

    def listen(agent, t, x):
        heard.append((agent, t))
        return np.log1p(x).sum()

    problem, rounds = box(function=listen), 50
    agent = designed(problem.setting, getattr(feedback, model)(), horizon=rounds, theta=0.5, oracle=FrankWolfe())
    run = simulate(problem, agent, RING, key=0)
    assert heard.pop(0) == (0, 0)
    asked, times = Counter(agent for agent, _ in heard), Counter(heard)
    assert [asked[agent] for agent in range(4)] == run.ledger.value_queries.tolist()
    assert set(times.values()) == {2 if model == "two_point" else 1}
    last = agent.timetable.until(rounds).at(-1)
    slot_end = last.first + last.slots * last.slot  # a slot that is begun is asked about as a whole
    assert 0 <= min(t for _, t in heard) <= max(t for _, t in heard) < slot_end < rounds + last.slot


def test_two_noisy_values_differ_by_their_noise_too():
    """The estimate from two values is longer by k/delta times the noise, and the schedule knows."""
    designs = [Droculo.prescribed(problem.setting, feedback.two_point(), horizon=36) for problem in (QUIET, NOISY)]
    assert designs[1].steps.step_size < designs[0].steps.step_size / 2


@pytest.mark.parametrize("precise", [True, False])
def test_a_black_box_hears_agents_and_rounds_in_full(precise):
    heard = []

    def listen(agent, t, x):
        heard.append((agent, t, x.copy()))
        return 0.0

    with jax.enable_x64(precise):
        x = jnp.asarray([0.1, 0.2, 1 / 3])
        box(function=listen).value(jnp.asarray(3), jnp.asarray(123_456_789), x).block_until_ready()
    assert heard[0][:2] == (3, 123_456_789)
    np.testing.assert_array_equal(heard[0][2], np.asarray(x, np.float64))


def test_a_black_box_without_gradients_says_so():
    with pytest.raises(ValueError, match=r"answers with values only. Use feedback.zeroth_order"):
        simulate(box(), design_for(box(), "full_information"), RING, key=0)
    check_problem(box(), samples=20, horizon=3)
    with pytest.raises(AssertionError, match=r"exceeds the declared bound 0.1"):
        check_problem(box(value_bound=0.1), samples=20, horizon=3)
    with pytest.raises(AssertionError, match=r"Lipschitz constant is 0.1, and two points show"):
        check_problem(box(gradient_bound=0.1), samples=20, horizon=3)


def test_a_black_box_that_answers_with_the_wrong_shape_is_caught():
    with pytest.raises(Exception, match="must answer with 1 number"):
        box(function=lambda i, t, x: x).value(jnp.asarray(0), jnp.asarray(0), jnp.zeros(3)).block_until_ready()
