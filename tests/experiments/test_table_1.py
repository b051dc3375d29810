"""Table 1, measured: the quick size end to end, and what the page says of numbers."""

import json
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from droculo import networks
from droculo.experiments import EXTRA_ROWS, FULL, QUICK, ROWS, Reading, Shelf, measure_table_1
from droculo.feedback import TABLE_1, Refusal
from droculo.measure import fit_exponent
from droculo.report import verdict, write_table_1


def reading(**given):
    return Reading(**(dict.fromkeys(Reading.__dataclass_fields__, 1.0) | {"horizon": 4, "seed": 0} | given))


#: all rivals, and DROCULO with gradients and with values; the others are these with parts exchanged
SOME = tuple(row for row in ROWS if row.method != "DROCULO" or (row.functions, row.domain, row.model) in {
    ("monotone", "0 in K", "full information"), ("monotone", "0 in K", "bandit"),
})  # fmt: skip


def test_the_table_has_fourteen_rows():
    assert len(ROWS) == 14
    assert len(SOME) == 6


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    out = tmp_path_factory.mktemp("table1")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules["droculo.experiments.table_1"], "ROWS", SOME)
        result = measure_table_1(QUICK, out)
    return result, write_table_1(result, out, "droculo table1"), out


def test_the_quick_size_end_to_end(found):
    result, page, out = found
    assert (out / "table1.md").read_text() == page
    for figure in ("table1", "theta", "topology"):
        assert (out / f"{figure}.svg").read_text().lstrip().startswith("<?xml")
    assert [measured.row for measured in result.rows] == list(SOME)
    for measured in (*result.rows, *result.beyond):
        assert f"| {measured.row.method} ({measured.row.source}) |" in page
        exponent = measured.exponent("certified")
        assert exponent is not None, "the adversary must keep the certificate positive"
        assert f"{exponent.slope:.3f} [" in page
    assert not re.search(r"\bnan\b|\binf\b", page)


def test_costs_are_those_of_the_table(found):
    result, _, _ = found
    by_method = {m.row.method: m for m in result.rows if m.row.method != "DROCULO"}
    for r in by_method["DMFW"].readings:
        assert r.exchanges == 2 * r.horizon * round(r.horizon**1.5)
        assert r.loo_calls == r.exchanges / 2
    for r in by_method["Mono-DMFW"].readings:
        assert r.exchanges == 2 * r.loo_calls
        assert r.queries == r.horizon
    for r in by_method["DOBGA"].readings:
        assert (r.projections, r.exchanges, r.loo_calls) == (r.horizon, r.horizon, 0)
    for r in by_method["DPOBGA"].readings:
        assert r.exchanges == r.horizon**0.5
        assert r.loo_calls > r.exchanges
    for m in result.rows:
        if m.row.method == "DROCULO":
            assert all(r.exchanges <= np.ceil(1.5 * r.horizon**0.5) for r in m.readings)


def test_nothing_is_run_twice(found, monkeypatch):
    result, page, out = found
    monkeypatch.setattr("droculo.experiments.table_1.ROWS", SOME)
    monkeypatch.setattr("droculo.experiments.table_1.read", lambda *_: pytest.fail("it was measured already"))
    again = measure_table_1(QUICK, out)
    with pytest.raises(ValueError, match="at least one process"):
        measure_table_1(QUICK, out, processes=0)
    assert [m.readings for m in again.rows] == [m.readings for m in result.rows]
    assert write_table_1(again, out, "droculo table1") == page


def test_alpha_regret_is_below_the_certificate(found):
    result, _, _ = found
    for measured in (*result.rows, *result.beyond):
        assert all(r.regret <= r.certified for r in measured.readings)
        assert all(0 < r.ratio <= 1 for r in measured.readings)


def test_the_rows_are_the_papers():
    ours = [row for row in ROWS if row.method == "DROCULO"]
    for row in (*ours, *EXTRA_ROWS):
        problem = row.problem(QUICK, 0)
        known = TABLE_1[problem.linearization.case, row.model]
        assert not isinstance(known, Refusal)
        assert (row.regret, row.exchanges, row.loo_calls) == (known.regret_exponent(0.5), 0.5, 1.0)
    assert [row.method for row in ROWS[:4]] == ["DMFW", "Mono-DMFW", "DOBGA", "DPOBGA"]
    assert len({row.slug for row in (*ROWS, *EXTRA_ROWS)}) == len(ROWS) + len(EXTRA_ROWS)
    assert max(FULL.horizons) >= 2**14


def test_a_reading_of_another_size_is_not_taken(tmp_path):
    shelf = Shelf(tmp_path)
    shelf.recall("x", {"seeds": 1}, lambda: [reading(regret=7.0)])
    assert shelf.recall("x", {"seeds": 1}, lambda: pytest.fail("kept"))[0].regret == 7.0
    assert shelf.recall("x", {"seeds": 2}, lambda: [reading(regret=8.0)])[0].regret == 8.0
    assert json.loads((tmp_path / "x.json").read_text())["identity"]["seeds"] == 2


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


def test_the_network_matters_in_its_sweep(found):
    result, _, _ = found
    ring, complete = result.topologies
    assert ring.place < complete.place == pytest.approx(1.0)
    assert networks.from_graph(networks.ring(8)).spectral_gap == pytest.approx(ring.place)
    assert np.mean([r.consensus for r in ring.readings]) > np.mean([r.consensus for r in complete.readings])


def test_the_published_page_is_what_its_readings_say(tmp_path, monkeypatch):
    """docs/results/table1.md, made again from the readings beside it."""
    monkeypatch.setattr(
        "droculo.experiments.table_1.read", lambda *_: pytest.fail("its readings are of another version")
    )
    results = Path(__file__).parent.parent.parent / "docs" / "results"
    shutil.copytree(results / "table1-full", tmp_path / "table1-full")
    command = "droculo table1 --size full --out docs/results"
    page = write_table_1(measure_table_1(FULL, tmp_path), tmp_path, command)
    assert page == (results / "table1.md").read_text()
