"""The theorems against runs: every pair of Table 1 is there, bounds are those of `measure.guarantee`, and a run above one is said."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from droculo import algorithms, measure, problems
from droculo.experiments import Results, study, sweep
from droculo.experiments.catalogue import FEEDBACKS
from droculo.experiments.cell import build
from droculo.experiments.studies import theory
from droculo.feedback import FeedbackKind
from droculo.feedback.table import TABLE_1, Row
from droculo.problems import Planted
from droculo.report import STUDY_PAGES

QUICK, FULL = theory.layout("quick"), theory.layout("full")


def test_every_pair_of_table_1_is_checked_on_every_planted_problem():
    asked = {
        (case, kind)
        for (case, kind), entry in TABLE_1.items()
        if isinstance(entry, Row) and case != "A4" and kind is not FeedbackKind.TWO_POINT
    }
    asked -= {
        (case, kind)
        for case in ("A1", "concave")
        for kind in (FeedbackKind.FULL_INFORMATION, FeedbackKind.ZEROTH_ORDER)
    }
    assert {(check.case, FEEDBACKS[check.feedback]().kind) for check in FULL.checks} == asked
    kinds = set()
    for check in QUICK.checks:
        problem, _, agent = build(check.cells[0], Path())
        assert isinstance(problem, Planted)
        assert (problem.linearization.case, str(agent.feedback.kind)) == (
            check.case,
            str(FEEDBACKS[check.feedback]().kind),
        )
        kinds.add(type(problem))
    planted = {getattr(problems, name) for name in problems.__all__ if _is_planted(getattr(problems, name))}
    assert kinds == planted - {problems.Spike}  # the page was measured before there was a Spike
    assert FULL.size.horizons == (2**8, 2**10, 2**12, 2**14)


def _is_planted(member):
    return isinstance(member, type) and issubclass(member, Planted) and hasattr(member, "random")


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """One problem for each class of functions, with gradients and with values."""
    spec = study("theory", size="quick")
    asked = {("A1", "top-b", "semi-bandit"), ("A2", "top-b", "bandit"), ("A3", "cut", "semi-bandit")}
    chosen = [check for check in QUICK.checks if (check.case, check.problem, check.feedback) in asked]
    cells = [cell for check in chosen for cell in check.cells]
    return sweep(
        replace(spec, cells=tuple(dict.fromkeys(cells))), tmp_path_factory.mktemp("theory"), processes=1
    ), chosen


def test_published_runs_stay_below_their_bounds(found, tmp_path):
    swept, chosen = found
    assert not swept.failures
    page = STUDY_PAGES["theory"](swept, tmp_path, "droculo theory")
    assert "It is below in all of them." in page
    assert len(chosen) == 3
    for check in chosen:
        problem, network, agent = build(check.cells[-1], Path())
        T = check.cells[-1].horizon
        assert agent == algorithms.published(problem.setting, FEEDBACKS[check.feedback](), horizon=T, theta=0.5)
        bound = measure.guarantee(
            problem.setting, FEEDBACKS[check.feedback](), horizon=T, theta=0.5, network=network
        ).regret
        rows = [row for row in swept.results.runs.to_pylist() if row["spec"] == check.cells[-1].asked]
        assert rows
        for row in rows:
            assert row["regret_worst"] <= row["certified_worst"] <= bound
        line = next(
            line
            for line in page.splitlines()
            if line.startswith(f"| {check.case} | {check.feedback} | {check.problem} | {T} ")
        )
        assert float(line.split("|")[7]) == pytest.approx(bound, rel=0.01)


def test_a_run_above_its_bound_is_said(found, tmp_path):
    swept, chosen = found
    rows = swept.results.runs.to_pylist()
    for row in rows:
        row["regret_worst"] = 1e12 if row["spec"] == chosen[0].cells[0].asked else row["regret_worst"]
    runs = type(swept.results.runs).from_pylist(rows, schema=swept.results.runs.schema)
    page = STUDY_PAGES["theory"](
        replace(swept, results=Results(runs, swept.results.points)), tmp_path, "droculo theory"
    )
    assert re.search(r"\*\*It is above in 1: DROCULO as published, semi-bandit, .* at T = 64\.\*\*", page)


def test_a_bound_grows_with_the_theorems_exponent():
    first = FULL.checks[0]
    assert first.slope(32, 64) == pytest.approx(0.75, abs=0.01)


def test_a_bound_says_something_only_from_astronomic_horizons_on():
    """And just before that horizon it does not."""
    first = FULL.checks[0]
    k = first.says_something_from
    assert 20 < k < 100
    assert first.bound(2**k).regret < first.idle * 2**k
    assert first.bound(2 ** (k - 4)).regret > first.idle * 2 ** (k - 4)
