"""The page, the figures and the tables of a sweep: the right numbers, in files that need nothing else."""

import csv
import dataclasses
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from tests.report.sweeps import METHODS, small_sweep

from droculo import measure, simulate
from droculo.experiments import Results, parse
from droculo.experiments import sweep as sweep_of
from droculo.experiments.cell import build
from droculo.experiments.rows import POINTS, RUNS, SHARES
from droculo.experiments.store import table
from droculo.report import Figure, write_exports, write_page
from droculo.report.charts import notes, totals
from droculo.report.data import instances
from droculo.report.figure import Panel, Series
from droculo.report.interactive import page_data, render
from droculo.report.summary import MARK, MARKED


@pytest.fixture(scope="module")
def sweep():
    return small_sweep()


def test_the_numbers_are_those_of_the_rows(sweep):
    ring, complete = instances(sweep)
    assert (ring.network, complete.network, ring.horizons, ring.seeds) == ("ring", "complete", [64, 256], [0, 1, 2])
    assert [(c.label, c.horizon) for c in ring.curves] == [(label, T) for _, label, _ in METHODS for T in (64, 256)]
    curve = ring.curves[2]  # the second method at T = 64: seeds have 2 T^(1/2), 4 T^(1/2), 6 T^(1/2)
    band = curve.quantities["certified"]
    assert (band.mean, band.low, band.high) == (
        [4, 16, 4 * 32**0.5, 32],
        [2, 8, 2 * 32**0.5, 16],
        [6, 24, 6 * 32**0.5, 48],
    )
    assert curve.costs["exchanges"] == curve.costs["round"] == [1, 16, 32, 64]
    np.testing.assert_allclose(curve.quantities["share"].mean, 0.8)  # earned 2 a round, the best fixed point 2.5
    np.testing.assert_allclose(curve.quantities["dynamic"].mean, [0.5, 8, 16, 32])  # half of 5 a round, less 2 a round
    np.testing.assert_allclose(curve.quantities["lately"].mean, 0.4)
    assert curve.agents["certified"][-1] == [32 + 8 * agent for agent in range(4)]
    assert curve.name == "droculo, full information, θ = 1"
    assert ring.shown == [METHODS[0][1], METHODS[2][1], METHODS[1][1]]  # nearest 1/2 of each group, then theta = 1
    row = ring.table[2]
    assert (row["certified"], row["certified_low"], row["certified_high"]) == (0.5, 0.25, 0.75)
    assert (row["regret"], row["share"], row["queries"]) == (-0.75, pytest.approx(0.8), 64)


def test_slopes_are_fitted_where_there_are_horizons(sweep):
    slopes = instances(sweep)[0].slopes
    np.testing.assert_allclose([s.slope for s in slopes], 0.5)  # every seed grows like T^(1/2)
    assert [s.promised for s in slopes] == [0.75, None, None]
    one = sweep.results.runs.to_pylist()
    short = replace(sweep, results=Results(table(RUNS, [r for r in one if r["horizon"] == 64]), sweep.results.points))
    assert [s.slope for s in instances(short)[0].slopes] == [None] * 3


def test_a_ring_is_drawn_round(sweep):
    places = np.array(instances(sweep)[0].places)
    assert places.min() >= 0
    assert places.max() <= 1
    np.testing.assert_allclose(np.linalg.norm(places - 0.5, axis=1), 0.5, atol=0.25)
    assert np.ptp(np.linalg.norm(places - places.mean(axis=0), axis=1)) < 1e-3


class Tags(HTMLParser):
    """What a browser sees of a page: tags with their attributes, and the text of scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.within, self.texts = [], ("", None, 0), {}
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.tags.append((tag, found))
        self.within = (tag, found.get("id"), len(self.tags))

    def handle_endtag(self, tag):
        self.within = ("", None, len(self.tags))

    def handle_data(self, text):
        self.texts[self.within] = self.texts.get(self.within, "") + text

    def of(self, tag, name=None):
        return [text for (kind, called, _), text in self.texts.items() if kind == tag and called == name]


TITLE = "Sum </script><script>alert(1)</script> {{data}} <!-- & 5%"


def test_the_page_holds_everything_and_asks_for_nothing(tmp_path):
    sweep = small_sweep(TITLE)
    page = write_page(dataclasses.replace(sweep, command="droculo run mine.toml"), tmp_path / "new")
    assert [file.name for file in page.parent.iterdir()] == ["report.html"]
    text = page.read_text(encoding="utf-8")
    seen = Tags(text)
    for tag, attributes in seen.tags:
        for name in ("src", "href", "srcset", "action"):
            assert re.match(r"#|data:", attributes.get(name) or "#"), (tag, attributes)
    assert not any("url(" in style or "@import" in style for style in seen.of("style"))
    assert sum(tag == "script" for tag, _ in seen.tags) == 4  # the title's is none
    (policy,) = [a["content"] for tag, a in seen.tags if a.get("http-equiv")]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-eval" not in policy
    (title,) = seen.of("title")
    assert title == TITLE
    data = json.loads(seen.of("script", "data")[0])
    assert data["title"] == TITLE
    assert data["command"] == "droculo run mine.toml"
    assert data["instances"] == json.loads(
        json.dumps(page_data(sweep)["instances"]), parse_float=lambda v: float(f"{float(v):.6g}")
    )


def test_what_is_no_number_is_null():
    data = page_data(small_sweep())
    data["instances"][0]["alpha"], data["instances"][0]["mixing_rate"] = float("nan"), float("inf")
    (text,) = Tags(render(data)).of("script", "data")
    instance = json.loads(text, parse_constant=pytest.fail)["instances"][0]
    assert (instance["alpha"], instance["mixing_rate"]) == (None, None)


def test_a_sweep_without_a_finished_run_has_a_page_too(sweep, tmp_path):
    empty = replace(sweep, results=Results(table(RUNS, []), table(POINTS, [])))
    data = page_data(empty)
    assert (data["instances"], data["played_at"]) == ([], None)
    assert write_page(empty, tmp_path).stat().st_size > 1e6


def test_tables_say_what_was_measured(sweep, tmp_path):
    written = write_exports(small_sweep(networks=("ring",)), tmp_path)
    assert all(file.stat().st_size > 0 for file in written)
    names = {file.name for file in written}
    figures = ["regret-rounds", "regret-exchanges", "regret-bytes", "regret-loo-calls", "regret-queries"]
    figures += ["pareto", "growth", "network"]
    assert names == {f"{f}.{kind}" for f in figures for kind in ("svg", "png")} | {"table.md", "table.tex", "table.csv"}
    for file in written:
        start = file.read_bytes()[:64]
        assert file.suffix != ".png" or start.startswith(b"\x89PNG")
        assert file.suffix != ".svg" or b"<?xml" in start
    lines = (tmp_path / "table.md").read_text().splitlines()
    assert len(lines) == 12
    start = "| droculo | full information | 1 | 64 | 0.5 | 0.25 to 0.75 | -0.75 | 0.8 | 0.8 | 64 | 5120 |"
    assert lines[6].startswith(start)
    assert lines[-1].startswith(
        "Without learning: standing still at the start earns 80.0% of the best fixed point (70.0% in"
    )
    with (tmp_path / "table.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["certified"]) for row in rows] == [0.25, 0.125, 0.5, 0.25, 0.75, 0.375]
    assert [row["theta"] for row in rows] == ["0.5", "0.5", "1.0", "1.0", "", ""]
    assert "\\begin{tabular}{llrrrrrrrrrrrr}" in (tmp_path / "table.tex").read_text()


def test_latex_and_markdown_escape_names(sweep):
    instance = instances(sweep)[0]
    odd = replace(instance, table=[instance.table[0] | {"method": r"own:a_b & {50%} | \x", "certified": 1.5e-7}])
    row = totals(odd).latex().splitlines()[4]
    assert row.startswith(
        r"own:a\_b \& \{50\%\} | \textbackslash{}x & full information & 1/2 & 64 & $1.5 \times 10^{-7}$ &"
    )
    assert r"own:a_b & {50%} \| \x" in totals(odd).markdown()


def test_figures_know_two_formats(tmp_path):
    with pytest.raises(ValueError, match=r"written as \.svg or \.png; got 'a\.pdf'"):
        Figure([Panel("", "x", "y", [Series("a", [1, 2], [1, 2])])]).draw(tmp_path / "a.pdf")


def test_a_method_that_does_not_beat_standing_still_is_marked(tmp_path):
    def changed(row):
        if row["algorithm"] == "dobga":
            row = row | {"share_last": 0.7, "warnings": "There were 3 answers larger than declared."}
        return row

    found = small_sweep(networks=("ring",))
    runs = table(RUNS, [changed(row) for row in found.results.runs.to_pylist()])
    (instance,) = instances(replace(found, results=replace(found.results, runs=runs)))
    marked = {row["method"] for row in instance.table if MARK in row["method"]}
    assert marked == {f"dobga {MARK}"}
    assert notes(instance)[1] == MARKED
    assert notes(instance)[2:] == [f"dobga, T = {T}: There were 3 answers larger than declared." for T in (64, 256)]
    (usual,) = instances(found)
    assert [note for note in notes(usual) if MARK in note or "answers" in note] == []


def test_a_sweep_measures_what_costs_nothing(tmp_path):
    spec = parse(
        'problems = { name = "top-b", agents = 3, dim = 5 }\nnetworks = "ring"\nhorizons = 64\nseeds = [0, 1]\n'
        'algorithms = { name = "droculo", feedback = "bandit", theta = 0.5 }\n'
    )
    rows = sweep_of(spec, tmp_path, processes=1).results.runs.to_pylist()
    problem, network, agent = build(spec.cells[0], spec.folder)
    for row, seed in zip(rows, (0, 1), strict=True):
        expected = measure.summary(problem, simulate(problem, agent, network, key=seed))
        for name in SHARES:
            assert row[name] == pytest.approx(getattr(expected, name), rel=1e-9)
        assert row["warnings"] is None
