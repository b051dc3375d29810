"""Programs over {x : M x <= h}: linear ones for its affine hull, inner ball and point of least sup-norm, and the nearest point."""

from importlib import import_module
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from droculo.sets.geometry import Vector

#: Allowed violations relative to the polytope's size; the looser ones are tried if a tighter one is not reached.
TOLERANCES = (1e-11, 1e-9, 1e-7)

#: DAQP's marks for an equality row and for a missing bound.
EQUALITY, NONE = 5, 1e30
#: The factor by which a set is scaled up to find inequalities that are loose somewhere; widths far below 1/STRETCH count as 0.
STRETCH = 1e6


def tight_rows(matrix: Vector, limits: Vector, equal: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The rows that every point of the set meets with equality; an error if the set is empty.

    In the cone over the set, (x, tau) with M x + s <= h tau and tau >= 1, all rows that are loose somewhere
    can have s = 1 at the same time, so maximising sum min(s, 1) finds all of them in one linear program.
    """
    rows, goals, _ = _scaled(matrix, limits)
    dim, loose = rows.shape[1], np.flatnonzero(~equal)
    feasible = _solve(np.zeros(dim), rows[~equal], goals[~equal], rows[equal], goals[equal])
    if feasible is None:
        raise ValueError(
            f"the polytope is empty: no point meets its {int(np.sum(~equal)) - 2 * dim} inequalities, "
            f"{int(np.sum(equal))} equalities and bounds together. Check the signs of A and b, and lower <= upper."
        )
    cone = scipy.sparse.csr_array(np.column_stack([rows[~equal], -goals[~equal]]))
    found = _solve(
        np.concatenate([np.zeros(dim + 1), -np.ones(len(loose))]),
        scipy.sparse.hstack([cone, scipy.sparse.eye_array(len(loose))], format="csr"),
        np.zeros(len(loose)),
        np.hstack([rows[equal], -goals[equal][:, None], np.zeros((int(equal.sum()), len(loose)))]),
        np.zeros(int(equal.sum())),
        [(None, None)] * dim + [(1.0, STRETCH)] + [(0.0, 1.0)] * len(loose),
    )
    if found is None:  # the program above had a solution, so this one has one: keep the known equalities
        return equal
    tight = equal.copy()
    tight[loose[found[dim + 1 :] <= 1e-3]] = True
    return tight


def inner_ball(matrix: Vector, limits: Vector, equal: NDArray[np.bool_], basis: Vector) -> tuple[Vector, float]:
    """The centre and radius of a largest ball within the affine hull (Chebyshev's centre).

    A ball of radius r of the hull around c meets row a iff <a, c> + r |P a| <= h, with P the projection
    onto the hull's directions (the columns of `basis`).
    """
    rows, goals, size = _scaled(matrix, limits)
    reach = np.linalg.norm(rows @ basis, axis=1)
    moving = ~equal & (reach > 1e-9)
    found = _solve(
        np.append(np.zeros(rows.shape[1]), -1.0),
        np.column_stack([rows[~equal], np.where(moving, reach, 0.0)[~equal]]),
        goals[~equal],
        np.column_stack([rows[equal], np.zeros(int(equal.sum()))]),
        goals[equal],
    )
    if found is None:
        raise _unsolved("a ball of positive radius inside it")
    center = found[:-1]
    # The solver meets equalities up to its tolerance: project the centre onto the hull, then compute the radius.
    off = np.linalg.lstsq(rows[equal], goals[equal] - rows[equal] @ center, rcond=None)[0] if np.any(equal) else 0.0
    center = center + off
    radius = float(np.min((goals - rows @ center)[moving] / reach[moving]))
    if not radius > 0:
        raise _unsolved("a ball of positive radius inside it")
    return center * size, radius * size


def least_max(matrix: Vector, limits: Vector, equal: NDArray[np.bool_]) -> Vector:
    """A point of least sup-norm: min { t : -t <= x <= t, x in the set }."""
    rows, goals, size = _scaled(matrix, limits)
    dim = rows.shape[1]
    both = np.concatenate([np.eye(dim), -np.eye(dim)])
    found = _solve(
        np.append(np.zeros(dim), 1.0),
        np.block([[rows[~equal], np.zeros((int(np.sum(~equal)), 1))], [both, -np.ones((2 * dim, 1))]]),
        np.concatenate([goals[~equal], np.zeros(2 * dim)]),
        np.column_stack([rows[equal], np.zeros(int(equal.sum()))]),
        goals[equal],
    )
    if found is None:
        raise _unsolved("its point of least sup-norm")
    return found[:-1] * size


def _scaled(matrix: Vector, limits: Vector) -> tuple[Vector, Vector, float]:
    """Rows of unit norm and coordinates of unit size; the bounds are the last 2 d rows."""
    size = float(np.abs(limits[-2 * matrix.shape[1] :]).max()) or 1.0
    norms = np.linalg.norm(matrix, axis=1)
    norms[norms == 0] = 1.0
    return matrix / norms[:, None], limits / norms / size, size


def _solve(
    cost: Vector, A: Any, b: Vector, A_eq: ArrayLike, b_eq: Vector, bounds: list[Any] | None = None
) -> Vector | None:
    result = scipy.optimize.linprog(
        cost,
        A_ub=A,
        b_ub=b,
        A_eq=A_eq if len(b_eq) else None,
        b_eq=b_eq if len(b_eq) else None,
        bounds=bounds or (None, None),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9},
    )
    return None if result.x is None else np.asarray(result.x, np.float64)


def _unsolved(what: str) -> RuntimeError:
    return RuntimeError(
        f"HiGHS did not find {what} for the polytope: its numbers are too far apart in size, or it is too thin. "
        "Rescale the coordinates, or turn nearly tied inequalities into equalities (A_eq, b_eq)."
    )


class QuadraticProgram:
    """min |x - y|^2 over {x : row_lower <= M x <= row_upper, lower <= x <= upper}, for many y.

    The solver is the dual active-set method DAQP. Every solve starts from y itself with no active constraint, so that
    the answer depends on y alone: the same y gives the same point bit for bit, whatever was solved before. It is
    compared and hashed by identity, so it can be static.

    `size` is the polytope's radius: the solver sees everything divided by it, as its tolerances are absolute.

    >>> total = QuadraticProgram(np.ones((1, 2)), np.array([-np.inf]), np.ones(1), np.zeros(2), np.ones(2), 1.0)
    >>> total.nearest(np.array([1.0, 0.5])).tolist()
    [0.75, 0.25]
    """

    def __init__(self, matrix: Vector, row_lower: Vector, row_upper: Vector, lower: Vector, upper: Vector, size: float):
        self.size = size
        self.matrix = np.ascontiguousarray(matrix)
        self.lower, self.upper = lower, upper
        below = np.concatenate([lower, row_lower]) / self.size
        self._below = np.where(np.isfinite(below), below, -NONE)
        self._above = np.concatenate([upper, row_upper]) / self.size
        self._kinds = np.where(below == self._above, EQUALITY, 0).astype(np.int32)
        self._kinds[: len(lower)] = 0
        self._identity = np.eye(len(lower))

    @staticmethod
    def require() -> Any:
        """The solver, or an error that says how to get it."""
        try:
            return import_module("daqp")
        except ImportError as error:
            raise ImportError(
                'the projection onto a Polytope is a quadratic program, which the package daqp solves: pip install "droculo[qp]"'
            ) from error

    def nearest(self, y: Vector) -> Vector:
        """The point nearest to y; NaN where y has NaN or infinity, as from the other solvers on the host."""
        if not np.all(np.isfinite(y)):
            return np.full_like(self.lower, np.nan)
        solve = self.require().solve
        goal = np.asarray(y, np.float64) / self.size
        far = max(1.0, float(np.abs(goal).max()))  # accuracy is limited by the rounding of y
        for tolerance in TOLERANCES:
            x, _, flag, _ = solve(
                self._identity, -goal, self.matrix, self._above, self._below, self._kinds.copy(),
                primal_tol=tolerance * far, dual_tol=1e-12,
            )  # fmt: skip
            if flag > 0:
                return np.clip(np.asarray(x) * self.size, self.lower, self.upper)
        raise RuntimeError(
            f"DAQP could not find the point of the polytope nearest to y = {y.tolist()}: it ends with flag {flag}. "
            "Check the scaling of A, b and the bounds."
        )
