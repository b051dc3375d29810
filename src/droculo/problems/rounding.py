"""From a fractional point to a set: rounding in budgets and partition matroids, without losing value."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from droculo.sets import PartitionMatroid, Set
from droculo.sets.geometry import Vector

Mask = NDArray[np.bool_]
#: how far outside of the set a point may lie, by a run's own rounding errors
TOLERANCE = 1e-6


def pipage(extension: Callable[[Vector], Any], set: Set, x: ArrayLike) -> Mask:
    """Round x to a set S of the matroid with f(S) >= F(x), by at most 2 d values of F: nothing is left to chance.

    Mass moves between two fractional coordinates of one group, along e_i - e_j, until one of them is whole. There F is
    convex, so one of both ends is no worse. A last fractional coordinate goes up or down: F is linear in it. `extension`
    is F of a submodular f, a `MultilinearExtension` or any function that computes one at a NumPy vector.

    (Ageev and Sviridenko, J. Comb. Optim. 2004; Calinescu, Chekuri, Pal and Vondrak, SIAM J. Comput. 2011.)

    >>> from droculo.problems.multilinear import MultilinearExtension
    >>> from droculo.sets import budget
    >>> either = MultilinearExtension(lambda chosen: float(chosen[0] or chosen[1]) + 2.0 * chosen[2], 3)
    >>> pipage(either, budget(3, 2), [0.6, 0.6, 0.5]).tolist()
    [True, False, True]
    """
    matroid = whole_partition(set, "pipage")
    point = _inside(matroid, x)

    def better(ends: list[Vector]) -> Vector:
        return max(ends, key=lambda end: float(extension(end)))

    for group, capacity in enumerate(matroid.capacities):
        members = np.flatnonzero(matroid.groups == group)
        while True:
            loose = members[(point[members] > 0) & (point[members] < 1)]
            if len(loose) < 2:
                break
            i, j = loose[:2]
            point = better([_with(point, [i, j], pair) for pair in _ends(point[i], point[j])])
        if len(loose) == 1:
            ends = [_with(point, loose, whole) for whole in (0.0, 1.0)]
            number = int(np.sum(point[members] == 1))
            # Below a whole capacity there is room for one more, always; only bases leave no choice.
            choice = ends[:1] if number >= capacity else ends[1:] if matroid.bases else ends
            point = better(choice)
    return point == 1


def randomized_pipage(set: Set, x: ArrayLike, *, seed: int, draws: int | None = None) -> Mask:
    """Round x to a random set S of the matroid with E[1_S] = x, and E f(S) >= F(x) for every submodular f.

    It does not look at f. Each step of `pipage` goes to one of its two ends at random, so that the mean stays; F is
    convex along the step, so its mean does not fall. One mask, or `draws` independent ones as rows.

    (Srinivasan, FOCS 2001; Chekuri, Vondrak and Zenklusen, FOCS 2010.)

    >>> from droculo.sets import fixed_budget
    >>> drawn = randomized_pipage(fixed_budget(4, 2), [0.5, 0.5, 0.25, 0.75], seed=0, draws=1000)
    >>> drawn.shape, set(drawn.sum(axis=1).tolist())
    ((1000, 4), {2})
    """
    matroid = whole_partition(set, "randomized_pipage")
    point = _inside(matroid, x)
    if draws is not None and not (int(draws) == draws and draws >= 1):
        raise ValueError(f"draws is a whole number of at least 1, or None for a single mask; got {draws}.")
    rng = np.random.default_rng(seed)
    number = 1 if draws is None else int(draws)
    chosen = np.zeros((number, len(point)), bool)
    rows = np.arange(number)
    for group, capacity in enumerate(matroid.capacities):
        first, *others = np.flatnonzero(matroid.groups == group)
        # In every row, one coordinate at most is not whole yet: `holder`, with the value `held`.
        holder, held = np.full(number, first), np.full(number, point[first])
        for j in others:
            held, new = _one_step(held, np.full(number, point[j]), rng.uniform(size=number))
            keeps = (held > 0) & (held < 1)
            settled = np.where(keeps, j, holder)
            chosen[rows, settled] = np.where(keeps, new, held) == 1
            holder, held = np.where(keeps, holder, j), np.where(keeps, held, new)
        room = capacity - chosen[:, matroid.groups == group].sum(axis=1)
        take = (room > 0) if matroid.bases else (room > 0) & (rng.uniform(size=number) < held)
        chosen[rows, holder] = take
    return chosen[0] if draws is None else chosen


def _one_step(a: Vector, b: Vector, uniform: Vector) -> tuple[Vector, Vector]:
    """(a, b) moved along (1, -1) to where one of both is whole, up or down at random, with mean (a, b)."""
    up, down = np.minimum(1 - a, b), np.minimum(a, 1 - b)
    length = up + down
    rises = uniform * length < down  # up with probability down/length; where both are whole, nothing moves
    (a_up, b_up), (a_down, b_down) = _ends(a, b)
    return np.where(rises, a_up, a_down), np.where(rises, b_up, b_down)


def _ends(a: Any, b: Any) -> tuple[tuple[Vector, Vector], tuple[Vector, Vector]]:
    """(a, b) moved up and down along (1, -1). The one that gets whole is set, not computed: whole for sure."""
    full, empty = 1 - a <= b, a <= 1 - b
    up = np.where(full, 1.0, a + b), np.where(full, b - (1 - a), 0.0)
    return up, (np.where(empty, 0.0, a - (1 - b)), np.where(empty, a + b, 1.0))


def _with(point: Vector, places: Any, values: Any) -> Vector:
    changed = point.copy()
    changed[places] = values
    return changed


def whole_partition(set: Set, function: str) -> PartitionMatroid:
    """The set itself, if it is a partition matroid with whole capacities."""
    if not isinstance(set, PartitionMatroid):
        raise ValueError(
            f"{function} works in budgets and partition matroids; got {type(set).__name__}. "
            "Pass sets.budget, sets.fixed_budget or sets.PartitionMatroid."
        )
    if np.any(set.capacities != np.round(set.capacities)):
        raise ValueError(
            f"{function} needs whole capacities, as the corners of the set are not sets otherwise; got "
            f"{set.capacities.tolist()}."
        )
    return set


def _inside(matroid: PartitionMatroid, x: ArrayLike) -> Vector:
    point = np.asarray(x, np.float64)
    if point.shape != (matroid.dim,):
        raise ValueError(f"x must be a vector with the set's {matroid.dim} coordinates; got shape {point.shape}.")
    if not np.all((point >= -TOLERANCE) & (point <= 1 + TOLERANCE)):
        raise ValueError(f"x must lie in the unit box; its entries reach from {point.min():g} to {point.max():g}.")
    sums = np.bincount(matroid.groups, point)
    excess = sums - matroid.capacities
    off = np.abs(excess) if matroid.bases else excess
    if np.any(off > TOLERANCE * matroid.dim):
        worst = int(np.argmax(off))
        raise ValueError(
            f"x is not in the set: group {worst} sums to {sums[worst]:g}, and the set asks for "
            f"{'exactly' if matroid.bases else 'at most'} {matroid.capacities[worst]:g}."
        )
    return np.clip(point, 0, 1)
