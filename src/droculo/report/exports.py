"""A sweep for a paper: its figures as SVG and PNG, its table as Markdown, LaTeX and CSV."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from droculo.experiments import Sweep
from droculo.experiments.catalogue import fraction
from droculo.report.charts import CHARTS, network_picture, panels
from droculo.report.data import COLUMNS, COSTS, RARE, Instance, groups, instances
from droculo.report.figure import Figure
from droculo.report.table import Table, number


def write_exports(sweep: Sweep, out: Path) -> list[Path]:
    """Write `out`/figures/*.svg and *.png, table.md, table.tex and table.csv; return what was written.

    Figures show the largest horizon and the methods that the page shows first.
    """
    out.mkdir(parents=True, exist_ok=True)
    found = instances(sweep)
    tables = [totals(instance) for instance in found]
    written = [
        _write(out / "table.md", _all(tables, Table.markdown, "## {}\n\n{}\n")),
        _write(out / "table.tex", "% \\usepackage{booktabs}\n" + _all(tables, Table.latex, "% {}\n{}\n")),
        _write(out / "table.csv", every_digit(found).csv()),
    ]
    ordered = groups(found)
    for instance in found:
        prefix = "" if len(found) == 1 else _slug(f"{instance.problem} {instance.network}") + "-"
        written += _figures(instance, out / "figures", prefix, ordered)
    return written


def _write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8", newline="\n")
    return path


def _all(tables: Sequence[Table], form: Callable[[Table], str], each: str) -> str:
    """One table after another, with headings if there are several."""
    if len(tables) == 1:
        return f"{form(tables[0])}\n"
    return "\n".join(each.format(table.title, form(table)) for table in tables)


def _slug(text: str) -> str:
    """A name for files.

    >>> _slug("feeder, seed = 1 feeder-areas")
    'feeder-seed-1-feeder-areas'
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def totals(instance: Instance) -> Table:
    """The totals of an instance, to be read: the range over seeds in one column, rare costs only if there are any."""
    names = [name for name in COLUMNS if name not in ("certified_low", "certified_high")]
    names = [name for name in names if name not in RARE or any(row[name] for row in instance.table)]
    head = [COLUMNS[name] for name in names]
    at = names.index("certified") + 1
    head.insert(at, "lowest to highest seed")
    rows = []
    for row in instance.table:
        cells = [fraction(row[name]) if name == "theta" and row[name] is not None else row[name] for name in names]
        low, high = row["certified_low"], row["certified_high"]
        cells.insert(at, None if low is None else f"{number(low)} to {number(high)}")
        rows.append(cells)
    return Table(head, rows, instance.title, words=2)


def every_digit(found: Sequence[Instance]) -> Table:
    """The totals of all instances for programs: all digits, columns by their names in code."""
    rows = [
        [instance.problem, instance.network, *(row[name] for name in COLUMNS)]
        for instance in found
        for row in instance.table
    ]
    return Table(["problem", "network", *COLUMNS], rows)


def _figures(instance: Instance, folder: Path, prefix: str, ordered: Sequence[str]) -> list[Path]:
    """A file for each chart and each of its costs, and the network."""
    drawn = {}
    for chart in CHARTS:
        for across, panel in panels(chart, instance, ordered):
            name = chart.name if len(chart.files) == 1 else f"{chart.name}-{_slug(COSTS[across])}"
            drawn[name] = Figure([panel], columns=1, width=6, one_legend=True)
    picture = network_picture(instance)
    if picture is not None:
        drawn["network"] = Figure([picture], columns=1, width=4.6, height=3.4)
    written = []
    for name, figure in drawn.items():
        paths = [folder / f"{prefix}{name}{suffix}" for suffix in (".svg", ".png")]
        figure.draw(*paths)
        written += paths
    return written
