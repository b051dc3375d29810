"""Projection against linear oracle: what is measured, that it is kept, and a verdict that follows from the numbers."""

import dataclasses
import json

import numpy as np
import pytest

from droculo.experiments import race
from droculo.experiments.crossover import GROUNDS, METHODS, QUICK_GROUNDS, Pace, Race
from droculo.report import number, who_wins, write_crossover
from droculo.report.crossover import claim

DIMS = (8, 16, 32, 64)
SMALL = {ground.name: dataclasses.replace(ground, dims=(4,), horizon=16) for ground in GROUNDS}


@pytest.fixture(scope="module")
def raced(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept")
    return folder, race(SMALL["budget"], turns=2, folder=folder)


def made_up(times, name="budget", source="a"):
    """A race with the given microseconds of DOBGA, theta = 1 and theta = 1/2 for each of DIMS."""
    ground = dataclasses.replace(SMALL[name], dims=DIMS)
    paces = [
        Pace(method, d, t, 0.5, 2.0, 1.0, [t])
        for method, row in zip(METHODS, times, strict=True)
        for d, t in zip(DIMS, row, strict=True)
    ]
    return Race(ground, 0.01, paces, frozenset([source]))


def test_every_method_runs_in_every_dimension(raced):
    _, found = raced
    assert [(p.method, p.dim) for p in found.paces] == [(name, 4) for name in METHODS]
    for pace in found.paces:
        assert len(pace.seconds) == 2
        assert pace.microseconds == pytest.approx(np.median(pace.seconds) / 8 / 16 * 1e6)
        assert max(pace.seconds) < 1  # compiled before
        assert pace.certified > 0
    dobga, whole, half = found.paces
    assert (dobga.projections, dobga.loo_calls) == (1, 0)
    assert whole.projections == half.projections == 0
    assert whole.loo_calls > half.loo_calls > 0


def test_what_was_measured_is_not_measured_again(raced):
    folder, found = raced
    again = race(SMALL["budget"], turns=2, folder=folder)
    assert [p.seconds for p in again.paces] == [list(p.seconds) for p in found.paces]
    assert again.start == found.start
    assert again.sources == found.sources
    assert len(found.sources) == 1


def test_what_was_measured_otherwise_is_not_taken(raced, tmp_path, monkeypatch):
    folder, found = raced
    file = tmp_path / "budget-4.json"
    kept = json.loads((folder / "budget-4.json").read_text())
    kept["identity"]["droculo"] = "0.0.0"
    file.write_text(json.dumps(kept))
    monkeypatch.setattr("droculo.experiments.crossover._in_turns", lambda *_: [dataclasses.asdict(p) for p in new])
    monkeypatch.setattr("droculo.experiments.crossover._start", lambda *_: 0.5)
    new = [dataclasses.replace(p, microseconds=1.0) for p in found.paces]
    measured = race(SMALL["budget"], turns=2, folder=tmp_path)
    assert [p.microseconds for p in measured.paces] == [1.0, 1.0, 1.0]
    assert measured.start == 0.5
    assert json.loads(file.read_text())["identity"]["droculo"] != "0.0.0"


def test_the_grounds_are_a_budget_and_a_polytope():
    budget, polytope = (ground.problem(8) for ground in GROUNDS)
    assert type(budget.set).__name__ == "PartitionMatroid"
    assert type(polytope.set).__name__ == "Polytope"
    assert polytope.set.A.shape == (4, 8)
    assert [ground.dims for ground in QUICK_GROUNDS] == [(8, 16), (8, 16)]


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


@pytest.mark.parametrize(
    ("half", "said"),
    [
        ([2, 2, 2, 2], "So it was nowhere faster."),
        ([1, 1, 1, 0.25], "So it is faster in places, and 6 times was not seen."),
        ([1, 1, 1, 0.1], "So 6 times is reached."),
    ],
)
def test_the_claim_is_held_against_the_numbers(half, said):
    text = claim([made_up([[1, 1, 1, 1], [2, 4, 8, 16], half])])
    assert "up to 6 times faster" in text
    assert "DROCULO, theta = 1 is 0.0625 (budget, d = 64) to 0.5 times (budget, d = 8) as fast;" in text
    assert text.endswith(said)


def test_the_page_and_its_figure(tmp_path):
    times = [[10, 20, 40, 80], [30, 30, 30, 30], [5, 11, 23, 47]]
    races = [made_up(times), made_up(times, "polytope")]
    page = write_crossover(races, tmp_path / "new", "droculo crossover --out there")
    assert (tmp_path / "new" / "crossover.md").read_text() == page
    assert "`droculo crossover --out there`" in page
    for d, *row in zip(DIMS, *times, strict=True):
        for cells in ((d, *row, row[0] / row[1], row[0] / row[2]), (d, 0.5, 0.5, 0.5, 2.0, 2.0)):
            assert page.count("| " + " | ".join(map(number, cells)) + " |") == 2
    assert "near d = 24" in page
    assert "- At theta = 1/2: DROCULO is faster at every d from 8 to 64 (1.7 to 2 times)." in page
    drawn = (tmp_path / "new" / "crossover.svg").read_text()
    for method in METHODS:
        assert drawn.count(f">{method}<") == 1


def test_timings_of_different_code_are_not_mixed_in_silence(tmp_path):
    times = [[1, 1, 1, 1]] * 3
    for sources, warned in ((("a", "a"), False), (("a", "b"), True)):
        races = [made_up(times, name, source) for name, source in zip(("budget", "polytope"), sources, strict=True)]
        page = write_crossover(races, tmp_path, "droculo crossover")
        assert ("Not all of this was timed with the same code" in page) == warned


def test_the_polytope_is_projected_onto_and_asked():
    found = race(SMALL["polytope"], turns=1)
    assert found.of("DOBGA", "projections") == [1]
    assert found.of("DROCULO, theta = 1", "projections") == [0]
    assert all(pace.certified > 0 for pace in found.paces)
