"""The command line: what it calls, what it refuses in one line, and how it ends."""

import sys
from pathlib import Path

import pytest

from droculo import cli, experiments, measure, report
from droculo.experiments import Results, Sweep, parse, rows, store, sweeps


def run(*arguments):
    """The exit code, however it ends."""
    try:
        return cli.main(arguments)
    except SystemExit as end:
        return end.code


@pytest.fixture
def called(monkeypatch):
    """Sweeps and pages of studies replaced by notes of how they were called."""
    calls = []

    def run(name):
        def stand_in(spec, out, **options):
            calls.append((name, spec, out, options))
            return Sweep(spec, out, NOTHING, command=options["command"])

        return stand_in

    for name in ("sweep", "sweep_in_turns"):
        monkeypatch.setattr(experiments, name, run(name))
    for name in report.STUDY_PAGES:
        write = lambda sweep, out, command, name=name: calls.append((name, out, command)) or "the page"  # noqa: E731
        monkeypatch.setitem(report.STUDY_PAGES, name, write)
    return calls


NOTHING = Results(store.table(rows.RUNS, []), store.table(rows.POINTS, []))
COMMANDS = (
    "run", "resume", "report", "show", "new", "list", "plan", "doctor", "launch", "agent", "gather", "table1", "compare",
    "crossover",
)  # fmt: skip


def test_help_lists_the_commands(capsys):
    assert run("--help") == 0
    shown = capsys.readouterr().out
    for command in COMMANDS:
        (line,) = (line for line in shown.splitlines() if line.startswith(f"  {command} "))
        assert "..." not in line, "one line says it all"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command, capsys):
    assert run(command, "--help") == 0
    assert f"droculo {command}" in capsys.readouterr().out


def test_compare(called, tmp_path, capsys):
    arguments = [
        "compare", "--problem", "cut", "--agents", "6", "--dim", "7", "--horizon", "64", "--seeds", "2", "--network", "grid",
        "--out", str(tmp_path / "a folder"),
    ]  # fmt: skip
    assert run(*arguments) == 0
    (_, spec, data, _), (name, out, command) = called
    cell = spec.cells[0]
    assert (cell.problem.name, dict(cell.problem.options)) == ("cut", {"agents": 6, "dim": 7, "seed": 0})
    assert (cell.network.name, cell.horizon, cell.seeds, cell.timed) == ("grid", 64, (0, 1), True)
    assert (name, out, data) == ("compare", tmp_path / "a folder", tmp_path / "a folder" / "data" / "compare")
    assert (
        command
        == f"droculo compare --problem cut --agents 6 --dim 7 --horizon 64 --seeds 2 --network grid --out '{out}'"
    )
    assert capsys.readouterr().out == "the page\n"


def test_what_compare_runs_by_default(called, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("compare") == 0
    (_, spec, _, _), (_, out, command) = called
    cell = spec.cells[0]
    assert (cell.problem.name, dict(cell.problem.options)) == ("top-b", {"agents": 8, "dim": 10, "seed": 0})
    assert (cell.network.name, cell.horizon, cell.seeds) == ("ring", 4096, (0, 1, 2))
    assert (str(out), command) == ("results", "droculo compare")


@pytest.mark.parametrize("quick", [True, False])
def test_crossover(called, tmp_path, quick):
    assert run("crossover", *["--quick"] * quick, "--out", str(tmp_path)) == 0
    (how, spec, _, options), (name, out, command) = called
    assert (how, name, out) == ("sweep_in_turns", "crossover", tmp_path)
    assert options.get("turns") == (1 if quick else None)
    assert {cell.horizon for cell in spec.cells} == ({64, 1} if quick else {1024, 256, 1})
    assert command.startswith("droculo crossover --")


def test_resume_and_report_know_a_study(called, tmp_path, monkeypatch, capsys):
    spec = experiments.study("crossover", quick=True)
    monkeypatch.setattr(sweeps, "spec_of", lambda out: spec)
    monkeypatch.setattr(
        experiments, "collect", lambda out: Sweep(spec, out, NOTHING, command="droculo crossover --quick")
    )
    assert run("resume", str(tmp_path)) == 0
    (how, _, data, options), (name, out, _) = called
    assert (how, data, options["turns"], name, out) == ("sweep_in_turns", tmp_path, 1, "crossover", tmp_path)
    called.clear()
    assert run("report", str(tmp_path), "--out", str(tmp_path / "pages")) == 0
    assert called == [("crossover", tmp_path / "pages", "droculo crossover --quick")]
    assert capsys.readouterr().out == "the page\n" * 2


def test_table1(called, tmp_path):
    assert run("table1", "--out", str(tmp_path), "--processes", "2") == 0
    (how, spec, data, options), (name, out, _) = called
    assert (how, name, out, data) == ("sweep", "table1", tmp_path, tmp_path / "data" / "table1-quick")
    assert (spec.study, options["processes"]) == ({"study": "table1", "size": "quick"}, 2)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Missing command"),
        (["tabel1"], "No such command 'tabel1'. Did you mean 'table1'?"),
        (["compare", "--problem", "knapsack"], "there is no problem called 'knapsack'; there are top-b"),
        (["compare", "--network", "torus"], "there is no network called 'torus'; there are ring"),
        (["compare", "--agents", "0"], "Invalid value for '--agents'"),
        (["compare", "--dim", "2.5"], "got '2.5'"),
        (["compare", "--horizon", "-4"], "got '-4'"),
        (["compare", "--seeds", "many"], "got 'many'"),
        (["compare", "--network", "grid", "--agents", "7"], "7 agents make no grid"),
        (["compare", "--problem", "coverage", "--dim", "60"], "60 choose 20"),
        (["crossover", "--fast"], "No such option: --fast"),
        (["table1", "--size", "huge"], "'huge' is not one of 'quick', 'full'"),
        (["run", "none.toml"], "there is no spec none.toml. Write one with: droculo new none.toml"),
        (["run", "--engine", "spark"], "--engine is one of local, ray; got 'spark'"),
        (["run", "--processes", "0"], "Invalid value for '--processes'"),
        (["resume", "nowhere"], "nowhere is not a folder of results"),
        (["report", "nowhere"], "nowhere is not a folder of results"),
        (["show", "none.toml"], "there is no spec none.toml"),
        (["list", "rivals"], "'rivals' is not one of 'sets', 'problems'"),
        (["plan", "--feedback", "bandits"], "there is no feedback called 'bandits'; did you mean 'bandit'?"),
        (["plan", "--problem", "topb"], "there is no problem called 'topb'; did you mean 'top-b'?"),
        (["plan", "--horizon", "100", "--feedback", "bandit", "--queries", "2"], "no theta fits 100 rounds"),
    ],
)
def test_bad_arguments_are_one_line_and_exit_code_2(called, tmp_path, monkeypatch, capsys, arguments, said):
    monkeypatch.chdir(tmp_path)
    assert run(*arguments) == 2
    line = capsys.readouterr().err
    assert said in line
    assert line.startswith("droculo")
    assert line.count("\n") == 1
    assert called == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["compare", "crossover", "table1"])
def test_a_folder_that_cannot_be_is_said_before_anything_runs(tmp_path, capsys, monkeypatch, command):
    monkeypatch.setattr(sweeps, "run_cell", lambda *_: pytest.fail("it ran"))
    (tmp_path / "file").write_text("")
    assert run(command, "--out", str(tmp_path / "file")) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("droculo: ")


@pytest.mark.parametrize(("command", "said"), [("compare", "what was finished is kept"), ("plan", "nothing is kept")])
def test_an_interruption_says_what_is_left(monkeypatch, tmp_path, capsys, command, said):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(experiments, "sweep", interrupt)
    monkeypatch.setattr(measure, "plan", interrupt)
    assert run(command, *(["--out", str(tmp_path)] if command == "compare" else [])) == 130
    assert said in capsys.readouterr().err


SPEC = 'problems = {{name = "top-b", agents = 3, dim = 4}}\nhorizons = 16\nalgorithms = ["dobga"{}]\n'


@pytest.fixture
def swept(monkeypatch):
    """Sweeps and pages replaced by notes; what a sweep returns can be set."""
    calls, spec = [], parse(SPEC.format(""))

    def sweep(spec, out, **options):
        calls.append(("sweep", spec, out, options))
        options["progress"](1, 1, "dobga")
        return Sweep(spec, out, NOTHING)

    monkeypatch.setattr(experiments, "sweep", sweep)
    monkeypatch.setattr(experiments, "collect", lambda out: Sweep(spec, out, NOTHING))
    monkeypatch.setattr(sweeps, "spec_of", lambda out: spec)
    monkeypatch.setattr(report, "write_page", lambda sweep, out: calls.append(("page", out)) or out / "report.html")
    monkeypatch.setattr(report, "write_exports", lambda sweep, out: calls.append(("exports", out)))
    monkeypatch.setattr(sys.modules["droculo.cli.sweeps"], "_tables", lambda found: ["the table"])
    return calls


def test_run_plays_a_spec_and_writes_the_page(swept, tmp_path, capsys):
    file = tmp_path / "mine.toml"
    file.write_text(SPEC.format(""))
    out = tmp_path / "there"
    assert run("run", str(file), "--out", str(out), "--processes", "2") == 0
    (_, spec, where, options), page, exports = swept
    assert (where, options["processes"], options["engine"]) == (out, 2, "local")
    assert [cell.label for cell in spec.cells] == ["dobga"]
    assert options["command"] == f"droculo run {file} --out {out} --processes 2"
    assert page == ("page", out)
    assert exports == ("exports", out)
    shown = capsys.readouterr().out
    assert "the table" in shown
    assert shown.splitlines()[-1] == f"The page: {out / 'report.html'}"


def test_run_without_a_spec_is_the_showcase(swept, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("run") == 0
    _, spec, out, _ = swept[0]
    assert out == Path("results/showcase")
    played = {(cell.algorithm.name, dict(cell.algorithm.options).get("feedback")) for cell in spec.cells}
    feedbacks = {"full-information", "semi-bandit", "zeroth-order", "bandit"}
    assert {("droculo", model) for model in feedbacks} <= played
    assert {name for name, _ in played} >= {"dobga", "dpobga", "mono-dmfw", "dmfw"}


def test_resume_and_report(swept, tmp_path):
    assert run("resume", str(tmp_path)) == 0
    assert [call[0] for call in swept] == ["sweep", "page", "exports"]
    swept.clear()
    assert run("report", str(tmp_path)) == 0
    assert [call[0] for call in swept] == ["page", "exports"]


def test_a_failed_cell_is_told_and_ends_in_code_1(swept, tmp_path, monkeypatch, capsys):
    file = tmp_path / "mine.toml"
    file.write_text(SPEC.format(""))
    cell = parse(SPEC.format("")).cells[0]
    failed = lambda spec, out, **_: Sweep(spec, out, NOTHING, failures=((cell, "ValueError: no"),))  # noqa: E731
    monkeypatch.setattr(experiments, "sweep", failed)
    assert run("run", str(file), "--out", str(tmp_path / "out")) == 1
    assert capsys.readouterr().err == "droculo: dobga, T = 16, ended with an error: ValueError: no\n"


def test_show_says_what_is_impossible(tmp_path, capsys):
    file = tmp_path / "mine.toml"
    file.write_text(
        SPEC.format(', {name = "droculo", feedback = ["full-information", "semi-bandit"], theta = [0.5, 1]}')
    )
    assert run("show", str(file)) == 0
    shown = capsys.readouterr().out
    assert "4 cells" in shown
    assert "droculo, full-information, theta = 1" in shown
    row = next(line for line in shown.splitlines() if "full-information, theta = 0.5" in line)
    assert row.split()[-4:-1] == ["16", "4", "4"]  # rounds, blocks, exchanges
    assert "1 cells of the grid are impossible" in shown
    assert "theta must lie in [0, 2/3] for case A2 with semi-bandit feedback" in shown


def test_new_writes_a_spec_that_runs_and_overwrites_nothing(tmp_path, capsys):
    file = tmp_path / "spec.toml"
    assert run("new", str(file)) == 0
    assert parse(file.read_text()).cells
    file.write_text("mine")
    assert run("new", str(file)) == 2
    assert "is not overwritten" in capsys.readouterr().err
    assert file.read_text() == "mine"


def test_list_names_everything(capsys):
    assert run("list", "--options") == 0
    shown = capsys.readouterr().out
    for names in (experiments.PROBLEMS, experiments.NETWORKS, experiments.ALGORITHMS, experiments.FEEDBACKS):
        assert all(f"\n {name} " in shown for name in names)
    for name in ("Simplex", "Polytope", "SpanningTrees", "budget", "from_oracle"):
        assert f"\n {name} " in shown
    assert 'oracle = "active-set"' in shown


def test_plan_keeps_within_the_budget(capsys):
    assert run("plan", "--problem", "cut", "--feedback", "semi-bandit", "--exchanges", "50", "--network", "ring") == 0
    shown = capsys.readouterr().out
    (line,) = (line for line in shown.splitlines() if "exchanges per agent" in line)
    assert int(line.split()[3]) <= 50
    assert "Theorem 4" in shown


def test_doctor_tells_versions_and_engines(capsys):
    import jax

    assert run("doctor") == 0
    shown = capsys.readouterr().out
    assert jax.__version__ in shown
    assert "engine local" in shown
    assert "cpu" in shown


def test_a_wrong_spec_writes_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "mine.toml"
    file.write_text(SPEC.format(', {name = "droculo", theta = nan}'))
    assert run("run", str(file)) == 2
    assert capsys.readouterr().err == "droculo: mine.toml, line 3: theta must be a finite number; got nan.\n"
    assert list(tmp_path.iterdir()) == [file]
