"""Upper-linearizable classes of functions, and what an agent is told: the set, the class, and how large functions get."""

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from droculo.sequencing import after
from droculo.sets import Set
from droculo.sets.geometry import Vector

#: f(x), and its gradient, of a single objective
Value = Callable[[Array], Array]
Gradient = Callable[[Array], Array]


class Affine(NamedTuple):
    """The function <slope, u> + height of u."""

    slope: Array
    height: Array

    def __call__(self, u: Array) -> Array:
        return jnp.dot(self.slope, u) + self.height


class BoundAt(NamedTuple):
    """weight f(u) <= level f(u) <= model(u) for every u in K, for one f, one x and one z.

    `weight` is what theory uses of the class alone; `level` is what the point x itself allows.
    """

    weight: Array
    level: Array
    model: Affine


class UpperBounds(NamedTuple):
    """Affine functions of u that lie above alpha f(u) on all of K, for one f and one x."""

    theorem: Affine  # beta <g, u - x> + f(h(x)), by (2); it touches f(h(x)) at x
    tight: Affine  # the lowest that is known, nowhere above `theorem`
    excess: Array  # how much higher `theorem` is than it would be with infinitely many z
    aimed: Array  # f(h(x))


class Linearization(eqx.Module):
    """A class of functions with alpha f(y) - f(h(x)) <= beta <g(f, x), y - x> for all x, y in K (the paper's (2)).

    g(f, x) = E over Z of pull(x, Z, grad f(query(x, Z))), Z = quantile(U) with U uniform on [0, 1]: so one
    gradient at one random point is an unbiased estimate of g. To add a class, subclass this with `alpha`, `beta`
    and the methods that differ; `droculo.testing.check_linearization` checks that (2) holds.
    """

    alpha: eqx.AbstractVar[Vector | None]
    beta: eqx.AbstractVar[Vector]

    #: the paper's name of the case
    case: ClassVar[str] = "own"
    #: True if the query point is the action itself, so that playing it costs nothing
    trivial: ClassVar[bool] = False
    #: True if a ball around every query point of a shrunk set lies in the set, as value feedback needs
    zeroth_order: ClassVar[bool] = True
    #: True if the functions are nowhere below zero
    non_negative: ClassVar[bool] = False
    #: True if the functions do not fall in any coordinate
    monotone: ClassVar[bool] = False

    def for_set(self, domain: Set) -> Self:
        """This linearization with its anchors taken in `domain`, the set that the algorithm runs on."""
        return self

    @abstractmethod
    def query(self, x: Array, z: Array) -> Array:
        """The point w at which f is asked."""

    def action(self, x: Array) -> Array:
        """h(x): the point that is played for the decision x."""
        return x

    def quantile(self, u: Array) -> Array:
        """The inverse distribution function of Z."""
        return u

    def pull(self, x: Array, z: Array, gradient: Array) -> Array:
        """The estimate of g(f, x) from the gradient of f at the query point."""
        return gradient

    def signal(self, gradient: Gradient, x: Array, nodes: int = 12) -> Array:
        """g(f, x) itself: the mean over Z, by Gauss-Legendre quadrature in U."""

        def at(u: Array) -> Array:
            z = self.quantile(u)
            return self.pull(x, z, gradient(self.query(x, z)))

        if self.trivial:  # the query is the action: no randomness to average over
            return at(jnp.asarray(0.5, x.dtype))
        points, weights = _gauss(nodes, x.dtype)
        return weights @ jax.vmap(at)(points)

    def signal_smoothness(self, lipschitz: float, smoothness: float) -> float:
        """A Lipschitz constant of x -> g(f, x) (the paper's L1) for f with these constants; infinite if none is known."""
        return math.inf

    def bound_at(self, x: Array, z: Array, value: Value, gradient: Gradient) -> BoundAt:
        """The step of the proof of (2) before the mean over Z is taken: a bound on f that holds for every single z.

        Its mean over Z is (2), or better. A class that has it overrides this, and its certificates need no exact integral.
        """
        raise NotImplementedError(f"{type(self).__name__} has (2) only as a mean over Z.")

    def upper_bounds(
        self, value: Value, gradient: Gradient, x: Array, nodes: int = 12, reach: float | Array = 0.0
    ) -> UpperBounds:
        """What f says of its maximum at x and at the query points of a few z.

        Where `bound_at` is known, the bounds hold for every number of nodes and however rough f is, since each z brings a
        bound of its own and there is no integral to be off. Elsewhere the integral g is estimated with twice the nodes, and
        the change, over distances of at most `reach` within K, is added.
        """
        if self.alpha is None:
            raise ValueError(f"{type(self).__name__} has no alpha before it knows its set: call .for_set(set) first.")
        aimed = value(self.action(x))
        if type(self).bound_at is Linearization.bound_at:
            return self._from_the_mean(aimed, gradient, x, nodes, reach)
        u, share = _gauss(nodes, x.dtype)
        x = after(x, aimed)
        each = jax.vmap(lambda u: self.bound_at(x, self.quantile(u), value, gradient))(u)
        weight, level, model = jax.tree.map(lambda part: jnp.tensordot(share, part, 1), each)
        scaled, tight = (jax.tree.map(lambda part, by=by: self.alpha / by * part, model) for by in (weight, level))
        excess = jnp.maximum(0.0, scaled(x) - aimed)
        return UpperBounds(Affine(scaled.slope, excess + aimed - jnp.dot(scaled.slope, x)), tight, excess, aimed)

    def _from_the_mean(
        self, aimed: Array, gradient: Gradient, x: Array, nodes: int, reach: float | Array
    ) -> UpperBounds:
        slope, excess = self.beta * self.signal(gradient, after(x, aimed), nodes), jnp.zeros((), x.dtype)
        if not self.trivial:
            finer = self.beta * self.signal(gradient, after(x, slope), 2 * nodes)
            slope, excess = finer, reach * jnp.linalg.norm(finer - slope)
        model = Affine(slope, excess + aimed - jnp.dot(slope, x))
        return UpperBounds(model, model, excess, aimed)


def _gauss(nodes: int, dtype: Any) -> tuple[Array, Array]:
    """Points and weights of the Gauss-Legendre rule on [0, 1]."""
    points, weights = np.polynomial.legendre.leggauss(nodes)
    return jnp.asarray((points + 1) / 2, dtype), jnp.asarray(weights / 2, dtype)


class Custom(Linearization):
    """A user-defined (alpha, beta, action, query), in one line.

    `trivial=True` says that the query point is the action; `zeroth_order=True` that value feedback may be used
    (every query point of a shrunk set keeps its ball in K).
    """

    alpha: Vector
    beta: Vector
    action_map: Callable[[Array], Array] = eqx.field(static=True)
    query_map: Callable[[Array, Array], Array] = eqx.field(static=True)
    trivial: bool = eqx.field(static=True)  # type: ignore[misc]
    zeroth_order: bool = eqx.field(static=True)  # type: ignore[misc]

    def __init__(
        self,
        alpha: float,
        beta: float,
        *,
        action: Callable[[Array], Array] = lambda x: x,
        query: Callable[[Array, Array], Array] = lambda x, z: x,
        trivial: bool = False,
        zeroth_order: bool = False,
    ):
        if not (0 < alpha <= 1 and 0 < beta < np.inf):
            raise ValueError(f"a linearization needs 0 < alpha <= 1 and beta > 0; got alpha={alpha}, beta={beta}.")
        self.alpha, self.beta = np.asarray(alpha, np.float64), np.asarray(beta, np.float64)
        self.action_map, self.query_map = action, query
        self.trivial, self.zeroth_order = trivial, zeroth_order

    def action(self, x: Array) -> Array:
        return self.action_map(x)

    def query(self, x: Array, z: Array) -> Array:
        return self.query_map(x, z)


class Bounds(eqx.Module):
    """Sizes on K, where they are known; `droculo.testing.check_problem` checks them, and runs count what breaks them.

    `Droculo.design` needs none of them. The theorems in numbers do, and so do methods with a prescribed step. What an oracle may answer: |gradient| <= gradient (the paper's G), |value| <= value (B0). And of the functions
    themselves: `lipschitz` (the paper's M1; the bound on the gradient unless the oracle is noisy) and `smoothness`,
    the Lipschitz constant of their gradients. What is not known is infinite. `value_noise` is how far a value may be
    off.
    """

    gradient: Vector
    value: Vector
    lipschitz: Vector
    smoothness: Vector
    value_noise: Vector

    def __init__(
        self,
        gradient: float | None = None,
        value: float | None = None,
        *,
        lipschitz: float | None = None,
        smoothness: float | None = None,
    ):
        for name, bound in {"gradient": gradient, "value": value, "lipschitz constant": lipschitz}.items():
            if bound is not None and not 0 < bound < math.inf:
                raise ValueError(f"the bound on the {name} must be positive and finite; got {bound}.")
        if smoothness is not None and not smoothness >= 0:
            raise ValueError(f"the smoothness is a non-negative number, or None where unknown; got {smoothness}.")
        # Arrays, so that problems which differ only in their data share one compiled program.
        self.gradient, self.value = _or_infinite(gradient), _or_infinite(value)
        self.lipschitz = _or_infinite(gradient if lipschitz is None else lipschitz)
        self.smoothness = _or_infinite(smoothness)
        self.value_noise = np.zeros(())

    def known(self, name: str) -> float:
        """One of them, or an error if it is not known."""
        bound = float(getattr(self, name))
        if not math.isfinite(bound):
            option = "value_bound" if name == "value" else "gradient_bound"
            raise ValueError(
                f"this needs a bound on the {_NAMES[name]}, and the problem declares none: declare {name}=... in its Bounds "
                f"({option}=... of problems.from_function), or use Droculo.design, which needs none."
            )
        return bound


_NAMES = {
    "gradient": "length of gradients",
    "value": "size of values",
    "lipschitz": "Lipschitz constant of the functions",
}


def _or_infinite(bound: float | None) -> Vector:
    return np.asarray(np.inf if bound is None else bound, np.float64)


@dataclass(frozen=True)
class Setting:
    """Everything the adversary's choice cannot change."""

    set: Set
    linearization: Linearization
    bounds: Bounds

    @property
    def noisy(self) -> bool:
        """True if values are not exact."""
        return float(self.bounds.value_noise) > 0
