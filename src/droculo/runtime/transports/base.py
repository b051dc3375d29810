"""How a process reaches its neighbours: the interface of every transport."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: after every exchange that there will ever be
NEVER = 1 << 62

Rows = NDArray[Any]  # (rows, numbers): one row for each agent that the neighbour needs
Heard = dict[int, Rows]
Shapes = Mapping[int, tuple[int, int]]

logger = logging.getLogger("droculo.runtime")


@dataclass
class Meter:
    """What was sent and received."""

    frames: int = 0  # that carried rows
    bytes: int = 0  # of those rows
    control: int = 0  # frames that carried none, to meet, to refuse and to part
    refused: dict[str, int] = field(default_factory=dict)  # reason -> frames that were received and not used

    def refuse(self, reason: str) -> None:
        self.refused[reason] = self.refused.get(reason, 0) + 1


class Transport(ABC):
    """How one process reaches its neighbours. Processes have numbers; exchanges are counted from 0, the same for all.

    A process calls `meet` once, `exchange` for every exchange from there on, in order, and `close`. A neighbour that is
    missing from what `exchange` returns is a failed link for that exchange, at both ends if that can be helped.
    `droculo.testing.check_transport` checks that a custom transport keeps the contract.
    """

    def __init__(self, me: int, neighbours: tuple[int, ...]):
        self.me = me
        self.neighbours = neighbours
        self.meter = Meter()
        #: how many bytes of rows a frame can carry (None: no limit). Drivers check this before they begin,
        self.limit: int | None = None
        #: and set how many there will be at most
        self.largest: int | None = None
        #: called with (neighbour, exchange, "up" or why it is down) whenever a link comes or goes
        self.listener: Callable[[int, int, str], None] | None = None

    @abstractmethod
    def meet(self, first: int, every: int, oldest: int = 0, last: int = NEVER) -> int:
        """Wait for the neighbours, and agree with them on the exchange to begin with: a multiple of `every`, the number of
        exchanges in a block. `first` is where this process would begin (0, or where its checkpoint ends), `oldest` how far
        it can go back, `last` how many exchanges the run has."""

    @abstractmethod
    def exchange(self, number: int, outgoing: Mapping[int, Rows], shapes: Shapes) -> Heard:
        """Send rows to neighbours, and return what these neighbours sent: arrays of these shapes and of the same dtype, all
        finite. Both mappings have the same neighbours. Rows are float64, float32, or uint8 for messages packed as bytes."""

    def refuse(self, number: int, neighbour: int, why: str) -> None:
        """Do not count what this neighbour sent in this exchange."""
        self.meter.refuse(why)
        self.tell(neighbour, number, why)

    def usable(self, number: int, neighbour: int, rows: Rows, shape: tuple[int, int], dtype: np.dtype) -> bool:
        """True if these rows of an exchange can be used; those that cannot are refused."""
        why = why_unusable(rows, shape, dtype)
        if why is not None:
            self.refuse(number, neighbour, why)
        return why is None

    @abstractmethod
    def close(self) -> None:
        """Part from the neighbours. A second call does nothing."""

    def tell(self, neighbour: int, number: int, what: str) -> None:
        """Log that a link came up or went down, and inform the listener."""
        level = logging.INFO if what == "up" else logging.WARNING
        logger.log(level, "process %d: link to %d from exchange %d on: %s", self.me, neighbour, number, what)
        if self.listener is not None:
            self.listener(neighbour, number, what)


def why_unusable(rows: Rows, shape: tuple[int, int], dtype: np.dtype) -> str | None:
    """The reason why received rows cannot be used, or None."""
    if rows.shape != shape:
        return "wrong shape"
    if rows.dtype != dtype:
        return "wrong kind of numbers"
    return None if np.all(np.isfinite(rows)) else "not finite"
