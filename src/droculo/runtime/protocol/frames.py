"""Frames: what travels between processes over Zenoh. A checked header of fixed size, and plain numbers after it.

Nothing that is received is unpickled or evaluated. Bytes that do not decode raise a `FrameError` and have no other effect.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

MAGIC = b"DRCL"
VERSION = 1
#: magic, version, kind, type of numbers, run, session, sender, receiver, exchange, further number, rows, columns, checksum
_HEADER = struct.Struct("<4sHBB8sQIIQQIII")
#: bytes of a frame beside its rows
OVERHEAD = _HEADER.size
#: a frame is never larger than this, whatever it says
MOST = 1 << 28
_KINDS: dict[int, np.dtype] = {1: np.dtype("<f8"), 2: np.dtype("<f4"), 3: np.dtype("u1")}
_CODES = {dtype: code for code, dtype in _KINDS.items()}


class FrameError(ValueError):
    """The reason why bytes are not a frame of this run."""


class Kind(IntEnum):
    """What a frame says."""

    ROWS = 1  # "here are my rows of this exchange"
    JOIN = 2  # "I am here, and would begin with this exchange" (further: 1 if I have begun, else twice the exchange I can go back to)
    WELCOME = 3  # "our link counts from this exchange on"
    DROP = 4  # "our link does not count from this exchange on"
    SKIP = 5  # "our link does not count in this exchange"
    BYE = 6  # "I am finished, and will not take part in this exchange"
    WAIT = 7  # "I am waiting for others in this exchange"


@dataclass(frozen=True)
class Frame:
    """One frame."""

    kind: Kind
    run: bytes  # 8 bytes: which run it belongs to
    session: int  # which life of the sender; a restarted process has another one
    sender: int
    receiver: int
    exchange: int
    further: int = 0
    rows: NDArray | None = None

    def encode(self) -> bytes:
        """As bytes."""
        rows = np.zeros((0, 0)) if self.rows is None else np.ascontiguousarray(self.rows)
        code = _CODES[rows.dtype.newbyteorder("<")]
        data = rows.astype(_KINDS[code], copy=False).tobytes()
        fields = (
            MAGIC, VERSION, int(self.kind), code, self.run, self.session, self.sender, self.receiver, self.exchange, self.further,
            *rows.shape,
        )  # fmt: skip
        checksum = zlib.crc32(data, zlib.crc32(_HEADER.pack(*fields, 0)))
        return _HEADER.pack(*fields, checksum) + data


def decode(data: bytes, run: bytes, most: int = MOST) -> Frame:
    """Decode a frame of this run, or raise a `FrameError` with the reason.

    >>> frame = Frame(Kind.ROWS, b"12345678", 7, 0, 1, 3, rows=np.ones((1, 2)))
    >>> decode(frame.encode(), b"12345678").rows.tolist()
    [[1.0, 1.0]]
    """
    if len(data) < OVERHEAD:
        raise FrameError("cut off")
    if len(data) > most:
        raise FrameError("too long")
    fields, body = _HEADER.unpack_from(data), data[OVERHEAD:]
    magic, version, kind, code, of_run, session, sender, receiver, exchange, further, rows, columns, checksum = fields
    bare = _HEADER.pack(*fields[:-1], 0)
    for wrong, reason in (
        (magic != MAGIC, "no frame"),
        (version != VERSION, "wrong version"),
        (zlib.crc32(body, zlib.crc32(bare)) != checksum, "wrong checksum"),
        (of_run != run, "another run"),
        (code not in _KINDS or kind not in Kind._value2member_map_, "unknown kind"),
    ):
        if wrong:
            raise FrameError(reason)
    dtype = _KINDS[code]
    if rows * columns * dtype.itemsize != len(body):
        raise FrameError("wrong length")
    numbers = np.frombuffer(body, dtype).reshape(rows, columns) if kind == Kind.ROWS else None
    return Frame(Kind(kind), of_run, session, sender, receiver, exchange, further, numbers)
