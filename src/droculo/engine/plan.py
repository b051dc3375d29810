"""How a run is divided: blocks of equal shape, and perhaps a last one that is shorter."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from droculo.algorithms import Algorithm
from droculo.algorithms.contract import Keys, SilentPorts
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


def shapes_of_blocks(algorithm: Algorithm, rounds: int, record: Record) -> list[Shape]:
    """The shape of every block, for a driver that plays them one by one."""
    return [
        piece.shape._replace(capacity=1) for piece in pieces(algorithm, rounds, record) for _ in range(piece.blocks)
    ]


def questions(algorithm: Algorithm) -> int:
    """How many points one slot asks at, read off the algorithm itself."""

    def play() -> Any:
        slot = algorithm.slot_at(jnp.zeros((), int), algorithm.slot, Keys(jax.random.key(0), jax.random.key(0)))
        return algorithm.play(SilentPorts(), algorithm.init(), slot)[1]

    return int(jax.eval_shape(play).points.shape[0])
