"""The parts that an agent of DROCULO is made of: draws, exchanges, step rules; the defaults, and what is refused."""

from abc import abstractmethod
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from droculo.algorithms.contract import Keys, Ports, Slot, numbers
from droculo.algorithms.schedules import Schedule
from droculo.expect import expect
from droculo.feedback import Feedback, Signal
from droculo.linearizations import Setting
from droculo.oracles import InfeasibleProjection, default_oracle
from droculo.precision import double
from droculo.sets import Set, Shrunk
from droculo.sets.geometry import Vector
from droculo.sets.membership import is_near

#: the fractional part of the golden ratio: its multiples, modulo 1, fill [0, 1] most evenly
GOLDEN = 0.6180339887498949


class Draw(eqx.Module):
    """What is random in one slot."""

    u: Array  # uniform in [0, 1); the linearization's quantile makes z of it
    when: Array  # the round of the slot, counted from 0, in which the query is asked
    v: Array  # the signal's direction
    alone: Array  # True if no other slot of the block has the direction -v


class Draws(eqx.Module):
    """A way to draw. Each u is uniform, each `when` uniform over the slot's rounds, and each v has the signal's
    distribution, whatever x is; how the draws of different slots depend on each other is what ways differ in.

    A state changes at the end of a block only: within a block a draw is a function of state and slot.
    """

    def init(self, dim: int, dtype: np.dtype) -> Any:
        """The state before the first block; by default there is none."""
        return ()

    @abstractmethod
    def draw(self, signal: Signal, slot: Slot, dim: int, dtype: np.dtype, state: Any) -> Draw:
        """The draw of this slot."""

    def next(self, state: Any, keys: Keys) -> Any:
        """The state of the next block; `keys` are new in every block."""
        return state


class IndependentDraws(Draws):
    """All draws are independent, as in the paper."""

    def draw(self, signal: Signal, slot: Slot, dim: int, dtype: np.dtype, state: Any) -> Draw:
        _, of_slots = jax.random.split(slot.keys.own)
        return _independent(signal, slot, jax.random.fold_in(of_slots, slot.start), dim, dtype)


class EvenDraws(Draws):
    """The draws of a block cover their range evenly: all u are one random shift of a golden-ratio sequence, and where
    the signal allows it, slots go in pairs with opposite directions and the same u."""

    def draw(self, signal: Signal, slot: Slot, dim: int, dtype: np.dtype, state: Any) -> Draw:
        of_block, of_slots = jax.random.split(slot.keys.own)
        second = slot.index % 2 if signal.pairs else jnp.zeros_like(slot.index)
        key = jax.random.fold_in(of_slots, slot.start - second * slot.full)  # a pair has one key
        draw = _independent(signal, slot, key, dim, dtype)
        alone, place = draw.alone, slot.index
        if signal.pairs:
            alone, place = (second == 0) & (slot.index + 1 >= slot.of_block), slot.index // 2
        shift = jax.random.uniform(jax.random.fold_in(of_block, slot.block_start), (), dtype)
        return Draw((shift + place * GOLDEN) % 1, draw.when, draw.v * (1 - 2 * second), alone)


def _independent(signal: Signal, slot: Slot, key: Array, dim: int, dtype: np.dtype) -> Draw:
    """u, `when` and v from one key, independent of each other."""
    for_chance, for_v = jax.random.split(key)
    u, share = jax.random.uniform(for_chance, (2,), dtype)
    # A slot of one round has no round to choose, and then gradients need no draw of their own.
    when = jnp.zeros_like(slot.start)
    if slot.length > 1:
        when = jnp.minimum((share * slot.length).astype(slot.start.dtype), slot.length - 1)
    return Draw(u, when, signal.draw(for_v, dim, dtype), jnp.ones((), bool))


class Mixed(NamedTuple):
    """What came out of an exchange."""

    x: Array  # the point that the oracle starts from
    y: Array  # the weighted average of the neighbourhood
    heard: Any  # the same of what the step rule sent
    state: Any


class Exchange(eqx.Module):
    """A gossip scheme. What an agent sends to its neighbours at the end of a block, and what it makes of what they send.

    The network average of y must not change by it, and one call of `ports.mix` is one exchange. A scheme with memory
    (of what was sent and heard before) keeps it in its state; drivers need not know.
    """

    @abstractmethod
    def message(self, dim: int, more: Any) -> Any:
        """What is sent, as a tree of `jax.ShapeDtypeStruct`; `more` is what the step rule adds."""

    def init(self, y: Array) -> Any:
        """The state before the first block, given the starting point; by default there is none."""
        return ()

    @abstractmethod
    def mix(self, ports: Ports, x: Array, y: Array, more: Any, state: Any) -> Mixed:
        """Talk to the neighbours."""

    @abstractmethod
    def credible(self, tree: Any, domain: Set, distance: Array) -> Array:
        """True if a neighbour can have sent this: x lies in the domain, and y no farther from it than `distance`."""


class SendY(Exchange):
    """Send y alone: half the bytes of the paper's (x, y), for oracles that do not start from x."""

    def message(self, dim: int, more: Any) -> Any:
        return numbers(dim), more

    def mix(self, ports: Ports, x: Array, y: Array, more: Any, state: Any) -> Mixed:
        y, heard = ports.mix((y, more))
        return Mixed(x, y, heard, state)

    def credible(self, tree: Any, domain: Set, distance: Array) -> Array:
        return is_near(domain, tree[0], distance)


class SendXY(Exchange):
    """Send (x, y), as the paper does."""

    def message(self, dim: int, more: Any) -> Any:
        return numbers(dim), numbers(dim), more

    def mix(self, ports: Ports, x: Array, y: Array, more: Any, state: Any) -> Mixed:
        x, y, heard = ports.mix((x, y, more))
        return Mixed(x, y, heard, state)

    def credible(self, tree: Any, domain: Set, distance: Array) -> Array:
        return is_near(domain, tree[0], jnp.zeros_like(distance)) & is_near(domain, tree[1], distance)


class StepRule(eqx.Module):
    """The step size eta of every block, from what the agent itself has seen and what its neighbours told it.

    A rule may send a few numbers with every exchange: `message` says their shapes, `say` gives them, and the weighted
    average over the neighbourhood comes back as `heard`.
    """

    @property
    def message(self) -> Any:
        """What it adds to an exchange: a tree of `jax.ShapeDtypeStruct`; by default nothing."""
        return ()

    def init(self, y: Array) -> Any:
        """The state before the first block, given the starting point; by default there is none."""
        return ()

    def say(self, state: Any) -> Any:
        """What it sends with the exchange of this block, in the shapes of `message`."""
        return ()

    @abstractmethod
    def step(self, signal: Array, own: Array, mixed: Array, heard: Any, state: Any) -> tuple[Array, Any]:
        """The step size for this block's signal, and the new state. `own` and `mixed`: y before and after the exchange."""


class FixedStep(StepRule):
    """The theorems' rule: the same eta in every block."""

    step_size: Vector

    def step(self, signal: Array, own: Array, mixed: Array, heard: Any, state: Any) -> tuple[Array, Any]:
        return jnp.asarray(self.step_size), state


def parts_of(
    setting: Setting,
    feedback: Feedback,
    plan: Schedule,
    *,
    oracle: InfeasibleProjection | None = None,
    draws: Draws | None = None,
    exchange: Exchange | None = None,
    steps: StepRule | None = None,
    start: ArrayLike | None = None,
) -> dict[str, Any]:
    """The fields of an agent with these parts; None stands for the default."""
    for part, kind, name, example in (
        (draws, Draws, "draws", "IndependentDraws()"),
        (exchange, Exchange, "exchange", "SendXY()"),
        (steps, StepRule, "steps", "FixedStep(0.1)"),
    ):
        expect(part, (kind, type(None)), name, f"Pass for example droculo.algorithms.{example}, with the brackets.")
    if feedback.order == 0 and not plan.delta > 0:
        raise ValueError(f"{feedback.kind} feedback asks at a distance delta > 0; got a schedule with {plan.delta}.")
    domain = setting.set
    setting.linearization.for_set(domain)  # refuses a set that its case does not cover, before that is shrunk
    run_set = Shrunk(domain, plan.delta) if feedback.order == 0 else domain
    oracle = oracle or default_oracle(domain)
    return {
        "domain": domain,
        "run_set": run_set,
        "linearization": setting.linearization.for_set(run_set),
        "feedback": eqx.tree_at(lambda f: f.signal, feedback, feedback.signal.prepare(domain, plan.delta)),
        "draws": draws or EvenDraws(),
        "exchange": exchange or (SendXY() if oracle.starts_from_x0 else SendY()),
        "steps": steps or FixedStep(np.asarray(plan.step_size, np.float64)),
        "oracle": oracle,
        "start": _starting_point(run_set, start),
        "tolerance": np.asarray(plan.tolerance, np.float64),
        **{name: getattr(plan, name) for name in ("horizon", "block", "slot")},
    }


def _starting_point(run_set: Set, start: ArrayLike | None) -> Vector:
    """A point of the set: the one that was given, or the center, or some vertex where no center is known."""
    with double():
        if start is None:
            center = run_set.geometry.center
            return np.asarray(run_set.argmax(jnp.ones(run_set.dim)), np.float64) if center is None else center
        point = np.asarray(start, np.float64)
        if point.shape != (run_set.dim,):
            raise ValueError(f"start must be a vector of {run_set.dim} numbers; got shape {point.shape}.")
        if not bool(run_set.contains(jnp.asarray(point), 1e-9)):
            raise ValueError(
                f"start is not a point of the set that the algorithm runs on ({type(run_set).__name__}); "
                "leave it out to begin at the center, or pass a point for which set.contains(start) holds."
            )
    return point
