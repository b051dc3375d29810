"""Boxes, the simplex, and norm balls around the origin: l1, l2 and nuclear."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from droculo.sets.contract import Cut, Set
from droculo.sets.geometry import Full, Geometry, Vector, ZeroSums
from droculo.sets.projections import filled_to, most_violated, shrunk_to
from droculo.sets.vertices import Indices, RankOne, Vertex


class Box(Set):
    """{x : lower <= x <= upper}.

    >>> import jax.numpy as jnp
    >>> Box([0.0, 0.0], [1.0, 2.0]).argmax(jnp.array([1.0, -1.0])).tolist()
    [1.0, 0.0]
    """

    lower: Vector
    upper: Vector
    geometry: Geometry

    def __init__(self, lower: ArrayLike, upper: ArrayLike):
        self.lower, self.upper = (np.array(side, np.float64) for side in np.broadcast_arrays(lower, upper))
        if self.lower.ndim != 1 or not np.all(np.isfinite(self.lower) & np.isfinite(self.upper)):
            raise ValueError(
                "Box needs finite vectors; got lower of shape " + f"{self.lower.shape}. "
                "Write Box(np.zeros(d), 1.0) for the unit box."
            )
        if not np.all(self.lower < self.upper):
            worst = int(np.argmin(self.upper - self.lower))
            raise ValueError(
                f"Box needs lower < upper in every coordinate; got {self.lower[worst]} and {self.upper[worst]} "
                f"in coordinate {worst}. Leave a fixed coordinate out of the decision."
            )
        nonnegative = bool(np.all(self.lower >= 0))
        self.geometry = Geometry(
            dim=len(self.lower),
            radius=float(np.linalg.norm(np.maximum(abs(self.lower), abs(self.upper)))),
            subspace=Full(len(self.lower)),
            center=(self.lower + self.upper) / 2,
            inner_radius=float(np.min(self.upper - self.lower) / 2),
            anchor=np.clip(0.0, self.lower, self.upper),
            least_element=self.lower if nonnegative else None,
            contains_origin=bool(np.all((self.lower <= 0) & (self.upper >= 0))),
            down_closed=bool(np.all(self.lower == 0)),
        )

    def argmax(self, direction: Array) -> Array:
        return jnp.where(direction > 0, self.upper, self.lower).astype(direction.dtype)

    def contains(self, x: Array, tolerance: float | Array = 1e-9) -> Array:
        return jnp.all((x >= self.lower - tolerance) & (x <= self.upper + tolerance))

    def project(self, y: Array) -> Array:
        y = jnp.asarray(y)
        return jnp.clip(y, jnp.asarray(self.lower, y.dtype), jnp.asarray(self.upper, y.dtype))

    def separate(self, x: Array) -> Cut:
        return self._cut(x, most_violated(x, self.lower, self.upper))


class Simplex(Set):
    """The probability simplex {x >= 0, sum x = 1}."""

    geometry: Geometry

    def __init__(self, dim: int):
        if dim < 2:
            raise ValueError(f"Simplex needs at least 2 coordinates; got {dim}: with one there is nothing to decide.")
        space, middle, inner = ZeroSums(np.zeros(dim, int)), 1.0 / dim, 1.0 / np.sqrt(dim * (dim - 1))
        self.geometry = Geometry(dim=dim, radius=1.0, subspace=space, center=middle, inner_radius=inner, anchor=middle)

    def argmax(self, direction: Array) -> Array:
        return (jnp.arange(self.dim) == jnp.argmax(direction)).astype(direction.dtype)

    def vertex(self, direction: Array) -> Vertex:
        return Indices.of(self.argmax(direction), 1)

    def contains(self, x: Array, tolerance: float | Array = 1e-9) -> Array:
        return jnp.all(x >= -tolerance) & (jnp.abs(x.sum() - 1) <= tolerance * self.dim)

    def project(self, y: Array) -> Array:
        return filled_to(jnp.asarray(y), 1.0)

    def separate(self, x: Array) -> Cut:
        x = jnp.asarray(x)
        level = jnp.full(self.dim, 1 / np.sqrt(self.dim), x.dtype)
        beyond = jnp.dot(level, x - 1 / self.dim)
        return self._cut(x, most_violated(x, 0.0, jnp.inf, (jnp.abs(beyond), jnp.sign(beyond) * level)))


class _Ball(Set):
    """A ball of radius `size` in some norm; the Euclidean one inside it has the radius size / sqrt(rank)."""

    size: Vector
    geometry: Geometry

    def __init__(self, dim: int, size: float, rank: int, *, curved: bool):
        if dim < 1 or not 0 < size < np.inf:
            raise ValueError(f"a ball needs dim >= 1 and a positive, finite radius; got dim={dim}, radius={size}.")
        self.size = np.asarray(size, np.float64)
        ball = {"center": 0.0, "inner_radius": size / np.sqrt(rank), "anchor": 0.0, "contains_origin": True}
        self.geometry = Geometry(dim=dim, radius=size, subspace=Full(dim), curved=curved, **ball)


class L1Ball(_Ball):
    """{x : sum |x_i| <= size}."""

    def __init__(self, dim: int, size: float = 1.0):
        super().__init__(dim, size, dim, curved=False)

    def argmax(self, direction: Array) -> Array:
        best = jnp.argmax(jnp.abs(direction))
        sign = jnp.where(direction[best] >= 0, 1, -1)
        return jnp.where(jnp.arange(self.dim) == best, sign * self.size, 0).astype(direction.dtype)

    def vertex(self, direction: Array) -> Vertex:
        return Indices.of(self.argmax(direction), 1)

    def contains(self, x: Array, tolerance: float | Array = 1e-9) -> Array:
        return jnp.abs(x).sum() <= self.size + tolerance * self.dim

    def project(self, y: Array) -> Array:
        y = jnp.asarray(y)
        return jnp.sign(y) * shrunk_to(jnp.abs(y), jnp.asarray(self.size, y.dtype))

    def separate(self, x: Array) -> Cut:
        return self._cut(x, jnp.sign(x))  # <sign(x), z> <= |z|_1 <= size < |x|_1


class L2Ball(_Ball):
    """{x : |x| <= size}."""

    def __init__(self, dim: int, size: float = 1.0):
        super().__init__(dim, size, 1, curved=dim > 1)

    def argmax(self, direction: Array) -> Array:
        norm = jnp.linalg.norm(direction)
        return jnp.where(norm > 0, self.size * direction / jnp.where(norm > 0, norm, 1), 0).astype(direction.dtype)

    def contains(self, x: Array, tolerance: float | Array = 1e-9) -> Array:
        return jnp.linalg.norm(x) <= self.size + tolerance

    def project(self, y: Array) -> Array:
        y = jnp.asarray(y)
        return y / jnp.maximum(1, jnp.linalg.norm(y) / jnp.asarray(self.size, y.dtype))

    def separate(self, x: Array) -> Cut:
        return self._cut(x, x)


class NuclearBall(_Ball):
    """Matrices with `rows` x `columns` entries, flattened, whose singular values sum to at most `size`."""

    shape: tuple[int, int] = eqx.field(static=True)

    def __init__(self, rows: int, columns: int, size: float = 1.0):
        self.shape = (rows, columns)
        rank = min(rows, columns)  # |X|_* <= sqrt(rank) |X|_F
        super().__init__(rows * columns if rank > 0 else rank, size, rank, curved=rows * columns > 1)

    def argmax(self, direction: Array) -> Array:
        return self.vertex(direction).dense()

    def vertex(self, direction: Array) -> Vertex:
        left, _, right = jnp.linalg.svd(direction.reshape(self.shape), full_matrices=False)
        return RankOne(left[:, 0], right[0], jnp.asarray(self.size, left.dtype))

    def contains(self, x: Array, tolerance: float | Array = 1e-9) -> Array:
        singular = jnp.linalg.svd(x.reshape(self.shape), compute_uv=False)
        return singular.sum() <= self.size + tolerance * min(self.shape)

    def project(self, y: Array) -> Array:
        y = jnp.asarray(y)
        left, singular, right = jnp.linalg.svd(y.reshape(self.shape), full_matrices=False)
        size = jnp.asarray(self.size, y.dtype)
        outside = ((left * shrunk_to(singular, size)) @ right).ravel()
        return jnp.where(singular.sum() <= size, y, outside)  # a point of the ball is returned unchanged

    def separate(self, x: Array) -> Cut:
        x = jnp.asarray(x)
        left, _, right = jnp.linalg.svd(x.reshape(self.shape), full_matrices=False)
        return self._cut(x, (left @ right).ravel())  # spectral norm 1: <., Z> is at most Z's nuclear norm
