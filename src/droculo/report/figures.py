"""Figures of a few panels, each a few curves, in one look. Written as SVG or PNG, the same bytes for the same numbers."""

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
    dash: Any = None  # Matplotlib's, in place of the style's
    opacity: float = 1.0


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    title: str
    across: str
    up: str
    series: Sequence[Series]
    logarithmic: tuple[bool, bool] = (True, True)
    names: Sequence[str] = field(default=())  # of the places along the x axis, where these are not numbers
    plain: bool = False  # numbers along logarithmic axes as 2, 3, 50, and not as powers


def draw(
    path: Path | Sequence[Path],
    title: str,
    panels: Sequence[Panel],
    *,
    columns: int = 3,
    width: float = 4.0,
    one_legend: bool = False,
) -> None:
    """Write all panels to one file, or to several, each SVG or PNG by its name. `one_legend`: below them all, for panels
    whose curves have the same names."""
    matplotlib = _matplotlib()
    columns = min(columns, len(panels))
    lines = -(-len(panels) // columns)
    with matplotlib.rc_context(_SETTINGS):
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
        _save(figure, path)


def draw_network(
    path: Path | Sequence[Path],
    title: str,
    places: ArrayLike,
    links: Sequence[tuple[int, int]],
    values: ArrayLike,
    meaning: str,
) -> None:
    """Write a picture of agents at their places, coloured by a value of each."""
    matplotlib = _matplotlib()
    spots = np.asarray(places, np.float64)
    with matplotlib.rc_context(_SETTINGS):
        figure = matplotlib.figure.Figure(figsize=(4.6, 3.8), layout="constrained")
        axes = figure.subplots()
        for one, other in links:
            axes.plot(*spots[[one, other]].T, color="#999999", linewidth=1, zorder=1)
        size = 260 if len(spots) <= 12 else 120 if len(spots) <= 40 else 30
        shown = axes.scatter(*spots.T, c=values, s=size, cmap="cividis", edgecolors="#555555", linewidths=0.8, zorder=2)
        figure.colorbar(shown, label=meaning, shrink=0.8)
        axes.set(aspect="equal", title=title)
        axes.margins(0.12)
        axes.set_axis_off()
        _save(figure, path)


_SETTINGS = {"svg.hashsalt": "droculo", "svg.fonttype": "none", "font.size": 9}
#: nothing that changes from day to day or from version to version
_METADATA = {".svg": {"Date": None, "Creator": None}, ".png": {"Software": None}}


def _save(figure: Any, path: Path | Sequence[Path]) -> None:
    for number, file in enumerate([path] if isinstance(path, Path) else path):
        if file.suffix not in _METADATA:
            raise ValueError(f"a figure is written as .svg or .png; got {file.name!r}. Give it one of these endings.")
        file.parent.mkdir(parents=True, exist_ok=True)
        if number:
            figure.set_layout_engine("none")  # everything has its place already, and finding it is most of the work
        figure.savefig(file, metadata=_METADATA[file.suffix], dpi=200 if file.suffix == ".png" else "figure")


def _fill(axes: Any, panel: Panel) -> None:
    for number, series in enumerate(panel.series):
        colour = series.colour or COLOURS[number % len(COLOURS)]
        (line,) = axes.plot(
            series.x, series.y, series.style, color=colour, label=series.name, markersize=4, linewidth=1.4, alpha=series.opacity
        )  # fmt: skip
        if series.dash is not None:
            line.set_linestyle(series.dash)
        if series.low is not None and series.high is not None:
            axes.fill_between(series.x, series.low, series.high, color=colour, alpha=0.2, linewidth=0)
    if panel.logarithmic[0]:
        axes.set_xscale("log", base=2)
    if panel.logarithmic[1]:
        axes.set_yscale("log")
    if panel.plain:
        for axis, logarithmic in zip((axes.xaxis, axes.yaxis), panel.logarithmic, strict=True):
            if logarithmic:
                _plain(axis)
    if panel.names:
        axes.set_xticks(range(len(panel.names)), panel.names)
    axes.set(title=panel.title, xlabel=panel.across, ylabel=panel.up)
    axes.title.set_size(9)
    axes.grid(alpha=0.3)


def _plain(axis: Any) -> None:
    """Plain numbers at as many ticks as there is room for."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    decades = np.log10(high / low)
    steps = (1, 1.5, 2, 3, 4, 5, 7) if decades < 0.9 else (1, 2, 5) if decades < 2.5 else (1,)
    axis.set_major_locator(LogLocator(10, subs=steps))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.7g}" if 1e-3 <= value < 1e7 else f"{value:.0e}"))
    axis.set_minor_formatter(NullFormatter())


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
