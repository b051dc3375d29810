"""Sets made from sets: images, shrunk sets and products."""

from collections.abc import Iterator

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from droculo.precision import double
from droculo.sets.contract import Cut, Set
from droculo.sets.geometry import Geometry, Joint, Vector
from droculo.sets.vertices import Affine, Joined, Vertex

#: compiled as a whole: one operation after another, `contains` would take ten times as long
_contains = eqx.filter_jit(lambda set_, x, tolerance: set_.contains(x, tolerance))


class AffineImage(Set):
    """{scale * x + offset : x in base}, with a positive scale."""

    base: Set
    scale: Vector
    offset: Vector
    geometry: Geometry

    def __init__(self, base: Set, scale: float = 1.0, offset: ArrayLike = 0.0):
        if not 0 < scale < np.inf:
            raise ValueError(f"a set is scaled by a positive, finite factor; got {scale}.")
        self.base = base
        self.scale = np.asarray(scale, np.float64)
        self.offset = np.array(np.broadcast_to(offset, (base.dim,)), np.float64)
        if not np.all(np.isfinite(self.offset)):
            raise ValueError("a set is moved by a finite offset; got NaN or infinity.")
        self.geometry = self._image_geometry()

    @property
    def has_fast_contains(self) -> bool:  # type: ignore[override]
        return self.base.has_fast_contains

    def argmax(self, direction: Array) -> Array:
        return (self.base.argmax(direction) * self.scale + self.offset).astype(direction.dtype)

    def vertex(self, direction: Array) -> Vertex:
        return Affine(self.base.vertex(direction), jnp.asarray(self.scale), jnp.asarray(self.offset))

    def contains(self, x: Array, tolerance: float | Array = 1e-9) -> Array:
        return self.base.contains((x - self.offset) / self.scale, jnp.asarray(tolerance / self.scale))

    def project(self, y: Array) -> Array:
        y = jnp.asarray(y)
        before = ((y - self.offset) / self.scale).astype(y.dtype)
        return (self.base.project(before) * self.scale + self.offset).astype(y.dtype)

    def separate(self, x: Array) -> Cut:
        x = jnp.asarray(x)
        found = self.base.separate(((x - self.offset) / self.scale).astype(x.dtype))
        return self._cut(x, found.normal, found.inside)  # a large offset costs digits: the base alone is too strict

    def _image_geometry(self) -> Geometry:
        known = self.base.geometry
        moved = bool(np.any(self.offset != 0))
        center = None if known.center is None else self.scale * known.center + self.offset
        least_element = None if known.least_element is None else self.scale * known.least_element + self.offset
        if least_element is not None and np.any(least_element < 0):
            least_element = None  # outside of the positive orthant, where monotone functions are defined
        holds_zero = known.contains_origin
        if moved:
            with double():
                holds_zero = bool(_contains(self.base, jnp.asarray(-self.offset / self.scale), 1e-12))
        anchor = least_element  # every point lies above it, and it is not negative
        if anchor is None and not moved and known.anchor is not None:
            anchor = self.scale * known.anchor
        elif anchor is None and self._fixes(known):
            anchor = known.anchor
        return Geometry(
            dim=known.dim,
            radius=float(self.scale * known.radius + np.linalg.norm(self.offset)),
            subspace=known.subspace,
            center=center,
            inner_radius=None if known.inner_radius is None else float(self.scale * known.inner_radius),
            anchor=anchor,
            least_element=least_element,
            contains_origin=holds_zero,
            down_closed=known.down_closed and not moved,
            curved=known.curved,
        )

    def _fixes(self, known: Geometry) -> bool:
        """True if the image lies in the base and contains the base's anchor, which then is the image's anchor too."""
        if known.anchor is None or known.center is None:
            return False
        shrinks_to_center = np.allclose(self.offset, (1 - self.scale) * known.center, rtol=0, atol=1e-15)
        return bool(self.scale <= 1 and shrinks_to_center and np.array_equal(known.anchor, known.center))


def scaled(base: Set, factor: float) -> AffineImage:
    """The set scaled by `factor` around the origin."""
    return AffineImage(base, scale=factor)


def translated(base: Set, offset: ArrayLike) -> AffineImage:
    """The set moved by `offset`."""
    return AffineImage(base, offset=offset)


class Shrunk(AffineImage):
    """K_delta = (1 - delta/r) K + (delta/r) c: every point of it has a ball of radius delta around it in K.

    The ball is taken within the affine hull. `delta` must lie below the inner radius r.
    """

    delta: Vector

    def __init__(self, base: Set, delta: float):
        r = float(base.inner_radius)
        if not 0 <= delta < r:
            raise ValueError(
                f"a set is shrunk by 0 <= delta < r, its inner radius; got delta={delta} and r={r}. "
                "Take a smaller delta, or pass a larger inscribed ball (center=, inner_radius=) with the set."
            )
        share = delta / r
        super().__init__(base, 1 - share, share * base.center)
        self.delta = np.asarray(delta, np.float64)
        self.geometry = eqx.tree_at(lambda g: g.radius, self.geometry, base.radius)  # it lies in the base


class Product(Set):
    """The product of several sets, their coordinates one after another."""

    parts: tuple[Set, ...]
    ends: tuple[int, ...] = eqx.field(static=True)
    geometry: Geometry

    def __init__(self, *parts: Set):
        if not parts:
            raise ValueError("Product needs at least one set; got none.")
        self.parts = parts
        self.ends = tuple(int(e) for e in np.cumsum([p.dim for p in parts])[:-1])
        known = [p.geometry for p in parts]

        def joined(pieces: list[Vector | None]) -> Vector | None:
            found = [piece for piece in pieces if piece is not None]
            return np.concatenate(found) if len(found) == len(pieces) else None

        radii = [k.inner_radius for k in known if k.inner_radius is not None]
        spaces = [k.subspace for k in known if k.subspace is not None]
        whole = len(known)
        self.geometry = Geometry(
            dim=sum(k.dim for k in known),
            radius=float(np.sqrt(sum(float(k.radius) ** 2 for k in known))),
            subspace=Joint(tuple(spaces), tuple(k.dim for k in known)) if len(spaces) == whole else None,
            center=joined([k.center for k in known]),
            inner_radius=float(min(radii)) if len(radii) == whole else None,
            anchor=joined([k.anchor for k in known]),
            least_element=joined([k.least_element for k in known]),
            contains_origin=all(k.contains_origin for k in known),
            down_closed=all(k.down_closed for k in known),
            curved=any(k.curved for k in known),
        )

    @property
    def has_fast_contains(self) -> bool:  # type: ignore[override]
        return all(p.has_fast_contains for p in self.parts)

    def _pieces(self, x: Array) -> Iterator[tuple[Set, Array]]:
        return zip(self.parts, jnp.split(jnp.asarray(x), self.ends), strict=True)

    def argmax(self, direction: Array) -> Array:
        return jnp.concatenate([part.argmax(piece) for part, piece in self._pieces(direction)])

    def vertex(self, direction: Array) -> Vertex:
        return Joined(tuple(part.vertex(piece) for part, piece in self._pieces(direction)), self.ends)

    def contains(self, x: Array, tolerance: float | Array = 1e-9) -> Array:
        return jnp.all(jnp.stack([part.contains(piece, tolerance) for part, piece in self._pieces(x)]))

    def project(self, y: Array) -> Array:
        return jnp.concatenate([part.project(piece) for part, piece in self._pieces(y)])

    def separate(self, x: Array) -> Cut:
        # Parts that contain their piece have a zero normal.
        inside, normals = zip(*(part.separate(piece) for part, piece in self._pieces(x)), strict=True)
        return Cut(jnp.all(jnp.stack(inside)), jnp.concatenate(normals))
