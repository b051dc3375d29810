"""Facts that stand in one place: a cost in `OracleCalls`, a method in the catalogue. All lists follow from these."""

from dataclasses import fields

from droculo.algorithms import DOBGA
from droculo.algorithms.contract import OracleCalls
from droculo.cli import main
from droculo.engine.breaches import BREACHES
from droculo.engine.costs import COSTS, COUNTED, LABELS
from droculo.experiments import ALGORITHMS, parse, study
from droculo.experiments.catalogue import Entry, Promise, title
from droculo.experiments.rows import POINTS, RUNS
from droculo.experiments.studies import table1
from droculo.report import data


def test_every_cost_of_an_update_is_stored_and_shown():
    for name in (field.name for field in fields(OracleCalls)):
        assert name in COUNTED
        assert LABELS[name] == data.COSTS[name] == data.COLUMNS[name]
        assert POINTS[name][0] == RUNS[name][0] == "float64"
    assert set(COSTS) <= set(RUNS)
    assert set(COSTS) - set(BREACHES) - {"gradient_queries", "value_queries"} <= set(data.COSTS) - {"queries"}
    assert set(LABELS) == set(COSTS)


def slow(setting, network, horizon, *, step=None):
    return DOBGA.design(setting, horizon=horizon)


def test_a_new_method_of_the_catalogue_is_everywhere(monkeypatch, capsys):
    promise = Promise("Author 2030", 0.5, 1.0, None, in_table_1=False)
    entry = Entry("a slow method", slow, "Slow", promise, lambda horizon: ({"step": 1.0}, {"step": 2.0}))
    monkeypatch.setitem(ALGORITHMS, "slow", entry)
    assert parse('problems = "top-b"\nhorizons = 16\nalgorithms = "slow"').cells[0].algorithm.name == "slow"
    compared = [title(cell.described()["algorithm"]) for cell in study("compare", horizon=16).cells]
    assert compared[-2:] == ["Slow, step = 1.0", "Slow, step = 2.0"]
    row = table1.layout("quick").extra_rows[-1]
    assert (row.method, row.source, row.regret, row.loo_calls) == ("Slow", "Author 2030", 0.5, None)
    assert main(["list", "algorithms"]) == 0
    assert "a slow method" in capsys.readouterr().out
