"""The random draws of a slot: where to ask, in which round, and in which direction."""

from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from droculo.algorithms.contract import Keys, Slot
from droculo.feedback import Signal

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
    if slot.most > 1:
        last = jnp.maximum(slot.length - 1, 0)
        when = jnp.minimum((share * slot.length).astype(slot.start.dtype), last.astype(slot.start.dtype))
    return Draw(u, when, signal.draw(for_v, dim, dtype), jnp.ones((), bool))
