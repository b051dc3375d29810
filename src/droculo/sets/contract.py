"""The contract of a set: a linear optimization oracle, and a few facts about the set."""

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import Array

from droculo.sets.geometry import Geometry, Subspace, Vector
from droculo.sets.search import least_sup_norm
from droculo.sets.vertices import Dense, Vertex

#: A point within this many units in the last place of the radius counts as inside the set.
ROUNDINGS = 16


class Cut(NamedTuple):
    """The answer of a separation oracle for a point x: x is in K, or a hyperplane separates it from K."""

    inside: Array  # bool
    normal: Array  # (d,), of any length: <normal, z> < <normal, x> for every z in K; zero where x is inside


class NoProjectionError(ValueError):
    """The set has no known Euclidean projection."""


class Set(eqx.Module):
    """A convex compact set K, reached only through `argmax`.

    A custom set is a subclass with a `geometry` and the two abstract methods below, and can be used everywhere;
    `droculo.testing.check_set` checks that it keeps the contract.
    """

    geometry: eqx.AbstractVar[Geometry]

    #: True if `contains` is cheap and runs inside compiled code, so that oracles may use it as a shortcut
    has_fast_contains: ClassVar[bool] = True

    @abstractmethod
    def argmax(self, direction: Array) -> Array:
        """The linear optimization oracle: a point of K that maximises <direction, .>. Ties may go either way."""

    def vertex(self, direction: Array) -> Vertex:
        """`argmax(direction)` in a structured form, for oracles that store many vertices.

        A set whose vertices are sparse, of rank one, or otherwise structured overrides this.
        """
        return Dense(self.argmax(direction))

    @abstractmethod
    def contains(self, x: Array, tolerance: float | Array = 1e-9) -> Array:
        """True if x is in K, up to `tolerance` in every constraint."""

    def project(self, y: Array) -> Array:
        """The Euclidean projection: the point of K nearest to y. The library's own algorithms never ask for it."""
        raise NoProjectionError(
            f"{type(self).__name__} has no known projection. Use a projection-free method such as Droculo, or define "
            "project(y) in a subclass, to return the point nearest to y."
        )

    def separate(self, x: Array) -> Cut:
        """Tell if x is in K; if not, return a normal v with <v, z> < <v, x> for every z in K.

        By default v leads from the projection of x to x. NaN or infinity in x gives a normal of NaN.
        """
        x = jnp.asarray(x)
        away = x - self.project(x)
        near = jnp.linalg.norm(away) <= self.rounding(x)
        return self._cut(x, away, near)

    def rounding(self, x: Array) -> Array:
        """The tolerance of `separate`: points this near count as inside. It depends on the precision of x."""
        return jnp.asarray(ROUNDINGS * np.finfo(x.dtype).eps * self.radius, x.dtype)

    def _cut(self, x: Array, normal: Array, near: bool | Array = False) -> Cut:
        """The answer of `separate`, where `normal` separates x from K unless K contains x or is `near`."""
        x, normal = jnp.asarray(x), jnp.asarray(normal)
        inside = self.contains(x, self.rounding(x)) | near
        unknown = jnp.where(jnp.all(jnp.isfinite(x)), 0, jnp.nan)  # a diverged run must stay visible
        return Cut(inside, (jnp.where(inside, 0, normal) + unknown).astype(x.dtype))

    @property
    def dim(self) -> int:
        """The number of coordinates d."""
        return self.geometry.dim

    @property
    def radius(self) -> Vector:
        """R: no point of K has a larger Euclidean norm."""
        return self.geometry.radius

    @property
    def center(self) -> Vector:
        """c: the center of a ball of the affine hull that lies in K."""
        return self._known("center", self.geometry.center)

    @property
    def inner_radius(self) -> Vector:
        """r: the radius of that ball."""
        return self._known("inner_radius", self.geometry.inner_radius)

    @property
    def subspace(self) -> Subspace:
        """L0: the linear space of directions of the affine hull, of dimension k."""
        return self._known("subspace", self.geometry.subspace)

    @property
    def anchor(self) -> Vector:
        """u: a point of K of least sup-norm."""
        return least_sup_norm(self) if self.geometry.anchor is None else self.geometry.anchor

    @property
    def least_element(self) -> Vector | None:
        """o: the least element of K (every point of K lies above it), or None where there is none."""
        return self.geometry.least_element

    @property
    def contains_origin(self) -> bool:
        """True if 0 is in K."""
        return self.geometry.contains_origin

    @property
    def down_closed(self) -> bool:
        """True if 0 <= x <= y with y in K implies x in K."""
        return self.geometry.down_closed

    @property
    def curved(self) -> bool:
        """True if K has infinitely many vertices, so that no memory of them is ever complete."""
        return self.geometry.curved

    def _known(self, name: str, value: Any) -> Any:
        if value is None:
            raise ValueError(
                f"{type(self).__name__} does not know its {name}: an oracle alone cannot tell it. "
                f"Pass {name}=... when you make the set."
            )
        return value
