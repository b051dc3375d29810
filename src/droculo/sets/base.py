"""The one thing every set is: a linear optimization oracle, with a few facts beside it."""

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import Array

from droculo.sets.geometry import Geometry, Subspace, Vector

#: How many units in the last place of the radius are rounding, and no distance from the set.
ROUNDINGS = 16


class Cut(NamedTuple):
    """What a separation oracle says of a point x: that it is in K, or how a hyperplane parts it from K."""

    inside: Array  # bool
    normal: Array  # (d,), of any length: <normal, z> < <normal, x> for every z in K; zero where x is inside


class NoProjectionError(ValueError):
    """The set has no known Euclidean projection."""


class Set(eqx.Module):
    """A convex compact set K, reached only through `argmax`.

    A set of your own subclasses this, gives itself a `geometry` and the two methods below, and can then be
    used everywhere; `droculo.testing.check_set` tells whether it keeps the contract.
    """

    geometry: eqx.AbstractVar[Geometry]

    #: whether `contains` is cheap and runs inside compiled code, so that an oracle may use it as a shortcut
    has_fast_contains: ClassVar[bool] = True

    @abstractmethod
    def argmax(self, direction: Array) -> Array:
        """The linear optimization oracle: a point of K that maximises <direction, .>. Ties may go either way."""

    @abstractmethod
    def contains(self, x: Array, tolerance: float | Array = 1e-9) -> Array:
        """Whether x is in K, up to `tolerance` in every constraint."""

    def project(self, y: Array) -> Array:
        """The Euclidean projection: the point of K nearest to y. The library's own algorithms never ask for it."""
        raise NoProjectionError(
            f"{type(self).__name__} has no known projection. Use a projection-free method such as Droculo, or override "
            "project(y) in a set of your own, to return the point nearest to y."
        )

    def separate(self, x: Array) -> Cut:
        """Whether x is in K; if not, a normal v with <v, z> < <v, x> for every z in K.

        Unless a set knows better, v leads from the projection of x to x. NaN or infinity in x gives a normal of NaN.
        """
        x = jnp.asarray(x)
        away = x - self.project(x)
        near = jnp.linalg.norm(away) <= self.rounding(x)
        return self._cut(x, away, near)

    def rounding(self, x: Array) -> Array:
        """The tolerance at which `separate` calls a point inside: rounding, in the precision of x."""
        return jnp.asarray(ROUNDINGS * np.finfo(x.dtype).eps * self.radius, x.dtype)

    def _cut(self, x: Array, normal: Array, near: bool | Array = False) -> Cut:
        """The answer of `separate`, where `normal` parts x from K unless K contains x, or is `near`."""
        inside = self.contains(x, self.rounding(x)) | near
        unknown = jnp.where(jnp.all(jnp.isfinite(x)), 0, jnp.nan)  # a diverged run must be seen, not cut off
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
        """c: the middle of a ball of the affine hull that lies in K."""
        return self._known("center", self.geometry.center)

    @property
    def inner_radius(self) -> Vector:
        """r: the radius of that ball."""
        return self._known("inner_radius", self.geometry.inner_radius)

    @property
    def subspace(self) -> Subspace:
        """L0: the linear space of the affine hull's directions, of dimension k."""
        return self._known("subspace", self.geometry.subspace)

    @property
    def anchor(self) -> Vector:
        """u: a point of K of least sup-norm."""
        if self.geometry.anchor is not None:
            return self.geometry.anchor
        from droculo.sets.search import least_sup_norm  # host search, needed by few sets

        return least_sup_norm(self)

    @property
    def least_element(self) -> Vector | None:
        """o: the least element of K (every point of K lies above it), or None where there is none.

        It is 0 for a set of the positive orthant that contains the origin, and its image for a shrunk one.
        """
        return self.geometry.least_element

    @property
    def contains_origin(self) -> bool:
        """Whether 0 is in K."""
        return self.geometry.contains_origin

    @property
    def down_closed(self) -> bool:
        """Whether 0 <= x <= y with y in K implies x in K."""
        return self.geometry.down_closed

    @property
    def curved(self) -> bool:
        """Whether it has infinitely many vertices, so that no memory of them is ever complete."""
        return self.geometry.curved

    def _known(self, name: str, value: Any) -> Any:
        if value is None:
            raise ValueError(
                f"{type(self).__name__} does not know its {name}: an oracle alone cannot tell it. "
                f"Pass {name}=... when you make the set."
            )
        return value
