"""The house itself: imports go one way, the public surface is what we say, docstrings and examples run."""

import ast
import doctest
import importlib
import inspect
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import droculo
from droculo import feedback, linearizations, oracles, problems, sets

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "droculo"
#: from the bottom up: a room may use those before it
ROOMS = [
    "precision", "expect", "later", "cache", "plotting", "sets", "networks", "linearizations", "feedback", "oracles", "problems",
    "algorithms", "engine", "simulator", "runtime", "measure", "testing", "experiments", "report", "gallery", "cli", "__main__",
]  # fmt: skip
#: what an agent must not know of
FORBIDDEN = {"algorithms": {"networks", "problems"}, "sets": {"networks"}, "networks": {"sets"}}


def rooms_used(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "droculo":
            parts = node.module.split(".")
            names = [parts[1]] if len(parts) > 1 else [alias.name for alias in node.names]
            yield from (name for name in names if name in ROOMS)
        elif isinstance(node, ast.Import):
            yield from (a.name.split(".")[1] for a in node.names if a.name.startswith("droculo."))


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_go_one_way(path):
    room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    if room == "__init__":
        return
    used = set(rooms_used(path)) - {room}
    later = {u for u in used if ROOMS.index(u) > ROOMS.index(room)}
    assert not later, f"{room} uses {later}, which stand above it"
    assert not used & FORBIDDEN.get(room, set()), f"{room} must not know {used & FORBIDDEN[room]}"


def test_every_room_is_listed():
    rooms = {m.name for m in pkgutil.iter_modules([str(SOURCE)])}
    assert rooms == set(ROOMS)


def test_the_public_surface():
    assert set(droculo.__all__) == {
        "Anytime", "Checkpoint", "Droculo", "History", "Record", "Scales", "Trajectory", "feedback", "keep_compiled", "linearizations",
        "measure", "networks", "oracles", "problems", "sets", "simulate",
    }  # fmt: skip
    from droculo import testing

    assert set(testing.__all__) == {
        "check_algorithm", "check_draws", "check_exchange", "check_linearization", "check_network", "check_oracle", "check_problem", "check_set", "check_steps", "check_transport",
    }  # fmt: skip
    for module in (droculo, *(importlib.import_module(f"droculo.{room}") for room in ROOMS[5:-2])):
        for name in module.__all__:
            assert hasattr(module, name), f"{module.__name__} promises {name}"


def modules():
    for info in pkgutil.walk_packages(droculo.__path__, "droculo."):
        yield info.name


@pytest.mark.parametrize("name", sorted(modules()))
def test_docstrings_run(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_examples_run(example, tmp_path):
    kept = os.environ | {"DROCULO_CACHE": str(tmp_path)}  # not in the user's own cache
    done = subprocess.run([sys.executable, str(example)], capture_output=True, text=True, timeout=300, env=kept)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.mark.parametrize("example", ["own_set.py", "own_problem.py"])
def test_ones_own_takes_under_twenty_lines(example):
    classes = [n for n in ast.parse((ROOT / "examples" / example).read_text()).body if isinstance(n, ast.ClassDef)]
    assert len(classes) == 1
    lines = ast.get_source_segment((ROOT / "examples" / example).read_text(), classes[0]).splitlines()
    code = [line for line in lines if line.strip() and not line.strip().startswith('"""')]
    assert len(code) < 20


def test_the_readme_shows_code_that_runs():
    blocks = (ROOT / "README.md").read_text().split("```python\n")[1:]
    assert blocks
    for block in blocks:
        exec(compile(block.split("```")[0], "README.md", "exec"), {})


def concrete(family, package):
    """Every public member of a family: what its package exports, abstract classes left out."""
    found = (getattr(package, name) for name in package.__all__)
    members = {c for c in found if isinstance(c, type) and issubclass(c, family)}
    return {c for c in members if not inspect.isabstract(c) and not c.__abstractvars__}


def test_every_member_of_every_family_is_checked():
    """The contract tests run on lists; none of the public members may be missing from its list."""
    from tests.designs import PAIRS
    from tests.linearizations.test_contract import CASES as LINEARIZATIONS
    from tests.oracles.test_contract import PAIRS as PROJECTIONS
    from tests.problems.test_contract import PROBLEMS
    from tests.sets.test_contract import CASES as SETS

    listed = {
        sets.Set: ({type(case[1]) for case in SETS}, sets),
        linearizations.Linearization: ({type(case[1]) for case in LINEARIZATIONS}, linearizations),
        oracles.InfeasibleProjection: ({type(oracle) for _, oracle in PROJECTIONS}, oracles),
        problems.Problem: ({type(problem) for problem in PROBLEMS.values()}, problems),
    }
    for family, (checked, package) in listed.items():
        missing = {c.__name__ for c in concrete(family, package) - checked}
        assert not missing, f"no contract test runs on {missing}"
    learnable = {pair for pair, row in feedback.TABLE_1.items() if isinstance(row, feedback.Row)}
    assert {(case, getattr(feedback, model)().kind) for case, model in PAIRS} == learnable
