"""The contract of an algorithm: one agent's behaviour, seen through two ports."""

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Protocol

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from droculo.feedback import Feedback
from droculo.sets import Set

if TYPE_CHECKING:
    from droculo.algorithms.timetable import Timetable

State = Any
Share = Any


class Keys(eqx.Module):
    """Random keys: one that only this agent has, and one that all agents have in common."""

    own: Array
    shared: Array

    def fold_in(self, number: Array | int) -> "Keys":
        """New keys for this number, for example a round or a block."""
        return jax.tree.map(lambda key: jax.random.fold_in(key, number), self)


class Slot(eqx.Module):
    """The rounds that an agent plays in one go, and their place in the block.

    `keys` are the same in every slot of a run: fold `start` (or `block_start`) in for what is new in this slot (or block).
    """

    start: Array  # its first round, counted from 0
    block_start: Array  # the first round of its block
    index: Array  # its place among the slots of its block
    of_block: Array  # how many slots the block has
    length: Array  # its rounds: fewer than `full` in the last slot of a horizon, none if it is not played
    full: Array  # the rounds of the other slots of its block
    keys: Keys
    most: int = eqx.field(static=True)  # the rounds of the longest slot of the run: a slot has room for so many actions


class SlotPlay(eqx.Module):
    """What an agent does in one slot of rounds: it plays `actions`, and asks at `points` in `rounds`."""

    actions: Array  # (`Slot.most`, d): those beyond the slot's length are not played
    rounds: Array  # (questions,): the round, counted from 0, in which each question is asked
    points: Array  # (questions, d)
    #: (`Slot.most`,): the rounds of the actions, if the values that they earn are to be answered as well. Bandit
    #: feedback reveals these values; they are no queries.
    earned: Array | None = None


class Answers(eqx.Module):
    """What the world says to a slot's questions."""

    asked: Array  # (questions, d) gradients, or (questions,) values
    earned: Array | None = None  # (`Slot.most`,): values of the actions, if `SlotPlay.earned` asks for them


def _counted(label: str, about: str) -> Any:
    return eqx.field(default_factory=lambda: jnp.zeros((), jnp.int32), metadata={"label": label, "about": about})


class OracleCalls(eqx.Module):
    """What an update cost the agent, beside its exchanges. Every field is a cost of a run, see `droculo.engine.costs`."""

    loo_calls: Array = _counted("LOO calls", "calls of the linear optimization oracle")
    not_converged: Array = _counted(
        "projections that did not converge", "infeasible projections that stopped before their tolerance"
    )
    projections: Array = _counted("projections", "Euclidean projections")
    separations: Array = _counted("separations", "calls of a separation oracle")


class Ports(Protocol):
    """The world, as an agent sees it. A driver supplies it."""

    def ask(self, played: SlotPlay, order: int) -> Answers:
        """Play the slot and hear the answers: gradients (order 1) or values (order 0), one per question. It is called in
        `play` itself, not within `scan`, `cond` or `vmap`, since a driver looks at the answers on their way."""

    def mix(self, tree: Any, index: int | Array = 0) -> Any:
        """Send `tree` to the neighbours and receive the weighted average. `index`: which exchange of the update."""


class SilentPorts:
    """Ports that answer zero and have no neighbours: they show what an agent plays, which no answer changes."""

    def ask(self, played: SlotPlay, order: int) -> Answers:
        earned = None if played.earned is None else jnp.zeros_like(played.actions[:, 0])
        return Answers(jnp.zeros_like(played.points if order == 1 else played.points[:, 0]), earned)

    def mix(self, tree: Any, index: int | Array = 0) -> Any:
        return tree


class Algorithm(eqx.Module):
    """One agent. No agent axis, no sockets, no counters, no clock.

    Time runs in blocks of slots of rounds, see `timetable`. A driver calls `play` once per slot, adds up the shares, and
    calls `update` at the end of the block. A block that the run does not play to its end has no update.
    """

    horizon: eqx.AbstractVar[int | None]  # how many rounds it is for; None: for as many as one likes
    timetable: eqx.AbstractVar["Timetable"]
    feedback: eqx.AbstractVar[Feedback]  # what it may learn; says whether it asks for gradients or values
    exchanges: eqx.AbstractVar[int]  # how often `update` calls `mix`
    #: what one exchange sends to each neighbour: a tree of `jax.ShapeDtypeStruct`, see `numbers`
    message: eqx.AbstractVar[Any]
    domain: eqx.AbstractVar[Set]  # K: where its actions and its queries live

    @abstractmethod
    def init(self) -> State:
        """The state before the first block."""

    @abstractmethod
    def decision(self, state: State) -> Array:
        """The decision x in K that the state stands for (what a regret certificate speaks of)."""

    @abstractmethod
    def play(self, ports: Ports, state: State, slot: Slot) -> tuple[Share, SlotPlay]:
        """Play a slot; return its share of the block's sum, and what was played."""

    @abstractmethod
    def update(self, ports: Ports, state: State, total: Share, keys: Keys) -> tuple[State, OracleCalls]:
        """End the block: talk to the neighbours and move, given the sum of its shares. `keys` are new in every block."""

    def credible(self, tree: Any, index: int | Array = 0) -> bool | Array:
        """True if a neighbour that follows the same algorithm can have sent `tree`, finite numbers, in exchange `index` of
        an update. Implausible messages are discarded."""
        return True


def numbers(*shape: int) -> jax.ShapeDtypeStruct:
    """Part of a message: an array of this shape, in the precision of the run."""
    return jax.ShapeDtypeStruct(shape, np.float64)  # type: ignore[no-untyped-call]


def message_size(algorithm: Algorithm) -> int:
    """How many numbers one message has."""
    return sum(leaf.size for leaf in jax.tree.leaves(algorithm.message))


def message_bytes(algorithm: Algorithm, dtype: Any = np.float64) -> int:
    """How many bytes one message has: `dtype` is the precision of the run, which float64 stands for in a message."""
    leaves = jax.tree.leaves(algorithm.message)
    return sum(leaf.size * np.dtype(dtype if leaf.dtype == np.float64 else leaf.dtype).itemsize for leaf in leaves)
