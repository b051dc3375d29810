"""The estimates are unbiased, and the control variate only makes them smaller."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from droculo import sets
from droculo.feedback import Gradient, OnePoint, TwoPoint
from droculo.feedback.signals import SlotSums, ValueStats
from droculo.precision import double

D = 5
W = jnp.array([0.4, 0.3, 0.5, 0.45, 0.35])
#: no block has ended
FIRST = np.zeros(())
SETS = {"budget": sets.budget(D, 3.0), "face": sets.fixed_budget(D, 2.0)}


def f(x):
    return 10 + jnp.dot(jnp.arange(1.0, D + 1), x) - x[0] * x[1] - 2 * x[2] * x[3] * x[4]


def smoothed_gradient(space, w, delta, draws=400_000):
    """grad of E f(w + delta u), u uniform in the ball of L0: by averaging grad f over that ball, another formula."""
    keys = jax.random.split(jax.random.key(5), draws)

    def one(key):
        a, b = jax.random.split(key)
        radius = jax.random.uniform(b) ** (1 / space.dimension)
        return space.project(jax.grad(f)(w + delta * radius * space.sample(a, D)))

    return jnp.mean(jax.vmap(one)(keys), axis=0)


def block(signal, key, slots, pairs=False):
    """The sum of a block's estimates at W, its values drawn afresh; `pairs`: slots 2p and 2p + 1 have v and -v."""
    keys = jax.random.split(key, slots)
    vs = jax.vmap(lambda k: signal.draw(k, D, W.dtype))(keys[jnp.arange(slots) // 2 * 2] if pairs else keys)
    alone = jnp.ones(slots, bool)
    if pairs:
        vs = vs * (1 - 2 * (jnp.arange(slots) % 2))[:, None]
        alone = jnp.arange(slots) == (slots - 1 if slots % 2 else slots)
    tallies = jax.vmap(lambda v, a: signal.tally(jax.vmap(f)(signal.points(W, v, FIRST)), v, a))(vs, alone)
    return jax.tree.map(lambda leaf: leaf.sum(axis=0), tallies)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize(
    ("signal", "slots", "pairs"),
    [
        (OnePoint(), 4, False),
        (OnePoint(control_variate=False), 4, False),
        (TwoPoint(), 4, False),
        (OnePoint(), 4, True),
        (OnePoint(), 3, True),
        (OnePoint(), 1, True),
    ],
    ids=["one", "plain", "two", "pairs", "pairs and one alone", "alone"],
)
def test_the_mean_is_the_smoothed_gradient(name, signal, slots, pairs):
    delta, blocks = 0.2, 40_000
    with double():
        signal = signal.prepare(SETS[name], delta)
        past = ValueStats(jnp.asarray(2 * 10.0), jnp.asarray(2.0))

        def one(key):
            return signal.estimate(block(signal, key, slots, pairs), past, FIRST)[0] / slots

        estimates = np.asarray(jax.jit(jax.vmap(one))(jax.random.split(jax.random.key(1), blocks)))
        mean, error = estimates.mean(axis=0), estimates.std(axis=0) / np.sqrt(blocks)
        truth = np.asarray(smoothed_gradient(SETS[name].subspace, W, delta))
    assert np.all(np.abs(mean - truth) < 4.5 * error + 2e-3), (mean, truth, error)


def test_the_control_variate_shrinks_the_estimate():
    with double():
        sizes = {}
        nothing = ValueStats(jnp.asarray(0.0), jnp.asarray(0.0))
        for control in (True, False):
            signal = OnePoint(control).prepare(SETS["budget"], 0.2)
            draws = jax.vmap(lambda k, s=signal: s.estimate(block(s, k, 8), nothing, FIRST)[0])(
                jax.random.split(jax.random.key(0), 500)
            )
            sizes[control] = float(jnp.mean(jnp.sum(draws**2, axis=1)))
    assert sizes[True] < sizes[False] / 20


def test_pairs_cancel_what_their_values_have_in_common():
    """Query points z w with a random z, as in case A2: the values fluctuate with z far more than with v."""
    slots, nothing = 8, ValueStats(jnp.asarray(0.0), jnp.asarray(0.0))

    def estimate(key, pairs):
        signal = OnePoint().prepare(SETS["budget"], 0.05)
        keys = jax.random.split(key, slots)[jnp.arange(slots) // 2 * 2 if pairs else jnp.arange(slots)]
        zs = jax.vmap(lambda k: jax.random.uniform(jax.random.fold_in(k, 1)))(keys)
        signs = 1 - 2 * (jnp.arange(slots) % 2) if pairs else jnp.ones(slots)
        vs = signs[:, None] * jax.vmap(lambda k: signal.draw(k, D, W.dtype))(keys)
        tallies = jax.vmap(lambda z, v: signal.tally(jax.vmap(f)(signal.points(z * W, v, FIRST)), v, not pairs))(zs, vs)
        return signal.estimate(jax.tree.map(lambda leaf: leaf.sum(axis=0), tallies), nothing, FIRST)[0]

    with double():
        keys = jax.random.split(jax.random.key(0), 500)
        sizes = [float(jnp.sum(jnp.var(jax.vmap(lambda k, p=p: estimate(k, p))(keys), axis=0))) for p in (True, False)]
    assert sizes[0] < sizes[1] / 10


def test_the_first_value_has_nothing_to_subtract():
    with double():
        signal = OnePoint().prepare(SETS["budget"], 0.1)
        v = jnp.eye(D)[0]
        tally = signal.tally(jnp.array([3.0]), v)
        estimate, past = signal.estimate(tally, ValueStats(jnp.zeros(()), jnp.zeros(())), FIRST)
        np.testing.assert_allclose(estimate, D / 0.1 * 3.0 * v)
        assert float(past.values) == 3
        assert float(past.count) == 1


def test_gradients_pass_through():
    tally = Gradient().tally(jnp.ones((1, D)), jnp.zeros(D))
    estimate, past = Gradient().estimate(tally, ValueStats(jnp.zeros(()), jnp.zeros(())), FIRST)
    assert isinstance(tally, SlotSums)
    np.testing.assert_array_equal(estimate, np.ones(D))
    assert float(past.count) == 0
