"""When agents talk: how rounds are grouped into blocks, and the rounds of a block into slots."""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import lru_cache
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import Array

from droculo.algorithms.contract import Keys, Slot

#: of a growing block so many slots are played side by side: a number that does not depend on how long a run will be
SIDE_BY_SIDE = 16
#: later than any round that is played
NEVER = float(1 << 62)
#: the round around which blocks have the length for which that is decided
TYPICAL = 4096


class Span(NamedTuple):
    """A block, or (with arrays in place of numbers) several: its place in the run, and its slots."""

    number: Any  # its place among the blocks, counted from 0
    first: Any  # its first round, counted from 0
    end: Any  # the round after its last one
    slot: Any  # the rounds of a slot; the last slot of the last block may be shorter
    slots: Any  # how many slots are played: fewer than `of_block` if the run ends within the block
    of_block: Any  # how many slots it has
    complete: Any  # True if all of its rounds are played, so that it ends with an exchange

    def slot_at(self, index: Array | int, keys: Keys, most: int) -> Slot:
        """One slot of the block. One that is not played has no rounds. `most`: the rounds of the longest slot of the run."""
        start = self.first + index * self.slot
        length = jnp.where(index < self.slots, jnp.clip(self.end - start, 0, self.slot), 0)
        return Slot(start, self.first, jnp.asarray(index), self.of_block, length, self.slot, keys, most)

    def at(self, places: Any) -> Span:
        """Some of several blocks."""
        return Span(*(each[places] for each in self))


class Timetable(eqx.Module):
    """Blocks of slots of rounds. A driver plays all slots of a block, and ends it with an update."""

    @abstractmethod
    def blocks(self, count: int) -> Span:
        """The first `count` blocks (or all, if there are fewer), as arrays."""

    @abstractmethod
    def count(self, rounds: int) -> int:
        """How many blocks the first `rounds` rounds touch, or a few more."""

    @property
    @abstractmethod
    def side_by_side(self) -> int:
        """How many slots of a block are played side by side, if memory allows."""

    @property
    def slots_grow(self) -> bool:
        """True if later slots are longer."""
        return False

    @property
    @abstractmethod
    def most_slots(self) -> float:
        """No block has more slots than this."""

    @property
    def last(self) -> int | None:
        """How many rounds it has; None if it never ends."""
        return None

    def until(self, rounds: int) -> Span:
        """The blocks of a run of so many rounds, as arrays; the last may be incomplete."""
        return _until(self, rounds)

    def longest_slot(self, rounds: int) -> int:
        """The rounds of the longest slot in a run of so many rounds."""
        return int(self.until(rounds).slot.max())


@lru_cache(maxsize=64)
def _until(timetable: Timetable, rounds: int) -> Span:
    found = timetable.blocks(timetable.count(rounds))
    found = found.at(found.first < rounds)
    # A run that ends within a slot plays that slot to its end, and discards the rest.
    slots = np.minimum(found.of_block, -(-(rounds - found.first) // found.slot))
    return found._replace(slots=slots, complete=found.end <= rounds)


class Equal(Timetable):
    """Blocks of `block` slots of `slot` rounds, as the theorems have it, up to a known horizon: the last block is shorter."""

    block: int = eqx.field(static=True, default=1)
    slot: int = eqx.field(static=True, default=1)
    horizon: int = eqx.field(static=True, default=1)

    def blocks(self, count: int) -> Span:
        length = self.block * self.slot
        number = np.arange(min(count, self.count(self.horizon)))
        first = number * length
        end = np.minimum(first + length, self.horizon)
        slot = np.full_like(number, self.slot)
        slots = -(-(end - first) // self.slot)
        return Span(number, first, end, slot, slots, slots, np.ones_like(number, bool))

    def count(self, rounds: int) -> int:
        return -(-rounds // (self.block * self.slot))

    @property
    def last(self) -> int:
        return self.horizon

    @property
    def side_by_side(self) -> int:
        return self.block

    @property
    def most_slots(self) -> float:
        return self.block


class Growing(Timetable):
    """Block b = 1, 2, ... ends near round ceil(b^(1/theta)): T^theta blocks in the first T rounds, for every T; fewer, of the
    same order, where a slot does not fit into such a block.

    Its slots have `first` b^power rounds, of the order of T^(power theta) when T rounds have been played; a block has whole
    slots.

    >>> Growing(theta=0.5).blocks(4).end.tolist()
    [1, 4, 9, 16]
    """

    theta: float = eqx.field(static=True)
    power: float = eqx.field(static=True, default=0.0)
    first: float = eqx.field(static=True, default=1.0)

    @property
    def slots_grow(self) -> bool:
        return self.power > 0

    def blocks(self, count: int) -> Span:
        b = np.arange(1, count + 1)
        with np.errstate(over="ignore"):
            end = np.minimum(np.ceil(b ** (1 / self.theta) - 1e-9), NEVER).astype(np.int64)
        slot = np.maximum(1, np.round(self.first * b**self.power)).astype(np.int64)
        if self.power:
            end = _in_whole_slots(end, slot)
        first = np.concatenate([[0], end[:-1]])
        slots = (end - first) // slot
        return Span(b - 1, first, end, slot, slots, slots, np.ones_like(b, bool))

    def count(self, rounds: int) -> int:
        # With whole slots a block ends less than a slot before its round, or later.
        ahead = 0 if not self.power else 2 * self.first * max(1.0, rounds ** (self.power * self.theta))
        return math.ceil((rounds + ahead) ** self.theta) + 2

    @property
    def side_by_side(self) -> int:
        block = int(self.until(TYPICAL).of_block.max())
        return min(SIDE_BY_SIDE, 1 << (block - 1).bit_length())

    @property
    def most_slots(self) -> float:
        return 1 if self.theta == 1 else math.inf


def _in_whole_slots(end: np.ndarray, slot: np.ndarray) -> np.ndarray:
    """Ends of blocks near the given ones, such that every block has one whole slot or more."""
    moved, last = np.empty_like(end), 0
    for place, (wanted, length) in enumerate(zip(end.tolist(), slot.tolist(), strict=True)):
        last += length * max(1, round((wanted - last) / length))
        moved[place] = last
    return moved
