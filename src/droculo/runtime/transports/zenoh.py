"""Neighbours over Zenoh: peer to peer, without a broker, at explicit endpoints.

A neighbour that dies is noticed, and one that comes back rejoins. The rules are those of `protocol.membership`; this module
adds sockets and time to them.
"""

from __future__ import annotations

import hashlib
import math
import secrets
import struct
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from droculo.expect import extra
from droculo.runtime.protocol.frames import MOST, OVERHEAD, Frame, FrameError, Kind, decode
from droculo.runtime.protocol.membership import Membership
from droculo.runtime.protocol.transitions import State
from droculo.runtime.transports.base import NEVER, Heard, Rows, Shapes, Transport, logger, why_unusable
from droculo.runtime.transports.endpoints import TLS, opened

#: seconds between two JOINs to a neighbour that has not answered
AGAIN = 0.2
#: seconds that a newcomer waits for further neighbours once one is waiting for it
BRIEFLY = 2.0
#: seconds without news after which processes that all start again take their common start as settled
SETTLE = 1.0
#: seconds that a finished process waits for its neighbours to finish
GOODBYE = 5.0


class Clock:
    """Seconds, and waiting for them: a test can pass a clock that does not wait."""

    def now(self) -> float:
        """Seconds from some fixed moment."""
        return time.monotonic()

    def wait_for(self, changed: threading.Condition, holds: Callable[[], bool], seconds: float) -> bool:
        """Wait, with `changed` held, until `holds()` or so many seconds have passed. Returns `holds()`."""
        return changed.wait_for(holds, seconds)


class ZenohTransport(Transport):
    """A process that listens at its endpoint and connects to its neighbours', each named like `tcp/host:7447` or
    `tls/host:7447`. `run` names the run: frames of another run are refused.

    A neighbour that sends nothing for `patience` seconds is given up until it joins again. At the start a process waits up
    to `gathering` seconds for all its neighbours. `config` is a file of Zenoh's own configuration to start from.
    """

    def __init__(
        self,
        me: int,
        endpoints: Mapping[int, str],
        neighbours: tuple[int, ...],
        *,
        run: str,
        tls: TLS | None = None,
        patience: float = 30.0,
        gathering: float = 120.0,
        config: Path | None = None,
        clock: Clock | None = None,
    ):
        super().__init__(me, neighbours)
        missing = [process for process in (me, *neighbours) if process not in endpoints]
        if missing:
            raise ValueError(f"processes {missing} have no endpoint. Give each one, for example 'tcp/127.0.0.1:7447'.")
        for what, seconds in (("patience", patience), ("gathering", gathering)):
            if not (isinstance(seconds, int | float) and math.isfinite(seconds) and seconds > 0):
                raise ValueError(f"{what} is a number of seconds, above zero; got {seconds!r}.")
        self.patience = patience
        self.gathering = gathering
        self.clock = clock or Clock()
        digest = hashlib.sha256(run.encode()).digest()[:8]
        self.members = Membership(me, neighbours, digest, secrets.randbits(63))
        self.changed = threading.Condition()
        self.ended = False
        self.limit = MOST - OVERHEAD
        self._last_word: dict[int, float] = {}  # when each neighbour last sent anything
        self._zenoh = extra("zenoh", "processes over Zenoh", "zenoh")
        self._root = f"droculo/{digest.hex()}"
        lower = [endpoints[q] for q in neighbours if q < me]  # one connection for each link; both ends keep it up
        self.session = opened(self._zenoh, endpoints[me], lower, tls, config)
        self._keep: list[Any] = [
            self.session.declare_subscriber(f"{self._root}/to/{me}/*", self._arrived),
            self.session.liveliness().declare_subscriber(f"{self._root}/alive/*", self._token, history=True),
            self.session.liveliness().declare_token(f"{self._root}/alive/{me}"),
        ]

    def meet(self, first: int, every: int, oldest: int = 0, last: int = NEVER) -> int:
        members = self.members
        if first >= last:
            return first  # it has played all rounds, and has nothing to tell its neighbours
        with self.changed:
            members.meet(first, every, oldest, last)
        self._gather(first)
        with self.changed:
            start = members.begin()
            for neighbour, link in members.links.items():
                self.tell(neighbour, link.since if link.agreed else start, "up" if link.agreed else "absent")
        self._announced = self.clock.now()
        return start

    def _gather(self, first: int) -> None:
        """Send JOINs until there is an agreement with every neighbour, or until it is time to begin without some."""
        members, began = self.members, self.clock.now()
        since_awaited = settled = None
        brief = min(BRIEFLY, self.patience / 2)
        while True:
            with self.changed:
                frames = members.announce() + members.lower()
            self._send(frames)
            with self.changed:
                ready = self.clock.wait_for(self.changed, members.ready, AGAIN)
                now = self.clock.now()
                if members.awaited():
                    since_awaited = since_awaited or now
                if frames or not ready:
                    settled = None
                elif first == 0 or members.awaited():
                    return
                else:  # all start again from where they were: word of the earliest start may still be on its way
                    settled = settled or now
                    if now - settled > SETTLE:
                        return
                if now - began > self.gathering or (since_awaited and now - since_awaited > brief):
                    return
                if settled is not None:
                    self.clock.wait_for(self.changed, lambda: False, SETTLE / 4)

    def exchange(self, number: int, outgoing: Mapping[int, Rows], shapes: Shapes) -> Heard:
        members = self.members
        with self.changed:
            members.next = number + 1
            before = {q: link.session for q, link in members.links.items() if link.agreed}
            frames = members.answer()
            if self.clock.now() - self._announced > AGAIN:
                frames += members.announce()
                self._announced = self.clock.now()
            awaited = [q for q in shapes if members.links[q].counts(number)]
        self._send(frames)
        for q in awaited:
            rows = outgoing[q]
            if self._put(Frame(Kind.ROWS, members.run, members.session, self.me, q, number, rows=rows)):
                self.meter.frames += 1
                self.meter.bytes += rows.nbytes
        silent = self._wait(number, awaited)
        with self.changed:
            heard, answers = self._collect(number, awaited, silent, outgoing, shapes)
            members.settle(number)
            self._tell_changes(before, number, set(awaited) - heard.keys(), silent)
        self._send(answers)
        return heard

    def _collect(
        self, number: int, awaited: list[int], silent: set[int], outgoing: Mapping[int, Rows], shapes: Shapes
    ) -> tuple[Heard, list[Frame]]:
        """The rows that can be used, and what to tell the neighbours whose rows cannot."""
        members, heard, answers = self.members, {}, []
        for q in awaited:
            link = members.links[q]
            if number in link.skipped:
                self.tell(q, number, "not used by it")
            elif q in silent:
                answers.append(members.drop(q, number))
                self.tell(q, number, "late")
            elif link.counts(number):
                rows = link.inbox[number].rows
                assert rows is not None
                why = why_unusable(rows, shapes[q], outgoing[q].dtype)
                if why is None:
                    heard[q], link.used = rows, number
                else:
                    answers.append(self._unused(q, number, why))
        return heard, answers

    def _wait(self, number: int, awaited: list[int]) -> set[int]:
        """Wait until all rows are here. Returns the neighbours that sent nothing for `patience` seconds, to be given up. A
        process that waits says so from time to time, so that its own neighbours do not take it for dead."""
        members = self.members
        entered = self.clock.now()

        def missing() -> list[int]:
            return [q for q in awaited if members.links[q].counts(number) and number not in members.links[q].inbox]

        while True:
            with self.changed:
                if self.clock.wait_for(self.changed, lambda: not missing(), self.patience / 4):
                    return set()
                now = self.clock.now()
                silent = {q for q in missing() if now - max(entered, self._last_word.get(q, 0.0)) > self.patience}
                if silent and silent == set(missing()):
                    return silent
                live = [q for q, link in members.links.items() if link.agreed and link.alive]
                frames = [members.frame(Kind.WAIT, q, number) for q in live if q not in silent]
            self._send(frames)

    def refuse(self, number: int, neighbour: int, why: str) -> None:
        with self.changed:
            frame = self._unused(neighbour, number, why)
        self._send([frame])

    def close(self) -> None:
        if self.ended:
            return
        members = self.members
        finished = members.next >= members.last or members.last == NEVER
        with self.changed:
            # A process that stops early is dead to the others, and they should know.
            live = [q for q, link in members.links.items() if finished and link.agreed and not link.parted]
            frames = [members.frame(Kind.BYE, q, members.next) for q in live]
        self._send(frames)
        left = [members.links[q] for q in live]
        with self.changed:  # they may still need the last rows
            self.clock.wait_for(self.changed, lambda: all(link.parted or not link.alive for link in left), GOODBYE)
        self.ended = True
        for declared in self._keep:
            with suppress(self._zenoh.ZError):
                declared.undeclare()
        self.session.close()

    def _unused(self, neighbour: int, number: int, why: str) -> Frame:
        self.meter.refuse(why)
        self.tell(neighbour, number, why)
        self.members.links[neighbour].used = -1
        return self.members.frame(Kind.SKIP, neighbour, number)

    def _tell_changes(self, before: Mapping[int, int], number: int, unheard: set[int], silent: set[int]) -> None:
        """Report which links came and went during an exchange."""
        for q, link in self.members.links.items():
            again = link.agreed and before.get(q) != link.session
            if q in before and q not in silent and (again or link.state == State.ABSENT):
                self.tell(q, number + (q not in unheard), "given up by it" if link.alive and not again else "dead")
            if again:
                self.tell(q, link.since, "up")

    def _send(self, frames: Iterable[Frame]) -> None:
        for frame in frames:
            sent = self._put(frame)
            with self.changed:  # two threads send
                self.meter.control += sent

    def _put(self, frame: Frame) -> bool:
        """Hand a frame to Zenoh; True if it took it. That the receiver is gone is noticed elsewhere."""
        try:
            where, block = f"{self._root}/to/{frame.receiver}/{self.me}", self._zenoh.CongestionControl.BLOCK
            self.session.put(where, frame.encode(), congestion_control=block, express=True)
        except (self._zenoh.ZError, struct.error):
            return False
        return True

    def _arrived(self, sample: Any) -> None:
        """Called by a thread of Zenoh with anything that anyone sent: nothing here may raise."""
        most = MOST if self.largest is None else self.largest + OVERHEAD
        try:
            frame = decode(sample.payload.to_bytes(), self.members.run, most)
            if str(sample.key_expr).rsplit("/", 1)[-1] != str(frame.sender):
                raise FrameError("another sender")
            with self.changed:
                answers, why = self.members.receive(frame)
                if why is not None:
                    raise FrameError(why)
                # A neighbour that waits in this exchange or a later one has sent its rows for this one: that it is alive is
                # then no reason to wait for rows that are missing.
                if frame.kind != Kind.WAIT or frame.exchange < self.members.next - 1:
                    self._last_word[frame.sender] = self.clock.now()
                self.changed.notify_all()
            self._send(answers)
        except Exception as error:
            known = isinstance(error, FrameError)
            if not known:
                logger.exception("process %d: a frame could not be handled", self.me)
            with self.changed:
                self.meter.refuse(str(error) if known else type(error).__name__)

    def _token(self, sample: Any) -> None:
        name = str(sample.key_expr).rsplit("/", 1)[-1]
        with self.changed:
            for neighbour in self.neighbours:
                if str(neighbour) == name:
                    self.members.token(neighbour, sample.kind == self._zenoh.SampleKind.PUT)
            self.changed.notify_all()
