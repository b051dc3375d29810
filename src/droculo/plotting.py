"""One-line plots: a few curves with a range around each, on axes of Matplotlib."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from droculo.expect import extra


def axes(given: Any = None) -> Any:
    """The axes that were given, or those of a new figure, which a notebook shows."""
    return extra("matplotlib.pyplot", "plots", "plots").subplots()[1] if given is None else given


def band(ax: Any, x: ArrayLike, curves: NDArray[np.float64], label: str) -> None:
    """The mean of some curves (any, points), and the range from the lowest to the highest."""
    (line,) = ax.plot(x, curves.mean(axis=0), label=label)
    if len(curves) > 1:
        ax.fill_between(x, curves.min(axis=0), curves.max(axis=0), color=line.get_color(), alpha=0.2, linewidth=0)


def tidy_frame(values: dict[str, NDArray[Any]], axes_of: dict[str, NDArray[Any]]) -> Any:
    """A pandas DataFrame in long form: one row for each combination of the named axes, one column for each array."""
    frame = extra("pandas", "DataFrames", "sweeps").DataFrame
    grids = np.meshgrid(*axes_of.values(), indexing="ij")
    columns = {name: grid.ravel() for name, grid in zip(axes_of, grids, strict=True)}
    return frame(columns | {name: np.asarray(array).ravel() for name, array in values.items()})
