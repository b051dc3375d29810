"""The nearest point of a polytope: a quadratic program on the host, for sets given by linear inequalities."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from jax import Array
from numpy.typing import NDArray

from droculo.sets.geometry import Vector
from droculo.sets.host import answer_rows

#: Allowed violations relative to the polytope's size; the looser ones are tried if a tighter one is not reached.
TOLERANCES = (1e-11, 1e-9, 1e-7)

#: DAQP's marks for an equality row and for a missing bound.
EQUALITY, NONE = 5, 1e30


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

    def answer(self, received: Array) -> NDArray:
        """`nearest` for every row that compiled code sends."""
        return answer_rows(self.nearest, received)
