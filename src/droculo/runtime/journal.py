"""What a process writes as it goes: every block that it played and the states of its agents, so that it survives being killed."""

from __future__ import annotations

import json
import math
import os
import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from droculo.engine.breaches import BREACHES
from droculo.engine.costs import COUNTED
from droculo.engine.fingerprint import Fingerprint

_HEAD = struct.Struct("<QI")  # length and checksum of what follows


class Entry(NamedTuple):
    """A block as one process played it."""

    block: int
    rounds: NDArray[np.int64]  # (R,): those recorded
    actions: NDArray  # (R, B, d)
    decisions: NDArray  # (B, d)
    costs: NDArray[np.int64]  # (c, B): COUNTED
    first: NDArray[np.int32]  # (k, B): the first round of each of BREACHES
    counted: NDArray[np.int8]  # (exchanges, neighbours): 1 the link counted, 0 it failed, -1 it was not scheduled


@dataclass(frozen=True)
class Layout:
    """The shapes of a process' entries."""

    agents: int
    dim: int
    exchanges: int
    neighbours: int
    dtype: str

    def join(self, entries: Iterable[Entry]) -> bytes:
        """Entries as checked records, one after the other."""
        records = []
        for entry in entries:
            parts = np.array([entry.block, len(entry.rounds)], np.int64), *entry[1:]
            records.append(_record(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)))
        return b"".join(records)

    def split(self, data: bytes) -> Iterator[Entry]:
        """The entries of such bytes, up to the first record that is incomplete."""
        rest = memoryview(data)
        while (record := _checked(rest)) is not None:
            yield self._unpack(record)
            rest = rest[_HEAD.size + len(record) :]

    def _unpack(self, data: memoryview) -> Entry:
        block, rounds = (int(n) for n in np.frombuffer(data, np.int64, 2))
        shapes: list[tuple[Any, tuple[int, ...]]] = [
            (np.int64, (rounds,)), (self.dtype, (rounds, self.agents, self.dim)), (self.dtype, (self.agents, self.dim)),
            (np.int64, (len(COUNTED), self.agents)),
            (np.int32, (len(BREACHES), self.agents)), (np.int8, (self.exchanges, self.neighbours)),
        ]  # fmt: skip
        parts, at = [], 16
        for dtype, shape in shapes:
            parts.append(np.frombuffer(data, dtype, math.prod(shape), at).reshape(shape))
            at += parts[-1].nbytes
        if at != len(data):
            raise ValueError(
                f"a record of {len(data)} bytes does not have the shapes {self}: it belongs to another run."
            )
        return Entry(block, *parts)


class Journal:
    """A folder of one process: `blocks.bin` grows by a checked record for each block, `state-*.bin` are the agents' last
    few states, `links.jsonl` says when links came and went. A record that was cut off is left out; without a folder
    nothing is written.

    It is written without waiting for the disk: what a killed process wrote is safe. After a power cut the last seconds may
    be missing, and the run continues from before them.
    """

    def __init__(
        self, folder: Path | None, layout: Layout, identity: Fingerprint, states: int, *, rounds: int | None = None
    ):
        self.folder = folder
        self.layout = layout
        self.states = states  # how many of the last states are kept
        self.entries: list[Entry] = []
        if folder is None:
            return
        folder.mkdir(parents=True, exist_ok=True)
        new = not (folder / "about.json").exists()
        if not identity.owns(folder / "about.json", layout.__dict__ | {"rounds": rounds}):
            raise ValueError(
                f"{folder} belongs to a run with another problem, algorithm, network, key, record, partition or number of rounds, "
                "or to a version of droculo with other results. Continue with the same ones, or name another folder."
            )
        self.entries = [] if new else list(read_entries(folder, layout))

    def checkpoints(self) -> dict[int, NDArray[np.uint8]]:
        """Block to begin with -> the states before it, as bytes, if the block before it was written too."""
        found, played = {}, {entry.block for entry in self.entries}
        for _, block, states in self._states():
            if states is not None and block - 1 in played:
                found[block] = states
        return found

    def begin(self, block: int) -> None:
        """Forget what was played from this block on, since it is played again."""
        self.entries = [entry for entry in self.entries if entry.block < block]
        if self.folder is None:
            return
        for file, before, states in self._states():
            if states is None or before > block:  # without its block it would let the next start leave that block out
                file.unlink()
        half = self.folder / "blocks.part"
        half.write_bytes(self.layout.join(self.entries))
        half.replace(self.folder / "blocks.bin")
        self._file = os.open(self.folder / "blocks.bin", os.O_WRONLY | os.O_APPEND)

    def keep(self, entry: Entry, leaves: list[NDArray] | None) -> None:
        """Write a block, and then the states after it, if it has come to its end."""
        self.entries.append(entry)
        if self.folder is None:
            return
        _write_all(self._file, self.layout.join([entry]))
        if leaves is None:
            return
        data = np.int64(entry.block + 1).tobytes() + b"".join(np.ascontiguousarray(leaf).tobytes() for leaf in leaves)
        (self.folder / f"state-{entry.block % self.states}.bin").write_bytes(_record(data))

    def _states(self) -> Iterator[tuple[Path, int, NDArray[np.uint8] | None]]:
        """The files of states, and the block that each is the start of; None for states that were cut off."""
        for file in [] if self.folder is None else sorted(self.folder.glob("state-*.bin")):
            data = _checked(memoryview(file.read_bytes()))
            block = -1 if data is None else int(np.frombuffer(data, np.int64, 1)[0])
            yield file, block, None if data is None else np.frombuffer(data, np.uint8, offset=8)

    def link(self, neighbour: int, exchange: int, what: str) -> None:
        """A link came up or went down."""
        if self.folder is not None:
            with (self.folder / "links.jsonl").open("a") as file:
                file.write(json.dumps({"neighbour": neighbour, "exchange": exchange, "what": what}) + "\n")

    def close(self) -> None:
        if self.folder is not None and hasattr(self, "_file"):
            os.close(self._file)
            del self._file


def begun_with(folder: Path, rounds: int) -> int:
    """How many rounds were asked for when this folder was begun; so many if nothing is there yet."""
    try:
        return int(json.loads((folder / "about.json").read_text())["rounds"])
    except (OSError, ValueError, KeyError, TypeError):  # new, or not a folder of such a run
        return rounds


def read_entries(folder: Path, layout: Layout) -> Iterator[Entry]:
    """All whole blocks of a process' folder."""
    file = folder / "blocks.bin"
    return layout.split(file.read_bytes() if file.exists() else b"")


def _write_all(file: int, data: bytes) -> None:
    """Write a whole record, or raise and write nothing: what follows an incomplete record could not be read."""
    size, rest = os.fstat(file).st_size, memoryview(data)
    try:
        while rest:
            rest = rest[os.write(file, rest) :]
    except OSError:
        os.ftruncate(file, size)
        raise


def _record(data: bytes) -> bytes:
    return _HEAD.pack(len(data), zlib.crc32(data)) + data


def _checked(record: memoryview) -> memoryview | None:
    """The contents of the first record, or None if it is incomplete."""
    if len(record) < _HEAD.size:
        return None
    length, checksum = _HEAD.unpack_from(record)
    data = record[_HEAD.size : _HEAD.size + length]
    return data if len(data) == length and zlib.crc32(data) == checksum else None
