"""Head to head: which methods apply, that all meet the same adversary, their costs, and the page."""

import math

import numpy as np
import pytest

from droculo.experiments import ALGORITHMS, SpecError, study, sweep
from droculo.experiments.catalogue import title
from droculo.experiments.cell import build
from droculo.experiments.studies.compare import GRAPHS, PLANTED
from droculo.report import STUDY_PAGES
from droculo.report.summary import MARK, RunRows, mean, method, queries
from droculo.report.table import number

N, D, T = 3, 4, 32
INNER = round(T**0.5)
METHODS = {
    "DROCULO, theta = 1/2", "DROCULO, theta = 1", "DROCULO as published, theta = 1/2", "DROCULO, semi-bandit, theta = 1/2",
    "DROCULO, bandit, theta = 1/2", "DPOBGA", "DOBGA", "Mono-DMFW", f"DMFW, inner = {INNER}", "Dec-BFTRL",
    "DPOBGA, adaptive = True", "DOBGA, adaptive = True",
}  # fmt: skip


def compared(**options):
    return study("compare", **({"agents": N, "dim": D, "horizon": T, "seeds": 2} | options))


def names(cells):
    return {title(cell.described()["algorithm"]) for cell in cells}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return sweep(compared(), tmp_path_factory.mktemp("compare"))


def of(found, name, column=None):
    rows = [row for row in RunRows(found).all if method(row) == name]
    return rows if column is None else mean(rows, column)


def test_all_methods_play_a_monotone_problem_with_zero(found):
    assert not found.failures
    assert names(found.spec.cells) == METHODS
    assert found.spec.left_out == ()
    assert all([row["seed"] for row in of(found, name)] == [0, 1] for name in METHODS)


def test_every_algorithm_of_the_catalogue_is_compared():
    """But for the prescribed schedule, which the published algorithm has too."""
    assert {cell.algorithm.name for cell in compared().cells} == set(ALGORITHMS) - {"droculo-prescribed"}


@pytest.mark.parametrize(
    ("problem", "left_out"),
    [
        ("top-b", set()),
        ("coverage", set()),
        ("weak", set()),
        ("cut", {"DPOBGA", "DPOBGA, adaptive = True", "Mono-DMFW", f"DMFW, inner = {INNER}"}),
        ("water-filling", {"DPOBGA", "DPOBGA, adaptive = True", "Mono-DMFW", f"DMFW, inner = {INNER}"}),
    ],
)
def test_a_method_that_does_not_apply_is_named_with_the_reason(problem, left_out):
    spec = compared(problem=problem)
    assert names(cell for cell, _ in spec.left_out) == left_out
    assert names(spec.cells) == METHODS - left_out
    assert all("monotone functions on a set that contains 0" in reason for _, reason in spec.left_out)


def test_curves_end_in_the_totals(found):
    points = found.results.points.to_pylist()
    for row in RunRows(found).all:
        mine = [p for p in points if (p["run"], p["seed"]) == (row["run"], row["seed"])]
        assert (mine[0]["round"], mine[-1]["round"]) == (1, T)
        for column in ("regret", "reward", "certified", "exchanges", "bytes", "loo_calls"):
            assert mine[-1][column] == pytest.approx(row[column], rel=1e-12), column
        assert row["alpha"] * row["best"] - row["reward"] == pytest.approx(row["regret"], rel=1e-9)
        assert row["certified"] >= row["regret"]


def test_exchanges_and_queries_over_time(found):
    """Block b of the default ends at round b^2, so that floor(sqrt(t)) of them have ended after t rounds."""
    points = found.results.points.to_pylist()

    def curves(name, column):
        row = of(found, name)[0]
        mine = [p for p in points if (p["run"], p["seed"]) == (row["run"], row["seed"])]
        return row, [p["round"] for p in mine], [p[column] for p in mine]

    row, rounds, exchanges = curves("DROCULO, theta = 1/2", "exchanges")
    assert exchanges == [math.isqrt(t) for t in rounds]
    assert row["blocks"] == 5
    assert curves("DROCULO, theta = 1/2", "queries")[2] == rounds
    row, rounds, asked = curves("DROCULO, semi-bandit, theta = 1/2", "queries")
    assert asked[-1] == row["gradient_queries"] < T  # one in every slot, and slots grow
    assert all(0 <= b - a <= t - s for s, t, a, b in zip(rounds, rounds[1:], asked, asked[1:], strict=False))
    row, rounds, exchanges = curves("Mono-DMFW", "exchanges")  # blocks of 8 rounds, 16 exchanges each
    assert exchanges == [16 * (t // 8) for t in rounds]


def test_another_seed_is_another_run(found):
    moved = {name for name in METHODS if len({row["regret"] for row in of(found, name)}) == 2}
    # In so few rounds the theorems' steps are so short that draws decide nothing.
    assert moved >= METHODS - {"DROCULO as published, theta = 1/2", "DPOBGA"}


def test_bills(found):
    def costs(name, *columns):
        return tuple(of(found, name, column) for column in columns)

    asked = {name: {queries(row) for row in of(found, name)} for name in METHODS}
    dmfw = f"DMFW, inner = {INNER}"
    assert costs("DOBGA", "projections", "exchanges", "loo_calls") == (T, T, 0)
    assert of(found, "DOBGA", "bytes") == T * 2 * D * 8  # two neighbours on a ring, doubles
    assert costs(dmfw, "exchanges", "loo_calls") == (2 * INNER * T, INNER * T)
    assert asked[dmfw] == {INNER * T}
    blocks = -(-T // 8)  # K = T^(3/5) = 8
    assert costs("Mono-DMFW", "exchanges", "loo_calls") == (16 * blocks, 8 * blocks)
    assert asked["Mono-DMFW"] == {T}
    assert of(found, "Dec-BFTRL", "separations") >= T
    assert costs("DROCULO, theta = 1/2", "exchanges", "bytes") == (
        5,
        5 * 2 * (D + 2) * 8,
    )  # blocks end at 1, 4, 9, 16, 25
    assert costs("DROCULO as published, theta = 1/2", "exchanges", "bytes") == (
        6,
        6 * 2 * 2 * D * 8,
    )  # six blocks of six rounds
    assert of(found, "DROCULO, theta = 1", "exchanges") == T
    assert costs("DROCULO, theta = 1/2", "projections", "separations") == (0, 0)


def test_every_run_is_timed_without_compilation(found):
    for row in RunRows(found).all:
        (seconds,) = row["timings"]
        assert 0 < seconds < row["seconds"]


@pytest.fixture(scope="module")
def written(found, tmp_path_factory):
    out = tmp_path_factory.mktemp("page") / "new"
    return STUDY_PAGES["compare"](found, out, "droculo compare --dim 4"), out


def test_the_page_has_the_numbers_and_the_command(found, written):
    page, out = written
    assert (out / "compare.md").read_text() == page
    assert "`droculo compare --dim 4`" in page
    assert "All methods are applicable." in page
    for name in METHODS:
        mark = "" if of(found, name, "share_last") > of(found, name, "still_last") else f" {MARK}"
        row = next(line for line in page.splitlines() if line.startswith(f"| {name}{mark} |"))
        cells = [cell.strip() for cell in row.split("|")[2:-1]]
        ratio = np.mean([row["reward"] / row["best"] for row in of(found, name)])
        assert cells[:3] == [
            number(of(found, name, "certified") / T), number(of(found, name, "regret") / T), number(ratio),
        ]  # fmt: skip
        assert cells[3] == number(of(found, name, "share_last"))
        assert cells[4:6] == [number(of(found, name, "exchanges")), number(of(found, name, "bytes"))]
        assert cells[6] == number(of(found, name, "loo_calls") or None)
    assert any(of(found, name, "share_last") > of(found, name, "still_last") for name in METHODS)
    still = sorted({f"{row['still']:.1%}" for row in RunRows(found).all}, key=lambda text: float(text[:-1]))
    assert f"standing still at the start earns {' to '.join(dict.fromkeys([still[0], still[-1]]))} of the best" in page


def test_the_figures_have_every_method_once(written):
    _, out = written
    drawn = (out / "compare.svg").read_text()
    assert "<svg" in drawn
    for what in ("rounds", "exchanges", "bytes", "LOO calls", "queries", "seconds"):
        assert f">against {what}<" in drawn
    for name in METHODS:
        assert drawn.count(f">{name}<") == 1
    assert ">reward a round<" in (out / "compare-reward.svg").read_text()


def test_problems_and_networks_have_the_size_they_are_asked_for():
    for name in PLANTED:
        cell = compared(problem=name, agents=4, dim=6).cells[0]
        problem, network, _ = build(cell, compared().folder)
        assert (problem.agents, problem.set.dim, network.n_agents) == (4, 6, 4), name
    links = {name: build(compared(network=name, agents=6).cells[0], compared().folder)[1].n_links for name in GRAPHS}
    assert (links["grid"], links["complete"], links["ring"], links["star"]) == (7, 15, 6, 5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"problem": "knapsack"}, "there is no problem called 'knapsack'; there are top-b"),
        ({"network": "torus"}, "there is no network called 'torus'; there are ring"),
        ({"network": "grid", "agents": 7}, "7 agents make no grid"),
        ({"seeds": 0}, "at least one seed"),
        ({"horizon": 0}, "the horizon is a whole number"),
    ],
)
def test_refusals(options, message):
    with pytest.raises(SpecError, match=message):
        compared(**options)
