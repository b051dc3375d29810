"""The house itself: imports go one way, the public surface is what we say, docstrings and examples run."""

import ast
import doctest
import importlib
import inspect
import pkgutil
import re
import runpy
import subprocess
import sys
import tokenize
import tomllib
from pathlib import Path

import numpy as np
import pytest
from docs.site import architecture

import droculo
from droculo import algorithms, feedback, linearizations, networks, oracles, problems, runtime, sets

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "droculo"
#: from the bottom up: a room may use those before it
ROOMS = [
    "sequencing", "precision", "expect", "later", "folders", "cache", "plotting", "sets", "networks", "linearizations", "feedback", "oracles", "problems",
    "algorithms", "engine", "simulator", "runtime", "measure", "testing", "experiments", "report", "gallery", "cli", "__main__",
]  # fmt: skip
DRIVERS = {"simulator", "runtime"}
#: what a room must not know of although it stands below
FORBIDDEN = {
    "networks": {"sets", "cache", "plotting"},
    "sets": {"cache", "plotting"},
    "linearizations": {"networks", "cache", "plotting"},
    "feedback": {"networks", "cache", "plotting"},
    "oracles": {"networks", "linearizations", "feedback", "cache", "plotting"},
    "problems": {"networks", "feedback", "oracles", "cache", "plotting"},
    "algorithms": {"networks", "problems", "cache", "plotting"},
    "engine": {"cache"},
    "runtime": {"simulator", "cache", "plotting"},
    "measure": DRIVERS | {"cache"},
    "gallery": {"runtime"},
    "report": DRIVERS | {"algorithms", "gallery", "testing"},
    # imported when they are first used: `import droculo` stays quick
    "__init__": {"cli", "report", "experiments", "testing", "gallery", "runtime", "__main__"},
}


def only_for_type_checkers(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            yield from (id(inner) for inner in ast.walk(node))


def rooms_used(path):
    tree = ast.parse(path.read_text())
    types = set(only_for_type_checkers(tree)) if path == SOURCE / "__init__.py" else set()
    for node in ast.walk(tree):
        if id(node) in types:
            continue
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "droculo":
            parts = node.module.split(".")
            names = [parts[1]] if len(parts) > 1 else [alias.name for alias in node.names]
            yield from (name for name in names if name in ROOMS)
        elif isinstance(node, ast.ImportFrom) and node.level:
            yield f"a relative import in {path.name}"
        elif isinstance(node, ast.Import):
            yield from (a.name.split(".")[1] for a in node.names if a.name.startswith("droculo."))


def test_imports_go_one_way():
    wrong = []
    for path in sorted(SOURCE.rglob("*.py")):
        room, name = path.relative_to(SOURCE).parts[0].removesuffix(".py"), path.relative_to(SOURCE)
        below = ROOMS if room == "__init__" else ROOMS[: ROOMS.index(room)]
        for used in set(rooms_used(path)) - {room}:
            if used not in below:
                wrong.append(f"{name} uses {used}, which stands above it")
            elif used in FORBIDDEN.get(room, set()):
                wrong.append(f"{name} uses {used}, which it must not know of")
    assert not wrong, "\n".join(wrong)


def test_the_drawing_is_that_of_the_imports():
    assert architecture.drawn_graph() == architecture.graph(architecture.rooms()), (
        "docs/architecture.svg is out of date: run python docs/site/architecture.py"
    )
    page = architecture.PAGE.read_text()
    for name, uses in architecture.drawn_graph().items():
        (row,) = re.findall(rf"^\| `{name}` \|.*\| (.*) \|$", page, re.MULTILINE)
        assert row == (", ".join(uses) or "-")


def test_packages_are_attributes_that_are_imported_late():
    """`import droculo; droculo.testing.check_set` works, and costs nothing where it is not used."""
    code = (
        "import sys, droculo\n"
        "late = {'experiments', 'report', 'runtime', 'testing'}\n"
        "assert not {f'droculo.{name}' for name in late} & sys.modules.keys()\n"
        "assert late | {'algorithms', 'sets'} <= set(dir(droculo))\n"
        "print(droculo.testing.check_set.__name__, droculo.algorithms.DOBGA.__name__)\n"
        "try:\n    droculo.nothing\nexcept AttributeError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:2] == ["check_set DOBGA", "module 'droculo' has no attribute 'nothing'"]


def test_the_version_stands_in_one_place():
    about = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "version" not in about["project"]
    assert about["project"]["dynamic"] == ["version"]
    assert (ROOT / about["tool"]["hatch"]["version"]["path"]) == SOURCE / "__init__.py"
    assert re.fullmatch(r"\d+\.\d+\.\d+", droculo.__version__)


def test_what_make_check_runs_exists():
    smoke = re.search(r"^SMOKE\s+:=(.*?[^\\])$", (ROOT / "Makefile").read_text(), re.MULTILINE | re.DOTALL)[1]
    missing = [name for name in smoke.replace("\\", " ").split() if not (ROOT / name).exists()]
    assert not missing
    from tests.designs import PAIRS

    assert ("concave", "full_information") in PAIRS, "make check runs the check of this design"


#: words that a reader would have to learn, or that make agents and arrays into people: word -> better
BANNED = {
    "herds": "chunks", "haste": "quick compilation", "how hard": "how", "riddle": "question", "mere values": "values only",
    "quick_membership": "has_fast_contains", "budget_face": "fixed_budget", "take_part": "run_process", "best_fixed": "best_fixed_point",
    "who asks": "that asks", "agents who": "agents that",
    "an agent who": "an agent that", "a process who": "a process that", "whence": "from where", "thence": "from there",
    "nobody": "no agent, no process", "somebody": "another process", "anybody": "any process", "everybody": "all agents",
    "whoever": "an agent that", "anew": "again", "one's own": "user-defined", "flock": "chunk", "flocks": "chunks", "herd": "chunk",
    "heir": "successor", "cable": "links", "rehearsal": "dry run", "liars": "refused neighbours", "some twenty": "about 20",
    "some thirty": "about 30", "some tens": "a few tens", "lest": "so that ... not", "unto": "to", "whilst": "while", "amongst": "among", "somehow": "say how", "nought": "zero",
}  # fmt: skip


def prose():
    """(place, text) of docstrings, comments and documents."""
    for path in sorted([*SOURCE.rglob("*.py"), *(ROOT / "examples").glob("*.py")]):
        with tokenize.open(path) as file:
            for token in tokenize.generate_tokens(file.readline):
                if token.type in (tokenize.COMMENT, tokenize.STRING) or token.type == getattr(
                    tokenize, "FSTRING_MIDDLE", -1
                ):
                    yield f"{path.relative_to(ROOT)}:{token.start[0]}", token.string
    for path in sorted(
        [
            *(set(ROOT.glob("*.md")) - {ROOT / "CHANGELOG.md"}),
            *(ROOT / "docs").glob("*.md"),
            *(ROOT / "docs" / "families").glob("*.md"),
        ]
    ):
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            yield f"{path.relative_to(ROOT)}:{number}", line


def test_words():
    pattern = re.compile(rf"\b({'|'.join(BANNED)})\b", re.IGNORECASE)
    found = [(place, match[0]) for place, text in prose() for match in pattern.finditer(text)]
    assert not found, "\n".join(f"{place}: {word!r} (better: {BANNED[word.lower()]})" for place, word in found)


def test_every_room_is_listed():
    rooms = {m.name for m in pkgutil.iter_modules([str(SOURCE)])}
    assert rooms == set(ROOMS)


def test_the_public_surface():
    assert set(droculo.__all__) == {
        "Checkpoint", "Droculo", "History", "Record", "Scales", "Trajectory", "algorithms", "experiments", "feedback", "linearizations",
        "measure", "networks", "oracles", "problems", "report", "runtime", "sets", "simulate", "testing",
    }  # fmt: skip
    from droculo import testing

    assert set(testing.__all__) == {
        "check_algorithm", "check_draws", "check_exchange", "check_linearization", "check_network", "check_oracle", "check_problem", "check_set", "check_steps", "check_transport",
    }  # fmt: skip
    for module in (droculo, *(importlib.import_module(f"droculo.{room}") for room in ROOMS[ROOMS.index("sets") : -2])):
        for name in module.__all__:
            assert hasattr(module, name), f"{module.__name__} promises {name}"


MODULES = sorted(
    ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__")
    for path in SOURCE.rglob("*.py")
)


def test_every_module_can_be_imported():
    for name in MODULES:
        if name != "droculo.__main__":
            assert importlib.import_module(name).__name__ == name


def with_examples():
    """Modules with a doctest in them, seen without importing them."""
    for path in sorted(SOURCE.rglob("*.py")):
        if ">>> " in path.read_text():
            yield ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__")


@pytest.mark.parametrize("name", list(with_examples()))
def test_docstrings_run(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0
    assert result.failed == 0


def numbers_in(text):
    return [float(number) for number in re.findall(r"-?\d+\.?\d*", text)]


def last_line(printed):
    return numbers_in(printed.strip().splitlines()[-1])


def column(printed, heads, place):
    """The numbers at this place of the lines that begin with each of the heads."""
    lines = {head: next(line for line in printed.splitlines() if line.startswith(head)) for head in heads}
    return [numbers_in(line[len(head) :])[place] for head, line in lines.items()]


KINDS = ("full information", "semi-bandit", "two-point", "zeroth order", "bandit")
VALUES = ("exact values, bandit", "noisy values, bandit", "exact values, two-point", "noisy values, two-point")
FEEDER = ("droculo, full-information", "droculo, semi-bandit")
THETAS = ("  0.25", "   0.5", "   1.0")
#: example -> what the numbers that it prints must show
SHOWN = {
    "bandit.py": lambda out: all(a < b for a, b in zip(column(out, VALUES, 0), column(out, VALUES, 1), strict=True)),
    "own_algorithm.py": lambda out: numbers_in(out)[-1] > 99,  # % of the optimum
    "own_problem.py": lambda out: min(last_line(out)[1:3]) > last_line(out)[-1],  # the last channel reaches fewest
    # The nearest point is x = target / (1 + m / axes^2), with the multiplier m that puts x on the border.
    "own_set.py": lambda out: np.allclose(last_line(out)[-3:], [0.635, 1.301, 0.208], atol=0.03),
    "power_feeder.py": lambda out: (
        column(out, FEEDER, 3)[0] == 33 > column(out, FEEDER, 3)[1] and column(out, FEEDER, -1) == [0, 0]
    ),
    "quickstart.py": lambda out: (
        min(column(out, KINDS, 1)) > 70 and max(column(out, KINDS, 3)) < 0
    ),  # % of the best; regret
    "separate_processes.py": lambda out: last_line(out)[0] < 0.05 < last_line(out)[1],
    "theta.py": lambda out: np.all(np.diff(column(out, THETAS, 3)) < 0),  # certified regret
}


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_examples_run_and_show_what_they_say(example, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", [str(example)])
    monkeypatch.setattr("droculo.cache.keep_compiled", lambda: None)  # not in the user's own cache
    runpy.run_path(str(example), run_name="__main__")
    printed = capsys.readouterr().out
    assert SHOWN[example.name](printed), printed


def test_the_skeleton_of_an_algorithm_is_short():
    assert len((ROOT / "examples" / "own_algorithm.py").read_text().splitlines()) < 60


@pytest.mark.parametrize("example", ["own_set.py", "own_problem.py"])
def test_a_custom_part_takes_under_twenty_lines(example):
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
    return {c for c in members if not inspect.isabstract(c) and not getattr(c, "__abstractvars__", ())}


def test_every_member_of_every_family_is_checked():
    """The contract tests run on lists; none of the public members may be missing from its list."""
    from tests.algorithms.test_rivals import RIVALS
    from tests.designs import PAIRS, design
    from tests.linearizations.test_contract import CASES as LINEARIZATIONS
    from tests.oracles.test_contract import PAIRS as PROJECTIONS
    from tests.problems.test_contract import PROBLEMS
    from tests.sets.test_contract import CASES as SETS

    listed = {
        sets.Set: ({type(case[1]) for case in SETS}, sets),
        linearizations.Linearization: ({type(case[1]) for case in LINEARIZATIONS}, linearizations),
        oracles.InfeasibleProjection: ({type(oracle) for _, oracle in PROJECTIONS}, oracles),
        problems.Problem: ({type(problem) for problem in PROBLEMS.values()}, problems),
        algorithms.Algorithm: ({type(each) for each in (*RIVALS.values(), design(*PAIRS[0]))}, algorithms),
    }
    for family, (checked, package) in listed.items():
        missing = {c.__name__ for c in concrete(family, package) - checked}
        assert not missing, f"no contract test runs on {missing}"
    # These are made in the tests themselves, in files that call the check.
    made = {
        networks.Network: (networks, "check_network", ["networks/test_contract.py"]),
        runtime.Transport: (runtime, "check_transport", ["runtime/test_transports.py", "runtime/member.py"]),
    }
    for family, (package, check, files) in made.items():
        texts = [(ROOT / "tests" / file).read_text() for file in files]
        assert all(f"{check}(" in text for text in texts)
        missing = {c.__name__ for c in concrete(family, package) if not any(f"{c.__name__}(" in text for text in texts)}
        assert not missing, f"no contract test runs on {missing}"
    learnable = {pair for pair, row in feedback.TABLE_1.items() if isinstance(row, feedback.table.Row)}
    assert {(case, getattr(feedback, model)().kind) for case, model in PAIRS} == learnable
