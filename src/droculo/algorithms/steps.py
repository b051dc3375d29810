"""Step rules: how far an agent moves along the signal of a block, how exactly it projects, and what it keeps of what lies outside K."""

from abc import abstractmethod
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import Array

from droculo.algorithms.contract import numbers
from droculo.oracles import Projection
from droculo.sets import Set
from droculo.sets.geometry import Subspace, Vector

#: a move shorter than this share of the radius is none
NO_MOVE = 1e-6


class Here(NamedTuple):
    """Where an agent is when it moves."""

    x: Array  # its decision during the block
    own: Array  # y before the exchange
    mixed: Array  # y after it


class Move(NamedTuple):
    """What a step rule decides for one block."""

    by: Array  # y moves by this vector before it is projected
    tolerance: Array  # of the projection


class StepRule(eqx.Module):
    """The move of every block, from what the agent itself has seen and what its neighbours told it.

    A rule may send a few numbers with every exchange: `message` says their shapes, `say` gives them, and the weighted
    average over the neighbourhood comes back as `heard`.
    """

    @property
    def message(self) -> Any:
        """What it adds to an exchange: a tree of `jax.ShapeDtypeStruct`; by default nothing."""
        return ()

    def init(self, x: Array) -> Any:
        """The state before the first block, given the starting point; by default there is none."""
        return ()

    def say(self, state: Any) -> Any:
        """What it sends with the exchange of this block, in the shapes of `message`."""
        return ()

    @abstractmethod
    def step(self, signal: Array, here: Here, heard: Any, state: Any) -> tuple[Move, Any]:
        """The move for this block's signal, and the new state."""

    def keep(self, target: Array, out: Projection) -> Array:
        """The y that is carried on, given the point that was projected: by default the one that Lemma 1 speaks of."""
        return out.y

    @property
    @abstractmethod
    def outside(self) -> Array:
        """How far from K a y can lie that was kept."""

    def credible(self, told: Any) -> bool | Array:
        """True if a neighbour can have said this."""
        return True


class FixedStep(StepRule):
    """The theorems' rule: the same step size and tolerance in every block."""

    step_size: Vector
    tolerance: Vector

    def __init__(self, step_size: float | Vector, tolerance: float | Vector):
        for name, value in (("step_size", step_size), ("tolerance", tolerance)):
            if not (np.ndim(value) == 0 and 0 < float(value) < np.inf):
                raise ValueError(f"the {name} of a fixed step is a positive, finite number; got {value!r}.")
        self.step_size, self.tolerance = np.asarray(step_size, np.float64), np.asarray(tolerance, np.float64)

    def step(self, signal: Array, here: Here, heard: Any, state: Any) -> tuple[Move, Any]:
        return Move(jnp.asarray(self.step_size) * signal, jnp.asarray(self.tolerance)), state

    @property
    def outside(self) -> Array:
        return jnp.sqrt(3 * jnp.asarray(self.tolerance))


class Habits(NamedTuple):
    """What an agent with an adaptive step remembers."""

    energy: Array  # V: the sum of squared signals, averaged over the network
    boldness: Array  # h: the logarithm of what the step is multiplied by, averaged over the network
    start: Array  # where it began
    x: Array  # its decisions so far, on average over the last of them
    mixed: Array  # the same of y after the exchange
    block: Array  # how many blocks it has seen


class AdaptiveStep(StepRule):
    """A step that needs no bound and no horizon: R e^h / sqrt(V), where V is the sum of squared signals so far (AdaGrad-norm)
    and h watches what came of the last move. In block b, with the signal o,

        V <- mix(V) + |o|^2
        h <- mix(h) + kappa_b ((cos(o', x - x') + cos(o', m - m'))/2 - q min(1, (d/d0)^2)),  within [-3, 5]
        x' <- x' + kappa_b/kappa (x - x'),   m' <- m' + kappa_b/kappa (m - m'),   kappa_b = kappa min(1, b0/b)
        y0 = m + R e^h o / sqrt(V),   x = project(y0),   y = x + min(1, rho R/|y0 - x|) (y0 - x)

    where m = mix(y), and x' and m' are where the agent and its neighbourhood were of late: in the block before, and in later
    blocks the average of the last b/b0 or so. d = |m - y|/|m - x_1| is how far the neighbours sit, as a share of the way from
    the start, and o' is what the boundary does not hold back: o without its part along y - x, which points out of K at x, as far
    as agents agree (1 - d of that part), if x moves at all. h rises when o' agrees with where agent and neighbourhood have
    moved, since the step was too short then, and falls when it points back, or when the neighbours sit elsewhere: a little
    apart is no matter, d0 of the way counts in full. What h can change by shrinks like 1/b, which keeps the bound of the theorem
    up to a logarithm (docs/adaptive.md). y keeps what lies outside K up to rho times the radius: a lazy projection, which
    remembers how strongly a signal pushes against the boundary. V and h travel with y, two numbers more. The tolerance of the
    projection shrinks like the square of a step, R^2/b.

    Where rho is 0, y is that of Lemma 1. Signals are taken within the affine hull of K. Multiplying all functions by a number
    changes nothing; where gradients are asked for, adding one does not either.
    """

    radius: Vector
    subspace: Subspace | None
    rise: Vector  # kappa: h changes by at most this in a block, in the first `settle` blocks
    settle: Vector  # b0
    caution: Vector  # q: how much disagreement holds h back
    apart: Vector  # d0: disagreement that counts in full, as a share of the way from the start
    slack: Vector  # rho
    least: Vector  # h lies between this
    most: Vector  # and this
    exactness: Vector  # the tolerance is this times R^2/b

    def __init__(
        self, domain: Set, *, rise: float = 2.0, settle: float = 8.0, caution: float = 1.0, apart: float = 1 / 3, slack: float = 1.0,
        least: float = -3.0, most: float = 5.0, exactness: float | None = None,
    ):  # fmt: skip
        self.radius, self.subspace = np.asarray(domain.radius, np.float64), domain.geometry.subspace
        if exactness is None:  # digits cost next to nothing on a polytope; no memory of a curved set is ever complete
            exactness = 1.0 if domain.curved else 0.01
        numbers_given = {
            "rise": rise, "settle": settle, "caution": caution, "apart": apart, "slack": slack, "most": most, "exactness": exactness,
        }  # fmt: skip
        for name, value in numbers_given.items():
            if not (np.ndim(value) == 0 and 0 <= float(value) < np.inf):
                raise ValueError(f"{name} of an adaptive step is a finite number, not negative; got {value!r}.")
            setattr(self, name, np.asarray(value, np.float64))
        if not float(apart) > 0:
            raise ValueError(
                f"apart of an adaptive step is positive, or any disagreement would count in full; got {apart!r}."
            )
        if not (np.ndim(least) == 0 and -np.inf < float(least) <= 0):
            raise ValueError(f"least of an adaptive step is a finite number, not positive; got {least!r}.")
        self.least = np.asarray(least, np.float64)

    @property
    def message(self) -> Any:
        return numbers(), numbers()

    def init(self, x: Array) -> Habits:
        nothing = jnp.zeros((), x.dtype)
        return Habits(nothing, nothing, x, x, x, nothing)

    def say(self, state: Habits) -> Any:
        return state.energy, state.boldness

    def step(self, signal: Array, here: Here, heard: Any, state: Habits) -> tuple[Move, Habits]:
        o = signal if self.subspace is None else self.subspace.project(signal)
        R, b = jnp.asarray(self.radius, o.dtype), state.block + 1
        energy, boldness = heard
        energy = energy + jnp.dot(o, o)
        gone = jnp.maximum(jnp.linalg.norm(here.mixed - state.start), NO_MOVE * R)
        apart = jnp.linalg.norm(here.mixed - here.own) / gone
        disagreement = jnp.minimum(1, (apart / self.apart) ** 2)
        move = here.x - state.x
        free = o - jnp.maximum(0, 1 - apart) * self._held(o, here, move, R)
        agreement = (_cosine(free, move, R) + _cosine(free, here.mixed - state.mixed, R)) / 2
        late = jnp.minimum(1, self.settle / b)
        boldness = jnp.clip(
            boldness + self.rise * late * (agreement - self.caution * disagreement), self.least, self.most
        )
        root = jnp.sqrt(energy)
        by = R * jnp.exp(boldness) * (o / jnp.where(root > 0, root, 1))
        x, mixed = state.x + late * (here.x - state.x), state.mixed + late * (here.mixed - state.mixed)
        new = Habits(energy, boldness, state.start, x, mixed, b)
        return Move(by, jnp.asarray(self.exactness) * R**2 / b), new

    def _held(self, o: Array, here: Here, move: Array, R: Array) -> Array:
        """The part of a signal that pushes against the boundary, along y - x. At a vertex, where x does not move, y sways
        within the cone of normals, and what is left of a signal says nothing: there nothing counts as held."""
        beyond = here.own - here.x
        far = jnp.linalg.norm(beyond)
        seen = (self.slack > 0) & (far > NO_MOVE * R) & (jnp.linalg.norm(move) > NO_MOVE * R)
        normal = beyond / jnp.where(seen, far, jnp.inf)
        return jnp.maximum(0, jnp.dot(o, normal)) * normal

    def keep(self, target: Array, out: Projection) -> Array:
        beyond = target - out.x
        far, most = jnp.linalg.norm(beyond), self.slack * jnp.asarray(self.radius, target.dtype)
        kept = out.x + beyond * jnp.minimum(1, most / jnp.where(far > 0, far, 1))
        # Without slack the y of Lemma 1, or else moves shorter than what the tolerance allows would all be lost.
        return jnp.where(most > 0, kept, out.y)

    @property
    def outside(self) -> Array:
        slack, exactness = jnp.asarray(self.slack), jnp.asarray(self.exactness)
        return jnp.asarray(self.radius) * jnp.where(slack > 0, slack, jnp.sqrt(3 * exactness))

    def credible(self, told: Any) -> Array:
        energy, boldness = told
        inside = (boldness >= self.least * (1 + 1e-6)) & (boldness <= self.most * (1 + 1e-6))
        return (energy >= 0) & inside


def _cosine(a: Array, move: Array, R: Array) -> Array:
    """The cosine of the angle between a signal and a move; zero if one of them is."""
    lengths = jnp.linalg.norm(a) * jnp.linalg.norm(move)
    moved = (jnp.linalg.norm(move) > NO_MOVE * R) & (lengths > 0)
    return jnp.where(moved, jnp.dot(a, move) / jnp.where(moved, lengths, 1), 0)
