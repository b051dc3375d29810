"""The documentation: its code runs, its tables are the library's, its symbols exist, and the site builds without a warning."""

import importlib
import importlib.util
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from docs.site import generate, transitions

import droculo
from droculo.experiments import parse

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
#: package -> its page
FAMILIES = {
    "sets": "sets", "networks": "networks", "problems": "problems", "linearizations": "linearizations",
    "feedback": "feedback", "algorithms": "algorithms", "oracles": "oracles", "measure": "measures",
}  # fmt: skip
PACKAGES = [*FAMILIES, "simulator", "testing", "experiments", "report"]
#: whose members stand on these pages without their module
MODULES = ["algorithms.contract", "algorithms.droculo", "algorithms.schedules", "sets.geometry"]
#: how many lines the paper's algorithms have, ends of loops included
LINES = {1: 13, 2: 16, 3: 23, 4: 17, 5: 26}
NEEDED = ["mkdocs", "material", "mkdocstrings", "latex2mathml"]


def python_blocks(path):
    return re.findall(r"^```python\n(.*?)^```", path.read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize(
    "path", [DOCS / "index.md", DOCS / "choose.md", *sorted((DOCS / "families").glob("*.md"))], ids=lambda p: p.stem
)
def test_the_code_of_a_page_runs(path):
    blocks = python_blocks(path)
    assert blocks
    names = {}
    for block in blocks:
        exec(compile(block, path.name, "exec"), names)


@pytest.mark.parametrize("path", generate.PAGES, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_tables_are_those_of_the_library(path):
    text = path.read_text()
    assert generate.PLACE.search(text)
    assert generate.filled(text) == text, f"{path.name} is out of date: run python docs/site/generate.py"


def test_the_specs_of_the_experiments_page_are_right(tmp_path):
    first, own = re.findall(r"^```toml\n(.*?)^```", (DOCS / "experiments.md").read_text(), re.DOTALL | re.MULTILINE)
    assert len(parse(first).cells) == 2 * 2 * 2 * (4 + 2)
    (tmp_path / "mine.py").write_text(
        "from droculo import networks, problems\nfrom droculo.algorithms import DOBGA as Stubborn  # noqa\n\n\n"
        "def posed(stores):\n    return problems.Pricing.random(stores=stores, products=3, seed=0)\n\n\n"
        "def roads(agents):\n    return networks.path(agents)\n"
    )
    spec = parse(own, folder=tmp_path)
    assert [cell.algorithm.name for cell in spec.cells] == ["droculo", "mine:Stubborn"]


@pytest.mark.parametrize("package", FAMILIES)
def test_a_family_page_lists_every_member(package):
    text = (DOCS / "families" / f"{FAMILIES[package]}.md").read_text()
    public = {(package, name) for name in importlib.import_module(f"droculo.{package}").__all__}
    assert {(home, name) for home, name in generate.listed(text) if "." not in name} == public


@pytest.mark.parametrize("page", FAMILIES.values())
def test_a_family_page_ends_in_ones_own(page):
    last = (DOCS / "families" / f"{page}.md").read_text().split("\n## ")[-1]
    assert last.startswith("Write your own\n")
    assert re.search(r"^check_\w+\(", last, re.MULTILINE), "what the reader wrote is not checked"


def resolve(symbol):
    """What a page calls `Set.radius` or `measure.plan`: an attribute, or a field that is only declared."""
    first, *rest = symbol.split(".")
    if first in PACKAGES:
        found = importlib.import_module(f"droculo.{first}")
    else:
        homes = [droculo, *(importlib.import_module(f"droculo.{name}") for name in (*PACKAGES, *MODULES))]
        found = next(getattr(home, first) for home in homes if hasattr(home, first))
    for name in rest:
        kinds = inspect.getmro(found) if isinstance(found, type) else ()
        declared = {field for kind in kinds for field in inspect.get_annotations(kind)}
        if not hasattr(found, name) and name in declared:
            return name
        found = getattr(found, name)
    return found


def test_every_symbol_that_the_paper_is_mapped_to_exists():
    table = (DOCS / "paper.md").read_text().split("## Symbols")[0]
    rows = [row for row in table.splitlines() if row.startswith("|")]
    symbols = {name for row in rows for name in re.findall(r"`([^`]+)`", row.split("|")[-2])}
    assert len(symbols) > 100
    missing = []
    for symbol in sorted(symbols):
        try:
            resolve(symbol)
        except (AttributeError, StopIteration):
            missing.append(symbol)
    assert not missing


@pytest.mark.parametrize("number", LINES)
def test_every_line_of_an_algorithm_has_its_row(number):
    section = (DOCS / "paper.md").read_text().split(f"### Algorithm {number}:")[1].split("\n#")[0]
    firsts = [row.split("|")[1] for row in section.splitlines() if re.match(r"\| \d", row)]
    lines = [int(line) for first in firsts for line in first.split(",")]
    assert sorted(lines) == list(range(1, LINES[number] + 1))


@pytest.mark.parametrize("what", ["Lemma", "Theorem"])
def test_every_lemma_and_theorem_has_its_row(what):
    section = (DOCS / "paper.md").read_text().split("## Lemmas and theorems")[1].split("\n## ")[0]
    heads = [row.split("|")[1] for row in section.splitlines() if row.startswith(f"| {what}")]
    numbers = {int(n) for head in heads for n in re.findall(r"\d+", head.split("(")[0].split(":")[0])}
    assert numbers == set(range(1, {"Lemma": 11, "Theorem": 7}[what]))


def test_the_site_builds_without_a_warning(tmp_path):
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed: pip install droculo[docs]")
    site = tmp_path / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)]
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, env=quiet)
    assert done.returncode == 0, done.stderr
    for page in (
        "index",
        "choose",
        "paper",
        "design",
        "experiments",
        "families/sets",
        "results/table1",
        "applications/index",
    ):
        assert (site / f"{page}.html").exists(), f"{page} is missing from the site"
    for package in PACKAGES:
        module, html = importlib.import_module(f"droculo.{package}"), (site / "api" / f"{package}.html").read_text()
        for name in module.__all__:
            if generate.documented(getattr(module, name)):
                assert f'id="{generate.anchor(package, name)}"' in html, f"the API pages lack {package}.{name}"
    for path in site.rglob("*.html"):
        text = path.read_text()
        fetched = re.findall(r'<(?:link|script|img|iframe|source)\b[^>]*?\b(?:src|href)="(https?://[^"]+)"', text)
        assert not fetched, f"{path.relative_to(site)} fetches {fetched}"
        assert not re.search(r'\ssrc="https?://', text), f"{path.relative_to(site)} fetches from elsewhere"


def test_the_drawing_of_link_states_is_that_of_the_table():
    assert transitions.FILE.read_text() == transitions.svg(), "run python docs/site/transitions.py"
