"""Lemma 1 for every oracle on every kind of set."""

import equinox as eqx
import jax
import jax.numpy as jnp
import networkx as nx
import numpy as np
import pytest
from tests.reference import oracles as reference

from droculo import oracles, sets
from droculo.oracles import batching
from droculo.testing import check_oracle

RNG = np.random.default_rng(3)
SETS = {
    "budget": sets.budget(8, 2.5),
    "face": sets.fixed_budget(8, 3.0),
    "simplex": sets.Simplex(6),
    "box": sets.Box(np.zeros(5), 1.0),
    "knapsack": sets.Knapsack(RNG.uniform(0.5, 2, 7), 3.0),
    "partition": sets.PartitionMatroid([0, 0, 0, 1, 1, 1, 1], [1, 2]),
    "l1": sets.L1Ball(6, 2.0),
    "l2": sets.L2Ball(6, 2.0),
    "nuclear": sets.NuclearBall(3, 4),
    "shrunk": sets.Shrunk(sets.budget(8, 2.5), 0.1),
    "product": sets.Product(sets.Simplex(3), sets.Box(np.zeros(2), 1.0)),
    "hull": sets.Hull(RNG.standard_normal((12, 4))),
    "polytope": sets.Polytope(RNG.uniform(0, 1, (4, 6)), np.ones(4), np.zeros(6), np.ones(6)),
    "assignment": sets.Birkhoff(3),
    "trees": sets.SpanningTrees(nx.cycle_graph(5)),
}


PAIRS = [(name, oracles.FrankWolfe()) for name in SETS]
PAIRS += [(name, oracles.ActiveSet()) for name in SETS]
PAIRS += [(name, oracles.ActiveSet(size=4)) for name in ("face", "polytope")]  # fewer places than corners needed
PAIRS += [
    (name, oracles.PaperFrankWolfe()) for name in ("budget", "face", "nuclear", "hull", "polytope", "trees", "shrunk")
]
PAIRS += [(name, oracles.FrankWolfe(relative=0.0)) for name in ("face", "polytope")]


@pytest.mark.parametrize(("name", "oracle"), PAIRS)
def test_lemma_1(name, oracle):
    check_oracle(oracle, SETS[name], samples=8)


project = eqx.filter_jit(lambda oracle, set_, x0, y0, eps: batching.project(oracle, set_, x0, y0, eps, ()))


@pytest.mark.parametrize("name", ["budget", "face", "nuclear"])
def test_agrees_with_the_transcriptions(name):
    set_ = SETS[name]
    rng = np.random.default_rng(11)
    with jax.enable_x64(True):
        argmax = lambda c: np.asarray(set_.argmax(jnp.asarray(c)))  # noqa: E731
        for _ in range(5):
            x0 = argmax(rng.standard_normal(set_.dim))
            y0 = x0 + rng.standard_normal(set_.dim)
            eps = 0.02
            ours = project(oracles.PaperFrankWolfe(), set_, jnp.asarray(x0), jnp.asarray(y0), jnp.asarray(eps))
            x, y, calls = reference.paper(argmax, float(set_.radius), x0, y0, eps)
            np.testing.assert_allclose(ours.x, x, atol=1e-10)
            np.testing.assert_allclose(ours.y, y, atol=1e-10)
            assert int(ours.calls) == calls > 0
            ours = project(oracles.FrankWolfe(), set_, jnp.asarray(x0), jnp.asarray(y0), jnp.asarray(eps))
            tiny = 8 * np.finfo(float).eps * max(1, float(set_.radius)) if name == "face" else 0.0
            inside = lambda y, tiny=tiny: bool(set_.contains(jnp.asarray(y), tiny))  # noqa: E731
            foot = lambda y: y - (y.sum() - 3.0) / 8 if name == "face" else y  # noqa: E731
            x, y, calls = reference.sharp(argmax, foot, inside, float(set_.radius), x0, y0, eps)
            np.testing.assert_allclose(ours.x, x, atol=1e-10)
            np.testing.assert_allclose(ours.y, y, atol=1e-10)
            assert int(ours.calls) == calls


def test_frank_wolfe_needs_fewer_calls_than_the_papers():
    set_ = SETS["budget"]
    rng = np.random.default_rng(0)
    with jax.enable_x64(True):
        x0 = jnp.broadcast_to(set_.center, (50, 8))
        y0 = x0 + jnp.asarray(rng.standard_normal((50, 8)))
        calls = {
            o: int(
                jax.vmap(lambda x, y, o=o: batching.project(o, set_, x, y, jnp.asarray(0.01), ()).calls)(x0, y0).sum()
            )
            for o in (oracles.PaperFrankWolfe(), oracles.FrankWolfe())
        }
    few, many = calls[oracles.FrankWolfe()], calls[oracles.PaperFrankWolfe()]
    assert 10 * few < many


def test_a_y_in_the_set_costs_nothing():
    set_ = SETS["budget"]
    out = batching.project(
        oracles.FrankWolfe(), set_, jnp.asarray(set_.center), jnp.full(8, 0.3), jnp.asarray(1e-6), ()
    )
    assert int(out.calls) == 0
    assert bool(jnp.all(out.x == out.y))


class Understates(oracles.FrankWolfe):
    """It reports at most one call."""

    def project(self, domain, x0, y0, tolerance, memory):
        out = super().project(domain, x0, y0, tolerance, memory)
        return eqx.tree_at(lambda o: o.calls, out, jnp.minimum(out.calls, 1))


class AsksOnceMore(oracles.FrankWolfe):
    """It makes one call that it does not report."""

    def project(self, domain, x0, y0, tolerance, memory):
        out = super().project(domain, x0, y0, tolerance, memory)
        return eqx.tree_at(lambda o: o.x, out, out.x + 0 * domain.argmax(y0 + 1))


@pytest.mark.parametrize("oracle", [Understates(), AsksOnceMore()])
def test_the_check_notices_calls_that_are_not_reported(oracle):
    with pytest.raises(AssertionError, match=r"reports \d+ LOO calls and made \d+"):
        check_oracle(oracle, SETS["budget"], samples=8)


def test_a_batch_leaves_finished_agents_unsolved():
    """On a host solver, an agent that is done sends a zero direction, which is no solve and no counted call."""
    set_ = sets.Polytope(np.ones((1, 3)), np.ones(1), np.zeros(3), np.ones(3))
    x0 = np.tile(set_.center, (4, 1))
    y0 = x0 + np.array([[0.0, 0, 0], [0.1, 0, 0], [2.0, 1.0, 0.5], [-1.0, 0.3, 2.0]])
    with jax.enable_x64(True):
        before = set_.host.solves
        out = jax.jit(jax.vmap(lambda x, y: batching.project(oracles.FrankWolfe(), set_, x, y, jnp.asarray(1e-4), ())))(
            jnp.asarray(x0), jnp.asarray(y0)
        )
        assert set_.host.solves - before == int(out.calls.sum())


def test_a_cap_is_reported_honestly():
    set_ = SETS["face"]
    x0 = jnp.asarray(set_.center)
    out = batching.project(oracles.PaperFrankWolfe(limit=3), set_, x0, x0 + jnp.arange(8.0), jnp.asarray(1e-5), ())
    assert int(out.calls) == 3
    assert not bool(out.converged)
    assert bool(set_.contains(out.x, 1e-5))


def test_in_single_precision_nothing_is_taken_for_inside_that_is_not():
    """A y that sticks out by much more than rounding, on a set of many coordinates (where slacks add up)."""
    set_ = sets.budget(200, 5.0)
    with jax.enable_x64(False):
        x0 = jnp.full(200, 5 / 200, jnp.float32)
        out = batching.project(oracles.FrankWolfe(), set_, x0, x0 + 1e-3, jnp.asarray(1e-6, jnp.float32), ())
    assert float(out.x.sum()) <= 5.0 + 1e-4
    assert int(out.calls) > 0


def test_on_a_face_the_foot_of_y_is_its_projection():
    set_ = SETS["face"]
    with jax.enable_x64(True):
        y0 = jnp.asarray(set_.center + 0.05 * np.arange(8))
        out = batching.project(oracles.FrankWolfe(), set_, jnp.asarray(set_.center), y0, jnp.asarray(1e-6), ())
        assert int(out.calls) == 0
        np.testing.assert_allclose(out.x, np.asarray(y0) - (np.asarray(y0).sum() - 3) / 8, atol=1e-12)


def test_errors():
    with pytest.raises(ValueError, match="at least one LOO call to work with; got limit=0"):
        oracles.PaperFrankWolfe(limit=0)
    with pytest.raises(ValueError, match=r"must lie in \[0, 1/2\].* got 0.9"):
        oracles.FrankWolfe(relative=0.9)
