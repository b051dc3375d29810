"""Figures, described by their panels and series, and drawn by Matplotlib in one look."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from droculo.expect import extra

#: of curves whose colours mean nothing else
COLOURS = ("#1b6ca8", "#d1495b", "#2e8b57", "#e0a030", "#6a4c93", "#444444", "#00a6a6", "#b56576")
#: told apart with any kind of colour vision, on white; the same hues on black
LIGHT = (
    "#0067b0", "#cc5200", "#008a64", "#a3428f", "#a87900", "#3b9fd1", "#8c1d40", "#6b7a1e", "#5b6470", "#3f2f9b",
)  # fmt: skip
DARK = (
    "#5aaef5", "#ff9255", "#2fc49a", "#dd8fd0", "#efc355", "#9adcf7", "#f2789b", "#a3b03c", "#b3bcc7", "#a79bf7",
)  # fmt: skip
#: (Matplotlib's name, Plotly's name) of the mark that goes with a colour
MARKS = (
    ("o", "circle"), ("s", "square"), ("D", "diamond"), ("^", "triangle-up"), ("v", "triangle-down"), ("p", "pentagon"),
    ("X", "x"), ("P", "cross"), ("*", "star"), ("h", "hexagon"),
)  # fmt: skip
#: Plotly's name -> Matplotlib's; the theta nearest 1/2 has the first
DASHES = {"solid": "-", "dash": "--", "dot": ":", "dashdot": "-.", "longdash": (0, (8, 3)), "longdashdot": (0, (8, 3, 2, 3))}  # fmt: skip


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
    plain: bool = False  # numbers along logarithmic axes as 2, 3, 50, and not as powers

    def fill(self, axes: Any) -> None:
        """Draw it."""
        for number, series in enumerate(self.series):
            colour = series.colour or COLOURS[number % len(COLOURS)]
            look = {"color": colour, "label": series.name, "alpha": series.opacity, "markersize": 4, "linewidth": 1.4}
            (line,) = axes.plot(series.x, series.y, series.style, **look)
            if series.dash is not None:
                line.set_linestyle(series.dash)
            if series.low is not None and series.high is not None:
                axes.fill_between(series.x, series.low, series.high, color=colour, alpha=0.2, linewidth=0)
        if self.logarithmic[0]:
            axes.set_xscale("log", base=2)
        if self.logarithmic[1]:
            axes.set_yscale("log")
        for axis, logarithmic in zip((axes.xaxis, axes.yaxis), self.logarithmic, strict=True):
            if self.plain and logarithmic:
                _plain(axis)
        axes.set(title=self.title, xlabel=self.across, ylabel=self.up)
        axes.title.set_size(9)
        axes.grid(alpha=0.3)


@dataclass(frozen=True)
class Network:
    """A picture of agents at their places, coloured by a value of each."""

    title: str
    places: ArrayLike
    links: Sequence[tuple[int, int]]
    values: ArrayLike
    meaning: str  # of the values

    def fill(self, axes: Any) -> None:
        """Draw it."""
        spots = np.asarray(self.places, np.float64)
        for one, other in self.links:
            axes.plot(*spots[[one, other]].T, color="#999999", linewidth=1, zorder=1)
        look = {"cmap": "cividis", "edgecolors": "#555555", "linewidths": 0.8}
        size = 260 if len(spots) <= 12 else 120 if len(spots) <= 40 else 30
        shown = axes.scatter(*spots.T, c=self.values, s=size, zorder=2, **look)
        axes.figure.colorbar(shown, ax=axes, label=self.meaning, shrink=0.8)
        axes.set(aspect="equal", title=self.title)
        axes.margins(0.12)
        axes.set_axis_off()


@dataclass(frozen=True)
class Drawing:
    """Axes that a function fills: for pictures in the terms of an application."""

    fill: Callable[[Any], None]


@dataclass(frozen=True)
class Figure:
    """Panels in a grid. `one_legend`: below them all, for panels whose curves have the same names."""

    panels: Sequence[Panel | Network | Drawing]
    title: str = ""
    columns: int = 3
    width: float = 4.0  # of a panel, in inches
    height: float = 3.1
    one_legend: bool = False
    dpi: int = 200  # of a PNG

    def draw(self, *files: Path) -> None:
        """Write the figure to each file, as SVG or PNG by its name: the same bytes for the same numbers."""
        for file in files:
            if file.suffix not in _METADATA:
                wrong = f"a figure is written as .svg or .png; got {file.name!r}"
                raise ValueError(f"{wrong}. Give it one of these endings.")
        matplotlib = extra("matplotlib", "figures", "plots")
        extra("matplotlib.figure", "figures", "plots")
        columns = min(self.columns, len(self.panels))
        lines = -(-len(self.panels) // columns)
        with matplotlib.rc_context(_SETTINGS):
            height = self.height * lines + 0.4 + 0.6 * self.one_legend
            figure = matplotlib.figure.Figure(figsize=(self.width * columns, height), layout="constrained")
            grid = np.atleast_1d(figure.subplots(lines, columns)).ravel()
            for axes, panel in zip(grid, self.panels, strict=False):
                panel.fill(axes)
                if isinstance(panel, Panel) and not self.one_legend:
                    axes.legend(fontsize=7)
            for axes in grid[len(self.panels) :]:
                axes.set_axis_off()
            if self.one_legend:
                figure.legend(*_curves(grid), loc="outside lower center", ncols=columns + 1, fontsize=8, frameon=False)
            figure.suptitle(self.title)
            for number, file in enumerate(files):
                file.parent.mkdir(parents=True, exist_ok=True)
                if number:
                    figure.set_layout_engine("none")  # the layout is done, and doing it again takes most of the time
                dpi = self.dpi if file.suffix == ".png" else "figure"
                figure.savefig(file, metadata=_METADATA[file.suffix], dpi=dpi)


_SETTINGS = {"svg.hashsalt": "droculo", "svg.fonttype": "none", "font.size": 9}
#: no dates and no versions
_METADATA = {".svg": {"Date": None, "Creator": None}, ".png": {"Software": None}}


def _plain(axis: Any) -> None:
    """Plain numbers, at as many ticks as fit."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    decades = np.log10(high / low)
    steps = (1, 1.5, 2, 3, 4, 5, 7) if decades < 0.9 else (1, 2, 5) if decades < 2.5 else (1,)
    axis.set_major_locator(LogLocator(10, subs=steps))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.7g}" if 1e-3 <= value < 1e7 else f"{value:.0e}"))
    axis.set_minor_formatter(NullFormatter())


def _curves(grid: Any) -> tuple[list[Any], list[str]]:
    """The curves for a legend, every name once."""
    found: dict[str, Any] = {}
    for axes in grid:
        for curve, name in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(name, curve)
    return list(found.values()), list(found)


def dash(theta: float | None, thetas: Iterable[float | None]) -> str:
    """The dash of one theta among all.

    >>> [dash(theta, [1 / 3, 1 / 2, 1, None]) for theta in (1 / 3, 1 / 2, 1, None)]
    ['dash', 'solid', 'dot', 'solid']
    """
    if theta is None:
        return "solid"
    ordered = sorted({each for each in thetas if each is not None}, key=lambda t: (round(abs(t - 0.5), 6), -t))
    return list(DASHES)[ordered.index(theta) % len(DASHES)]
