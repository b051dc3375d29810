"""The command line: what it calls, what it refuses in one line, and how it ends."""

import pytest

from droculo import cli, experiments, report


def run(*arguments):
    """The exit code, however it ends."""
    try:
        return cli.main(arguments)
    except SystemExit as end:
        return end.code


@pytest.fixture
def called(monkeypatch):
    """The experiments replaced by notes of how they were called."""
    calls = []

    def note(name, result):
        def stand_in(*given, **options):
            calls.append((name, given, options))
            return result

        return stand_in

    for name in ("compare", "measure_crossover", "measure_table_1"):
        monkeypatch.setattr(experiments, name, note(name, f"found by {name}"))
    for name in ("write_compare", "write_crossover", "write_table_1"):
        monkeypatch.setattr(report, name, note(name, "the page"))
    return calls


def test_help_lists_the_commands(capsys):
    assert run("--help") == 0
    shown = capsys.readouterr().out
    assert all(command in shown for command in ("table1", "compare", "crossover"))


def test_compare(called, tmp_path, capsys):
    arguments = [
        "compare", "--problem", "cut", "--agents", "6", "--dim", "7", "--horizon", "64", "--seeds", "2", "--network", "grid",
        "--out", str(tmp_path / "a folder"),
    ]  # fmt: skip
    assert run(*arguments) == 0
    (_, (problem, network, horizon, seeds), _), (_, (found, out, command), _) = called
    assert type(problem).__name__ == "PlantedCut"
    assert (problem.agents, problem.set.dim, network.n_links) == (6, 7, 7)
    assert (horizon, list(seeds)) == (64, [0, 1])
    assert (found, out) == ("found by compare", tmp_path / "a folder")
    assert (
        command
        == f"droculo compare --problem cut --agents 6 --dim 7 --horizon 64 --seeds 2 --network grid --out '{out}'"
    )
    assert capsys.readouterr().out == "the page\n"


def test_what_compare_plays_by_default(called, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("compare") == 0
    (_, (problem, network, horizon, seeds), _), (_, (_, out, command), _) = called
    assert (type(problem).__name__, problem.agents, problem.set.dim) == ("TopB", 8, 10)
    assert (network.n_links, horizon, list(seeds)) == (8, 4096, [0, 1, 2])
    assert (str(out), command) == ("results", "droculo compare")


@pytest.mark.parametrize("quick", [True, False])
def test_crossover(called, tmp_path, quick):
    assert run("crossover", *["--quick"] * quick, "--out", str(tmp_path)) == 0
    (_, _, options), (_, (found, out, command), _) = called
    assert options == {"quick": quick, "folder": tmp_path}
    assert (found, out) == ("found by measure_crossover", tmp_path)
    assert command.startswith("droculo crossover --")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "COMMAND"),
        (["tabel1"], "invalid choice: 'tabel1'"),
        (["compare", "--problem", "knapsack"], "invalid choice: 'knapsack'"),
        (["compare", "--network", "torus"], "invalid choice: 'torus'"),
        (["compare", "--agents", "0"], "--agents: it is a whole number, at least 1; got '0'"),
        (["compare", "--dim", "2.5"], "--dim: it is a whole number, at least 3; got '2.5'"),
        (["compare", "--horizon", "-4"], "--horizon: it is a whole number, at least 1; got '-4'"),
        (["compare", "--seeds", "many"], "--seeds: it is a whole number, at least 1; got 'many'"),
        (["compare", "--network", "grid", "--agents", "7"], "7 agents make no grid"),
        (["compare", "--problem", "coverage", "--dim", "60"], "60 choose 20"),
        (["crossover", "--fast"], "unrecognized arguments: --fast"),
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


@pytest.mark.parametrize("command", ["compare", "crossover"])
def test_a_folder_that_cannot_be_is_said_before_anything_runs(called, tmp_path, capsys, command):
    (tmp_path / "file").write_text("")
    assert run(command, "--out", str(tmp_path / "file")) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert called == []


@pytest.mark.parametrize(
    ("command", "said"), [("compare", "nothing is kept"), ("crossover", "what was finished is kept")]
)
def test_an_interruption_says_what_is_left(monkeypatch, tmp_path, capsys, command, said):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    for name in ("compare", "measure_crossover"):
        monkeypatch.setattr(experiments, name, interrupt)
    assert run(command, "--out", str(tmp_path)) == 130
    assert said in capsys.readouterr().err
