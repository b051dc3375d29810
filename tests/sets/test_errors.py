"""Every refusal says what was got, what is expected and what to do."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from scipy import optimize
from scipy.optimize import OptimizeResult

from droculo import sets
from droculo.sets import inequalities, polytope, search

ONE, NO_ROWS = np.ones((1, 2)), (np.zeros((0, 2)), [])
square = nx.cycle_graph(4)
fork = nx.DiGraph([(0, 1), (0, 2), (1, 3), (2, 3)])


def hull(points=((0.0, 0.0), (1.0, 0.0), (0.0, 1.0)), **known):
    return sets.Hull(points, **known)


def own(function=np.sign, dim=2, radius=2.0, **known):
    return sets.from_oracle(function, dim, radius, host=True, **known)


CASES = [
    # boxes
    (lambda: sets.Box(0.0, 1.0), r"Box needs finite vectors; got lower of shape \(\)"),
    (lambda: sets.Box([0.0], [np.inf]), "Box needs finite vectors"),
    (lambda: sets.Box([0.0, 2.0], [1.0, 2.0]), "got 2.0 and 2.0 in coordinate 1. Leave a fixed coordinate out"),
    (lambda: sets.Simplex(1), "Simplex needs at least 2 coordinates; got 1"),
    (lambda: sets.PartitionMatroid([[0]], [1]), "groups must be a vector"),
    (lambda: sets.PartitionMatroid([0, -1], [1]), "groups must be a vector"),
    (lambda: sets.budget(0, 1.0), "groups must be a vector"),
    (lambda: sets.PartitionMatroid([0, 0], [1, 2]), "got 2 capacities for 1 groups"),
    (lambda: sets.PartitionMatroid([0, 2], [1, 1, 1]), "number the groups 0, 1, ... without a gap"),
    (lambda: sets.budget(3, 0.0), r"must be positive and finite; got \[0.0\]"),
    (lambda: sets.budget(3, np.nan), "must be positive and finite"),
    (lambda: sets.fixed_budget(3, 4.0), "the set is empty: group 0 has 3 coordinates"),
    (lambda: sets.fixed_budget(3, 3.0), "the set is a single point"),
    (lambda: sets.Knapsack([1.0, -1.0], 1.0), "non-negative weights; got"),
    (lambda: sets.Knapsack([1.0, 2.0], 0.0), "positive, finite capacity and some positive weight; got 0.0"),
    (lambda: sets.Knapsack([0.0, 0.0], 1.0), "some positive weight"),
    # balls
    (lambda: sets.L1Ball(0), "a ball needs dim >= 1 and a positive, finite radius; got dim=0"),
    (lambda: sets.L2Ball(2, -1.0), "got dim=2, radius=-1.0"),
    (lambda: sets.NuclearBall(-2, -2), "a ball needs dim >= 1"),
    (lambda: sets.NuclearBall(2, 2, np.nan), "positive, finite radius"),
    # wrappers
    (lambda: sets.scaled(sets.Simplex(2), 0.0), "scaled by a positive, finite factor; got 0.0"),
    (lambda: sets.translated(sets.Simplex(2), np.nan), "moved by a finite offset"),
    (lambda: sets.Shrunk(sets.L2Ball(2), 1.0), "0 <= delta < r, its inner radius; got delta=1.0 and r=1.0"),
    (lambda: sets.Shrunk(sets.L2Ball(2), -0.1), "got delta=-0.1"),
    (lambda: sets.Product(), "Product needs at least one set; got none"),
    # polytope
    (lambda: sets.Polytope([1.0, 1.0], [1.0], 0, 1), r"A of shape \(m, d\) and b of shape \(m,\); got \(2,\)"),
    (lambda: sets.Polytope(ONE, [1.0, 2.0], 0, 1), r"got \(1, 2\) and \(2,\)"),
    (lambda: sets.Polytope(ONE, [1.0], 0, 1, A_eq=np.ones((1, 3)), b_eq=[1]), r"A_eq of shape \(m, 2\)"),
    (lambda: sets.Polytope(ONE, [1.0], 0, 1, A_eq=ONE), "only one of A_eq and b_eq. Pass both"),
    (lambda: sets.Polytope(ONE, [np.nan], 0, 1), "needs finite A and b; got NaN or infinity"),
    (lambda: sets.Polytope(ONE, [1.0], 0, 1, A_eq=ONE * np.nan, b_eq=[1]), "needs finite A_eq and b_eq"),
    (lambda: sets.Polytope(ONE, [1.0], [0, 0, 0], 1), r"bounds for its 2 coordinates; got lower of shape \(3,\)"),
    (lambda: sets.Polytope(ONE, [1.0], 0, np.inf), "needs finite bounds lower and upper in every coordinate"),
    (lambda: sets.Polytope(ONE, [-1.0], 0, 1), "the polytope is empty: no point meets its 1 inequalities"),
    (lambda: sets.Polytope(*NO_ROWS, 1, 0), "the polytope is empty.*Check the signs"),
    (lambda: sets.Polytope(ONE, [0.0], 0, 1), r"the polytope is a single point, \[0.0, 0.0\]"),
    # combinatorial
    (lambda: sets.Birkhoff(1), "Birkhoff needs n >= 2; got 1"),
    (lambda: sets.SpanningTrees(nx.DiGraph([(0, 1)])), "simple undirected graph; got a DiGraph with 0 self-loops"),
    (lambda: sets.SpanningTrees(nx.Graph([(0, 0), (0, 1)])), "with 1 self-loops"),
    (lambda: sets.SpanningTrees(nx.MultiGraph([(0, 1)])), "got a MultiGraph"),
    (lambda: sets.SpanningTrees(nx.Graph()), "needs a connected graph"),
    (lambda: sets.SpanningTrees(nx.Graph([(0, 1), (2, 3)])), "needs a connected graph"),
    (lambda: sets.SpanningTrees(nx.path_graph(3)), "needs a graph with a cycle; got a tree of 3 vertices"),
    (lambda: sets.SpanningTrees(square, center=0.75).inner_radius, "SpanningTrees does not know its inner_radius"),
    (lambda: sets.Flows(square, 0, 1), "without cycles and without parallel edges; got a Graph"),
    (lambda: sets.Flows(nx.DiGraph([(0, 1), (1, 0)]), 0, 1), "needs a directed graph without cycles"),
    (lambda: sets.Flows(fork, 0, 0), "two different nodes of the graph; got source=0 and sink=0"),
    (lambda: sets.Flows(fork, 0, 9), "sink=9"),
    (lambda: sets.Flows(fork, 3, 0), "the set is empty: no path leads from 3 to 0"),
    (lambda: sets.Flows(fork, 0, 1), r"these do not: \[\(0, 2\), \(1, 3\), \(2, 3\)\]"),
    (
        lambda: sets.Flows(nx.DiGraph([(0, 1), (1, 2)]), 0, 2),
        "needs a choice of paths; got a graph with a single one",
    ),
    # hull
    (lambda: hull([1.0, 2.0]), r"one point per row; got shape \(2,\). Pass points of shape"),
    (lambda: hull([[1.0, np.nan]]), r"got shape \(1, 2\) with NaN or infinity"),
    (lambda: hull([[1.0, 2.0], [1.0, 2.0]]), r"the hull is a single point, \[1.0, 2.0\]"),
    (lambda: hull(center=0.2), "Hull got only one of center and inner_radius. Pass both"),
    (lambda: hull(center=[0.2] * 3, inner_radius=0.1), r"Hull got center of shape \(3,\), and the set has 2"),
    (lambda: hull(center=0.2, inner_radius=-1.0), "Hull needs a positive, finite inner_radius; got -1.0"),
    (lambda: hull([[0, 0], [1, 1]], down_closed=True), "said to be down-closed and is not"),
    (lambda: sets.Hull(np.eye(9)).inner_radius, r"Hull does not know its inner_radius.*Pass inner_radius=\.\.\."),
    # from_oracle
    (lambda: own(dim=0), "from_oracle needs dim >= 1 and a positive, finite radius; got dim=0"),
    (lambda: own(radius=np.inf), "radius=inf"),
    (lambda: own(lambda c: c[:1]), r"a finite vector of 2 numbers; got shape \(1,\)"),
    (lambda: own(lambda c: c * np.nan), "with NaN or infinity. Check the function and dim"),
    (lambda: own(radius=1.0), "returned a point of norm 1.41421, above radius=1.0"),
    (lambda: own(center=[0.0], inner_radius=1.0), r"from_oracle got center of shape \(1,\)"),
    (lambda: own(anchor=[0.0] * 3), r"from_oracle got anchor of shape \(3,\)"),
    (lambda: own(inner_radius=1.0), "from_oracle got only one of center and inner_radius"),
    (lambda: own().center, "OracleSet does not know its center: an oracle alone cannot tell it"),
    (lambda: own().subspace, r"does not know its subspace.*Pass subspace=\.\.\."),
]


@pytest.mark.parametrize(("make", "message"), CASES, ids=[f"{i}: {case[1][:40]}" for i, case in enumerate(CASES)])
def test_refusal(make, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        make()
    assert str(caught.value).endswith(".")


def test_a_solver_that_fails_says_so() -> None:
    rows = np.array([[1.0, 1.0]])
    with pytest.raises(RuntimeError, match=r"HiGHS could not maximise.*'Infeasible'. Check the scaling"):
        polytope._Simplex(rows, np.array([5.0]), np.array([6.0]), np.zeros(2), np.ones(2))


def test_a_polytope_too_thin_for_a_ball_says_so() -> None:
    rows, limits = np.concatenate([np.eye(2), -np.eye(2)]), np.array([1.0, 1.0, -1.0, 0.0])
    with pytest.raises(RuntimeError, match=r"a ball of positive radius inside it.*Rescale the coordinates"):
        inequalities.inner_ball(rows, limits, np.zeros(4, bool), np.eye(2))
    with pytest.raises(RuntimeError, match="its point of least sup-norm"):
        inequalities.least_max(rows, np.array([1.0, 1.0, -2.0, 0.0]), np.zeros(4, bool))


def test_a_solver_that_gives_nothing_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inequalities, "_solve", lambda *_: None)
    with pytest.raises(RuntimeError, match="did not find a ball of positive radius inside it"):
        inequalities.inner_ball(np.eye(2), np.ones(2), np.zeros(2, bool), np.eye(2))


def test_an_unsolved_master_program_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    hull = sets.Hull([[1.0, 0.0], [0.0, 1.0]])
    monkeypatch.setattr(
        optimize, "linprog", lambda *_, **__: OptimizeResult(x=None, status=4, success=False, message="numbers")
    )
    with pytest.raises(RuntimeError, match="known vertices was not solved: numbers"):
        search.least_sup_norm(hull)
