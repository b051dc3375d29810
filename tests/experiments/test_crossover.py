"""Projection against linear oracle: what is timed, that it is kept, and a verdict that follows from the numbers."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from droculo.experiments import Results, Spec, Sweep, study, sweep_in_turns, sweeps
from droculo.experiments.cell import build
from droculo.experiments.rows import POINTS, RUNS
from droculo.experiments.store import table
from droculo.experiments.studies import crossover as cells
from droculo.report import STUDY_PAGES, crossover
from droculo.report.crossover import LINEAR, PROJECTING, claim, who_wins
from droculo.report.summary import RunRows
from droculo.report.table import number

DIMS = (8, 16, 32, 64)
METHODS = (PROJECTING, *LINEAR)


def small(ground):
    """Both grounds in one small dimension, as a spec."""
    spec = study("crossover", quick=True)
    tiny = replace(cells.GROUNDS[ground], dims=(4,), horizon=16)
    return replace(spec, cells=(*tiny.cells(4), tiny.start)), tiny


@pytest.fixture(scope="module")
def timed(tmp_path_factory):
    spec, ground = small(0)
    out = tmp_path_factory.mktemp("kept")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweeps, "collect", lambda out: Sweep(spec, out, rows_of(spec, out)))
        return sweep_in_turns(spec, out, turns=2), ground


def rows_of(spec: Spec, out: Path) -> Results:
    store, keys = sweeps.Store(out), [cell.key(spec.folder) for cell in spec.cells]
    return Results(store.read("runs", keys), store.read("points", keys))


def test_every_method_runs_in_every_dimension(timed):
    found, ground = timed
    measured = crossover._measured(ground, RunRows(found))
    assert set(measured.rows) == {(name, 4) for name in METHODS}
    for (name, _), row in measured.rows.items():
        assert len(row["timings"]) == 2
        assert measured.of(name, "microseconds") == [pytest.approx(np.median(row["timings"]) / 8 / 16 * 1e6)]
        assert max(row["timings"]) < row["seconds"]  # compiled before
        assert row["certified"] > 0
    (dobga,), (whole,), (half,) = (measured.of(name, "loo_calls") for name in METHODS)
    assert whole > half > dobga == 0
    assert [measured.of(name, "projections") for name in METHODS] == [[1], [0], [0]]
    assert measured.start > 0


def test_what_was_measured_is_not_measured_again(timed, monkeypatch):
    found, _ = timed
    monkeypatch.setattr(sweeps, "in_turns", lambda *_: pytest.fail("was timed before"))
    monkeypatch.setattr(sweeps, "collect", lambda out: "the results")
    assert sweep_in_turns(found.spec, found.out, turns=2) == "the results"


def test_methods_take_turns(monkeypatch):
    spec, _ = small(0)
    calls = []

    def simulate(problem, algorithm, *_, **__):
        calls.append(type(algorithm).__name__)
        seconds = 20.0 if len(calls) == 4 else 1.0
        return type("Run", (), {"ledger": type("Bill", (), {"seconds": seconds})})

    monkeypatch.setattr(sweeps, "simulate", simulate)
    assert sweeps.in_turns(spec.cells[:3], spec.folder, 2) == [
        [20.0],
        [1.0, 1.0],
        [1.0, 1.0],
    ]  # a long run is timed once
    once = ["DOBGA", "Droculo", "Droculo"]
    assert calls == [*once, *once, *once[1:]]


def test_the_grounds_are_a_budget_and_a_polytope():
    budget, polytope = (build(ground.cells(8)[0], Path())[0] for ground in cells.GROUNDS)
    assert type(budget.set).__name__ == "PartitionMatroid"
    assert type(polytope.set).__name__ == "Polytope"
    assert polytope.set.A.shape == (4, 8)
    assert [ground.dims for ground in cells.grounds(quick=True)] == [(8, 16), (8, 16)]


@pytest.mark.parametrize(
    ("projecting", "linear", "parts"),
    [
        # DOBGA's time grows faster: a crossover, half way on a logarithmic axis
        ([1, 4, 16, 64], [8, 8, 8, 8], ["DOBGA is faster at d = 8, 16 (2 to 8 times), X at d = 32, 64 (2 to 8 times).",
                                        "between d = 16 and d = 32, near d = 23."]),
        # the other way round: the oracle is faster in small dimensions
        ([8, 8, 8, 8], [1, 4, 16, 64], ["DOBGA is faster at d = 32, 64 (2 to 8 times), X at d = 8, 16",
                                        "between d = 16 and d = 32, near d = 23."]),
        ([1, 1, 1, 1], [2, 3, 4, 5], ["DOBGA is faster at every d from 8 to 64 (2 to 5 times). There is no crossover"]),
        ([6, 6, 6, 6], [2, 2, 2, 2], ["X is faster at every d from 8 to 64 (3 times). There is no crossover"]),
        # a lead within the noise is none
        ([1, 1, 1, 1], [1.05, 0.95, 1, 1], ["DOBGA and X are even at every d from 8 to 64."]),
        ([1, 1, 1, 1], [2, 2, 0.95, 2], ["DOBGA is faster at d = 8, 16, 64 (2 times); they are even at d = 32.",
                                         "There is no crossover in this range."]),
        ([1, 1, 1, 1], [2, 1, 1, 0.5], ["even at d = 16, 32.", "between d = 8 and d = 64"]),
        ([1, 1, 1, 1], [2, 0.5, 2, 0.5], ["The lead changes 3 times: there is no clear crossover"]),
    ],
)  # fmt: skip
def test_the_verdict_follows_from_the_numbers(projecting, linear, parts):
    text = who_wins("X", DIMS, projecting, linear)
    for part in parts:
        assert part in text


def made_up(times, versions=("0",)):
    """A sweep of both grounds with the given microseconds of DOBGA, theta = 1 and theta = 1/2 for each of DIMS."""
    spec, rows = study("crossover"), []
    for ground in cells.GROUNDS:
        for place, d in enumerate(DIMS):
            for method, cell in enumerate(ground.cells(d)):
                T, microseconds = ground.horizon, times[method][place]
                rows.append({
                    "run": cell.label, "seed": 0, "spec": cell.asked, "agents": 8, "horizon": T, "certified": 0.5 * T,
                    "loo_calls": 2.0 * T, "projections": 1.0 * T, "timings": [microseconds * 8 * T / 1e6],
                    "droculo": versions[len(rows) % len(versions)], "results_version": 1, "jax": "0", "python": "3",
                })  # fmt: skip
    return Sweep(spec, Path("results"), Results(table(RUNS, rows), table(POINTS, [])))


@pytest.mark.parametrize(
    ("half", "said"),
    [
        ([2, 2, 2, 2], "So it was nowhere faster."),
        ([1, 1, 1, 0.25], "So it is faster in places, and 6 times was not seen."),
        ([1, 1, 1, 0.1], "So 6 times is reached."),
    ],
)
def test_the_claim_is_compared_with_the_numbers(half, said):
    rows = RunRows(made_up([[1, 1, 1, 1], [2, 4, 8, 16], half]))
    text = claim([crossover._measured(replace(cells.GROUNDS[0], dims=DIMS), rows)])
    assert "up to 6 times faster" in text
    assert "DROCULO, theta = 1 is 0.0625 (budget, d = 64) to 0.5 times (budget, d = 8) as fast;" in text
    assert text.endswith(said)


def test_the_page_and_its_figure(tmp_path):
    times = [[10, 20, 40, 80], [30, 30, 30, 30], [5, 11, 23, 47]]
    page = STUDY_PAGES["crossover"](made_up(times), tmp_path / "new", "droculo crossover --out there")
    assert (tmp_path / "new" / "crossover.md").read_text() == page
    assert "`droculo crossover --out there`" in page
    for d, *row in zip(DIMS, *times, strict=True):
        for cell in ((d, *row, row[0] / row[1], row[0] / row[2]), (d, 0.5, 0.5, 0.5, 2.0, 2.0)):
            assert page.count("| " + " | ".join(map(number, cell)) + " |") == 2
    assert "near d = 24" in page
    assert "- At theta = 1/2: DROCULO is faster at every d from 8 to 64 (1.7 to 2 times)." in page
    drawn = (tmp_path / "new" / "crossover.svg").read_text()
    for method in METHODS:
        assert drawn.count(f">{method}<") == 1


@pytest.mark.parametrize(("versions", "warned"), [(("0",), False), (("0", "1"), True)])
def test_timings_of_different_versions_are_not_mixed_in_silence(tmp_path, versions, warned):
    page = STUDY_PAGES["crossover"](made_up([[1, 1, 1, 1]] * 3, versions), tmp_path, "droculo crossover")
    assert ("Not all of this was timed with the same versions" in page) == warned
