"""Polytopes given by linear inequalities; the oracle is the simplex method on the host."""

from typing import Any, ClassVar

import equinox as eqx
import highspy
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike, NDArray

from droculo.sets.contract import Cut
from droculo.sets.geometry import Full, Geometry, Span, Subspace, Vector
from droculo.sets.host import Host, HostSet, ask
from droculo.sets.inequalities import QuadraticProgram, inner_ball, least_max, tight_rows
from droculo.sets.projections import most_violated

_SIDES = ("primal_feasibility_tolerance", "dual_feasibility_tolerance")
_SHARP, _USUAL = dict.fromkeys(_SIDES, 1e-9), dict.fromkeys(_SIDES, 1e-7)
OPTIONS: dict[str, Any] = {"output_flag": False, "presolve": "off", "solver": "simplex", "threads": 1, **_SHARP}
#: tried in this order if a solve is not optimal: other code may have started HiGHS with another number of threads; the
#: stored basis may be misleading; a reduced cost may stay slightly above 1e-9, because the numbers allow no better
REMEDIES: tuple[dict[str, Any], ...] = ({"threads": 0}, _USUAL, {"presolve": "on", **_USUAL})


class _Simplex(Host):
    """One HiGHS model of {x : row_lower <= M x <= row_upper, lower <= x <= upper}, kept for every solve.

    Every solve starts from the same basis, so that its answer does not depend on the solves before it. The
    model cannot be copied to another process; there it is built again, with the same first solve.
    """

    def __init__(self, matrix: Vector, row_lower: Vector, row_upper: Vector, lower: Vector, upper: Vector):
        super().__init__(np.zeros(len(lower)))
        self.matrix, self.row_lower, self.row_upper = matrix, row_lower, row_upper
        self.lower, self.upper = lower, upper
        self._model: Any = None
        self._basis: Any = None
        self._columns = np.arange(len(lower), dtype=np.int32)
        self.rest = self.solve(np.zeros(len(lower)))

    def solve(self, direction: Vector) -> Vector:
        if self._model is None:
            self._model, self._basis = self._start()
        # Unit max-norm: the solver's tolerances are absolute.
        size = float(np.abs(direction).max())
        self._model.clearSolver()  # a basis alone does not reset the pricing weights, which break ties
        self._model.setBasis(self._basis)
        self._model.changeColsCost(len(direction), self._columns, direction / size if size > 0 else direction)
        self._run()
        return np.clip(np.array(self._model.getSolution().col_value), self.lower, self.upper)

    def _run(self) -> None:
        """Solve; if HiGHS does not report "optimal", solve again from scratch with each of `REMEDIES`."""
        self._model.run()
        if self._is_solved():
            return
        try:
            for remedy in REMEDIES:
                self._choose(OPTIONS | remedy)
                self._model.clearSolver()
                self._model.run()
                if self._is_solved():
                    return
            said = self._model.modelStatusToString(self._model.getModelStatus())
        finally:
            self._choose(OPTIONS)
        raise RuntimeError(
            f"HiGHS could not maximise a linear function over the polytope: it says {said!r}. Check the scaling of A, b and "
            "the bounds."
        )

    def _is_solved(self) -> bool:
        return bool(self._model.getModelStatus() == highspy.HighsModelStatus.kOptimal)

    def _choose(self, options: dict[str, Any]) -> None:
        for option, value in options.items():
            self._model.setOptionValue(option, value)

    def _start(self) -> tuple[Any, Any]:
        rows, columns = self.matrix.shape
        program = highspy.HighsLp()
        program.num_col_, program.num_row_ = columns, rows
        program.col_cost_ = np.zeros(columns)
        program.col_lower_, program.col_upper_ = self.lower, self.upper
        program.row_lower_, program.row_upper_ = self.row_lower, self.row_upper
        row, column = np.nonzero(self.matrix)
        program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        program.a_matrix_.start_ = np.searchsorted(row, np.arange(rows + 1)).astype(np.int32)
        program.a_matrix_.index_ = column.astype(np.int32)
        program.a_matrix_.value_ = self.matrix[row, column]
        model = highspy.Highs()
        self._model = model
        self._choose(OPTIONS)
        model.passModel(program)
        model.changeObjectiveSense(highspy.ObjSense.kMaximize)
        try:
            self._run()
        except RuntimeError:
            self._model = None
            raise
        return model, model.getBasis()

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"_model": None, "_basis": None}


class Polytope(HostSet):
    """{x : A x <= b, A_eq x = b_eq, lower <= x <= upper}, with finite bounds.

    >>> import jax.numpy as jnp
    >>> Polytope([[1.0, 2.0]], [2.0], [0.0, 0.0], [1.0, 1.0]).argmax(jnp.array([1.0, 1.0])).tolist()
    [1.0, 0.5]
    """

    A: Vector
    b: Vector
    A_eq: Vector
    b_eq: Vector
    lower: Vector
    upper: Vector
    program: QuadraticProgram = eqx.field(static=True)
    geometry: Geometry
    has_fast_contains: ClassVar[bool] = True

    def __init__(
        self,
        A: ArrayLike,
        b: ArrayLike,
        lower: ArrayLike,
        upper: ArrayLike,
        *,
        A_eq: ArrayLike | None = None,
        b_eq: ArrayLike | None = None,
    ):
        self.A, self.b = _rows("A", A, "b", b, None)
        dim = self.A.shape[1]
        if (A_eq is None) != (b_eq is None):
            raise ValueError("Polytope got only one of A_eq and b_eq. Pass both, or neither.")
        if A_eq is None or b_eq is None:
            A_eq, b_eq = np.zeros((0, dim)), np.zeros(0)
        self.A_eq, self.b_eq = _rows("A_eq", A_eq, "b_eq", b_eq, dim)
        self.lower, self.upper = _bounds(lower, upper, dim)
        matrix = np.concatenate([self.A, self.A_eq, np.eye(dim), -np.eye(dim)])
        limits = np.concatenate([self.b, self.b_eq, self.upper, -self.lower])
        equal = np.zeros(len(matrix), bool)
        equal[len(self.A) : len(self.A) + len(self.A_eq)] = True
        equal = tight_rows(matrix, limits, equal)  # raises where the set is empty
        inner = np.concatenate([np.full(len(self.b), -np.inf), self.b_eq])
        outer = np.concatenate([self.b, self.b_eq])
        self.host = _Simplex(matrix[: len(inner)], inner, outer, self.lower, self.upper)
        self.geometry = self._polytope_geometry(matrix, limits, equal)
        size = float(self.geometry.radius)
        self.program = QuadraticProgram(matrix[: len(inner)], inner, outer, self.lower, self.upper, size)

    def contains(self, x: Array, tolerance: float | Array = 1e-9) -> Array:
        margin = tolerance * np.sqrt(self.dim)
        below = self.A @ x - self.b <= margin * (1e-300 + _norms(self.A))
        level = jnp.abs(self.A_eq @ x - self.b_eq) <= margin * (1e-300 + _norms(self.A_eq))
        between = (x >= self.lower - tolerance) & (x <= self.upper + tolerance)
        return jnp.all(below) & jnp.all(level) & jnp.all(between)

    def project(self, y: Array) -> Array:
        """The point of K nearest to y, by a quadratic program on the host. It needs the extra `droculo[qp]`."""
        self.program.require()  # raised here and not inside a callback, so that the user sees the error
        return ask(self.program.nearest, y, self.dim)

    def separate(self, x: Array) -> Cut:
        x = jnp.asarray(x)
        rows = jnp.concatenate([self.A, self.A_eq, -self.A_eq])  # an equality is two inequalities
        if not len(rows):
            return self._cut(x, most_violated(x, self.lower, self.upper))
        excess = rows @ x - jnp.concatenate([self.b, self.b_eq, -self.b_eq])
        norms = _norms(rows)
        # A zero row is never violated.
        distances = jnp.where(norms > 0, excess / jnp.where(norms > 0, norms, 1), -jnp.inf)
        worst = jnp.argmax(distances)
        return self._cut(x, most_violated(x, self.lower, self.upper, (distances[worst], rows[worst] / norms[worst])))

    def _polytope_geometry(self, matrix: Vector, limits: Vector, equal: NDArray[np.bool_]) -> Geometry:
        dim = matrix.shape[1]
        subspace: Subspace = Span.orthogonal_to(matrix[equal], dim) if np.any(equal) else Full(dim)
        if subspace.dimension == 0:
            raise ValueError(
                f"the polytope is a single point, {self.host.rest.tolist()}: there is nothing to decide. "
                "Check the equalities and the bounds."
            )
        basis = subspace.basis if isinstance(subspace, Span) else np.eye(dim)
        center, inner_radius = inner_ball(matrix, limits, equal, basis)
        least = np.array([self.host.solve(-row)[i] for i, row in enumerate(np.eye(dim))])
        most = np.array([self.host.solve(row)[i] for i, row in enumerate(np.eye(dim))])
        least = np.where(np.abs(least) <= 1e-12, 0.0, least)
        has_zero = self._holds(np.zeros(dim), 1e-12)
        least_element = least if np.all(least >= 0) and self._holds(least, 1e-9) else None
        anchor = np.zeros(dim) if has_zero else least_element
        if anchor is None:
            anchor = np.clip(least_max(matrix, limits, equal), self.lower, self.upper)
        down = np.all(self.lower == 0) and np.all(self.A >= 0) and np.all(self.b >= 0) and not len(self.A_eq)
        return Geometry(
            dim=dim,
            radius=float(np.linalg.norm(np.maximum(np.abs(least), np.abs(most)))),
            subspace=subspace,
            center=center,
            inner_radius=inner_radius,
            anchor=anchor,
            least_element=least_element,
            contains_origin=has_zero,
            down_closed=bool(down),
        )

    def _holds(self, x: Vector, margin: float) -> bool:
        """`contains` in NumPy, for the constructor."""
        above = self.A @ x - self.b <= margin * (1 + np.linalg.norm(self.A, axis=1))
        level = np.abs(self.A_eq @ x - self.b_eq) <= margin * (1 + np.linalg.norm(self.A_eq, axis=1))
        between = (x >= self.lower - margin) & (x <= self.upper + margin)
        return bool(np.all(above) and np.all(level) and np.all(between))


def _norms(matrix: Any) -> Array:
    return jnp.sqrt(jnp.sum(jnp.square(matrix), axis=1))


def _rows(name: str, matrix: ArrayLike, side: str, vector: ArrayLike, dim: int | None) -> tuple[Vector, Vector]:
    rows, values = np.array(matrix, np.float64), np.array(vector, np.float64)
    if rows.ndim != 2 or values.shape != rows.shape[:1] or rows.shape[1] != (rows.shape[1] if dim is None else dim):
        raise ValueError(
            f"Polytope needs {name} of shape (m, {'d' if dim is None else dim}) and {side} of shape (m,); got "
            f"{rows.shape} and {values.shape}. Write np.zeros((0, d)) and np.zeros(0) where there are no rows."
        )
    if not (np.all(np.isfinite(rows)) and np.all(np.isfinite(values))):
        raise ValueError(f"Polytope needs finite {name} and {side}; got NaN or infinity. Leave out such rows.")
    return rows, values


def _bounds(lower: ArrayLike, upper: ArrayLike, dim: int) -> tuple[Vector, Vector]:
    try:
        low, high = (np.array(np.broadcast_to(side, (dim,)), np.float64) for side in (lower, upper))
    except ValueError:
        raise ValueError(
            f"Polytope needs bounds for its {dim} coordinates; got lower of shape {np.shape(lower)} and upper of "
            f"shape {np.shape(upper)}. Pass vectors of that length, or single numbers."
        ) from None
    if not np.all(np.isfinite(low) & np.isfinite(high)):
        raise ValueError(
            "Polytope needs finite bounds lower and upper in every coordinate, for its oracle to be finite in every "
            "direction; got NaN or infinity. Pass bounds that the other constraints imply."
        )
    return low, high
