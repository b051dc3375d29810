"""Hulls of listed points, and sets that are nothing but a user's own oracle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike
from scipy.optimize import linprog
from scipy.spatial import ConvexHull

from droculo.precision import double
from droculo.sets.base import Set
from droculo.sets.geometry import Full, Geometry, Span, Subspace, Vector
from droculo.sets.host import Host, ask, ask_holds
from droculo.sets.search import least_sup_norm_by

#: Faces are listed up to this affine dimension; their number explodes with it, so also up to so many points.
FACES_UP_TO = 6
POINTS_UP_TO = {4: 1000, 5: 300, 6: 150}


class _Points(Host):
    """The best of a list of points, the first one in a tie."""

    def __init__(self, points: Vector):
        self.points = points
        super().__init__(points[0])

    def solve(self, direction: Vector) -> Vector:
        return self.points[np.argmax(self.points @ direction)]


class Hull(Set):
    """The convex hull of the rows of `points`.

    Its inner ball is found from its faces where the affine dimension is at most 6 (and the points are not
    too many: 1000, 300, 150 in dimension 4, 5, 6); otherwise pass `center` and `inner_radius`. Membership
    is a distance computed on the host. `down_closed=True` is verified.
    """

    points: Vector
    host: Host = eqx.field(static=True)
    geometry: Geometry

    quick_membership: ClassVar[bool] = False

    def __init__(
        self,
        points: ArrayLike,
        *,
        center: ArrayLike | None = None,
        inner_radius: float | None = None,
        down_closed: bool = False,
    ):
        self.points = np.array(points, np.float64)
        if self.points.ndim != 2 or self.points.size == 0 or not np.all(np.isfinite(self.points)):
            raise ValueError(
                f"Hull needs a finite matrix with one point per row; got shape {self.points.shape}"
                f"{'' if np.all(np.isfinite(self.points)) else ' with NaN or infinity'}. Pass points of shape (n, d)."
            )
        dim = self.points.shape[1]
        host = self.host = _Points(self.points)
        radius = float(np.linalg.norm(self.points, axis=1).max())
        middle = self.points.mean(axis=0)
        spread = self.points - middle
        _, singular, right = np.linalg.svd(spread, full_matrices=False)
        rank = int(np.sum(singular > 1e-10 * max(1e-300, radius)))
        if rank == 0:
            raise ValueError(
                f"the hull is a single point, {self.points[0].tolist()}: nothing is to decide. Pass different points."
            )
        _check_ball("Hull", center, inner_radius, dim)
        if inner_radius is None and center is None:
            basis = right[:rank].T
            ball = _inner_ball(spread @ basis)
            center, inner_radius = (None, None) if ball is None else (middle + basis @ ball[0], ball[1])
        least = self.points.min(axis=0)
        rounding = 1e-12 * radius
        has_zero = host.holds(np.zeros(dim), rounding)
        has_least = bool(np.all(least >= 0)) and host.holds(least, rounding)
        if down_closed:
            _verify_down_closed(host, self.points, rounding)
        anchor = np.zeros(dim) if has_zero else least if has_least else least_sup_norm_by(host.argmax, dim, radius)
        self.geometry = Geometry(
            dim=dim,
            radius=radius,
            subspace=Full(dim) if rank == dim else Span(right[:rank].T),
            center=center,
            inner_radius=inner_radius,
            anchor=anchor,
            origin=least if has_least else None,
            contains_origin=has_zero,
            down_closed=down_closed,
        )
        host.solves = 0

    def argmax(self, direction: Array) -> Array:
        points = jnp.asarray(self.points, direction.dtype)
        return points[jnp.argmax(points @ direction)]

    def contains(self, x: Array, tolerance: float | Array = 1e-9) -> Array:
        return ask_holds(self.host, x, tolerance)


def _verify_down_closed(host: Host, points: Vector, rounding: float) -> None:
    """If every vertex with any one coordinate set to 0 is in K, so is the box below every point of K.

    Zeroing more coordinates follows by convexity, the box below a vertex is the hull of its zeroings, and
    x <= y = sum_k lambda_k v_k is the same combination of points below the v_k.
    """
    for point in points:
        for i in np.flatnonzero(point):
            lowered = np.where(np.arange(len(point)) == i, 0.0, point)
            if np.any(point < 0) or not host.holds(lowered, rounding):
                raise ValueError(
                    f"the hull was said to be down-closed and is not: it holds {point.tolist()} but not "
                    f"{lowered.tolist()}, or it leaves the positive orthant. Drop down_closed=True, or add points."
                )


def _inner_ball(points: Vector) -> tuple[Vector, float] | None:
    """A largest ball in the full-dimensional hull of `points`, or None where its faces are too many to list."""
    count, dim = points.shape
    if dim == 1:
        low, high = float(points.min()), float(points.max())
        return np.array([(low + high) / 2]), (high - low) / 2
    if dim > FACES_UP_TO or count > POINTS_UP_TO.get(dim, count):
        return None
    size = float(np.abs(points).max())
    faces = ConvexHull(points / size).equations  # unit normals n and offsets h with <n, x> + h <= 0
    normals, offsets = faces[:, :-1], faces[:, -1]
    found = linprog(
        np.append(np.zeros(dim), -1.0),
        A_ub=np.column_stack([normals, np.ones(len(faces))]),
        b_ub=-offsets,
        bounds=[(None, None)] * dim + [(0, None)],
        method="highs",
    )
    center = found.x[:-1]
    return center * size, float(np.min(-offsets - normals @ center)) * size


class _Function(Host):
    """A user's NumPy oracle."""

    def __init__(self, function: Callable[[Vector], ArrayLike], member: Callable[..., Any] | None, dim: int):
        self.function, self.member, self.dim = function, member, dim
        super().__init__(np.zeros(dim))

    def solve(self, direction: Vector) -> Vector:
        return np.asarray(self.function(direction), np.float64)

    def holds(self, x: Vector, tolerance: float) -> bool:
        return super().holds(x, tolerance) if self.member is None else bool(self.member(x, tolerance))


class _Traced(_Function):
    """A user's JAX oracle, as the host calls it to measure distances."""

    def __init__(self, function: Callable[[Array], Array], dim: int):
        self._compiled = eqx.filter_jit(function)
        super().__init__(self._in_double, None, dim)

    def _in_double(self, direction: Vector) -> Array:
        with double():
            return jax.device_get(self._compiled(jnp.asarray(direction, jnp.float64)))


class OracleSet(Set):
    """A set made by `from_oracle`."""

    function: Callable[[Array], Array] | None = eqx.field(static=True)  # None: only the host knows the oracle
    member: Callable[..., Array] | None = eqx.field(static=True)
    host: Host = eqx.field(static=True)
    geometry: Geometry

    @property
    def quick_membership(self) -> bool:  # type: ignore[override]
        return self.member is not None

    def argmax(self, direction: Array) -> Array:
        if self.function is None:
            return ask(self.host.answer_argmax, direction, self.dim)
        return jnp.asarray(self.function(direction)).astype(direction.dtype)

    def contains(self, x: Array, tolerance: float | Array = 1e-9) -> Array:
        if self.member is None:
            return ask_holds(self.host, x, tolerance)
        return jnp.asarray(self.member(x, tolerance))


def from_oracle(
    function: Callable[[Any], Any],
    dim: int,
    radius: float,
    *,
    contains: Callable[..., Any] | None = None,
    center: ArrayLike | None = None,
    inner_radius: float | None = None,
    subspace: Subspace | None = None,
    anchor: ArrayLike | None = None,
    contains_origin: bool = False,
    down_closed: bool = False,
    origin: ArrayLike | None = None,
    host: bool = False,
) -> OracleSet:
    """The set whose oracle is `function(direction) -> point`, of points of norm at most `radius`.

    `function` (and `contains(x, tolerance)`, if given) is written in JAX, or with `host=True` in NumPy; it
    must depend on its argument alone. What is not passed is not known, and asking for it raises an error;
    only the anchor and membership can be found from the oracle.
    """
    if dim < 1 or not 0 < radius < np.inf:
        raise ValueError(f"from_oracle needs dim >= 1 and a positive, finite radius; got dim={dim}, radius={radius}.")
    _check_ball("from_oracle", center, inner_radius, dim)
    for name, vector in {"anchor": anchor, "origin": origin}.items():
        _check_vector("from_oracle", name, vector, dim)
    if origin is None and down_closed and contains_origin:
        origin = np.zeros(dim)  # a down-closed set lies in the positive orthant
    if contains_origin and anchor is None:
        anchor = np.zeros(dim)
    inner = _Function(function, contains, dim) if host else _Traced(function, dim)
    known = Geometry(
        dim=dim,
        radius=radius,
        subspace=subspace,
        center=center,
        inner_radius=inner_radius,
        anchor=anchor,
        origin=origin,
        contains_origin=contains_origin,
        down_closed=down_closed,
    )
    inner.rest = _tried(inner, dim, radius)
    return OracleSet(None if host else function, None if host else contains, inner, known)


def _tried(host: Host, dim: int, radius: float) -> Vector:
    """Ask a new oracle for a few directions; the last answer is the point for a zero direction."""
    rng = np.random.default_rng(0)
    for direction in [*rng.standard_normal((4, dim)), -np.ones(dim)]:
        point = host.solve(direction)
        if point.shape != (dim,) or not np.all(np.isfinite(point)):
            raise ValueError(
                f"the oracle must return a finite vector of {dim} numbers; got shape {point.shape}"
                f"{'' if np.all(np.isfinite(point)) else ' with NaN or infinity'}. Check the function and dim."
            )
        if np.linalg.norm(point) > radius * (1 + 1e-9):
            raise ValueError(
                f"the oracle returned a point of norm {np.linalg.norm(point):.6g}, above radius={radius}. "
                "Pass a radius that bounds the norm of every point of the set."
            )
    return point


def _check_vector(name: str, argument: str, value: ArrayLike | None, dim: int) -> None:
    if value is not None and np.shape(value) not in ((), (dim,)):
        raise ValueError(
            f"{name} got {argument} of shape {np.shape(value)}, and the set has {dim} coordinates. "
            f"Pass a vector of shape ({dim},), or one number for all coordinates."
        )


def _check_ball(name: str, center: ArrayLike | None, inner_radius: float | None, dim: int) -> None:
    _check_vector(name, "center", center, dim)
    if (center is None) != (inner_radius is None):
        raise ValueError(f"{name} got only one of center and inner_radius. Pass both: together they are a ball in K.")
    if inner_radius is not None and not 0 < inner_radius < np.inf:
        raise ValueError(f"{name} needs a positive, finite inner_radius; got {inner_radius}.")
