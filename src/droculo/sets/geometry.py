"""Facts about a set besides its oracle, and the linear space of its directions."""

from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike, NDArray

Vector = NDArray[np.float64]


class Subspace(eqx.Module):
    """The linear space L0 of a set's affine directions, given by its orthogonal projection."""

    dimension: eqx.AbstractVar[int]

    @abstractmethod
    def project(self, vector: Array) -> Array:
        """The orthogonal projection of `vector` onto the space."""

    def sample(self, key: Array, dim: int) -> Array:
        """One point, uniform on the unit sphere of the space.

        The projection of an isotropic Gaussian is isotropic in the space, so its direction is uniform.
        """
        # At least 20 numbers: XLA unrolls generator loops of 9 to 15 numbers, which takes seconds to compile.
        inside = self.project(jax.random.normal(key, (max(dim, 20),))[:dim])
        return inside / jnp.linalg.norm(inside)


class Full(Subspace):
    """All of R^d."""

    dimension: int = eqx.field(static=True)

    def project(self, vector: Array) -> Array:
        return vector


class ZeroSums(Subspace):
    """Vectors whose entries sum to zero within every group; entries of groups that are not free are zero.

    `groups[i]` is the group of coordinate i, `free[i]` is 0 where the coordinate is constant.
    """

    groups: NDArray[np.int64]
    sizes: Vector
    free: Vector
    dimension: int = eqx.field(static=True)

    def __init__(self, groups: ArrayLike, free_groups: ArrayLike | None = None):
        self.groups = np.asarray(groups, np.int64)
        counts = np.bincount(self.groups)
        can_move = np.ones(len(counts), bool) if free_groups is None else np.asarray(free_groups, bool)
        self.sizes = counts.astype(np.float64)
        self.free = can_move[self.groups].astype(np.float64)
        self.dimension = int(np.sum((counts - 1)[can_move]))

    def project(self, vector: Array) -> Array:
        sums = jax.ops.segment_sum(vector, self.groups, num_segments=self.sizes.shape[0])
        return (vector - (sums / self.sizes)[self.groups]) * self.free


class Span(Subspace):
    """The span of the orthonormal columns of `basis`."""

    basis: Vector
    dimension: int = eqx.field(static=True)

    def __init__(self, basis: ArrayLike):
        self.basis = np.asarray(basis, np.float64)
        self.dimension = int(self.basis.shape[1])

    @classmethod
    def orthogonal_to(cls, rows: ArrayLike, dim: int, tolerance: float = 1e-9) -> "Span":
        """The null space of the matrix with these rows."""
        matrix = np.asarray(rows, np.float64).reshape(-1, dim)
        _, singular, right = np.linalg.svd(matrix, full_matrices=True)
        rank = int(np.sum(singular > tolerance * max(1.0, singular.max(initial=0.0))))
        return cls(right[rank:].T)

    def project(self, vector: Array) -> Array:
        return jnp.asarray(self.basis) @ (self.basis.T @ vector)


class Joint(Subspace):
    """The product of several spaces, one after another along the coordinates."""

    parts: tuple[Subspace, ...]
    ends: tuple[int, ...] = eqx.field(static=True)
    dimension: int = eqx.field(static=True)

    def __init__(self, parts: tuple[Subspace, ...], dims: tuple[int, ...]):
        self.parts = parts
        self.ends = tuple(int(e) for e in np.cumsum(dims)[:-1])
        self.dimension = sum(p.dimension for p in parts)

    def project(self, vector: Array) -> Array:
        pieces = jnp.split(vector, self.ends)
        return jnp.concatenate([p.project(v) for p, v in zip(self.parts, pieces, strict=True)])


class Geometry(eqx.Module):
    """The facts about a set that an algorithm may use.

    Everything is computed once, in double precision, when the set is made. `None` means "not known":
    the set then raises an error that names the argument to pass.
    """

    dim: int = eqx.field(static=True)
    radius: Vector  # every point's norm is at most this
    subspace: Subspace | None  # the directions of the affine hull
    center: Vector | None  # with inner_radius: a ball of the affine hull that lies in the set
    inner_radius: Vector | None
    anchor: Vector | None  # a point of least sup-norm; None: found by column generation when needed
    least_element: Vector | None  # the least element: every point of the set lies above it; None: there is none
    contains_origin: bool = eqx.field(static=True)
    down_closed: bool = eqx.field(static=True)
    curved: bool = eqx.field(static=True)  # True if the set has infinitely many vertices

    def __init__(
        self,
        *,
        dim: int,
        radius: float,
        subspace: Subspace | None,
        center: ArrayLike | None,
        inner_radius: float | None,
        anchor: ArrayLike | None = None,
        least_element: ArrayLike | None = None,
        contains_origin: bool = False,
        down_closed: bool = False,
        curved: bool = False,
    ):
        def vector(value: ArrayLike | None) -> Vector | None:
            return None if value is None else np.array(np.broadcast_to(value, (dim,)), np.float64)

        self.dim = int(dim)
        self.radius = np.asarray(radius, np.float64)
        self.subspace = subspace
        self.center = vector(center)
        self.inner_radius = None if inner_radius is None else np.asarray(inner_radius, np.float64)
        self.anchor = vector(anchor)
        self.least_element = vector(least_element)
        self.contains_origin = bool(contains_origin)
        self.down_closed = bool(down_closed)
        self.curved = bool(curved)


def check_vector(name: str, argument: str, value: ArrayLike | None, dim: int) -> None:
    if value is not None and np.shape(value) not in ((), (dim,)):
        raise ValueError(
            f"{name} got {argument} of shape {np.shape(value)}, and the set has {dim} coordinates. "
            f"Pass a vector of shape ({dim},), or one number for all coordinates."
        )


def check_ball(name: str, center: ArrayLike | None, inner_radius: float | None, dim: int) -> None:
    check_vector(name, "center", center, dim)
    if (center is None) != (inner_radius is None):
        raise ValueError(f"{name} got only one of center and inner_radius. Pass both: together they are a ball in K.")
    if inner_radius is not None and not 0 < inner_radius < np.inf:
        raise ValueError(f"{name} needs a positive, finite inner_radius; got {inner_radius}.")
