"""A sweep for a paper: its figures as SVG and PNG, its table as Markdown, LaTeX and CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from droculo.experiments import Sweep
from droculo.report.figures import Panel, Series, draw, draw_network
from droculo.report.look import DASHES, LIGHT, MARKS, dash
from droculo.report.markdown import number, table
from droculo.report.sweep import COLUMNS, COSTS, QUANTITIES, Arena, Curve, arenas, fraction, groups

#: what regret is drawn against
AGAINST = ("round", "exchanges", "bytes", "loo_calls", "queries")
#: columns that are words
WORDS = ("method", "feedback", "theta")


def write_exports(sweep: Sweep, out: Path) -> list[Path]:
    """Write `out`/figures/*.svg and *.png, table.md, table.tex and table.csv; return what was written.

    Figures show the largest horizon and the methods that the page shows first.
    """
    out.mkdir(parents=True, exist_ok=True)
    found = arenas(sweep)
    written = [
        _write(out / "table.md", _all(found, markdown, "## {}\n\n{}\n")),
        _write(out / "table.tex", "% \\usepackage{booktabs}\n" + _all(found, latex, "% {}\n{}\n")),
        _write(out / "table.csv", comma_separated(found)),
    ]
    ordered = groups(found)
    for arena in found:
        prefix = "" if len(found) == 1 else _slug(f"{arena.problem} {arena.network}") + "-"
        written += _figures(arena, out / "figures", prefix, ordered)
    return written


def _write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8", newline="\n")
    return path


def _title(arena: Arena) -> str:
    return f"{arena.problem} on {arena.network}"


def _all(found: Sequence[Arena], form: Any, each: str) -> str:
    """One table after another; headed where there are several."""
    if len(found) == 1:
        return f"{form(found[0])}\n"
    return "\n".join(each.format(_title(arena), form(arena)) for arena in found)


def _slug(text: str) -> str:
    """A name for files.

    >>> _slug("feeder, seed = 1 feeder-areas")
    'feeder-seed-1-feeder-areas'
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _cells(arena: Arena) -> tuple[list[str], list[list[Any]]]:
    """Head and rows as they are read: the range over seeds in one column."""
    names = [name for name in COLUMNS if name not in ("certified_low", "certified_high")]
    head = [COLUMNS[name] for name in names]
    at = names.index("certified") + 1
    head.insert(at, "lowest to highest seed")
    rows = []
    for row in arena.table:
        cells = [fraction(row[name]) if name == "theta" and row[name] is not None else row[name] for name in names]
        low, high = row["certified_low"], row["certified_high"]
        cells.insert(at, None if low is None else f"{number(low)} to {number(high)}")
        rows.append(cells)
    return head, rows


def markdown(arena: Arena) -> str:
    """The totals of an arena as a Markdown table."""
    head, rows = _cells(arena)
    return table(head, [[cell.replace("|", "\\|") if isinstance(cell, str) else cell for cell in row] for row in rows])


def latex(arena: Arena) -> str:
    """The totals of an arena as a LaTeX tabular; it needs the package booktabs."""
    head, rows = _cells(arena)
    sides = "".join("l" if name in ("method", "feedback") else "r" for name in head)
    lines = [
        f"\\begin{{tabular}}{{{sides}}}",
        "\\toprule",
        " & ".join(_tex(name) for name in head) + r" \\",
        "\\midrule",
        *(" & ".join(_tex(cell) for cell in row) + r" \\" for row in rows),
        "\\bottomrule",
        "\\end{tabular}",
    ]
    return "\n".join(lines)


_SPECIAL = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    **{sign: "\\" + sign for sign in "&%$#_{}"},
}  # fmt: skip


def _tex(cell: Any) -> str:
    """A cell in LaTeX: numbers in mathematics, words with what LaTeX reads otherwise escaped.

    >>> _tex("own:a_b & 5%"), _tex(-0.5), _tex(1.5e-7), _tex(None), _tex("1 to -2"), _tex("1/3")
    ('own:a\\\\_b \\\\& 5\\\\%', '$-0.5$', '$1.5 \\\\times 10^{-7}$', '--', '1 to $-2$', '1/3')
    """
    if cell is None:
        return "--"
    if not isinstance(cell, str):
        return _tex_number(number(cell))
    if re.fullmatch(r"\S+ to \S+", cell):  # a range of numbers
        low, _, high = cell.split(" ")
        return f"{_tex_number(low)} to {_tex_number(high)}"
    words = "".join(_SPECIAL.get(sign, sign) for sign in cell)
    return {"theta": r"$\theta$", "T": "$T$"}.get(words, words.replace("alpha-", r"$\alpha$-"))


def _tex_number(text: str) -> str:
    mantissa, _, power = text.partition("e")
    if power:
        return f"${mantissa} \\times 10^{{{int(power)}}}$"
    return f"${text}$" if text.startswith("-") and len(text) > 1 else text


def comma_separated(found: Sequence[Arena]) -> str:
    """The totals of all arenas as CSV, for programs: all digits, columns by their names in code."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["problem", "network", *COLUMNS])
    for arena in found:
        for row in arena.table:
            writer.writerow(
                [arena.problem, arena.network, *("" if row[name] is None else row[name] for name in COLUMNS)]
            )
    return text.getvalue()


def _figures(arena: Arena, folder: Path, prefix: str, ordered: Sequence[str]) -> list[Path]:
    T = max(arena.horizons)
    curves = [curve for curve in arena.curves if curve.horizon == T and curve.label in arena.shown]
    thetas = [curve.theta for curve in arena.curves]
    written: list[Path] = []

    def paths(name: str) -> list[Path]:
        both = [folder / f"{prefix}{name}{suffix}" for suffix in (".svg", ".png")]
        written.extend(both)
        return both

    def look(curve: Curve) -> dict[str, Any]:
        place = ordered.index(curve.group)
        return {"colour": LIGHT[place % len(LIGHT)], "dash": DASHES[dash(curve.theta, thetas)]}

    def mark(curve: Curve) -> str:
        return MARKS[ordered.index(curve.group) % len(MARKS)][0]

    what = next((name for name in ("certified", "regret") if any(c.totals[name] is not None for c in curves)), None)
    if what is not None:
        known = [curve for curve in curves if curve.totals[what] is not None]
        for cost in AGAINST:
            panel = _over(known, what, cost, look, arena)
            if panel is not None:
                draw(paths(f"regret-{_slug(COSTS[cost])}"), "", [panel], columns=1, width=6, one_legend=True)
        pareto = _pareto(known, what, look, mark)
        if pareto is not None:
            draw(paths("pareto"), "", [pareto], columns=1, width=6, one_legend=True)
    slopes = _growth(arena, look, mark)
    if slopes is not None:
        draw(paths("growth"), "", [slopes], columns=1, width=6, one_legend=True)
    drawn = next((curve for curve in curves if curve.agents), None)
    if drawn is not None and drawn.agents is not None and arena.places is not None and arena.links is not None:
        shown = next(name for name in ("certified", "regret", "gap") if name in drawn.agents)
        values = np.asarray(drawn.agents[shown][-1]) / (1 if shown == "gap" else T)
        meaning = "consensus gap" if shown == "gap" else f"{QUANTITIES[shown]} a round"
        draw_network(paths("network"), f"{drawn.name}, T = {T}", arena.places, arena.links, values, meaning)
    return written


def _over(curves: Sequence[Curve], what: str, cost: str, look: Any, arena: Arena) -> Panel | None:
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
    return Panel(_title(arena), across, f"{QUANTITIES[what]} a round", series, (True, lowest > 0), plain=True)


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


def _growth(arena: Arena, look: Any, mark: Any) -> Panel | None:
    """Certified regret against the horizon, with what the theorem promises through the last point."""
    by_label = {curve.label: curve for curve in arena.curves}
    series = []
    for slope in arena.slopes:
        if slope.label not in arena.shown or slope.slope is None:
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
    title = f"{_title(arena)}: slopes, and in brackets (dashed) those promised"
    return Panel(title, "horizon T", "certified regret, cumulative", series, plain=True)
