"""`droculo launch`, `agent` and `gather`: the same spec, files and page as `droculo run`. (Which algorithm is played does not
matter here, so the one that compiles fastest is; `test_equal` plays all of them.)"""

import subprocess
import sys

import numpy as np
import pytest

from droculo.cli import main
from droculo.experiments import SpecError, collect
from droculo.experiments.over_zenoh import Deployment

SPEC = """
problems = { name = "top-b", agents = 3, dim = 4 }
networks = "ring"
algorithms = "dobga"
horizons = 50
seeds = [3]
"""


@pytest.fixture(scope="module")
def spec(tmp_path_factory):
    file = tmp_path_factory.mktemp("spec") / "spec.toml"
    file.write_text(SPEC)
    return file


@pytest.fixture(scope="module")
def simulated(spec):
    out = spec.parent / "simulated"
    assert main(["run", str(spec), "--out", str(out), "--processes", "1"]) == 0
    return collect(out).results


def launch(spec, out, *words):
    """In a separate process, which MPI needs."""
    command = [sys.executable, "-m", "droculo", "launch", str(spec), "--out", str(out), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=200)


@pytest.mark.parametrize("over", ["mpi", "zenoh"])
def test_launch_makes_what_run_makes(spec, simulated, tmp_path, capsys, over):
    if over == "mpi":
        done = launch(spec, tmp_path, "-n", "2")
        assert done.returncode == 0, done.stderr
        shown = done.stdout
    else:
        assert main(["launch", str(spec), "-n", "2", "--over", "zenoh", "--out", str(tmp_path)]) == 0
        shown = capsys.readouterr().out
    assert "dobga" in shown.lower()
    assert f"Played by 2 processes over {over}: 0 rounds missed" in shown
    assert (tmp_path / "report.html").stat().st_size > 100_000
    found = collect(tmp_path).results
    for part in ("runs", "points"):
        one, other = (results.frame(part) for results in (simulated, found))
        assert list(one.columns) == list(other.columns)
        numbers = one.select_dtypes("number").columns.difference(
            ["seconds", "processes", "missed_rounds", "failed_links", "disagreements"]
        )
        np.testing.assert_allclose(one[numbers], other[numbers], rtol=1e-9, atol=1e-12)
    runs = found.frame("runs")
    assert set(runs["driver"]) == {over}
    assert (runs[["processes", "missed_rounds", "failed_links", "disagreements"]].to_numpy() == [2, 0, 0, 0]).all()
    if over == "zenoh":  # what processes wrote can be gathered again
        (run,) = (tmp_path / "runs").iterdir()
        run.unlink()
        for wrong, why in (("1", "2 processes have played this run"), ("3", "another number of processes")):
            assert main(["gather", str(spec), "-n", wrong, "--out", str(tmp_path)]) == 2
            assert why in capsys.readouterr().err
        assert main(["gather", str(spec), "-n", "2", "--out", str(tmp_path)]) == 0
        assert run.exists()


def test_an_error_in_one_rank_ends_the_job_with_its_reason(tmp_path):
    (tmp_path / "mine.py").write_text(
        "import jax.numpy as jnp\nfrom droculo import linearizations, problems, sets\n"
        "def f(agent, t, x):\n"
        "    return jnp.where((agent == 2) & (t == 20), jnp.nan, 1.0) * jnp.log1p(x).sum()\n"
        "problem = problems.from_function(f, sets.budget(3, 1.0), linearizations.MonotoneOrigin(), gradient_bound=2.0, "
        "value_bound=3.0, agents=4)\n"
    )
    file = tmp_path / "spec.toml"
    file.write_text('problems = "mine:problem"\nalgorithms = "dobga"\nhorizons = 40\n')
    done = launch(file, tmp_path / "out", "-n", "2")
    assert done.returncode != 0
    assert "droculo: rank 1: an agent's state stopped being finite between rounds 20 and 20" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("over", ["mpi", "zenoh"])
def test_more_processes_than_agents_is_an_error(spec, tmp_path, capsys, over):
    assert main(["launch", str(spec), "-n", "4", "--over", over, "--out", str(tmp_path / "out")]) == 2
    assert "3 agents can be divided among 1 to 3 processes; got 4" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_process_in_the_field_needs_to_know_who_it_is(spec, tmp_path, capsys):
    assert main(["agent", str(spec), "--over", "zenoh"]) == 2
    assert "needs --field FILE" in capsys.readouterr().err
    field = tmp_path / "field.toml"
    field.write_text(Deployment.loopback(2).written())
    words = ["agent", str(spec), "--over", "zenoh", "--field", str(field), "--out", str(tmp_path)]
    for more, why in (
        (["--me", "7"], "processes 0 to 1 in the field; got --me 7"),
        (["--me", "0", "--cell", "3"], "cells 0 to 0"),
        (["--me", "0", "--seed", "9"], "the seeds 3; got --seed 9"),
    ):
        assert main([*words, *more]) == 2
        assert why in capsys.readouterr().err
    assert main(["gather", str(spec), "-n", "2", "--out", str(tmp_path)]) == 2
    assert "holds nothing that a process wrote" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("endpoints = 3", "gives each process 0, 1, ... its endpoint"),
        ('[endpoints]\n0 = "tcp/a:1"\n2 = "tcp/b:1"', "gives each process 0, 1, ... its endpoint"),
        ('speed = 3\n[endpoints]\n0 = "tcp/a:1"', "a field has no 'speed'"),
        ('patience = "long"\n[endpoints]\n0 = "tcp/a:1"', "patience is a number of seconds; got 'long'"),
        (
            '[endpoints]\n0 = "tls/a:1"\n[tls]\nauthority = "no.pem"\ncertificate = "no.pem"\nkey = "no.pem"',
            "there is no file",
        ),
        ('[endpoints]\n0 = "tls/a:1"\n[tls]\nauthority = "no.pem"', "missing 2 required"),
        ("[endpoints]", "gives each process 0, 1, ... its endpoint"),
        ("[endpoints]\n0 = 7447", "an endpoint is 'tcp/host:port'"),
        ('[endpoints]\n0 = "tcp/a:1"\n1 = "tcp/a:1"', "two processes have the same endpoint"),
        ('[endpoints]\n0 = "tls/a:1"', "needs certificates"),
        ('patience = inf\n[endpoints]\n0 = "tcp/a:1"', "patience is a number of seconds; got inf"),
        ('gathering = 0\n[endpoints]\n0 = "tcp/a:1"', "gathering is above zero"),
        ('config = 3\n[endpoints]\n0 = "tcp/a:1"', "config is the name of a file"),
        ("endpoints = [", "cannot be read as a field"),
    ],
)
def test_a_wrong_field_is_said(tmp_path, text, why):
    file = tmp_path / "field.toml"
    file.write_text(text)
    with pytest.raises(SpecError, match=why.replace("(", r"\(")):
        Deployment.load(file)


def test_a_field_comes_back_as_it_was_written(tmp_path):
    file = tmp_path / "field.toml"
    field = Deployment.loopback(3, pace=0.5, patience=2.0)
    file.write_text(field.written())
    assert Deployment.load(file) == field
