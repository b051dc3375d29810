"""The look that a sweep's page and its figures share: a colour for an algorithm and its feedback, a dash for theta."""

from __future__ import annotations

from collections.abc import Iterable

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


def dash(theta: float | None, thetas: Iterable[float | None]) -> str:
    """The dash of one theta among all.

    >>> [dash(theta, [1 / 3, 1 / 2, 1, None]) for theta in (1 / 3, 1 / 2, 1, None)]
    ['dash', 'solid', 'dot', 'solid']
    """
    if theta is None:
        return "solid"
    ordered = sorted({each for each in thetas if each is not None}, key=lambda t: (round(abs(t - 0.5), 6), -t))
    return list(DASHES)[ordered.index(theta) % len(DASHES)]
