"""How a run is divided: pieces of whole blocks, all of one shape, so that one compiled program plays them all."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from droculo.algorithms import Algorithm
from droculo.algorithms.contract import Keys, SilentPorts, Slot
from droculo.algorithms.timetable import Span
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

    spans: Span  # its blocks, as arrays
    start: int  # its first round
    rounds: int  # that are played

    @property
    def blocks(self) -> int:
        return len(self.spans.number)

    def padded(self, blocks: int) -> Span:
        """Its blocks as arrays of a fixed length; what is added is not played."""
        return jax.tree.map(lambda each: jnp.asarray(np.pad(each, (0, blocks - len(each)), "edge")), self.spans)


def pieces(algorithm: Algorithm, rounds: int, begin: int = 0) -> list[Piece]:
    """About `PIECES` stretches of blocks, of about as many rounds each, from block `begin` on. An incomplete block is a piece
    of its own: what came before it is where a longer run continues."""
    spans = algorithm.timetable.until(rounds)
    most = -(-rounds // PIECES)
    found, first = [], begin
    for b in range(begin, len(spans.number)):
        last = b == len(spans.number) - 1
        full = spans.end[b] - spans.first[first] + (0 if last else spans.end[b + 1] - spans.first[b + 1]) > most
        if last or full or not spans.complete[b + 1]:
            start = int(spans.first[first])
            found.append(Piece(spans.at(slice(first, b + 1)), start, min(rounds, int(spans.end[b])) - start))
            first = b + 1
    return found


def shape_of(algorithm: Algorithm, rounds: int, record: Record, agents: int, plan: list[Piece]) -> Shape:
    """The shape of all pieces of a run."""
    timetable, spans = algorithm.timetable, algorithm.timetable.until(rounds)
    most = timetable.longest_slot(rounds)
    room = AT_ONCE if jax.default_backend() == "cpu" else AT_ONCE_ELSEWHERE
    chunk = timetable.side_by_side
    if algorithm.horizon is not None:  # without one nothing may depend on how long the run is, to the last bit
        chunk = min(chunk, int(spans.slots.max()))
    chunk = max(1, min(chunk, room // (agents * most * algorithm.domain.dim)))
    rows = max(int(piece.spans.end[-1]) - piece.start for piece in plan)
    rows = -(-rows // record.every) + 1 if record.every else 0
    cut = not bool(spans.complete.all())
    return Shape(max(piece.blocks for piece in plan), rows, chunk, most, cut, record)


def one_by_one(plan: list[Piece]) -> list[Piece]:
    """The same blocks, each a piece of its own, for a driver that plays them one by one."""
    found = []
    for piece in plan:
        last = piece.start + piece.rounds
        for b in range(piece.blocks):
            start, end = int(piece.spans.first[b]), int(piece.spans.end[b])
            found.append(Piece(piece.spans.at(slice(b, b + 1)), start, min(end, last) - start))
    return found


def first_slot(algorithm: Algorithm, keys: Keys | None = None) -> Slot:
    """The first slot of a run, for a look at what an algorithm plays."""
    span = algorithm.timetable.blocks(1).at(0)
    keys = keys or Keys(jax.random.key(0), jax.random.key(0))
    return Span(*map(jnp.asarray, span)).slot_at(0, keys, int(span.slot))


def questions(algorithm: Algorithm) -> int:
    """How many points one slot asks at, read off the algorithm itself."""

    def play() -> Any:
        return algorithm.play(SilentPorts(), algorithm.init(), first_slot(algorithm))[1]

    return int(jax.eval_shape(play).points.shape[0])
