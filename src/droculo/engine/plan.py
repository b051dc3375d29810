"""How a run is divided: pieces of whole blocks, all of one shape, so that one compiled program plays them all."""

from __future__ import annotations

import math
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from droculo.algorithms import Algorithm
from droculo.algorithms.contract import Keys, SilentPorts, Slot, SlotPlay
from droculo.algorithms.timetable import Span
from droculo.engine.block import Shape
from droculo.engine.record import Record

#: A run is divided into about this many compiled pieces: the steps of the progress bar and of checkpoints.
PIECES = 20
#: Slots of a block are played side by side as long as their plays stay below this many numbers,
AT_ONCE = 1 << 22
#: and below this many on an accelerator, where one slot after the other takes twice as long (10^5 agents, d = 32).
AT_ONCE_ELSEWHERE = 1 << 28
#: Where no horizon is known, a piece has room for so many rounds, if memory allows,
ROOM = 4096
#: and a slot, if slots grow, for so many.
LONG_SLOT = 32


class Played(NamedTuple):
    """What a plan depends on, besides the algorithm."""

    rounds: int
    record: Record
    agents: int  # that are played here
    room: int | None = None  # rounds that a piece has room for where no horizon is known, if not `ROOM`


class Piece(NamedTuple):
    """A stretch of blocks that is run in one go."""

    spans: Span  # its blocks, as arrays
    start: int  # its first round
    rounds: int  # that are played

    @property
    def blocks(self) -> int:
        return len(self.spans.number)

    @property
    def longest(self) -> int:
        """The rounds of its longest block."""
        return int((self.spans.end - self.spans.first).max())

    def padded(self, blocks: int) -> Span:
        """Its blocks as arrays of a fixed length; what is added is not played."""
        return jax.tree.map(lambda each: np.pad(each, (0, blocks - len(each)), "edge"), self.spans)


def pieces(algorithm: Algorithm, run: Played, begin: int = 0, split: float = 0) -> list[Piece]:
    """About `PIECES` stretches of blocks, of about as many rounds each, from block `begin` on; none crosses the start of block
    `split`. An incomplete block is a piece of its own: what came before it is where a longer run continues."""
    spans = algorithm.timetable.until(run.rounds)
    most = min(-(-run.rounds // PIECES), room_for(algorithm, run))
    found, first = [], begin
    for b in range(begin, len(spans.number)):
        last = b == len(spans.number) - 1
        full = spans.end[b] - spans.first[first] + (0 if last else spans.end[b + 1] - spans.first[b + 1]) > most
        if last or full or b + 1 == split or not spans.complete[b + 1]:
            start = int(spans.first[first])
            found.append(Piece(spans.at(slice(first, b + 1)), start, min(run.rounds, int(spans.end[b])) - start))
            first = b + 1
    return found


def room_for(algorithm: Algorithm, run: Played) -> int:
    """How many rounds a compiled piece has room for: where no horizon is known, a number that does not depend on how long the
    run is, so that a shorter run is the beginning of a longer one to the last bit."""
    if algorithm.timetable.last is not None:
        return run.rounds
    numbers = run.agents * algorithm.domain.dim / max(1, run.record.every)
    return min(run.room or ROOM, 1 << max(0, math.floor(math.log2(_at_once() / numbers))))


def shape_of(algorithm: Algorithm, run: Played, plan: list[Piece]) -> list[Shape]:
    """The shapes of the pieces of a run. They are all the same, unless blocks (or slots) get so long that more room is needed."""
    timetable, record = algorithm.timetable, run.record
    every, chunk = max(1, record.every), timetable.side_by_side
    if timetable.last is None:  # nothing depends on how long the run is, only on how far it has come
        blocks = room_for(algorithm, run)
        rows = [max(blocks, _power(piece.longest)) for piece in plan]
        most = [max(LONG_SLOT if timetable.slots_grow else 1, _power(int(piece.spans.slot.max()))) for piece in plan]
    else:
        longest = max(int(piece.spans.end[-1]) - piece.start for piece in plan)
        rows, blocks = [longest] * len(plan), max(piece.blocks for piece in plan)
        most = [timetable.longest_slot(run.rounds)] * len(plan)
        chunk = min(chunk, int(timetable.until(run.rounds).slots.max()))
    chunks = [max(1, min(chunk, _at_once() // (run.agents * slot * algorithm.domain.dim))) for slot in most]
    cut = timetable.last is None or not bool(timetable.until(run.rounds).complete.all())
    room = [-(-each // every) + 1 if record.every else 0 for each in rows]
    return [Shape(blocks, *each, cut, record) for each in zip(room, chunks, most, strict=True)]


def _at_once() -> int:
    return AT_ONCE if jax.default_backend() == "cpu" else AT_ONCE_ELSEWHERE


def _power(number: int) -> int:
    """The next power of two."""
    return 1 << (number - 1).bit_length()


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
    span = algorithm.timetable.blocks(1).at(0)
    return int(eqx.filter_eval_shape(_first_play, algorithm, span, int(span.slot)).points.shape[0])


@eqx.filter_jit  # type: ignore[untyped-decorator]
def _first_play(algorithm: Algorithm, span: Span, most: int) -> SlotPlay:
    """Traced once for all runs of a design: it is looked at after every run."""
    keys = Keys(jax.random.key(0), jax.random.key(0))
    return algorithm.play(SilentPorts(), algorithm.init(), span.slot_at(0, keys, most))[1]
