"""Threads in place of processes, for tests and to try things out."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from functools import partial

from droculo.runtime.transports.base import NEVER, Heard, Rows, Shapes, Transport


class Hub:
    """What the threads of an in-memory network share.

    >>> MemoryTransport(Hub(), 0, (1,)).me
    0
    """

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.letters: dict[tuple[int, int, int], Rows] = {}  # (to, from, exchange)
        self.starts: dict[int, int] = {}
        self.gone: dict[int, int] = {}  # process -> the exchange that it missed


class MemoryTransport(Transport):
    """One of several threads that share a `Hub`. The links of a thread that closes early, or takes longer than `patience`
    seconds, have failed for the rest of the run."""

    def __init__(self, hub: Hub, me: int, neighbours: tuple[int, ...], *, patience: float = 30.0):
        super().__init__(me, neighbours)
        self.hub = hub
        self.patience = patience
        self.next = 0

    def meet(self, first: int, every: int, oldest: int = 0, last: int = NEVER) -> int:
        hub = self.hub
        with hub.changed:
            hub.starts[self.me] = first
            hub.changed.notify_all()
            everyone = {self.me, *self.neighbours}
            if not hub.changed.wait_for(lambda: everyone <= hub.starts.keys(), self.patience):
                missing = sorted(everyone - hub.starts.keys())
                raise TimeoutError(
                    f"processes {missing} did not come within {self.patience} s: start one thread for each."
                )
            self.next = max(hub.starts[p] for p in everyone)
        return self.next

    def exchange(self, number: int, outgoing: Mapping[int, Rows], shapes: Shapes) -> Heard:
        hub, heard = self.hub, {}

        def over(neighbour: int) -> bool:
            return min(hub.gone.get(process, number + 1) for process in (self.me, neighbour)) <= number

        deadline = time.monotonic() + self.patience
        with hub.changed:
            self.next = number + 1
            for neighbour, rows in outgoing.items():
                if not over(neighbour):
                    hub.letters[neighbour, self.me, number] = rows.copy()
                    self.meter.frames += 1
                    self.meter.bytes += rows.nbytes
            hub.changed.notify_all()
            for neighbour, shape in shapes.items():
                mine = (self.me, neighbour, number)
                settled = partial(lambda mine, neighbour: mine in hub.letters or over(neighbour), mine, neighbour)
                if not hub.changed.wait_for(settled, max(0.0, deadline - time.monotonic())):
                    hub.gone[neighbour] = number
                    hub.changed.notify_all()
                    self.tell(neighbour, number, "late")
                if not over(neighbour):
                    rows = hub.letters.pop(mine)
                    if self.usable(number, neighbour, rows, shape, outgoing[neighbour].dtype):
                        heard[neighbour] = rows
        return heard

    def close(self) -> None:
        with self.hub.changed:
            self.hub.gone.setdefault(self.me, self.next)
            self.hub.changed.notify_all()
