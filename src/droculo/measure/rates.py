"""Growth exponents: the slope of log y against log T, with an interval."""

from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray


class Rate(NamedTuple):
    """y grows like T^slope; `low` and `high` bound the slope with the given confidence."""

    slope: float
    low: float
    high: float
    local: NDArray[np.float64]  # slopes between neighbouring horizons, of the mean over seeds
    seeds: int


def fit_exponent(horizons: ArrayLike, measured: ArrayLike, *, confidence: float = 0.95) -> Rate:
    """Fit log(measured) = slope log(horizon) + constant; `measured` is (horizons,) or (seeds, horizons).

    The interval is the wider of two: Student's over the slopes of the seeds, and that of the residuals when the means
    over seeds are fitted. The first knows of chance, the second of a curve that is not yet straight. (Two points leave
    no residuals; with one seed the interval is then infinite.) What is not positive has no logarithm: it is refused,
    never dropped.

    >>> round(fit_exponent([10, 100, 1000], [2.0, 2.0 * 10**0.5, 20.0]).slope, 3)
    0.5
    """
    T = np.asarray(horizons, np.float64)
    y = np.atleast_2d(np.asarray(measured, np.float64))
    shaped = T.ndim == 1 and len(T) > 1 and y.ndim == 2 and y.shape[1] == len(T)
    if not (shaped and np.all(np.isfinite(T)) and np.all(np.diff(T) > 0) and T[0] > 0):
        raise ValueError(
            f"a rate needs two or more growing, positive horizons and one measurement for each; got horizons of shape "
            f"{T.shape} and measurements of shape {y.shape}."
        )
    wrong = np.argwhere(~(np.isfinite(y) & (y > 0)))
    if len(wrong):
        seed, where = wrong[0]
        raise ValueError(
            f"a growth exponent is fitted to positive numbers; got {y[seed, where]:g} at horizon {T[where]:g} "
            f"(seed {seed}). alpha-regret is often negative, since methods beat their guarantee: fit the certificate "
            "instead."
        )
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence lies between 0 and 1, such as 0.95; got {confidence}.")
    x, logs = np.log(T), np.log(y)
    slopes = np.array([np.polyfit(x, row, 1)[0] for row in logs])
    slope, share, margins = float(slopes.mean()), (1 + confidence) / 2, []
    if len(slopes) > 1:
        margins.append(scipy.stats.t.ppf(share, len(slopes) - 1) * scipy.stats.sem(slopes))
    if len(T) > 2:
        margins.append(scipy.stats.t.ppf(share, len(T) - 2) * scipy.stats.linregress(x, logs.mean(axis=0)).stderr)
    margin = float(max(margins, default=np.inf))
    local = np.diff(np.log(y.mean(axis=0))) / np.diff(x)
    return Rate(slope, slope - margin, slope + margin, local, len(slopes))
