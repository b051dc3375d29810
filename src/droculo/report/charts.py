"""A sweep's charts, each described once for the page's script and for files, and its table as Markdown, LaTeX and CSV."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from droculo.experiments import Sweep
from droculo.experiments.catalogue import fraction
from droculo.report.data import COLUMNS, COSTS, QUANTITIES, RARE, SUMMED, Curve, Instance, Numbers, groups, instances
from droculo.report.figure import DASHES, LIGHT, MARKS, Figure, Network, Panel, Series, dash
from droculo.report.summary import MARKED
from droculo.report.table import Table, number


@dataclass(frozen=True)
class Chart:
    """A quantity against a cost, a line or a point for each method. To add one, add it to `CHARTS`."""

    name: str  # of its files, and of its place on the page
    title: str
    up: tuple[str, ...]  # names of QUANTITIES: the choices on the page, and the first that is known in a file
    across: tuple[str, ...]  # names of COSTS, likewise; `()` offers all of them
    files: tuple[str, ...]  # the costs that figures are written for
    per_round: bool | None  # regret divided by t, or cumulative; None leaves it to the reader
    last: bool = False  # only the ends of runs
    horizons: bool = False  # joins the ends of a method's runs at all horizons
    overlay: str = ""  # "front": those that no other method beats in both numbers; "promise": the theorem's power of T
    read: str = ""  # how to read it


CHARTS = (
    Chart(
        "regret", "Regret", tuple(QUANTITIES), (), ("round", "exchanges", "bytes", "loo_calls", "queries"), None,
        read="Lines are means over agents and seeds; where there are several seeds, bands reach from the lowest to the highest.",
    ),
    Chart(
        "pareto", "What communication buys", ("certified", "regret"), ("exchanges", "bytes", "loo_calls"), ("exchanges",), True,
        last=True, overlay="front",
        read="One point for each method, after T rounds; the bar spans its seeds. Further left is cheaper, further down is "
        "better. The grey line joins the methods that no other one shown beats in both: the Pareto front.",
    ),
    Chart(
        "growth", "Growth with the horizon", ("certified",), ("round",), ("round",), False, last=True, horizons=True, overlay="promise",
        read="Cumulative certified regret after T rounds, both axes logarithmic, so that a power of T is a straight line. The "
        "thin dashed lines through the last points rise as the theorem promises: a method keeps its promise if, in the long run, "
        "its own line is no steeper.",
    ),
)  # fmt: skip


def panels(chart: Chart, instance: Instance, ordered: Sequence[str]) -> list[tuple[str, Panel]]:
    """What is written to files: (cost, panel) for each of the chart's costs that is spent at all.

    They show the methods that the page shows first, at the largest horizon. `ordered`: the groups of all instances, one colour each.
    """
    T = max(instance.horizons)
    curves = [
        curve for curve in instance.curves if curve.label in instance.shown and (chart.horizons or curve.horizon == T)
    ]
    up = next((name for name in chart.up if any(curve.known(name) for curve in curves)), None)
    if up is None:
        return []
    thetas = [curve.theta for curve in instance.curves]

    def style(curve: Curve) -> dict[str, Any]:
        place = ordered.index(curve.group)
        look = {"colour": LIGHT[place % len(LIGHT)], "style": MARKS[place % len(MARKS)][0] if chart.last else "-"}
        if chart.last and not chart.horizons:
            return look
        look["style"] += "-" if chart.last else ""
        return {**look, "dash": DASHES[dash(curve.theta, thetas)]}

    found = ((across, _panel(chart, instance, curves, up, across, style)) for across in chart.files)
    return [(across, panel) for across, panel in found if panel is not None]


def _lines(chart: Chart, curves: Sequence[Curve], up: str, across: str) -> list[tuple[Curve, Numbers]]:
    """Methods with at least one point (two, if the points are horizons), without those that spent nothing."""
    methods: dict[str, list[Curve]] = {}
    for curve in curves:
        methods.setdefault(curve.label, []).append(curve)
    found = []
    for own in methods.values():
        points = np.concatenate([_points(chart, curve, up, across) for curve in own])
        points = points[np.all(np.isfinite(points), axis=1) & (points[:, 0] > 0)]
        if len(points) > chart.horizons:
            found.append((own[-1], points))
    return found


def _points(chart: Chart, curve: Curve, up: str, across: str) -> Numbers:
    """(times, 4): cost, mean, lowest and highest seed."""
    band, t = curve.quantities[up], np.asarray(curve.costs["round"])
    summed = up in SUMMED and chart.per_round is not False
    columns = (np.asarray(values, np.float64) / (t if summed else 1) for values in (band.mean, band.low, band.high))
    points = np.stack([np.asarray(curve.costs[across], np.float64), *columns], axis=1)
    return points[-1:] if chart.last else points


def _panel(
    chart: Chart, instance: Instance, curves: Sequence[Curve], up: str, across: str, style: Callable[[Curve], Any]
) -> Panel | None:
    lines = _lines(chart, curves, up, across)
    if not lines:
        return None
    series = []
    if chart.overlay == "front":
        front = np.asarray(undominated([(points[-1, 0], points[-1, 1]) for _, points in lines]))
        series.append(Series("Pareto front", front[:, 0], front[:, 1], style="-", colour="#999999", opacity=0.6))
    for curve, points in lines:
        (x, mean, low, high), name, look = points.T, curve.name, style(curve)
        if chart.overlay == "promise":
            slope = next((slope for slope in instance.slopes if slope.label == curve.label), None)
            name += "" if slope is None or slope.slope is None else f": {slope.slope:.2f}"
            if slope is not None and slope.promised is not None:
                name += f" ({slope.promised:.2f})"
                promised = mean[-1] * (x / x[-1]) ** slope.promised
                series.append(Series("_promised", x, promised, style="--", colour=look["colour"], opacity=0.5))
        if len(x) == 1 and not chart.last:
            look["style"] = "o"  # a line of one point would not be seen
        band = (low, high) if curve.seeds > 1 and len(x) > 1 else ()
        series.append(Series(name, x, mean, *band, **look))
    positive = all(np.all(points[:, 2] > 0) for _, points in lines)
    return Panel(_title(chart, instance), *_axes(chart, up, across), series, (True, positive), plain=True)


def _title(chart: Chart, instance: Instance) -> str:
    if chart.overlay == "promise":
        return f"{instance.title}: slopes, and in brackets (dashed) those promised"
    return f"{instance.title}, T = {max(instance.horizons)}" if chart.last else instance.title


def _axes(chart: Chart, up: str, across: str) -> tuple[str, str]:
    """The names of the horizontal and the vertical axis."""
    if chart.horizons:
        return "horizon T", f"{QUANTITIES[up][0]}, cumulative"
    return COSTS[across] + ("" if across == "round" else ", average agent"), f"{QUANTITIES[up][0]} a round"


def undominated(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points that no other one beats in both numbers, in order.

    >>> undominated([(1, 5), (2, 3), (3, 4), (4, 1)])
    [(1, 5), (2, 3), (4, 1)]
    """
    return sorted({p for p in points if not any(q[0] <= p[0] and q[1] <= p[1] and q != p for q in points)})


def network_picture(instance: Instance) -> Network | None:
    """The agents of the first method shown, coloured by their regret at the end; None where agents were not kept."""
    T = max(instance.horizons)
    chosen = (c for c in instance.curves if c.horizon == T and c.label in instance.shown and c.agents)
    drawn = next(chosen, None)
    if drawn is None or drawn.agents is None or instance.places is None or instance.links is None:
        return None
    shown = next(name for name in ("certified", "regret", "gap") if name in drawn.agents)
    values = np.asarray(drawn.agents[shown][-1]) / (1 if shown == "gap" else T)
    meaning = "consensus gap" if shown == "gap" else f"{QUANTITIES[shown][0]} a round"
    return Network(f"{drawn.name}, T = {T}", instance.places, instance.links, values, meaning)


def write_exports(sweep: Sweep, out: Path) -> list[Path]:
    """Write `out`/figures/*.svg and *.png, table.md, table.tex and table.csv; return what was written.

    Figures show the largest horizon and the methods that the page shows first.
    """
    out.mkdir(parents=True, exist_ok=True)
    found = instances(sweep)
    tables = [totals(instance) for instance in found]
    every = [[each.problem, each.network, *(row[name] for name in COLUMNS)] for each in found for row in each.table]
    written = [
        _write(out / "table.md", "\n".join(map(_markdown, found))),
        _write(out / "table.tex", "\n".join(["% \\usepackage{booktabs}", *map(_latex, tables)])),
        _write(out / "table.csv", Table(["problem", "network", *COLUMNS], every).csv()),
    ]
    ordered = groups(found)
    for instance in found:
        prefix = "" if len(found) == 1 else _slug(f"{instance.problem} {instance.network}") + "-"
        written += _figures(instance, out / "figures", prefix, ordered)
    return written


def _write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8", newline="\n")
    return path


def _markdown(instance: Instance) -> str:
    table = totals(instance)
    return "\n\n".join([f"## {table.title}", table.markdown(), *notes(instance)]) + "\n"


def _latex(table: Table) -> str:
    return f"% {table.title}\n{table.latex()}\n"


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


def notes(instance: Instance) -> list[str]:
    """What has to be said under the totals."""
    marked = [MARKED] if not all(curve.learned for curve in instance.curves) else []
    return [note for note in (instance.baselines, *marked, *instance.warnings) if note]


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
