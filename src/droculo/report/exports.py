"""A sweep for a paper: its figures as SVG and PNG, its table as Markdown, LaTeX and CSV."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from droculo.experiments import Sweep
from droculo.experiments.catalogue import fraction
from droculo.report.data import COLUMNS, COSTS, QUANTITIES, RARE, Curve, Instance, groups, instances
from droculo.report.figure import Figure, Network, Panel, Series
from droculo.report.look import DASHES, LIGHT, MARKS, dash
from droculo.report.table import Table, number

#: what regret is drawn against
AGAINST = ("round", "exchanges", "bytes", "loo_calls", "queries")


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


def _title(instance: Instance) -> str:
    return f"{instance.problem} on {instance.network}"


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
    return Table(head, rows, _title(instance), words=2)


def every_digit(found: Sequence[Instance]) -> Table:
    """The totals of all instances for programs: all digits, columns by their names in code."""
    rows = [
        [instance.problem, instance.network, *(row[name] for name in COLUMNS)]
        for instance in found
        for row in instance.table
    ]
    return Table(["problem", "network", *COLUMNS], rows)


def _figures(instance: Instance, folder: Path, prefix: str, ordered: Sequence[str]) -> list[Path]:
    T = max(instance.horizons)
    curves = [curve for curve in instance.curves if curve.horizon == T and curve.label in instance.shown]
    thetas = [curve.theta for curve in instance.curves]
    written: list[Path] = []

    def paths(name: str) -> list[Path]:
        both = [folder / f"{prefix}{name}{suffix}" for suffix in (".svg", ".png")]
        written.extend(both)
        return both

    def one(panel: Panel) -> Figure:
        return Figure([panel], columns=1, width=6, one_legend=True)

    def look(curve: Curve) -> dict[str, Any]:
        place = ordered.index(curve.group)
        return {"colour": LIGHT[place % len(LIGHT)], "dash": DASHES[dash(curve.theta, thetas)]}

    def mark(curve: Curve) -> str:
        return MARKS[ordered.index(curve.group) % len(MARKS)][0]

    what = next((name for name in ("certified", "regret") if any(c.totals[name] is not None for c in curves)), None)
    if what is not None:
        known = [curve for curve in curves if curve.totals[what] is not None]
        for cost in AGAINST:
            panel = _over(known, what, cost, look, instance)
            if panel is not None:
                one(panel).draw(*paths(f"regret-{_slug(COSTS[cost])}"))
        pareto = _pareto(known, what, look, mark)
        if pareto is not None:
            one(pareto).draw(*paths("pareto"))
    slopes = _growth(instance, look, mark)
    if slopes is not None:
        one(slopes).draw(*paths("growth"))
    drawn = next((curve for curve in curves if curve.agents), None)
    if drawn is not None and drawn.agents is not None and instance.places is not None and instance.links is not None:
        shown = next(name for name in ("certified", "regret", "gap") if name in drawn.agents)
        values = np.asarray(drawn.agents[shown][-1]) / (1 if shown == "gap" else T)
        meaning = "consensus gap" if shown == "gap" else f"{QUANTITIES[shown]} a round"
        picture = Network(f"{drawn.name}, T = {T}", instance.places, instance.links, values, meaning)
        Figure([picture], columns=1, width=4.6, height=3.4).draw(*paths("network"))
    return written


def _over(curves: Sequence[Curve], what: str, cost: str, look: Any, instance: Instance) -> Panel | None:
    """Regret a round against a cost; None where no method has any of it."""
    series, lowest = [], np.inf
    for curve in curves:
        band, spent = curve.quantities[what], np.asarray(curve.costs[cost])
        t = np.asarray(curve.costs["round"])
        mean, low, high = (np.asarray(each, np.float64) / t for each in (band.mean, band.low, band.high))
        kept = np.isfinite(mean) & (spent > 0)
        if not np.any(kept):
            continue
        lowest = min(lowest, float(np.min(low[kept])))
        style = "-" if np.sum(kept) > 1 else "o"
        ranged = {"low": low[kept], "high": high[kept]} if curve.seeds > 1 else {}
        series.append(Series(curve.name, spent[kept], mean[kept], style=style, **ranged, **look(curve)))
    if not series:
        return None
    across = COSTS[cost] if cost == "round" else f"{COSTS[cost]}, average agent"
    return Panel(_title(instance), across, f"{QUANTITIES[what]} a round", series, (True, lowest > 0), plain=True)


def _pareto(curves: Sequence[Curve], what: str, look: Any, mark: Any) -> Panel | None:
    """Regret a round against exchanges, a point for each method, and the front of those that none beats in both."""
    points = []
    for curve in curves:
        cost, regret = curve.totals["exchanges"], curve.totals[what]
        if cost is not None and cost > 0 and regret is not None:
            points.append((cost, regret / curve.horizon, curve))
    if not points:
        return None
    front = np.asarray(undominated([(cost, regret) for cost, regret, _ in points]))
    series = [Series("Pareto front", front[:, 0], front[:, 1], style="-", colour="#999999", opacity=0.6)]
    for cost, regret, curve in points:
        series.append(Series(curve.name, [cost], [regret], style=mark(curve), colour=look(curve)["colour"]))
    positive = all(regret > 0 for _, regret, _ in points)
    up = f"{QUANTITIES[what]} a round"
    return Panel(f"T = {curves[0].horizon}", "exchanges", up, series, (True, positive), plain=True)


def undominated(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points that no other one beats in both numbers, in order.

    >>> undominated([(1, 5), (2, 3), (3, 4), (4, 1)])
    [(1, 5), (2, 3), (4, 1)]
    """
    return sorted({p for p in points if not any(q[0] <= p[0] and q[1] <= p[1] and q != p for q in points)})


def _growth(instance: Instance, look: Any, mark: Any) -> Panel | None:
    """Certified regret against the horizon, with what the theorem promises through the last point."""
    by_label = {curve.label: curve for curve in instance.curves}
    series = []
    for slope in instance.slopes:
        if slope.label not in instance.shown or slope.slope is None:
            continue
        curve = by_label[slope.label]
        T, mean = np.asarray(slope.horizons, np.float64), np.asarray(slope.certified.mean, np.float64)
        low, high = (np.asarray(each, np.float64) for each in (slope.certified.low, slope.certified.high))
        name = f"{curve.name}: {slope.slope:.2f}"
        if slope.promised is not None:
            name += f" ({slope.promised:.2f})"
            promised = mean[-1] * (T / T[-1]) ** slope.promised
            colour = look(curve)["colour"]
            series.append(Series("_promised", T, promised, style="--", colour=colour, opacity=0.5))
        series.append(Series(name, T, mean, low, high, style=f"{mark(curve)}-", **look(curve)))
    if not series:
        return None
    title = f"{_title(instance)}: slopes, and in brackets (dashed) those promised"
    return Panel(title, "horizon T", "certified regret, cumulative", series, plain=True)
