"""Writes the tables of docs/choose.md, experiments.md, processes.md, families and api from the library itself: `python docs/site/generate.py`.

A page says where they go: `<!-- table: covered -->` names one of `TABLES`, `<!-- members: sets Box Simplex -->` lists
members of a package (or of its modules: `host.Host`), `<!-- api: sets -->` documents all of them, and `<!-- api: sets host.Host -->` some. What stands between such a line and `<!-- end -->` is
written here; a test compares.
"""

import html
import importlib.util
import inspect
import re
from pathlib import Path
from typing import Any

from droculo.experiments.rows import POINTS, RUNS
from droculo.feedback import TABLE_1
from droculo.feedback.table import Refusal, Row
from droculo.report import Table
from droculo.runtime.protocol.transitions import TABLE as TRANSITIONS
from droculo.runtime.protocol.transitions import State

DOCS = Path(__file__).parent.parent
PAGES = [DOCS / "choose.md", DOCS / "experiments.md", DOCS / "processes.md"]
PAGES += [*sorted((DOCS / "families").glob("*.md")), *sorted((DOCS / "api").glob("*.md"))]
PLACE = re.compile(r"<!-- (table|members|api): ([^>]*?) -->\n.*?<!-- end -->", re.DOTALL)

#: what has no docstring of its own, or one whose first sentence does not stand alone
LINES = {
    "algorithms.Algorithm": "The contract above, for one agent.",
    "measure.Sample": "How many agents, functions and rounds to measure on, where all of them would take too long.",
    "oracles.InfeasibleProjection": "The contract above: the oracle O_IP of the paper's Lemma 1.",
    "feedback.TABLE_1": "Table 1 as data: (case, feedback) -> `Row` or `Refusal`.",
    "oracles.Memory": "What an oracle remembers from block to block: any pytree of arrays, local to the agent.",
}


def covered() -> str:
    """Every case with every feedback: how fast regret grows, and how far theta goes."""
    cases, models = (list(dict.fromkeys(names)) for names in zip(*TABLE_1, strict=True))
    return Table(
        ["case", *models], [[case, *(_cell(TABLE_1[case, model]) for model in models)] for case in cases]
    ).markdown()


def rows() -> str:
    """The pairs that work, each with its theorem; cases that share a row share a line."""
    cases: dict[tuple[str, Row], list[str]] = {}
    for (case, model), row in TABLE_1.items():
        if isinstance(row, Row):
            cases.setdefault((model, row), []).append(case)
    models = list(dict.fromkeys(model for _, model in TABLE_1))
    head = ["feedback", "cases", "theta in", "regret", "exchanges", "LOO calls", "algorithm", "source"]
    found = [
        [
            model,
            ", ".join(names),
            f"[0, {row.theta_max}]",
            _exponent(row),
            "theta",
            "2 theta",
            row.algorithm,
            row.source,
        ]
        for (model, row), names in sorted(cases.items(), key=lambda line: models.index(line[0][0]))
    ]
    return Table(head, found).markdown()


def refusals() -> str:
    """The pairs that do not, by reason."""
    by_reason: dict[str, list[str]] = {}
    for (case, model), row in TABLE_1.items():
        if isinstance(row, Refusal):
            by_reason.setdefault(row.reason, []).append(f"{case} with {model}")
    return "\n".join(f"- **{', '.join(pairs)}**: {reason}." for reason, pairs in by_reason.items())


def schema(part: str) -> str:
    """The columns of a result file."""
    columns = RUNS if part == "runs" else POINTS
    return Table(
        [f"`{part}`", "type", ""], [[f"`{name}`", kind, about] for name, (kind, about) in columns.items()]
    ).markdown()


def transitions() -> str:
    """What happens to a link between two processes, rule by rule."""
    found = []
    for rule in TRANSITIONS:
        states = "any" if len(rule.states) == len(State) else ", ".join(state.name for state in rule.states)
        does = f"refuse: {rule.refusal}" if rule.refusal else rule.does.value
        after = "" if rule.becomes is None else rule.becomes.name
        found.append([rule.event.value, states, rule.when, does, after, "" if rule.reply is None else rule.reply.name])
    return Table(["event", "in the states", "if", "what is done", "next state", "reply"], found).markdown()


TABLES = {
    "covered": covered,
    "rows": rows,
    "refusals": refusals,
    "runs": lambda: schema("runs"),
    "points": lambda: schema("points"),
    "transitions": transitions,
}


def member(package: str, name: str) -> Any:
    """A member of a package's `__all__`, or, as `module.name`, one that a module of it defines."""
    module, _, own = f"droculo.{package}.{name}".rpartition(".")
    home = importlib.import_module(module)
    known = (
        home.__all__
        if "." not in name
        else [n for n, m in vars(home).items() if getattr(m, "__module__", "") == module]
    )
    if own not in known:
        raise ValueError(f"{module} has no public member {own!r}; its members are {known}.")
    return getattr(home, own)


def members(package: str, names: list[str]) -> str:
    """One line for each: the first sentence of its docstring."""
    found = []
    for name in names:
        shown = f"`{name}`"
        if documented(member(package, name)):
            shown = f"[{shown}](../api/{package}.md#{anchor(package, name)})"
        found.append([shown, LINES.get(f"{package}.{name}") or _line(member(package, name))])
    return Table(["member", "what it is"], found).markdown()


def api(package: str, chosen: list[str]) -> str:
    """What mkdocstrings is asked for: all of a package, or members of its modules.

    First comes what is named like its own file, which it would take for the file.
    """
    names = chosen or importlib.import_module(f"droculo.{package}").__all__
    apart = [place for name in names if (place := anchor(package, name)).count(".") == 3]
    options = "    options:\n      show_root_heading: true\n      show_root_toc_entry: true\n"
    found = "".join(f"::: {place}\n{options}\n" for place in apart)
    return found.strip() if chosen else f"{found}::: droculo.{package}"


def documented(member: Any) -> bool:
    """Whether it has a place on an API page: constants and aliases have none."""
    return (inspect.isclass(member) or inspect.isfunction(member)) and member.__module__.startswith("droculo.")


def anchor(package: str, name: str) -> str:
    """Where a member stands on its API page. A function that is named like its file goes by its full address."""
    own_file = "." not in name and importlib.util.find_spec(f"droculo.{package}.{name}") is not None
    return f"droculo.{package}.{name}" + (f".{name}" if own_file else "")


def listed(page: str) -> set[tuple[str, str]]:
    """(package, member) for all members that a page has in its tables."""
    named = [what.split() for kind, what in PLACE.findall(page) if kind == "members"]
    return {(package, name) for package, *names in named for name in names}


def filled(page: str) -> str:
    """The page with its tables as they should be."""

    def fill(place: re.Match[str]) -> str:
        kind, what = place[1], place[2]
        package, *names = what.split()
        text = TABLES[what]() if kind == "table" else api(package, names) if kind == "api" else members(package, names)
        return f"<!-- {kind}: {what} -->\n\n{text}\n\n<!-- end -->"

    return PLACE.sub(fill, page)


def _cell(entry: Row | Refusal) -> str:
    if isinstance(entry, Refusal):
        return "no"
    return _exponent(entry) + ("" if entry.theta_max == 1 else f", theta up to {entry.theta_max}")


def _exponent(row: Row) -> str:
    return f"1 - {row.regret} theta" if row.regret.numerator > 1 else f"1 - theta/{row.regret.denominator}"


def _line(member: Any) -> str:
    sentence = _first_sentence(member)
    if sentence.startswith("One agent of"):  # a method: its file says what it does
        sentence = _first_sentence(inspect.getmodule(member))
    pieces = re.split(r"(`[^`]+`)", sentence)  # every other one is code, which shows what it is
    return "".join(piece if k % 2 else _plain(piece) for k, piece in enumerate(pieces))


def _first_sentence(thing: Any) -> str:
    prose = " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())
    first = re.match(r".*?[.](?= [A-Z`(]|$)", prose)
    return first[0] if first else prose


def _plain(piece: str) -> str:
    return re.sub(r"([\\*_\[\]{}])", r"\\\1", html.escape(piece, quote=False))


if __name__ == "__main__":
    for path in PAGES:
        path.write_text(filled(path.read_text()))
