"""Sweeps: nothing is run twice, nothing is lost, and all engines find the same rows."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from droculo import measure, networks, problems, simulate
from droculo.algorithms import DOBGA
from droculo.experiments import Store, cell, collect, load, parse, sweep, sweeps
from droculo.experiments.rows import FLEETING, POINTS, RUNS, Rows
from droculo.experiments.store import StoreError
from droculo.experiments.sweeps import spec_of

pyarrow = pytest.importorskip("pyarrow", reason="results on disk need pyarrow")

#: methods that compile quickly
SPEC = """
title = "Two projecting methods"
problems = {name = "drifting-top-b", agents = 3, dim = 4, budget = 2}
horizons = [9, 20]
seeds = [4, 2]
points = 6
algorithms = ["dobga", "dec-bftrl"]
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The sweep, uninterrupted, in this process."""
    return sweep(parse(SPEC), tmp_path_factory.mktemp("whole"), processes=1)


def test_one_row_for_each_run_and_each_point(whole):
    runs, points = whole.results.runs, whole.results.points
    assert runs.column_names == list(RUNS)
    assert points.column_names == list(POINTS)
    assert runs.num_rows == 2 * 2 * 2
    rows = runs.to_pylist()
    assert [row["seed"] for row in rows] == [4, 2] * 4
    assert {row["label"] for row in rows} == {"dobga", "dec-bftrl"}
    times = [1, 2, 3, 6, 11, 20]
    assert [p["round"] for p in points.to_pylist() if p["run"] == rows[2]["run"] and p["seed"] == 2] == times


def test_the_numbers_are_those_of_a_run(whole):
    problem = problems.TopB.random(agents=3, dim=4, budget=2, seed=0)
    run = simulate(problem, DOBGA.design(problem.setting, horizon=20), networks.from_graph(networks.ring(3)), key=2)
    (row,) = (r for r in whole.results.runs.to_pylist() if (r["label"], r["horizon"], r["seed"]) == ("dobga", 20, 2))
    last = [p for p in whole.results.points.to_pylist() if p["run"] == row["run"] and p["seed"] == 2]
    lost, certified = measure.regret(problem, run), measure.certificate(problem, run)
    np.testing.assert_allclose(row["regret"], lost.total.mean())
    np.testing.assert_allclose(row["regret_worst"], lost.total.max())
    np.testing.assert_allclose(row["certified"], certified.bound.mean())
    np.testing.assert_allclose(row["reward"], lost.rewards.mean())
    np.testing.assert_allclose(row["consensus_gap"], measure.consensus_gap(run)[-1])
    assert (row["best_kind"], row["exchanges"], row["bytes"], row["projections"]) == ("exact", 20, 20 * 2 * 4 * 8, 20)
    curve = measure.regret(problem, run, at=[p["round"] for p in last]).curve
    np.testing.assert_allclose([p["agent_regret"] for p in last], curve)
    np.testing.assert_allclose([p["regret"] for p in last], curve.mean(axis=1))
    stretches = measure.dynamic(problem, run, windows=[0, 1, 2, 3, 6, 11], at=[p["round"] for p in last])
    moving = [stretches.alpha * p["moving"] - p["reward"] for p in last]
    np.testing.assert_allclose(moving, stretches.curve.mean(axis=1))
    early = measure.certificate(problem, run, at=[p["round"] for p in last])
    np.testing.assert_allclose([p["agent_certified"] for p in last], early.curve)
    assert [p["exchanges"] for p in last] == [p["queries"] for p in last] == [p["round"] for p in last]
    for name in ("projections", "bytes", "loo_calls"):
        assert last[-1][name] == row[name], name


def test_provenance(whole):
    row = whole.results.runs.to_pylist()[0]
    assert json.loads(row["spec"])["problem"] == {"name": "drifting-top-b", "agents": 3, "dim": 4, "budget": 2}
    assert all(
        row[name]
        for name in ("droculo", "results_version", "jax", "numpy", "python", "platform", "device", "played_at")
    )
    field = pyarrow.parquet.read_schema(next((whole.out / "runs").glob("*.parquet"))).field("certified")
    assert b"upper bound" in field.metadata[b"about"]


def test_files_are_read_without_droculo(whole):
    pandas = pytest.importorskip("pandas")
    frame = pandas.concat(pandas.read_parquet(file) for file in sorted((whole.out / "points").glob("*.parquet")))
    assert len(frame) == whole.results.points.num_rows
    assert list(whole.results.frame().columns) == list(RUNS)
    assert len(whole.results.frame("points")) == len(frame)
    with pytest.raises(ValueError, match="results have 'runs' and 'points'; got 'run'"):
        whole.results.frame("run")


@pytest.mark.parametrize("tool", ["polars", "duckdb"])
def test_other_tools_read_them_too(whole, tool):
    reader = pytest.importorskip(tool)
    files = str(whole.out / "points" / "*.parquet")
    if tool == "polars":
        found = reader.read_parquet(files)["certified"].sum()
    else:
        found = reader.sql(f"select sum(certified) from '{files}'").fetchall()[0][0]
    np.testing.assert_allclose(found, sum(p["certified"] for p in whole.results.points.to_pylist()))


def test_one_line_plots(whole):
    pytest.importorskip("matplotlib").use("Agg")
    ax = whole.results.plot()
    assert {line.get_label() for line in ax.lines} == {"dobga", "dec-bftrl"}
    assert ax.get_ylabel() == "certified a round"


def test_nothing_is_played_twice(whole, monkeypatch):
    files = {file: file.stat().st_mtime_ns for file in whole.out.glob("*/*.parquet")}
    monkeypatch.setattr(sweeps, "run_cell", lambda *_: pytest.fail("was played before"))
    again = sweep(parse(SPEC), whole.out, processes=1)
    assert again.results.runs.equals(whole.results.runs)
    assert {file: file.stat().st_mtime_ns for file in whole.out.glob("*/*.parquet")} == files
    assert spec_of(whole.out).cells == whole.spec.cells
    assert collect(whole.out).results.points.equals(whole.results.points)


def test_a_cell_that_fails_does_not_stop_the_others(whole, monkeypatch, tmp_path):
    def run_cell(cell, folder):
        if cell.label == "dobga":
            raise FloatingPointError("not a number\nin round 3")
        (task,) = (t for t in whole.spec.cells if t == cell)
        key = task.key(folder)
        rows = [r for r in whole.results.runs.to_pylist() if r["run"] == key]
        return Rows(rows, [])

    monkeypatch.setattr(sweeps, "run_cell", run_cell)
    seen = []
    found = sweep(parse(SPEC), tmp_path, processes=1, progress=lambda *state: seen.append(state))
    assert [(cell.label, why) for cell, why in found.failures] == [("dobga", "FloatingPointError: not a number")] * 2
    assert found.results.runs.num_rows == 4
    assert seen[0] == (0, 4, "")
    assert seen[-1][:2] == (4, 4)
    left = collect(tmp_path)
    assert [cell.label for cell in left.missing] == ["dobga", "dobga"]
    assert "in round 3" in next((tmp_path / "errors").iterdir()).read_text()


def test_half_a_file_is_no_result(whole, tmp_path):
    (key,) = {row["run"] for row in whole.results.runs.to_pylist()[:2]}
    content = (whole.out / "runs" / f"{key}.parquet").read_bytes()
    store = Store(tmp_path)
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / f".{key}.123.part").write_bytes(content[:100])
    assert not store.finished(key)
    store.tidy()
    assert not list((tmp_path / "runs").iterdir())
    (tmp_path / "runs" / f"{key}.parquet").write_bytes(content[:-40])
    with pytest.raises(StoreError, match="is damaged or not a file of results"):
        store.read("runs", [key])
    with pytest.raises(StoreError, match="is missing: droculo resume"):
        store.read("points", [key])
    assert not store.finished(key), "a cell needs both of its files, else resuming would not repair it"


def test_a_file_that_another_process_is_writing_stays(tmp_path):
    (tmp_path / "runs").mkdir()
    mine, others = (tmp_path / "runs" / f".key.{pid}.part" for pid in (os.getppid(), 2**22 + 1))
    mine.write_bytes(b"")
    others.write_bytes(b"")
    Store(tmp_path).tidy()
    assert [file.name for file in (tmp_path / "runs").iterdir()] == [mine.name]


def test_what_other_code_has_made_is_shown_and_said(whole, tmp_path, monkeypatch):
    shutil.copytree(whole.out, tmp_path / "copy")
    monkeypatch.setattr(cell, "RESULTS_VERSION", 0)
    found = collect(tmp_path / "copy")
    assert (found.aged, found.missing) == (4, ())
    assert found.results.runs.equals(whole.results.runs)


def test_the_two_gathered_files_are_enough_to_be_shown(whole, tmp_path):
    for name in ("spec.toml", "sweep.json", "runs.parquet", "points.parquet"):
        shutil.copy(whole.out / name, tmp_path)
    found = collect(tmp_path)
    assert (found.aged, found.missing) == (0, ())
    assert found.results.runs.equals(whole.results.runs)
    assert found.results.points.equals(whole.results.points)


def test_columns_that_an_older_file_lacks_are_null(whole, tmp_path):
    shutil.copytree(whole.out, tmp_path / "copy")
    for file in (tmp_path / "copy" / "runs").glob("*.parquet"):
        pyarrow.parquet.write_table(pyarrow.parquet.read_table(file).drop_columns(["timings"]), file)
    found = collect(tmp_path / "copy").results.runs
    assert found.equals(whole.results.runs)
    assert found["timings"].null_count == len(found)


def test_files_with_columns_of_before_are_read(whole, tmp_path):
    shutil.copytree(whole.out, tmp_path / "copy")
    for file in (tmp_path / "copy" / "runs").glob("*.parquet"):
        kept = pyarrow.parquet.read_table(file).drop_columns(["blocks"])
        pyarrow.parquet.write_table(kept.append_column("slot", pyarrow.nulls(len(kept), pyarrow.int64())), file)
    found = collect(tmp_path / "copy").results.runs
    assert found.column_names == list(RUNS)
    assert found["blocks"].null_count == len(found)
    assert found.drop_columns(["blocks"]).equals(whole.results.runs.drop_columns(["blocks"]))


def test_the_gathered_files_are_those_of_the_spec(whole, tmp_path):
    shutil.copytree(whole.out, tmp_path / "copy")
    first = parse(SPEC.replace("[9, 20]", "9"))
    found = sweep(first, tmp_path / "copy", processes=1, command="droculo run it.toml")
    assert len(list((tmp_path / "copy" / "runs").iterdir())) == 4
    kept = pyarrow.parquet.read_table(tmp_path / "copy" / "runs.parquet")
    assert kept.num_rows == found.results.runs.num_rows == 4
    again = collect(tmp_path / "copy")
    assert (again.spec.title, again.command) == ("Two projecting methods", "droculo run it.toml")


def test_a_worker_with_other_code_refuses(whole):
    done = sweeps._work(sweeps._Task(whole.spec.cells[0], whole.spec.folder, "another key"))
    assert done.rows is None
    assert "this worker has other code" in done.error


def test_a_folder_without_results(tmp_path):
    with pytest.raises(StoreError, match="is not a folder of results"):
        collect(tmp_path)
    (tmp_path / "spec.toml").write_text(SPEC)
    (tmp_path / "sweep.json").write_text('{"title": "", "modules": "."}')
    with pytest.raises(StoreError, match="has no finished run of its spec yet"):
        collect(tmp_path)


def same(one, other):
    """The rows, without the clock's."""
    return all(a.equals(b) for a, b in zip(one.results.lasting(), other.results.lasting(), strict=True))


def test_the_comparison_can_fail(whole, tmp_path):
    assert not set(FLEETING) & set(whole.results.lasting()[0].column_names)
    other = sweep(parse(SPEC.replace("[4, 2]", "[4, 3]").replace("[9, 20]", "9")), tmp_path, processes=1)
    assert not same(whole, other)


@pytest.mark.parametrize("engine", ["local", "ray"])
def test_every_engine_finds_the_same(whole, engine, tmp_path):
    """Two processes, or a Ray cluster of this machine: the same rows to the last bit."""
    if engine == "ray":
        pytest.importorskip("ray", reason="the engine ray needs ray")
    found = sweep(parse(SPEC), tmp_path, processes=2, engine=engine)
    assert not found.failures
    assert same(whole, found)


#: for a longer test: DROCULO_KILLS=20 pytest tests/experiments/test_sweep.py -k killed
KILLS = int(os.environ.get("DROCULO_KILLS", "2"))


def test_a_sweep_that_is_killed_goes_on(whole, tmp_path):
    """SIGKILL at random moments, then again the same command: exactly the rows of an uninterrupted sweep."""
    spec, out = tmp_path / "spec.toml", tmp_path / "out"
    spec.write_text(SPEC)
    draw = random.Random(0)
    program = (
        "import sys, pathlib\nfrom droculo.experiments import load, sweep\n"
        "if __name__ == '__main__':\n    sweep(load(pathlib.Path(sys.argv[1])), pathlib.Path(sys.argv[2]), processes=2)\n"
    )
    (tmp_path / "go.py").write_text(program)
    begin, killed, finished, longest = [sys.executable, str(tmp_path / "go.py"), str(spec), str(out)], 0, [], 6.0
    while killed < KILLS:
        process = subprocess.Popen(begin)
        began = time.monotonic()
        try:
            process.wait(timeout=draw.uniform(0.5, longest))
            longest = max(2.0, 0.8 * (time.monotonic() - began))  # it came to its end: kill earlier
            for file in out.rglob("*.parquet"):
                file.unlink()
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            killed += 1
        finished.append(len(list((out / "runs").glob("*.parquet"))) if (out / "runs").exists() else 0)
    last = sweep(load(spec), out, processes=1)
    assert same(whole, last), finished
    assert not list(Path(out).rglob(".*.part"))
    print("finished cells after each start:", finished)
