"""A set from a user-defined oracle: a function of the direction, in JAX or in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from droculo.precision import double
from droculo.sets.geometry import Geometry, Subspace, Vector, check_ball, check_vector
from droculo.sets.host import Host, HostSet


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


class OracleSet(HostSet):
    """A set made by `from_oracle`."""

    function: Callable[[Array], Array] | None = eqx.field(static=True)  # None: the oracle runs on the host only
    member: Callable[..., Array] | None = eqx.field(static=True)
    geometry: Geometry

    @property
    def has_fast_contains(self) -> bool:  # type: ignore[override]
        return self.member is not None

    def argmax(self, direction: Array) -> Array:
        if self.function is None:
            return super().argmax(direction)
        return jnp.asarray(self.function(direction)).astype(direction.dtype)

    def contains(self, x: Array, tolerance: float | Array = 1e-9) -> Array:
        return super().contains(x, tolerance) if self.member is None else jnp.asarray(self.member(x, tolerance))


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
    curved: bool = False,
    least_element: ArrayLike | None = None,
    host: bool = False,
) -> OracleSet:
    """The set whose oracle is `function(direction) -> point`, of points of norm at most `radius`.

    `function` (and `contains(x, tolerance)`, if given) is written in JAX, or with `host=True` in NumPy; it
    must depend on its argument alone. Facts that are not passed are not known, and using them raises an error;
    only the anchor and membership can be computed from the oracle. `curved=True` says that the set has infinitely many
    vertices, as a ball has: agents then do not try to collect all of them.
    """
    if dim < 1 or not 0 < radius < np.inf:
        raise ValueError(f"from_oracle needs dim >= 1 and a positive, finite radius; got dim={dim}, radius={radius}.")
    check_ball("from_oracle", center, inner_radius, dim)
    for name, vector in {"anchor": anchor, "least_element": least_element}.items():
        check_vector("from_oracle", name, vector, dim)
    if least_element is None and down_closed and contains_origin:
        least_element = np.zeros(dim)  # a down-closed set lies in the positive orthant
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
        least_element=least_element,
        contains_origin=contains_origin,
        down_closed=down_closed,
        curved=curved,
    )
    inner.rest = _tried(inner, dim, radius)
    return OracleSet(inner, None if host else function, None if host else contains, known)


def _tried(host: Host, dim: int, radius: float) -> Vector:
    """Try a new oracle on a few directions; the last answer becomes the point for a zero direction."""
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
