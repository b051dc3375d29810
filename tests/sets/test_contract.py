"""Every set keeps the contract, against a linear program or a list of its vertices where there is one."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import networkx as nx
import numpy as np
import pytest
from scipy.optimize import linprog

from droculo import sets
from droculo.precision import double
from droculo.sets.geometry import Vector
from droculo.sets.vertices import Affine, Dense, Indices, join, split
from droculo.testing import check_set

Reference = Callable[[Vector], float] | None


def lp(A=None, b=None, A_eq=None, b_eq=None, low=0.0, high=1.0) -> Reference:
    def best(c: Vector) -> float:
        bounds = np.broadcast_to(
            np.stack([np.broadcast_to(low, c.shape), np.broadcast_to(high, c.shape)], 1), (len(c), 2)
        )
        return -linprog(-c, A_ub=A, b_ub=b, A_eq=A_eq, b_eq=b_eq, bounds=bounds, method="highs").fun

    return best


def of_list(points) -> Reference:
    return lambda c: float(np.max(np.asarray(points) @ c))


def onto(groups, count) -> Vector:
    return (np.arange(count)[:, None] == np.asarray(groups)[None, :]).astype(float)


rng = np.random.default_rng(7)
weights = np.append(rng.random(7) + 0.1, 0.0)
long_groups = np.arange(70) % 3
mixed_groups = [0, 1, 0, 1, 1, 2, 2, 2]
A = rng.random((6, 9))
b = 0.3 * A.sum(axis=1)
tilted, tilted_b = rng.standard_normal((5, 6)), rng.random(5) + 0.5
two_sided = np.array([[1.0, 1.0, 1.0, 0.0], [-1.0, -1.0, -1.0, 0.0], [0.0, 0.0, 1.0, 1.0]])
two_sided_b = np.array([1.0, -1.0, 1.2])
cloud = rng.standard_normal((12, 3))
flat = rng.standard_normal((9, 2)) @ rng.standard_normal((2, 5)) + 1.0
corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]], float)
tailed = nx.Graph([(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3), (4, 6), (6, 5)])
layers = nx.DiGraph([("s", 1), ("s", 2), (1, 3), (2, 3), (1, 4), (3, 4), (4, "t"), ("s", "t")])
small = sets.Polytope(tilted, tilted_b, -1.0, 1.0)
small_lp = lp(tilted, tilted_b, low=-1.0)


def trees(graph: nx.Graph) -> Vector:
    edges = list(graph.edges)
    chosen = itertools.combinations(range(len(edges)), len(graph) - 1)
    spanning = [
        c
        for c in chosen
        if nx.is_connected(graph.edge_subgraph([edges[i] for i in c]))
        and len(graph.edge_subgraph([edges[i] for i in c])) == len(graph)
    ]
    return np.array([[float(i in c) for i in range(len(edges))] for c in spanning])


def paths(graph: nx.DiGraph, source, sink) -> Vector:
    edges = list(graph.edges)
    found = nx.all_simple_edge_paths(graph, source, sink)
    return np.array([[float(e in path) for e in edges] for path in found])


def moved(reference: Reference, factor: float, offset: float | Vector) -> Reference:
    return lambda c: factor * reference(c) + float(np.sum(c * offset))


def nuclear(rows: int, columns: int, size: float) -> Reference:
    return lambda c: size * float(np.linalg.svd(c.reshape(rows, columns), compute_uv=False)[0])


shift = rng.random(6)
budget_lp = lp(np.ones((1, 6)), [2.5])
permutations = [np.eye(4)[list(p)].ravel() for p in itertools.permutations(range(4))]

CASES: list[tuple[str, sets.Set, Reference]] = [
    ("box", sets.Box([-1.0, 0.0, 2.0], [1.0, 3.0, 2.5]), lp(low=[-1, 0, 2], high=[1, 3, 2.5])),
    ("simplex", sets.Simplex(5), lp(A_eq=np.ones((1, 5)), b_eq=[1.0])),
    ("budget", sets.budget(6, 2.0), lp(np.ones((1, 6)), [2.0])),
    ("fractional budget", sets.budget(6, 2.5), budget_lp),
    ("loose budget", sets.budget(4, 9.0), lp()),
    ("long budget", sets.budget(80, 7.25), lp(np.ones((1, 80)), [7.25])),
    ("face", sets.fixed_budget(6, 2.5), lp(A_eq=np.ones((1, 6)), b_eq=[2.5])),
    ("partition", sets.PartitionMatroid(mixed_groups, [1, 1.5, 2]), lp(onto(mixed_groups, 3), [1, 1.5, 2])),
    (
        "bases, one group full and one of one member",
        sets.PartitionMatroid([0, 1, 0, 1, 1, 2, 2, 3], [2, 1.5, 1, 0.5], bases=True),
        lp(A_eq=onto([0, 1, 0, 1, 1, 2, 2, 3], 4), b_eq=[2, 1.5, 1, 0.5]),
    ),
    ("long partition", sets.PartitionMatroid(long_groups, [4, 2.5, 9]), lp(onto(long_groups, 3), [4, 2.5, 9])),
    (
        "long bases",
        sets.PartitionMatroid(long_groups, [4, 2.5, 9], bases=True),
        lp(A_eq=onto(long_groups, 3), b_eq=[4, 2.5, 9]),
    ),
    ("knapsack with a zero weight", sets.Knapsack(weights, 1.3), lp(weights[None], [1.3])),
    ("long knapsack", sets.Knapsack(np.arange(90) / 30, 9.0), lp(np.arange(90)[None] / 30, [9.0])),
    ("l1 ball", sets.L1Ball(4, 2.0), lambda c: 2 * float(np.abs(c).max())),
    ("l2 ball", sets.L2Ball(4, 2.0), lambda c: 2 * float(np.linalg.norm(c))),
    ("nuclear ball", sets.NuclearBall(3, 2, 1.5), nuclear(3, 2, 1.5)),
    ("polytope", sets.Polytope(A, b, 0.0, 1.0), lp(A, b)),
    ("tilted polytope", small, small_lp),
    ("degenerate polytope", sets.Polytope(two_sided, two_sided_b, 0.0, 1.0), lp(two_sided, two_sided_b)),
    (
        "polytope with equalities and a fixed coordinate",
        sets.Polytope(np.ones((1, 4)), [3.0], [0, 0, 0.5, -1], [1, 1, 0.5, 2], A_eq=[[1, -1, 0, 1]], b_eq=[0.5]),
        lp(np.ones((1, 4)), [3.0], [[1, -1, 0, 1]], [0.5], [0, 0, 0.5, -1], [1, 1, 0.5, 2]),
    ),
    ("polytope without rows", sets.Polytope(np.zeros((0, 3)), [], 0.5, 2.0), lp(low=0.5, high=2.0)),
    ("polytope with a zero row", sets.Polytope([[0, 0], [1, 1]], [0.0, 1.5], 0.0, 1.0), lp([[1, 1]], [1.5])),
    ("birkhoff", sets.Birkhoff(4), of_list(permutations)),
    ("smallest birkhoff", sets.Birkhoff(2), of_list([[1, 0, 0, 1], [0, 1, 1, 0]])),
    ("spanning trees", sets.SpanningTrees(tailed), of_list(trees(tailed))),
    ("trees of K4", sets.SpanningTrees(nx.complete_graph(4)), of_list(trees(nx.complete_graph(4)))),
    ("flows", sets.Flows(layers, "s", "t"), of_list(paths(layers, "s", "t"))),
    ("hull", sets.Hull(cloud), of_list(cloud)),
    ("flat hull", sets.Hull(flat), of_list(flat)),
    ("segment", sets.Hull([[1.0, 2.0], [3.0, 2.5]]), of_list([[1.0, 2.0], [3.0, 2.5]])),
    ("down-closed hull", sets.Hull(corners, down_closed=True), of_list(corners)),
    ("wide hull", sets.Hull(np.eye(9), center=1 / 9, inner_radius=1 / np.sqrt(72)), of_list(np.eye(9))),
    ("shrunk budget", sets.Shrunk(sets.budget(6, 2.5), 0.1), None),
    ("shrunk face", sets.Shrunk(sets.fixed_budget(6, 2.5), 0.1), None),
    ("shrunk polytope", sets.Shrunk(small, 0.1), None),
    ("shrunk trees", sets.Shrunk(sets.SpanningTrees(nx.complete_graph(4)), 0.05), None),
    ("scaled", sets.scaled(sets.budget(6, 2.5), 3.0), moved(budget_lp, 3.0, 0.0)),
    ("translated", sets.translated(sets.budget(6, 2.5), shift), moved(budget_lp, 1.0, shift)),
    ("translated polytope", sets.translated(small, 2.0 + shift), moved(small_lp, 1.0, 2.0 + shift)),
    ("scaled hull", sets.scaled(sets.Hull(cloud), 0.5), of_list(cloud / 2)),
    (
        "product",
        sets.Product(sets.budget(6, 2.5), sets.L2Ball(3), small),
        lambda c: budget_lp(c[:6]) + float(np.linalg.norm(c[6:9])) + small_lp(c[9:]),
    ),
]


@pytest.mark.parametrize(("set_", "reference"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_contract(set_: sets.Set, reference: Reference) -> None:
    check_set(set_, reference=reference)


def _box_by_hand(c):
    return jnp.where(c > 0, 1.0, 0.0)


def test_own_oracle_keeps_the_contract() -> None:
    known = {
        "center": 0.5,
        "inner_radius": 0.5,
        "subspace": sets.Full(3),
        "contains_origin": True,
        "down_closed": True,
    }
    check_set(sets.from_oracle(_box_by_hand, 3, np.sqrt(3), **known), reference=lp(), samples=8)
    on_host = sets.from_oracle(lambda c: (c > 0) * 1.0, 3, np.sqrt(3), host=True, **known)
    check_set(on_host, reference=lp(), samples=8)
    assert on_host.least_element is not None
    assert not on_host.least_element.any()


def test_own_oracle_that_knows_nothing_still_has_membership_and_an_anchor() -> None:
    simplex = sets.from_oracle(lambda c: np.eye(4)[np.argmax(c)], 4, 1.0, host=True)
    check_set(simplex, reference=of_list(np.eye(4)))
    np.testing.assert_allclose(simplex.anchor, 0.25, atol=1e-9)


def test_the_support_function_reaches_over_the_inner_ball() -> None:
    """max <v, x - center> >= inner_radius for every unit v of the subspace: the same as the ball being in K."""
    for set_ in (sets.Birkhoff(4), sets.Flows(layers, "s", "t"), small, sets.SpanningTrees(tailed), sets.Hull(cloud)):
        outward = rng.standard_normal((400, set_.dim))
        with double():
            inside = np.asarray(eqx.filter_jit(lambda space, c: jax.vmap(space.project)(c))(set_.subspace, outward))
        unit = inside / np.linalg.norm(inside, axis=1, keepdims=True)
        gaps = [v @ (set_.host.argmax(v) - set_.center) for v in unit]
        assert min(gaps) >= set_.inner_radius - 1e-9


def test_birkhoff_inner_radius_touches_a_face() -> None:
    set_ = sets.Birkhoff(5)
    with double():
        v = -np.asarray(set_.subspace.project(np.eye(25)[7]))
        v = v / np.linalg.norm(v)
        assert set_.contains(set_.center + set_.inner_radius * v)
        assert not set_.contains(set_.center + 1.001 * set_.inner_radius * v)


def test_polytope_facts() -> None:
    degenerate = sets.Polytope(two_sided, two_sided_b, 0.0, 1.0)
    assert degenerate.subspace.dimension == 3
    raised = sets.Polytope([[1.0, 1.0]], [3.0], 0.5, 2.0)
    np.testing.assert_allclose(raised.least_element, 0.5)
    assert not raised.contains_origin
    assert not raised.down_closed
    assert sets.Polytope(A, b, 0.0, 1.0).down_closed
    face = sets.Polytope(np.zeros((0, 3)), [], 0.0, 1.0, A_eq=np.ones((1, 3)), b_eq=[1.5])
    assert face.least_element is None
    np.testing.assert_allclose(face.anchor, 0.5, atol=1e-9)
    np.testing.assert_allclose(face.inner_radius, 0.5 * np.sqrt(1.5), atol=1e-9)


def test_tree_marginals_are_averages_over_all_trees_and_flows_over_all_paths() -> None:
    np.testing.assert_allclose(sets.SpanningTrees(tailed).center, trees(tailed).mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(sets.Flows(layers, "s", "t").center, paths(layers, "s", "t").mean(axis=0))


def test_trees_with_a_large_block_take_their_inner_radius_from_the_user() -> None:
    ring = nx.circulant_graph(16, [1, 2])
    with pytest.raises(ValueError, match="does not know its inner_radius"):
        _ = sets.SpanningTrees(ring).inner_radius
    told = sets.SpanningTrees(ring, inner_radius=0.01)
    assert told.inner_radius == 0.01
    assert told.subspace.dimension == 31


class _Broken(sets.Box):
    def argmax(self, direction):
        return super().argmax(-direction)


class _TooShort(sets.PartitionMatroid):
    def vertex(self, direction):
        return Indices.of(self.argmax(direction), 1)


class _Inverted(Dense):
    def add_to(self, x, weight):
        return x - weight * self.point


class _WrongSum(sets.Box):
    def vertex(self, direction):
        return _Inverted(self.argmax(direction))


class _NotShared(sets.Box):
    def vertex(self, direction):
        return Affine(Dense(jnp.zeros_like(direction)), jnp.ones(()), self.argmax(direction))


def test_check_set_sees_a_wrong_vertex() -> None:
    with pytest.raises(AssertionError, match=r"dense\(\) is not argmax"):
        check_set(_TooShort(np.zeros(6, int), [2.0]))
    with pytest.raises(AssertionError, match="add_to"):
        check_set(_WrongSum([0.0, 0.0], 1.0))
    with pytest.raises(AssertionError, match="a Shared part differs"):
        check_set(_NotShared([0.0, 0.0], 1.0))


@pytest.mark.parametrize(
    ("set_", "numbers"),
    [
        (sets.Simplex(9), 2),
        (sets.budget(80, 2.5), 8),  # four indices, as for a budget of 4
        (sets.Birkhoff(4), 8),
        (sets.SpanningTrees(tailed), 12),
        (sets.NuclearBall(5, 4), 10),
        (sets.Shrunk(sets.budget(80, 2.5), 0.01), 8),
        (sets.budget(80, 33.0), 80),  # an index list would be longer than the point
        (sets.budget(20, 2.5), 20),  # short points are as quick without one
    ],
)
def test_a_structured_vertex_has_few_numbers(set_: sets.Set, numbers: int) -> None:
    own, _ = split(set_.vertex(jnp.arange(set_.dim) * 1.0))
    assert sum(leaf.size for leaf in jax.tree.leaves(own)) == numbers


def test_vertices_can_be_stacked_selected_and_joined() -> None:
    set_ = sets.Shrunk(sets.Product(sets.budget(6, 2.0), sets.NuclearBall(2, 3)), 0.05)
    directions = rng.standard_normal((4, set_.dim))
    y = rng.standard_normal(set_.dim)
    with double():

        @eqx.filter_jit
        def products(directions, y):
            owns, shares = zip(*(split(set_.vertex(c)) for c in directions), strict=True)
            memory = jax.tree.map(lambda *leaves: jnp.stack(leaves), *owns)
            memory = jax.tree.map(lambda kept, new: kept.at[2].set(new), memory, owns[0])
            return jax.vmap(lambda own: join(own, shares[0]).inner(y))(memory)

        found = products(jnp.asarray(directions), jnp.asarray(y))
        expected = [float(set_.argmax(jnp.asarray(c)) @ y) for c in directions[[0, 1, 0, 3]]]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_check_set_sees_a_wrong_oracle_and_wrong_facts() -> None:
    with pytest.raises(AssertionError, match="not a maximiser"):
        check_set(_Broken([0.0, 0.0], 1.0))
    with pytest.raises(AssertionError, match="reference says"):
        check_set(sets.Box([0.0, 0.0], 1.0), reference=lambda c: 5.0)
    wrong = sets.from_oracle(
        _box_by_hand, 2, 2.0, center=0.5, inner_radius=0.6, subspace=sets.Full(2), contains_origin=True
    )
    with pytest.raises(AssertionError, match="inner_radius"):
        check_set(wrong)
    with pytest.raises(AssertionError, match="contains_origin=False"):
        check_set(sets.from_oracle(_box_by_hand, 2, 2.0))
    with pytest.raises(AssertionError, match="dimension"):
        check_set(sets.from_oracle(lambda c: np.eye(3)[np.argmax(c)], 3, 1.0, host=True, subspace=sets.Full(3)))
