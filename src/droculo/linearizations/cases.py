"""The classes of the paper's appendix B, concave functions, and the down-closed case (A4) of 2026."""

from typing import ClassVar, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from droculo.linearizations.base import Affine, BoundAt, Gradient, Linearization, Value
from droculo.precision import double
from droculo.sequencing import after
from droculo.sets import Set
from droculo.sets.geometry import Vector


class _AtTheAction(Linearization):
    """The gradient is asked where one stands."""

    trivial: ClassVar[bool] = True

    def query(self, x: Array, z: Array) -> Array:
        return x

    def signal_smoothness(self, lipschitz: float, smoothness: float) -> float:
        return smoothness


class Concave(_AtTheAction):
    """Concave functions on any convex set: the gradient where one stands (alpha = beta = 1)."""

    alpha: Vector
    beta: Vector
    case: ClassVar[str] = "concave"

    def __init__(self) -> None:
        self.alpha = self.beta = np.ones(())


class MonotoneGeneral(_AtTheAction):
    """A1: non-negative monotone gamma-weakly up-concave functions on any convex set.

    alpha = gamma^2 / (1 + c gamma^2), beta = gamma / (1 + c gamma^2), with c a bound on the curvature.
    """

    gamma: Vector
    curvature: Vector
    alpha: Vector
    beta: Vector
    case: ClassVar[str] = "A1"
    non_negative: ClassVar[bool] = True
    monotone: ClassVar[bool] = True

    def __init__(self, gamma: float = 1.0, curvature: float = 1.0):
        _check_gamma(gamma)
        if not 0 <= curvature <= 1:
            raise ValueError(f"the curvature lies between 0 (linear) and 1; got {curvature}.")
        self.gamma, self.curvature = np.asarray(gamma, np.float64), np.asarray(curvature, np.float64)
        self.alpha = np.asarray(gamma**2 / (1 + curvature * gamma**2))
        self.beta = np.asarray(gamma / (1 + curvature * gamma**2))


class MonotoneOrigin(Linearization):
    """A2: non-negative monotone gamma-weakly up-concave functions on a set that contains the origin.

    The gradient is asked at o + Z (x - o), where o is the set's least element: 0 for a set with the origin, and
    its image for the shrunk set of value feedback, so that the query's ball stays in K.
    """

    gamma: Vector
    alpha: Vector
    beta: Vector
    least_element: Vector | None
    case: ClassVar[str] = "A2"
    non_negative: ClassVar[bool] = True
    monotone: ClassVar[bool] = True

    def __init__(self, gamma: float = 1.0):
        _check_gamma(gamma)
        self.gamma = np.asarray(gamma, np.float64)
        self.alpha = np.asarray(-np.expm1(-gamma))
        self.beta = np.asarray(-np.expm1(-gamma) / gamma)
        self.least_element = None

    def for_set(self, domain: Set) -> Self:
        if domain.least_element is None:
            raise ValueError(
                f"case A2 (MonotoneOrigin) needs a set of non-negative points that contains the origin; "
                f"{type(domain).__name__} has no known least element. Use A1 (MonotoneGeneral) on a general set; "
                "to from_oracle, pass least_element=0.0."
            )
        return eqx.tree_at(lambda own: own.least_element, self, domain.least_element, is_leaf=lambda leaf: leaf is None)

    def quantile(self, u: Array) -> Array:
        low = jnp.exp(-self.gamma)
        return 1 + jnp.log(low + u * (1 - low)) / self.gamma

    def query(self, x: Array, z: Array) -> Array:
        assert self.least_element is not None, "call .for_set(set) first"
        return z * (x - self.least_element) + self.least_element

    def signal_smoothness(self, lipschitz: float, smoothness: float) -> float:
        mean = 1 / self.alpha - 1 / self.gamma  # E[Z], by which the query moves with x
        return float(mean) * smoothness

    def bound_at(self, x: Array, z: Array, value: Value, gradient: Gradient) -> BoundAt:
        """gamma (f(u) - f(w)) <= <grad f(w), u v w - w> <= <grad f(w), u - o> for the query w, f monotone."""
        assert self.least_element is not None, "call .for_set(set) first"
        w, gamma = self.query(x, z), jnp.asarray(self.gamma)
        f = value(w)
        slope = gradient(after(w, f))
        return BoundAt(gamma, gamma, Affine(slope, gamma * f - jnp.dot(slope, self.least_element)))


class NonMonotoneGeneral(Linearization):
    """A3: non-negative up-concave functions, monotone or not, on any convex set in the unit box.

    With u the set's point of least sup-norm: h(x) = (x + u)/2, the query is u + Z/2 (x - u), and
    alpha = (1 - |u|_inf)/4, beta = 3/8.
    """

    alpha: Vector | None
    beta: Vector
    anchor: Vector | None
    case: ClassVar[str] = "A3"
    non_negative: ClassVar[bool] = True

    def __init__(self) -> None:
        self.alpha = None
        self.beta = np.asarray(3 / 8)
        self.anchor = None

    def for_set(self, domain: Set) -> Self:
        check_unit_box(domain, "case A3 (NonMonotoneGeneral)")
        anchor = domain.anchor
        height = float(np.max(np.abs(anchor)))
        if height >= 1:
            raise ValueError(
                "case A3 (NonMonotoneGeneral) needs a point whose entries are all below 1, for alpha = (1 - max)/4; "
                f"the least sup-norm in {type(domain).__name__} is {height:g}. No guarantee exists for this set."
            )
        known = np.asarray((1 - height) / 4), anchor
        return eqx.tree_at(lambda own: (own.alpha, own.anchor), self, known, is_leaf=lambda leaf: leaf is None)

    def action(self, x: Array) -> Array:
        assert self.anchor is not None, "call .for_set(set) first"
        return (x + self.anchor) / 2

    def quantile(self, u: Array) -> Array:
        return 2 * (1 - (1 + 3 * u) ** -0.5)

    def query(self, x: Array, z: Array) -> Array:
        assert self.anchor is not None, "call .for_set(set) first"
        return z / 2 * (x - self.anchor) + self.anchor

    def signal_smoothness(self, lipschitz: float, smoothness: float) -> float:
        return smoothness / 3  # E[Z/2]

    def bound_at(self, x: Array, z: Array, value: Value, gradient: Gradient) -> BoundAt:
        """<grad f(w), u - w> >= f(u v w) + f(u ^ w) - 2 f(w) >= (1 - |w|_inf) f(u) - 2 f(w) for the query w."""
        assert self.anchor is not None, "call .for_set(set) first"
        w = self.query(x, z)
        f = value(w)
        slope = gradient(after(w, f))
        weight = (1 - z / 2) * (1 - jnp.max(jnp.abs(self.anchor)))
        return BoundAt(weight, 1 - jnp.max(w), Affine(slope, 2 * f - jnp.dot(slope, w)))


class NonMonotoneDownClosed(Linearization):
    """A4: non-negative DR-submodular functions, monotone or not, on a down-closed set in the unit box.

    h(x) = 1 - exp(-x), the query is 1 - exp(-Z x) and the gradient there is pulled back through that map;
    alpha = 1/e, beta = 1 - 1/e (arXiv 2602.20578). First order only: the map bends, so a query point has no
    ball of a known size around it.
    """

    alpha: Vector
    beta: Vector
    case: ClassVar[str] = "A4"
    non_negative: ClassVar[bool] = True
    zeroth_order: ClassVar[bool] = False

    def __init__(self) -> None:
        self.alpha = np.asarray(np.exp(-1.0))
        self.beta = np.asarray(-np.expm1(-1.0))

    def for_set(self, domain: Set) -> Self:
        if not domain.down_closed:
            raise ValueError(
                f"case A4 (NonMonotoneDownClosed) needs a down-closed set; {type(domain).__name__} is not known to be "
                "one. Use A3 (NonMonotoneGeneral) on a general set; if it is, pass down_closed=True to from_oracle or Hull."
            )
        check_unit_box(domain, "case A4 (NonMonotoneDownClosed)")
        return self

    def action(self, x: Array) -> Array:
        return -jnp.expm1(-x)

    def quantile(self, u: Array) -> Array:
        low = np.exp(-1.0)
        return 1 + jnp.log(low + u * (1 - low))

    def query(self, x: Array, z: Array) -> Array:
        return -jnp.expm1(-z * x)

    def pull(self, x: Array, z: Array, gradient: Array) -> Array:
        return gradient * jnp.exp(-z * x)

    def signal_smoothness(self, lipschitz: float, smoothness: float) -> float:
        mean = float(1 / self.beta - 1)  # E[Z], for both factors of exp(-Z x) grad f(1 - exp(-Z x))
        return mean * (lipschitz + smoothness)

    def bound_at(self, x: Array, z: Array, value: Value, gradient: Gradient) -> BoundAt:
        """<(1 - w) grad f(w), u> >= f(w + u (1 - w)) - f(w) >= (1 - |w|_inf) f(u) - f(w) for the query w."""
        w = self.query(x, z)
        f = value(w)
        return BoundAt(jnp.exp(-z), 1 - jnp.max(w), Affine(self.pull(x, z, gradient(after(w, f))), f))


def _check_gamma(gamma: float) -> None:
    if not 0 < gamma <= 1:
        raise ValueError(f"gamma-weak up-concavity means 0 < gamma <= 1; got gamma={gamma}.")


def check_unit_box(domain: Set, case: str) -> None:
    """Refuse a set that is not in [0, 1]^d: its extent is found with two oracle calls per coordinate."""
    with double():
        lowest, highest = map(float, _extent(domain))
    if lowest < -1e-9 or highest > 1 + 1e-9:
        raise ValueError(
            f"{case} lives in the unit box [0, 1]^d; the set reaches from {lowest:g} to {highest:g}. "
            "Rescale the decision, for example with droculo.sets.scaled."
        )


@eqx.filter_jit  # type: ignore[untyped-decorator]
def _extent(domain: Set) -> tuple[Array, Array]:
    """The smallest and the largest coordinate of a point of the set."""
    axes = jnp.concatenate([jnp.eye(domain.dim), -jnp.eye(domain.dim)])
    highest = jnp.max(jax.vmap(lambda e: domain.argmax(e) @ e)(axes).reshape(2, -1), axis=1)
    return 0 - highest[1], highest[0]


def of_case(case: str, *allowed: str) -> Linearization:
    """The linearization of a case by its name, if the problem is of that class."""
    if case not in allowed:
        raise ValueError(f"this problem can be of case {', '.join(allowed)}; got {case!r}.")
    kinds = (Concave, MonotoneGeneral, MonotoneOrigin, NonMonotoneGeneral, NonMonotoneDownClosed)
    return next(kind() for kind in kinds if kind.case == case)
