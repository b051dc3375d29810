"""A spec says what to run: problems, networks, algorithms, horizons, thetas and seeds. Lists make a grid."""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

from droculo.experiments.catalogue import ALGORITHMS, nearest
from droculo.experiments.cell import Cell, Choice, NotPossibleError, build, known_options, resolve
from droculo.experiments.studies import STUDIES
from droculo.experiments.toml_lines import Lines, plain

#: kinds of things that a spec names, each a table or a list of tables
KINDS = {"problems": "problem", "networks": "network", "algorithms": "algorithm"}
KEYS = ("title", *KINDS, "horizons", "thetas", "seeds", "points", "timed")
#: cells that a spec may have; more are probably a mistake
MOST_CELLS = 10_000
POINTS = 40
#: seeds repeat from here on, and no run has so many rounds
MOST_NUMBER = 2**32

Mark = tuple[tuple[str | int, ...], Any]  # the place of a value in the spec, and the value


class SpecError(ValueError):
    """A spec that cannot be run: one sentence, with its line."""


@dataclass(frozen=True)
class Spec:
    """A validated spec: the cells that will run, and those of its grid that cannot, with the reason."""

    title: str
    text: str
    folder: Path  # where the user's modules are
    cells: tuple[Cell, ...]
    left_out: tuple[tuple[Cell, str], ...]
    study: Mapping[str, Any] | None = None  # the options of the study that made the cells, with its name, if one did


@dataclass(frozen=True)
class _Draft:
    """A spec while it is read."""

    name: str  # of the file
    lines: Lines
    folder: Path
    given: dict[str, Any] = field(default_factory=dict)

    def error(self, path: tuple[str | int, ...], problem: str) -> SpecError:
        return SpecError(f"{self.name}, line {self.lines.of(path)}: {problem}")


def load(path: Path) -> Spec:
    """Read and check a spec file; a `SpecError` says in one sentence what is wrong with it."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise SpecError(f"there is no spec {path}. Write one with: droculo new {path}") from None
    except IsADirectoryError:
        why = f"{path} is a folder, and a spec is a file. To go on with a sweep: droculo resume {path}"
        raise SpecError(why) from None
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(f"{path} cannot be read as text: {error}.") from None
    return parse(text, name=path.name, folder=path.parent)


def parse(text: str, *, name: str = "the spec", folder: Path = Path()) -> Spec:
    """A spec from its text.

    >>> spec = parse('problems = "top-b"\\nalgorithms = ["droculo", "dobga"]\\nhorizons = [64, 256]\\nthetas = [0.5, 1]')
    >>> len(spec.cells), spec.cells[0].label
    (6, 'droculo, full-information, theta = 0.5')
    """
    try:
        given = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SpecError(f"{name} is not TOML: {error}.") from None
    draft = _Draft(name, Lines(text), folder.absolute(), given)
    if "study" in given:
        return _of_study(draft, text)
    for key in given:
        if key not in KEYS:
            raise draft.error((key,), f"a spec has no {key!r}; {nearest(key, KEYS)}")
    for key in ("problems", "algorithms", "horizons"):
        if given.get(key, []) == []:
            needed = "a spec needs problems, algorithms and horizons (droculo new writes one)"
            raise SpecError(f"{name} names no {key}: {needed}.")
    title, points = given.get("title", ""), given.get("points", POINTS)
    if not isinstance(title, str):
        raise draft.error(("title",), f"the title is text in quotes; got {title!r}.")
    if not _whole(points, 2):
        wanted = "points, the recorded times of a run, is a whole number, at least 2"
        raise draft.error(("points",), f"{wanted}; got {points!r}.")
    if not isinstance(given.get("timed", False), bool):
        raise draft.error(("timed",), f"timed is true or false; got {given['timed']!r}.")
    drawn = _drawn(draft, points)
    cells, left_out = _sorted_out(draft, drawn)
    return Spec(title or name.removesuffix(".toml"), text, draft.folder, tuple(cells), tuple(left_out))


def study(name: str, **options: Any) -> Spec:
    """The spec of one of our studies: `table1`, `compare` or `crossover`.

    >>> len(study("compare", problem="cut", horizon=64).left_out)
    4
    """
    lines = [f"{key} = {json.dumps(value)}" for key, value in {"study": name, **options}.items()]
    return parse("\n".join(lines) + "\n", name="the spec")


def _of_study(draft: _Draft, text: str) -> Spec:
    """The cells of a study, which its own code makes. A spec names it with its options, and nothing else."""
    options = dict(draft.given)
    name = options.pop("study")
    if name not in STUDIES:
        raise draft.error(("study",), f"there is no study called {name!r}; {nearest(name, STUDIES)}")
    try:
        asked = list(dict.fromkeys(STUDIES[name].cells(**options)))
    except (TypeError, ValueError) as error:
        raise draft.error(("study",), f"the study {name!r} is not possible: {error}") from None
    cells, left_out = [], []
    for cell in asked:
        try:
            if STUDIES[name].partial:
                build(cell, draft.folder)
        except NotPossibleError as error:
            left_out.append((cell, str(error)))
        else:
            cells.append(cell)
    if not cells:
        raise SpecError(left_out[0][1])
    return Spec(STUDIES[name].title, text, draft.folder, tuple(cells), tuple(left_out), dict(draft.given))


def _whole(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _numbers(draft: _Draft, key: str, least: int, what: str) -> list[int]:
    values = _listed(draft.given[key])
    for value in values:
        if not _whole(value, least):
            raise draft.error((key,), f"{what} is a whole number, at least {least}; got {value!r}.")
    if max(values) >= MOST_NUMBER:
        raise draft.error((key,), f"{what} is below 2^32; got {max(values)}.")
    if len(set(values)) < len(values):
        raise draft.error((key,), f"{key} lists a number twice: {values}.")
    return values


def _seeds(draft: _Draft) -> tuple[int, ...]:
    """A list of seeds, or how many."""
    given = draft.given.get("seeds", 1)
    if isinstance(given, list):
        if not given:
            raise draft.error(("seeds",), "seeds is empty: give at least one, or a number of seeds.")
        return tuple(_numbers(draft, "seeds", 0, "a seed"))
    if not _whole(given, 1):
        wanted = "seeds is a list of whole numbers, or how many there are, at least 1"
        raise draft.error(("seeds",), f"{wanted}; got {given!r}.")
    return tuple(range(given))


def _drawn(draft: _Draft, points: int) -> list[tuple[Cell, list[Mark]]]:
    """The whole grid, possible or not, each cell with the values of the spec that make it."""
    seeds = _seeds(draft)
    horizons = [(h, [(("horizons",), h)]) for h in _numbers(draft, "horizons", 1, "a horizon")]
    parts = {kind: _choices(draft, key, kind) for key, kind in KINDS.items()}
    number = len(horizons) * math.prod(len(part) for part in parts.values())
    if number > MOST_CELLS:
        raise SpecError(f"{draft.name} makes a grid of {number} cells; at most {MOST_CELLS} are run in one sweep.")
    found = []
    for problem, network, algorithm, horizon in product(
        parts["problem"], parts["network"], parts["algorithm"], horizons
    ):
        cell = Cell(problem[0], network[0], algorithm[0], horizon[0], seeds, points, draft.given.get("timed", False))
        found.append((cell, [*problem[1], *network[1], *algorithm[1], *horizon[1]]))
    return found


def _choices(draft: _Draft, key: str, kind: str) -> list[tuple[Choice, list[Mark]]]:
    """Every table of a kind, its lists multiplied out. A list within a list is one value."""
    found = []
    for place, table in enumerate(_listed(draft.given.get(key, "ring"))):
        table = {"name": table} if isinstance(table, str) else table
        if not isinstance(table, Mapping) or "name" not in table:
            raise draft.error((key, place), f"one of the {key} is a name, or a table with a name; got {table!r}.")
        if table["name"] == []:
            why = f"the name of one of the {key} is an empty list: give at least one."
            raise draft.error((key, place, "name"), why)
        for name in _listed(table["name"]):
            options = _options(draft, (key, place), kind, name, {k: v for k, v in table.items() if k != "name"})
            for chosen in product(*(values for _, values in options.values())):
                picked = dict(zip(options, chosen, strict=True))
                marks: list[Mark] = [((key, place, "name"), name)]
                marks += [(options[option][0], value) for option, value in picked.items()]
                found.append((Choice(kind, name, tuple(sorted(picked.items()))), marks))
    return found


def _options(
    draft: _Draft, place: tuple[str | int, ...], kind: str, name: Any, given: dict[str, Any]
) -> dict[str, tuple[tuple[str | int, ...], list[Any]]]:
    """Option -> its place, and its values."""
    try:
        make = resolve(kind, name, draft.folder)
        known = known_options(kind, make)
    except (ValueError, ImportError) as error:
        raise draft.error((*place, "name"), str(error)) from None
    found = {}
    for option, values in given.items():
        path = (*place, option)
        if known is not None and option not in known:
            raise draft.error(path, f"{kind} {name!r} has no option {option!r}; {nearest(option, known)}")
        if values == []:
            raise draft.error(path, f"{option} is an empty list: give at least one value, or leave it out.")
        found[option] = (path, [_value(draft, path, value, known) for value in _listed(values)])
    if kind == "algorithm" and "thetas" in draft.given and "theta" not in found and (known is None or "theta" in known):
        thetas = _listed(draft.given["thetas"])
        if not thetas:
            raise draft.error(("thetas",), "thetas is an empty list: give at least one, or leave it out.")
        found["theta"] = (("thetas",), [_value(draft, ("thetas",), theta, {"theta": 0.5}) for theta in thetas])
    if name in ALGORITHMS and known is not None:  # given or not, they belong to the cell and its label
        for option in ("feedback", "theta"):
            if option in known:
                found.setdefault(option, ((*place, "name"), [known[option]]))
    return found


def _value(draft: _Draft, path: tuple[str | int, ...], value: Any, known: Mapping[str, Any] | None) -> Any:
    option = "theta" if path == ("thetas",) else str(path[-1])
    if not isinstance(value, bool | int | float | str | list):
        raise draft.error(path, f"{option} is a number, text, true or false, or a list; got {value!r}.")
    if isinstance(value, float) and not math.isfinite(value):
        raise draft.error(path, f"{option} must be a finite number; got {value}.")
    usual = None if known is None else known.get(option)
    kinds: dict[type, tuple[tuple[type, ...], str]] = {
        bool: ((bool,), "true or false"), int: ((int,), "a whole number"), float: ((int, float), "a number"),
        str: ((str,), "text in quotes"),
    }  # fmt: skip
    if type(usual) is float and isinstance(value, str) and re.fullmatch(r"\d+/[1-9]\d*", value):
        value = float(Fraction(value))  # "2/3", which has no end as a decimal number
    if type(usual) in kinds:
        wanted, words = kinds[type(usual)]
        if not isinstance(value, wanted) or (isinstance(value, bool) and usual is not True and usual is not False):
            raise draft.error(path, f"{option} is {words}; got {value!r}.")
        if isinstance(usual, float) and isinstance(value, int):
            value = float(value)  # 1 and 1.0 are one run, not two
    return plain(value)


def _sorted_out(draft: _Draft, drawn: list[tuple[Cell, list[Mark]]]) -> tuple[list[Cell], list[tuple[Cell, str]]]:
    """Which cells can run. A value of the spec that no cell can use is an error, and not only a smaller grid."""
    cells: list[Cell] = []
    left_out: list[tuple[Cell, NotPossibleError, list[Mark]]] = []
    usable: set[Mark] = set()
    for cell, marks in drawn:
        try:
            build(cell, draft.folder)
        except NotPossibleError as error:
            left_out.append((cell, error, marks))
        else:
            cells.append(cell)
            usable.update(marks)
    useless = [(error, [mark for mark in marks if mark not in usable]) for _, error, marks in left_out]
    blamed = [(error, marks) for error, marks in useless if marks]
    if blamed:
        # Prefer a cell whose reason concerns a useless value; other reasons may concern values that other cells can use.
        reason, marks = min(blamed, key=lambda each: not any(_is_about(each[0], path) for path, _ in each[1]))
        raise draft.error(_culprit(marks, reason), str(reason))
    names = Counter((cell.problem.label, cell.network.label, cell.label, cell.horizon) for cell in cells)
    for (_, _, label, horizon), times in names.items():
        if times > 1:
            raise SpecError(f"{draft.name} asks for the same run twice: {label}, horizon {horizon}.")
    return cells, [(cell, str(error)) for cell, error, _ in left_out]


def _is_about(error: NotPossibleError, path: tuple[str | int, ...]) -> bool:
    """True if the value at this place belongs to the choice that is refused."""
    return KINDS.get(str(path[0]), "algorithm") == error.kind


def _culprit(marks: list[Mark], error: NotPossibleError) -> tuple[str | int, ...]:
    """The place to name: that of an option in the reason, else that of the refused choice."""
    about = [path for path, _ in marks if _is_about(error, path)] or [path for path, _ in marks]
    for path in about:
        if path[-1] != "name" and re.search(rf"\b{re.escape(str(path[-1]).removesuffix('s'))}\b", str(error)):
            return path
    return next((path for path in reversed(about) if path[-1] == "name"), about[-1])
