"""How a run is divided: blocks of equal shape, and perhaps a last one that is shorter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from droculo.algorithms import Algorithm, Keys
from droculo.algorithms.contract import SilentPorts
from droculo.engine.block import Shape
from droculo.engine.record import Record

#: A run is divided into about this many compiled pieces: the steps of the progress bar and of checkpoints.
PIECES = 20
#: Slots of a block are played side by side as long as their plays stay below this many numbers,
AT_ONCE = 1 << 22
#: and below this many on an accelerator, where one slot after the other takes twice as long (10^5 agents, d = 32).
AT_ONCE_ELSEWHERE = 1 << 28


class Piece(NamedTuple):
    """A stretch of blocks that is run in one go."""

    shape: Shape
    start: int  # its first round
    blocks: int
    rounds: int


def at_once() -> int:
    """Memory budget for plays, in numbers."""
    return AT_ONCE if jax.default_backend() == "cpu" else AT_ONCE_ELSEWHERE


def pieces(algorithm: Algorithm, rounds: int, record: Record) -> list[Piece]:
    """Equal stretches of full blocks, then the last and shorter block if there is one."""
    length = algorithm.block * algorithm.slot
    blocks, rest = divmod(rounds, length)
    found = []
    if blocks:
        capacity = -(-blocks // PIECES)
        shape = Shape(capacity, algorithm.block, 0, record, at_once())
        for first in range(0, blocks, capacity):
            number = min(capacity, blocks - first)
            found.append(Piece(shape, first * length, number, number * length))
    if rest:
        slots, short = divmod(rest, algorithm.slot)
        if short:  # a run that ends within a slot plays it as a longer run would, and discards the rest
            short = min(algorithm.slot, algorithm.horizon - (rounds - short))
            slots, short = (slots + 1, 0) if short == algorithm.slot else (slots, short)
        found.append(Piece(Shape(1, slots, short, record, at_once()), blocks * length, 1, rest))
    return found


@dataclass(frozen=True)
class Plan:
    """Equal blocks, and perhaps a last one that is shorter."""

    blocks: int
    length: int
    full: Shape | None
    rest: Shape | None

    @classmethod
    def of(cls, algorithm: Algorithm, rounds: int, record: Record) -> Plan:
        length = algorithm.block * algorithm.slot
        plan = pieces(algorithm, rounds, record)
        whole = plan[0].shape._replace(capacity=1) if rounds >= length else None
        return cls(-(-rounds // length), length, whole, plan[-1].shape if rounds % length else None)

    def shape(self, block: int) -> Shape:
        last = self.rest is not None and block == self.blocks - 1
        shape = self.rest if last else self.full
        assert shape is not None
        return shape

    def shapes(self) -> list[Shape]:
        return [shape for shape in (self.full, self.rest) if shape is not None]


def questions(algorithm: Algorithm) -> int:
    """How many points one slot asks at, read off the algorithm itself."""

    def play() -> Any:
        slot = algorithm.slot_at(jnp.zeros((), int), algorithm.slot, Keys(jax.random.key(0), jax.random.key(0)))
        return algorithm.play(SilentPorts(), algorithm.init(), slot)[1]

    return int(jax.eval_shape(play).points.shape[0])
