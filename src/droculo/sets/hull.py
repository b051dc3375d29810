"""Hulls of listed points."""

import jax.numpy as jnp
import numpy as np
import scipy
from jax import Array
from numpy.typing import ArrayLike

from droculo.sets.geometry import Full, Geometry, Span, Vector, check_ball
from droculo.sets.host import Host, HostSet
from droculo.sets.search import least_sup_norm_by

#: Faces are listed up to this affine dimension; their number grows so fast that the number of points is limited too.
FACES_UP_TO = 6
POINTS_UP_TO = {4: 1000, 5: 300, 6: 150}


class _Points(Host):
    """The best of a list of points, the first one in a tie."""

    def __init__(self, points: Vector):
        self.points = points
        super().__init__(points[0])

    def solve(self, direction: Vector) -> Vector:
        return self.points[np.argmax(self.points @ direction)]


class Hull(HostSet):
    """The convex hull of the rows of `points`.

    Its inner ball is computed from its faces if the affine dimension is at most 6 (and the points are not
    too many: 1000, 300, 150 in dimension 4, 5, 6); otherwise pass `center` and `inner_radius`. Membership
    is decided by a distance that is computed on the host. `down_closed=True` is verified.
    """

    points: Vector
    geometry: Geometry

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
                f"the hull is a single point, {self.points[0].tolist()}: there is nothing to decide. Pass different points."
            )
        check_ball("Hull", center, inner_radius, dim)
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
            least_element=least if has_least else None,
            contains_origin=has_zero,
            down_closed=down_closed,
        )
        host.solves = 0

    def argmax(self, direction: Array) -> Array:
        points = jnp.asarray(self.points, direction.dtype)
        return points[jnp.argmax(points @ direction)]


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
    """A largest ball in the full-dimensional hull of `points`, or None if there are too many faces to list."""
    count, dim = points.shape
    if dim == 1:
        low, high = float(points.min()), float(points.max())
        return np.array([(low + high) / 2]), (high - low) / 2
    if dim > FACES_UP_TO or count > POINTS_UP_TO.get(dim, count):
        return None
    size = float(np.abs(points).max())
    faces = scipy.spatial.ConvexHull(points / size).equations  # unit normals n and offsets h with <n, x> + h <= 0
    normals, offsets = faces[:, :-1], faces[:, -1]
    found = scipy.optimize.linprog(
        np.append(np.zeros(dim), -1.0),
        A_ub=np.column_stack([normals, np.ones(len(faces))]),
        b_ub=-offsets,
        bounds=[(None, None)] * dim + [(0, None)],
        method="highs",
    )
    center = found.x[:-1]
    return center * size, float(np.min(-offsets - normals @ center)) * size
