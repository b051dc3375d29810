"""Every linearization keeps the paper's inequality on random functions of its class."""

import jax.numpy as jnp
import numpy as np
import pytest
from tests.linearizations import functions

from droculo import linearizations as lin
from droculo import sets
from droculo.testing import check_linearization

D = 5
BUDGET, FACE, SIMPLEX = sets.budget(D, 2.5), sets.fixed_budget(D, 2.0), sets.Simplex(D)
RANDOM = np.random.default_rng(7)
POLYTOPE = sets.Polytope(RANDOM.uniform(0, 1, (3, D)), np.ones(3), np.zeros(D), np.ones(D))


def exponential_law(gamma):
    return lambda z: gamma * np.exp(gamma * (z - 1)) / (1 - np.exp(-gamma))


CASES = [
    ("concave on a face", lin.Concave(), FACE, functions.concave, None),
    ("concave on a ball", lin.Concave(), sets.L2Ball(D, 0.2), functions.concave, None),
    ("A1 on a face", lin.MonotoneGeneral(), FACE, functions.monotone, None),
    ("A1 on a simplex", lin.MonotoneGeneral(), SIMPLEX, functions.monotone, None),
    *(
        (
            f"A1, gamma={g}",
            lin.MonotoneGeneral(g),
            FACE,
            lambda d, rng, g=g: functions.weakly_monotone(d, rng, g),
            None,
        )
        for g in (0.3, 0.8)
    ),
    ("A2 on a budget", lin.MonotoneOrigin(), BUDGET, functions.monotone, exponential_law(1.0)),
    ("A2 on a polytope", lin.MonotoneOrigin(), POLYTOPE, functions.monotone, exponential_law(1.0)),
    (
        "A2 on a shrunk budget",
        lin.MonotoneOrigin(),
        sets.Shrunk(BUDGET, 0.2),
        functions.monotone,
        exponential_law(1.0),
    ),
    *(
        (
            f"A2, gamma={g}",
            lin.MonotoneOrigin(g),
            BUDGET,
            lambda d, rng, g=g: functions.weakly_monotone(d, rng, g),
            exponential_law(g),
        )
        for g in (0.3, 0.8)
    ),
    *(
        (f"A3 on {name}", lin.NonMonotoneGeneral(), s, functions.non_monotone, lambda z: 1 / (3 * (1 - z / 2) ** 3))
        for name, s in [("a face", FACE), ("a budget", BUDGET), ("a shrunk face", sets.Shrunk(FACE, 0.2))]
    ),
    ("A4 on a budget", lin.NonMonotoneDownClosed(), BUDGET, functions.non_monotone, exponential_law(1.0)),
    ("A4 on a polytope", lin.NonMonotoneDownClosed(), POLYTOPE, functions.non_monotone, exponential_law(1.0)),
    (
        "A3's map as one's own",
        lin.Custom(0.25, 0.375, action=lambda x: x / 2, query=lambda x, z: (1 - (1 + 3 * z) ** -0.5) * x),
        BUDGET,
        functions.non_monotone,
        None,
    ),
]


@pytest.mark.parametrize(("link", "set_", "members", "density"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_contract(link, set_, members, density):
    check_linearization(link, set_, members(D, np.random.default_rng(100)), density=density, samples=80)


def test_the_check_notices_a_wrong_alpha():
    wrong = lin.Custom(1.0, 1.0, trivial=True)  # a DR-submodular function is not concave
    with pytest.raises(AssertionError, match="upper-linearizability fails"):
        check_linearization(wrong, FACE, functions.non_monotone(D, np.random.default_rng(0)), samples=200)


def test_the_check_notices_a_query_that_is_not_the_action():
    wrong = lin.Custom(0.5, 0.5, query=lambda x, z: x / 2, trivial=True)
    with pytest.raises(AssertionError, match="says that its query is its action"):
        check_linearization(wrong, BUDGET, functions.monotone(D, np.random.default_rng(0)))


def test_a_trivial_signal_is_the_gradient_at_the_query():
    own = lin.Custom(1.0, 1.0, action=lambda x: x / 2, query=lambda x, z: x / 2, trivial=True)
    np.testing.assert_allclose(own.signal(lambda w: w**2, jnp.ones(2)), 0.25)


def test_the_check_notices_a_wrong_law():
    with pytest.raises(AssertionError, match="does not follow its stated law"):
        check_linearization(
            lin.MonotoneOrigin(), BUDGET, functions.monotone(D, np.random.default_rng(0)), density=lambda z: 1.0
        )


def test_a_value_query_of_the_shrunk_set_keeps_its_ball_in_the_set():
    """The paper's own query z*x leaves K; the anchor of the shrunk set does not (notes, section 1)."""
    delta = 0.25
    rng = np.random.default_rng(0)
    for set_, link in [(BUDGET, lin.MonotoneOrigin()), (FACE, lin.NonMonotoneGeneral())]:
        shrunk = sets.Shrunk(set_, delta)
        ours = link.for_set(shrunk)
        outside = 0
        for _ in range(200):
            x = shrunk.argmax(jnp.asarray(rng.standard_normal(D)))
            z = ours.quantile(jnp.asarray(rng.uniform()))
            v = np.array(set_.subspace.project(jnp.asarray(rng.standard_normal(D))))
            v /= np.linalg.norm(v)
            assert bool(set_.contains(ours.query(x, z) + delta * v, 1e-6))
            outside += not bool(set_.contains(z * x + delta * v, 1e-6))
        assert outside > 20, "the printed query should be seen to leave the set"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: lin.MonotoneOrigin(0.0), "0 < gamma <= 1; got gamma=0.0"),
        (lambda: lin.MonotoneGeneral(1.5), "0 < gamma <= 1; got gamma=1.5"),
        (lambda: lin.MonotoneGeneral(1.0, 2.0), "curvature lies between 0 .* got 2.0"),
        (lambda: lin.MonotoneOrigin().for_set(FACE), "has no known least element. Use A1"),
        (lambda: lin.NonMonotoneDownClosed().for_set(FACE), "needs a down-closed set"),
        (lambda: lin.NonMonotoneGeneral().for_set(sets.L2Ball(D)), "lives in the unit box"),
        (lambda: lin.NonMonotoneDownClosed().for_set(sets.Box(np.zeros(D), 2.0)), "reaches from 0 to 2"),
        (lambda: lin.NonMonotoneGeneral().for_set(sets.Hull([[1.0, 0.0], [1.0, 1.0]])), "least sup-norm in Hull is 1"),
        (lambda: lin.Custom(0.0, 1.0), "0 < alpha <= 1 and beta > 0; got alpha=0.0"),
        (
            lambda: lin.NonMonotoneGeneral().upper_bounds(jnp.sum, jnp.ones_like, jnp.ones(D)),
            r"call .for_set\(set\) first",
        ),
        (lambda: lin.Bounds(0.0, 1.0), "bound on the gradient must be positive and finite; got 0.0"),
        (lambda: lin.Bounds(1.0, np.inf), "bound on the value must be positive and finite; got inf"),
        (lambda: lin.Bounds(1.0, 1.0, lipschitz=0.0), "lipschitz constant must be positive and finite; got 0"),
        (lambda: lin.Bounds(1.0, 1.0, smoothness=-1.0), "smoothness is a non-negative number, or None where unknown"),
    ],
)
def test_errors(make, message):
    with pytest.raises(ValueError, match=message):
        make()
