"""Oracles that cannot be traced: solvers on the host, called from compiled code; and sets from a user-defined oracle."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike, NDArray

from droculo.precision import double
from droculo.sets.contract import Set
from droculo.sets.geometry import Geometry, Subspace, Vector, check_ball, check_vector
from droculo.sets.search import distance_by


class Host(ABC):
    """A linear optimization oracle in NumPy; it is compared and hashed by identity, so it can be static.

    `solve` must be a deterministic function of the direction alone: the same direction gives the same point
    bit for bit, whatever was solved before, so that runs can be repeated and resumed.
    """

    rest: Vector  #: the point given for a zero direction, which costs nothing
    solves: int  #: the number of calls of `solve`

    def __init__(self, rest: Vector):
        self.rest = np.asarray(rest, np.float64)
        self.solves = 0
        self._lock = threading.Lock()

    @abstractmethod
    def solve(self, direction: Vector) -> Vector:
        """A point of the set that maximises <direction, .>, for a finite direction that is not zero."""

    def argmax(self, direction: Vector) -> Vector:
        """`solve`, except that zero gives `rest` and a direction with NaN or infinity gives NaN.

        A finished agent sends zero, which must not cost a solve. A diverged run sends NaN: it gets NaN back,
        which stays visible, instead of an exception from a solver inside compiled code.
        """
        if not np.any(direction):
            return self.rest
        if not np.all(np.isfinite(direction)):
            return np.full_like(self.rest, np.nan)
        with self._lock:  # the runtime may call from several threads, and solvers are not thread-safe
            self.solves += 1
            return self.solve(np.asarray(direction, np.float64))

    def holds(self, x: Vector, tolerance: float) -> bool:
        """True if x is within `tolerance` of the set, in Euclidean distance."""
        if not np.all(np.isfinite(x)):
            return False
        return distance_by(self.argmax, x, tolerance / 4, beyond=tolerance) <= tolerance

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"} | {"solves": 0}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()


def ask(function: Callable[[Vector], Any], vector: Array, length: int) -> Array:
    """`function` on the host, from inside jit, vmap and loops: `length` numbers for one vector, in its precision.

    Doubles travel as pairs of 32-bit words: JAX runs some callbacks on threads of its own, where double
    precision is off and arguments and results would be rounded to float32.
    """
    vector = jnp.asarray(vector)
    answer = partial(_answer_rows, function)
    if vector.dtype == jnp.float64:
        bits = jax.ShapeDtypeStruct((length, 2), jnp.uint32)  # type: ignore[no-untyped-call]
        sent = jax.lax.bitcast_convert_type(vector, jnp.uint32)
        reply = jax.pure_callback(answer, bits, sent, vmap_method="expand_dims")
        return jax.lax.bitcast_convert_type(reply, jnp.float64)
    single = jax.ShapeDtypeStruct((length,), jnp.float32)  # type: ignore[no-untyped-call]
    reply = jax.pure_callback(answer, single, vector.astype(jnp.float32), vmap_method="expand_dims")
    return reply.astype(vector.dtype)


def _answer_rows(function: Callable[[Vector], Any], received: Array) -> NDArray:
    """Apply `function` to every row sent, with any number of batch axes; return the same kind of numbers."""
    sent = np.asarray(received)
    in_bits = sent.dtype == np.uint32
    rows = np.ascontiguousarray(sent).view(np.float64)[..., 0] if in_bits else sent.astype(np.float64)
    flat = rows.reshape(-1, rows.shape[-1])
    reply = np.stack([function(row) for row in flat]).reshape(*rows.shape[:-1], -1).astype(np.float64)
    return reply[..., None].view(np.uint32) if in_bits else reply.astype(np.float32)


class HostSet(Set):
    """A set whose oracle is a `Host`; by default, membership is decided by a distance that is found by this oracle.

    A subclass that decides membership in compiled code overrides `contains` and sets `has_fast_contains`.
    """

    host: Host = eqx.field(static=True)

    has_fast_contains: ClassVar[bool] = False

    def argmax(self, direction: Array) -> Array:
        return ask(self.host.argmax, direction, self.dim)

    def contains(self, x: Array, tolerance: float | Array = 1e-9) -> Array:
        x = jnp.asarray(x)
        sent = jnp.append(x, jnp.asarray(tolerance, x.dtype))
        return ask(lambda row: self.host.holds(row[:-1], float(row[-1])), sent, 1)[0] > 0.5


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
