"""An algorithm is one agent's behaviour, seen through two ports."""

from abc import abstractmethod
from typing import Any, Protocol

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import Array

from droculo.sets import Set

State = Any
Share = Any


class SlotPlay(eqx.Module):
    """What an agent does in one slot of rounds: it plays `actions`, and asks at `points` in `rounds`."""

    actions: Array  # (rounds of the slot, d)
    rounds: Array  # (questions,): the round, counted from 0, in which each question is asked
    points: Array  # (questions, d)


def _none() -> Array:
    return jnp.zeros((), jnp.int32)


class OracleCalls(eqx.Module):
    """What an update cost the agent, beside its exchanges: calls of the set's oracles."""

    loo_calls: Array = eqx.field(default_factory=_none)
    not_converged: Array = eqx.field(
        default_factory=_none
    )  # infeasible projections that stopped before their tolerance
    projections: Array = eqx.field(default_factory=_none)  # Euclidean ones
    separations: Array = eqx.field(default_factory=_none)


class Ports(Protocol):
    """The world, as an agent sees it. A driver supplies it."""

    def ask(self, played: SlotPlay, order: int) -> Array:
        """Play the slot and hear the answers: gradients (order 1) or values (order 0), one per question."""

    def mix(self, tree: Any, index: int | Array = 0) -> Any:
        """Send `tree` to the neighbours and receive the weighted average. `index`: which exchange of the update."""


class Silent:
    """A world that answers with zeros and has no neighbours: to see what an agent plays, which no answer changes."""

    def ask(self, played: SlotPlay, order: int) -> Array:
        like = played.points if order == 1 else played.points[:, 0]
        return jnp.zeros_like(like)

    def mix(self, tree: Any, index: int | Array = 0) -> Any:
        return tree


def slack(dtype: Any, domain: Set) -> Array:
    """How far rounding may carry a point out of K: well above it, well below any real mistake."""
    return jnp.asarray(np.sqrt(np.finfo(dtype).eps) / 16, dtype) * jnp.maximum(1, domain.radius)


def is_near(domain: Set, x: Array, distance: float | Array = 0.0) -> Array:
    """Whether x can be a point at most so far from K: within the ball around it, and K where that can be told quickly."""
    beyond = distance + slack(x.dtype, domain)
    near = jnp.linalg.norm(x) <= domain.radius + beyond
    # A point at this distance misses a constraint by a multiple of it, for a knapsack sqrt(d) times.
    return near & domain.contains(x, beyond * np.sqrt(domain.dim)) if domain.has_fast_contains else near


class Algorithm(eqx.Module):
    """One agent. No agent axis, no sockets, no counters, no clock.

    Time runs in blocks of `block` slots of `slot` rounds; the last block (and its last slot) may be shorter.
    A driver calls `play` once per slot, adds up the shares, and calls `update` at the end of the block.
    """

    horizon: eqx.AbstractVar[int]
    block: eqx.AbstractVar[int]
    slot: eqx.AbstractVar[int]
    order: eqx.AbstractVar[int]  # of the answers it asks for: 1 gradients, 0 values
    exchanges: eqx.AbstractVar[int]  # how often `update` calls `mix`
    payload: eqx.AbstractVar[int]  # how many numbers each exchange sends to each neighbour
    domain: eqx.AbstractVar[Set]  # K: where its actions and its queries live

    @abstractmethod
    def init(self) -> State:
        """The state before the first block."""

    @abstractmethod
    def decision(self, state: State) -> Array:
        """The decision x in K that the state stands for (what a regret certificate speaks of)."""

    @abstractmethod
    def play(self, ports: Ports, state: State, start: Array, length: int, key: Array) -> tuple[Share, SlotPlay]:
        """Play the slot of `length` rounds that begins in round `start`; return its share of the block's sum.

        `key` is the agent's own and the same in every slot: fold `start` into it for what is new in this slot.
        """

    @abstractmethod
    def update(self, ports: Ports, state: State, total: Share) -> tuple[State, OracleCalls]:
        """End the block: talk to the neighbours and move, given the sum of the block's shares."""

    def credible(self, tree: Any, index: int | Array = 0) -> bool | Array:
        """Whether a neighbour that follows the same algorithm can have sent `tree`, finite numbers, to exchange `index` of an
        update. What it cannot have sent does not count."""
        return True
