"""Mean-field inference: the ELBO against all sets, what makes it concave, and the certified optimum."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from droculo.precision import double
from droculo.problems.applications.mean_field import MeanField
from droculo.testing import check_problem

STRONG = MeanField.synthetic(agents=3, items=5)
WEAK = MeanField.synthetic(agents=3, items=5, strength=1.2, cost=1.0, case="concave")
THREE = np.arange(3)


@pytest.mark.parametrize("problem", [STRONG, MeanField.synthetic(agents=3, items=5, case="A3"), WEAK], ids=["A4", "A3", "concave"])  # fmt: skip
def test_contract(problem):
    check_problem(problem, horizon=30)


def test_log_z_minus_the_elbo_is_the_distance_to_the_model():
    model = STRONG.averaged(7, THREE)
    exact, log_z = STRONG.posterior(7, THREE)
    s = np.random.default_rng(0).uniform(size=5)
    with double():
        value = jax.jit(lambda agent, t: STRONG.value(agent, t, jnp.asarray(s)))
        every = [float(value(agent, t)) for agent in range(3) for t in range(7)]
        elbo = float(jax.jit(lambda: model.value(jnp.asarray(0), jnp.asarray(0), jnp.asarray(s)))())
        x = np.asarray(STRONG.marginals(jnp.asarray(s)))
    assert elbo == pytest.approx(np.mean(every))  # the mean over agents and rounds is the ELBO of the averaged model
    users, weights = STRONG.facility.average(7, THREE)
    distance, marginals = 0.0, np.zeros(5)
    for inside in np.ndindex(*(2,) * 5):
        inside = np.array(inside)
        log_p = weights @ np.max(users * inside, axis=1) + STRONG.costs @ (1 - inside) - log_z
        q = np.prod(np.where(inside, x, 1 - x))
        distance += q * (np.log(q) - log_p)
        marginals += np.exp(log_p) * inside
    assert log_z - elbo == pytest.approx(distance)
    np.testing.assert_allclose(exact, marginals)


def test_the_gradient_is_finite_at_the_ends_and_below_its_bound():
    with double():
        gradient = jax.jit(lambda s: STRONG.gradient(jnp.asarray(1), jnp.asarray(2), s))
        slopes = np.array([gradient(jnp.zeros(5)), gradient(jnp.ones(5))])
    assert np.linalg.norm(slopes, axis=1).max() <= STRONG.bounds.gradient


def test_a_weak_model_has_a_concave_elbo():
    """The bound of the constructor's proof, and what follows from it, at random points."""
    x = np.random.default_rng(0).uniform(size=(40, 5))
    with double():
        at = jnp.asarray(np.arange(40) % 3), jnp.asarray(np.arange(40)), jnp.asarray(x)
        slope, bend = jax.jit(
            lambda *at: (
                jax.vmap(STRONG.facility.gradient)(*at),
                jax.vmap(jax.jacfwd(STRONG.facility.gradient, 2))(*at),
            )
        )(*at)
        elbo = jax.jit(jax.vmap(jax.jacfwd(WEAK.gradient, 2)))(*at)
    above = np.asarray(slope) / (1 - x)
    highest = np.linalg.eigvalsh(np.asarray(bend) - above[:, :, None] * np.eye(5))[:, -1]
    assert highest.max() <= 1e-9
    assert np.linalg.eigvalsh(np.asarray(elbo))[:, -1].max() < 0


def test_the_comparator_of_a_weak_model_is_proven():
    best = WEAK.comparator(9, THREE)
    assert best.kind == "certified"
    assert 0 <= best.gap < 1e-9
    assert best.total <= 9 * WEAK.posterior(9, THREE)[1]


def test_the_comparator_of_a_strong_model_lies_below_log_z():
    best = STRONG.comparator(9, THREE)
    assert best.kind == "certified"
    assert best.total + best.gap == pytest.approx(9 * STRONG.posterior(9, THREE)[1])
    with double():
        model, zero = STRONG.averaged(9, THREE), jnp.asarray(0)
        slope = np.asarray(jax.jit(lambda s: model.gradient(zero, zero, s))(jnp.asarray(best.point)))
    inner = (best.point > 1e-9) & (best.point < 1 - 1e-9)
    assert np.abs(slope[inner]).max() < 1e-7
    assert np.all(slope[best.point <= 1e-9] <= 0)
    assert np.all(slope[best.point >= 1 - 1e-9] >= 0)


def test_many_items():
    problem = MeanField(np.random.default_rng(0).uniform(size=(1, 1, 2, 17)), costs=1.0)
    assert problem.comparator(3, np.arange(1)).kind == "found"
    with pytest.raises(ValueError, match="for n up to 16; got n=17"):
        problem.posterior(3, np.arange(1))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MeanField(np.ones((1, 1, 2, 3)), costs=-1.0), "costs of items are finite and not negative"),
        (lambda: MeanField(np.ones((1, 1, 2, 3)), margin=0.5), "margin between 0 and 1/2; got 0.5"),
        (lambda: MeanField(np.ones((1, 1, 2, 3)), case="A2"), "has the cases A4, A3, concave; got 'A2'"),
        (lambda: MeanField(np.ones((2, 3))), r"\(agents, rounds, users, items\)"),
        (lambda: MeanField.synthetic(case="concave"), "Weaken the utilities, or use case A4 or A3"),
    ],
)
def test_errors(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_the_picture():
    figure = pytest.importorskip("matplotlib.figure")
    from droculo.gallery import STORIES

    ax = figure.Figure().subplots()
    played = np.full((20, 3, 5), 0.5)
    STORIES["mean-field"].draw(
        ax, STRONG, SimpleNamespace(horizon=20, rounds=np.arange(20), actions=played, agents=THREE)
    )
    assert [bar.get_height() for bar in ax.patches] == pytest.approx([0.5] * 5)
    assert len(ax.get_legend().get_texts()) == 4
