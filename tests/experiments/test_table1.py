"""Table 1, measured: its rows, two of them end to end, and what the page says of numbers."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from droculo import networks
from droculo.experiments import Results, Sweep, study, sweep
from droculo.experiments.catalogue import ALGORITHMS
from droculo.experiments.cell import build
from droculo.experiments.rows import POINTS, RUNS
from droculo.experiments.store import table
from droculo.experiments.studies import table1
from droculo.feedback import TABLE_1
from droculo.feedback.table import Refusal
from droculo.measure import fit_exponent
from droculo.report import STUDY_PAGES
from droculo.report.summary import RunRows, growth, mean
from droculo.report.table1 import verdict

QUICK, FULL = table1.layout("quick"), table1.layout("full")
EVERY = [*FULL.rows, *FULL.extra_rows]


def test_the_table_has_fourteen_rows_in_the_papers_order():
    assert len(FULL.rows) == 14
    assert [row.method for row in FULL.rows] == ["DMFW", "Mono-DMFW", "DOBGA", "DPOBGA", *["DROCULO"] * 10]
    assert [row.method for row in FULL.extra_rows] == ["DROCULO", "DROCULO", "Dec-BFTRL"]
    assert max(FULL.size.horizons) >= 2**14


def test_every_algorithm_with_a_promise_has_a_row():
    named = {row.cells[0].algorithm.name for row in EVERY}
    assert named == {name for name, entry in ALGORITHMS.items() if entry.promise} | {"droculo"}


def test_the_rows_are_the_papers():
    for row in QUICK.rows + QUICK.extra_rows:
        problem, _, agent = build(row.cells[0], Path())
        if row.method == "DROCULO":
            known = TABLE_1[problem.linearization.case, agent.feedback.kind]
            assert not isinstance(known, Refusal)
            assert (row.regret, row.exchanges, row.loo_calls) == (known.regret_exponent(0.5), 0.5, 1.0)
        else:
            assert (problem.linearization.case, str(agent.feedback.kind)) == ("A2", "full information")


def test_every_run_has_an_adversary_of_its_own():
    for cell in study("table1").cells:
        assert cell.seeds == (dict(cell.problem.options)["seed"],)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """A method of the literature and DROCULO, at the quick size; and the sweep of networks."""
    spec = study("table1", size="quick")
    rows = [row for row in QUICK.rows if row.method == "DOBGA"] + [QUICK.rows[4]]
    chosen = [cell for group in (*rows, *QUICK.networks) for cell in group.cells]
    swept = sweep(replace(spec, cells=tuple(chosen)), tmp_path_factory.mktemp("table1"), processes=1)
    return swept, rows


def test_two_rows_end_to_end(found, tmp_path):
    swept, (dobga, ours) = found
    assert not swept.failures
    rows = RunRows(swept)
    for row in rows.of(dobga.cells):
        assert (row["projections"], row["exchanges"], row["loo_calls"]) == (row["horizon"], row["horizon"], 0)
    for row in rows.of(ours.cells):
        assert row["exchanges"] <= np.ceil(1.5 * row["horizon"] ** 0.5)
    for row in rows.all:
        assert row["regret"] <= row["certified"]
        assert 0 < row["reward"] <= row["best"]
    page = STUDY_PAGES["table1"](swept, tmp_path, "droculo table1")
    for each in (dobga, ours):
        exponent = growth(rows.of(each.cells), "certified")
        assert exponent is not None, "the adversary must keep the certificate positive"
        assert f"| {each.method} ({each.source}) |" in page
        assert f"{exponent.slope:.3f} [" in page
    assert not re.search(r"\bnan\b|\binf\b", page)


def test_the_network_matters_in_its_sweep(found):
    rows = RunRows(found[0])
    ring, complete = (rows.of(each.cells) for each in QUICK.networks)
    gaps = [1 - group[0]["mixing_rate"] for group in (ring, complete)]
    assert gaps == pytest.approx([networks.from_graph(networks.ring(8)).spectral_gap, 1.0])
    assert mean(ring, "consensus_gap_mean") > mean(complete, "consensus_gap_mean")


def made_up():
    """The whole study at the full size, every method growing exactly as its theorem says."""
    rows = []
    groups = [(row, row.regret, row.loo_calls or 0.0) for row in EVERY]
    groups += [(each, 1 - each.theta / 2, 2 * each.theta) for each in FULL.thetas]
    groups += [(each, 0.75, 1.0) for each in FULL.networks]
    seen = set()
    for group, power, calls in groups:
        for cell in (*group.cells, *group.paper):
            T, (seed,) = cell.horizon, cell.seeds
            if cell.asked in seen:
                continue
            seen.add(cell.asked)
            model = dict(cell.algorithm.options).get("feedback", "full-information")
            rows.append({
                "run": str(len(rows)), "seed": seed, "spec": cell.asked, "horizon": T, "feedback": model.replace("-", " "),
                "alpha": 0.5, "mixing_rate": 0.75, "certified": (seed + 1.0) * T**power, "regret": -1.0 * T, "reward": 0.8 * T,
                "best": 1.0 * T, "consensus_gap_mean": 0.1, "loo_calls": 2.0 * T**calls, "not_converged": 0.0,
                "projections": 0.0, "separations": 0.0, "exchanges": T**0.5, "messages": 2 * T**0.5, "bytes": 160 * T**0.5,
                "gradient_queries": 1.0 * T, "value_queries": 0.0, "droculo": "0", "jax": "0", "python": "3",
            })  # fmt: skip
    return Sweep(study("table1", size="full"), Path("x"), Results(table(RUNS, rows), table(POINTS, [])))


def test_the_page_of_a_whole_study(tmp_path):
    page = STUDY_PAGES["table1"](made_up(), tmp_path / "new", "droculo table1 --size full")
    assert (tmp_path / "new" / "table1.md").read_text() == page
    for figure in ("table1", "theta", "topology"):
        assert (tmp_path / "new" / f"{figure}.svg").read_text().lstrip().startswith("<?xml")
    assert "Made by `droculo table1 --size full` (droculo 0, JAX 0, Python 3)." in page
    assert page.count("| consistent with the theorem's |") == len(EVERY) + len(FULL.thetas)
    assert "No row's exponent is above its theorem's." in page
    assert "| 0.75 | 0.625 | 0.625 [0.625, 0.625] |" in page
    assert "| projections |" not in page  # no method made any


T = 2.0 ** np.arange(8, 17, 2)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (T**0.75, "consistent with"),
        (T**0.6, "below"),
        (T**0.9, "**above the theorem's**; not by a transient alone, local slopes stay near 0.900"),
        (
            np.cumprod([1.0, 4**0.95, 4**0.92, 4**0.85, 4**0.76]),
            "**above the theorem's**; likely a transient, the last local slope is 0.760",
        ),
        (
            np.cumprod([1.0, 4**0.95, 4**0.94, 4**0.93, 4**0.92]),
            "**above the theorem's**; likely a transient, local slopes still fall, to 0.920",
        ),
    ],
)
def test_verdicts(values, words):
    assert verdict(fit_exponent(T, values), 0.75).startswith(words)


def test_growth_begins_where_all_seeds_have_calls():
    rows = [
        {"seed": seed, "horizon": T, "loo_calls": 0.0 if T < 64 else float(T)} for seed in (0, 1) for T in (16, 64, 256)
    ]
    assert growth(rows, "loo_calls").slope == pytest.approx(1)
    assert growth(rows[:2], "loo_calls") is None
    assert growth([], "certified") is None
