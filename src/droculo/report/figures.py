"""Figures of a few panels, each a few curves, in one look. Written as SVG, the same bytes for the same numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

COLOURS = ("#1b6ca8", "#d1495b", "#2e8b57", "#e0a030", "#6a4c93", "#444444", "#00a6a6", "#b56576")


@dataclass(frozen=True)
class Series:
    """One curve: y over x, with a range around it if there is one."""

    name: str
    x: ArrayLike
    y: ArrayLike
    low: ArrayLike | None = None
    high: ArrayLike | None = None
    style: str = "o-"  # Matplotlib's
    colour: str | None = None


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    title: str
    across: str
    up: str
    series: Sequence[Series]
    logarithmic: tuple[bool, bool] = (True, True)
    names: Sequence[str] = field(default=())  # of the places along the x axis, where these are not numbers


def draw(
    path: Path,
    title: str,
    panels: Sequence[Panel],
    *,
    columns: int = 3,
    width: float = 4.0,
    one_legend: bool = False,
) -> None:
    """Write all panels to one SVG file. `one_legend`: below them all, for panels whose curves have the same names."""
    matplotlib = _matplotlib()
    columns = min(columns, len(panels))
    lines = -(-len(panels) // columns)
    settings = {"svg.hashsalt": "droculo", "svg.fonttype": "none", "font.size": 9}
    with matplotlib.rc_context(settings):
        height = 3.1 * lines + 0.4 + 0.6 * one_legend
        figure = matplotlib.figure.Figure(figsize=(width * columns, height), layout="constrained")
        grid = np.atleast_1d(figure.subplots(lines, columns)).ravel()
        for axes, panel in zip(grid, panels, strict=False):
            _fill(axes, panel)
            if not one_legend:
                axes.legend(fontsize=7)
        for axes in grid[len(panels) :]:
            axes.set_axis_off()
        if one_legend:
            figure.legend(*_curves(grid), loc="outside lower center", ncols=columns + 1, fontsize=8, frameon=False)
        figure.suptitle(title)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata={"Date": None, "Creator": None})


def _fill(axes: Any, panel: Panel) -> None:
    for number, series in enumerate(panel.series):
        colour = series.colour or COLOURS[number % len(COLOURS)]
        axes.plot(series.x, series.y, series.style, color=colour, label=series.name, markersize=4, linewidth=1.4)
        if series.low is not None and series.high is not None:
            axes.fill_between(series.x, series.low, series.high, color=colour, alpha=0.2, linewidth=0)
    if panel.logarithmic[0]:
        axes.set_xscale("log", base=2)
    if panel.logarithmic[1]:
        axes.set_yscale("log")
    if panel.names:
        axes.set_xticks(range(len(panel.names)), panel.names)
    axes.set(title=panel.title, xlabel=panel.across, ylabel=panel.up)
    axes.title.set_size(9)
    axes.grid(alpha=0.3)


def _curves(grid: Any) -> tuple[list[Any], list[str]]:
    """Every name once, as it first appears."""
    found: dict[str, Any] = {}
    for axes in grid:
        for curve, name in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(name, curve)
    return list(found.values()), list(found)


def _matplotlib() -> Any:
    try:
        import matplotlib
        import matplotlib.figure
    except ImportError as error:
        raise ImportError('figures need Matplotlib: pip install "droculo[plots]"') from error
    return matplotlib
