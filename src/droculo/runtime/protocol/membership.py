"""Who counts from when: the rules by which two ends of a link come to agree, without a socket or a clock in them.

A link counts from the exchange that both ends know from a WELCOME, until one of them drops it. Whoever has not begun yet
sends JOIN; a running process answers WELCOME with the next exchange that it has not begun, and waits for the newcomer from
there on. So a restarted process rejoins where the others are, and both know where that is. Two that have both not begun agree
on the earlier of their starts, if both can go back to it. Two that have both begun (after the network between them was cut, or
one of them hung) leave a margin; whoever turns out to be past it names its own next exchange, and waits there.

An end that gives a neighbour up (dead, silent) says DROP with the first exchange that does not count; one that cannot use
what it heard says SKIP for that exchange. Neither costs anything while all goes well. The window that remains: the other end
may have counted that exchange before DROP or SKIP arrives, which takes one flight of a message; it is then told, and counts a
surprise.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from droculo.runtime.protocol.frames import Frame, Kind
from droculo.runtime.transports.base import NEVER

#: blocks that two running processes leave themselves to agree on where a link begins again
MARGIN = 8
#: frames that are kept of one neighbour; it cannot pass an exchange without us, so an honest one has one or two
MOST_KEPT = 8
#: and of a life of it with which nothing is agreed yet
MOST_UNKNOWN = 2


@dataclass
class Link:
    """One neighbour, as this end sees it."""

    alive: bool = False  # its token is there
    since: int | None = None  # the link counts from this exchange on; None: not at all
    until: int = NEVER  # and no longer from this one on
    session: int = 0  # the neighbour's life that it was agreed with
    begun: bool = False  # it was running when that was agreed
    parted: bool = False  # it said BYE
    inbox: dict[int, Frame] = field(default_factory=dict)
    skipped: set[int] = field(default_factory=set)  # exchanges that the other end could not use

    def counts(self, exchange: int) -> bool:
        """Whether both ends mean the link to count in this exchange, as far as this end knows."""
        return self.since is not None and self.since <= exchange < self.until and exchange not in self.skipped

    def agree(self, exchange: int, session: int, begun: bool) -> None:
        """The link counts from here on, with this life of the neighbour."""
        self.since, self.until, self.session, self.begun, self.parted = exchange, NEVER, session, begun, False
        self.inbox = {e: frame for e, frame in self.inbox.items() if e >= exchange and frame.session == session}
        self.skipped.clear()

    def end(self) -> None:
        self.since, self.until = None, NEVER
        self.inbox.clear()


class Membership:
    """The links of one process. Give it what arrives, send what it returns."""

    def __init__(self, me: int, neighbours: tuple[int, ...], run: bytes, session: int):
        self.me = me
        self.run = run
        self.session = session
        self.links = {q: Link() for q in neighbours}
        self.meeting = False  # before that nobody is answered: where this process begins is not known
        self.begun = False
        self.first = 0  # where this process would begin
        self.oldest = 0  # how far it can go back
        self.last = NEVER  # the exchange after the last
        self.next = 0  # the first exchange that it has not begun
        self.every = 1  # exchanges in a block: links begin with a block
        self.done: dict[int, int] = {}  # neighbour -> the last exchange in which its link counted here
        self.asked: dict[int, Frame] = {}  # JOINs of running processes, for the next exchange to answer
        self.surprises = 0  # exchanges that counted here, and not there

    def meet(self, first: int, every: int, oldest: int, last: int) -> None:
        """From now on others are answered."""
        self.first = self.next = first
        self.every, self.oldest, self.last, self.meeting = every, oldest, last, True

    def frame(self, kind: Kind, receiver: int, exchange: int, further: int = 0) -> Frame:
        return Frame(kind, self.run, self.session, self.me, receiver, exchange, further)

    def announce(self) -> list[Frame]:
        """A JOIN to every neighbour that is there and with which nothing is agreed yet. It may get lost: say it again."""
        start, further = (self.next, 1) if self.begun else (self.first, self.oldest << 1)
        return [
            self.frame(Kind.JOIN, q, start, further)
            for q, link in self.links.items()
            if link.alive and link.since is None and not link.parted and (not self.begun or self.me < q)
        ]

    def lower(self) -> list[Frame]:
        """Before the start: if a neighbour begins earlier than we would, so do we, and tell the others."""
        agreed = [link.since for link in self.links.values() if link.since is not None]
        low = max(self.oldest, min(agreed, default=self.first))
        if self.begun or self.awaited() or low >= self.first:
            return []
        self.first = self.next = low
        return [self.frame(Kind.JOIN, q, low, self.oldest << 1) for q, link in self.links.items() if link.alive]

    def ready(self) -> bool:
        """Whether there is nobody left to wait for before the first exchange."""
        return all(link.since is not None for link in self.links.values())

    def awaited(self) -> bool:
        """Whether somebody is running already, and waits for us."""
        return any(link.since is not None and link.begun for link in self.links.values())

    def begin(self) -> int:
        """Begin, with the earliest exchange from which on a link counts; alone, where one would begin oneself."""
        agreed = [link.since for link in self.links.values() if link.since is not None]
        self.begun = True
        self.next = max(self.oldest, min(agreed)) if agreed else self.first
        return self.next

    def token(self, neighbour: int, alive: bool) -> bool:
        """A neighbour's sign of life came or went; whether a link was lost by it."""
        link = self.links[neighbour]
        link.alive = alive
        if alive:
            return False
        lost = link.since is not None and not link.parted
        if lost:  # what it sent before it died may be used; nothing after that is waited for
            sent = [e for e in link.inbox if link.counts(e)]
            link.until = min(link.until, max(sent, default=self.next - 2) + 1, self.next)
        return lost

    def receive(self, frame: Frame) -> tuple[list[Frame], str | None]:
        """What to answer to a frame, and why it is not used, if it is not."""
        link = self.links.get(frame.sender)
        if link is None or frame.receiver != self.me:
            return [], "not a neighbour"
        if frame.exchange > self.last:
            return [], "wrong round"
        if frame.kind == Kind.ROWS:
            return [], self._rows(link, frame)
        if frame.kind in (Kind.JOIN, Kind.WELCOME):
            if not self.meeting:
                return [], None  # it will be said again
            answer = self._join if frame.kind == Kind.JOIN else self._welcome
            return answer(link, frame)
        if frame.session != link.session:
            return [], "another life"
        if frame.kind == Kind.DROP:
            self.surprises += max(0, self.done.get(frame.sender, -1) - frame.exchange + 1)
            link.until = min(link.until, frame.exchange)
        elif frame.kind == Kind.SKIP:
            if self.done.get(frame.sender, -1) >= frame.exchange and frame.exchange not in link.skipped:
                self.surprises += 1
            link.skipped = {e for e in link.skipped | {frame.exchange} if e >= self.next - MOST_KEPT}
        elif frame.kind == Kind.BYE:
            link.parted, link.until = True, min(link.until, frame.exchange)
        return [], None

    def drop(self, neighbour: int, exchange: int) -> Frame:
        """Give a neighbour up from this exchange on."""
        self.links[neighbour].end()
        return self.frame(Kind.DROP, neighbour, exchange)

    def settle(self, exchange: int) -> None:
        """After an exchange: links that ended are over, and may be agreed on anew."""
        for link in self.links.values():
            if link.until <= exchange + 1:
                link.end()
            else:
                link.inbox = {e: frame for e, frame in link.inbox.items() if e > exchange}

    def answer(self) -> list[Frame]:
        """What to say to running processes that want to join again; at the start of an exchange."""
        answers = []
        for q, frame in self.asked.items():
            link = self.links[q]
            if link.since is None:
                since = self._next_block(max(self.next, frame.exchange) + MARGIN * self.every)
                link.agree(since, frame.session, begun=True)
            answers.append(self._welcoming(q, link.since or 0))
        self.asked.clear()
        return answers

    def _rows(self, link: Link, frame: Frame) -> str | None:
        # Rows may overtake the WELCOME that they follow from: a few of an unknown life are kept until it is known.
        known = link.since is not None and link.session == frame.session
        if link.since is not None and not known:
            return "another life"
        if frame.exchange < (self.next - 1 if self.begun else 0):
            return "wrong round"
        if frame.exchange in link.inbox:
            return "twice"
        if len(link.inbox) >= (MOST_KEPT if known else MOST_UNKNOWN):
            return "too many"
        link.inbox[frame.exchange] = frame
        return None

    def _join(self, link: Link, frame: Frame) -> tuple[list[Frame], str | None]:
        if link.since is not None and link.session != frame.session and link.until == NEVER:
            return [], "another life"  # nobody takes the place of a neighbour that is there
        other_begun = bool(frame.further & 1)
        if frame.session == link.session and link.since is not None and (self.begun or other_begun):
            return [self._welcoming(frame.sender, link.since)], None  # it was said again: so was the answer lost
        if other_begun:
            if self.begun:  # answered by the next exchange: who hangs must not promise to be back soon
                self.asked[frame.sender] = frame
            return [], None  # not begun: our own JOIN is on its way, and the other end knows best where it is
        if self.begun:
            since = self._next_block(max(self.next, frame.exchange))
        else:
            since = self._both_before(frame.exchange, frame.further >> 1)
        link.alive = True
        link.agree(since, frame.session, begun=False)
        return [self._welcoming(frame.sender, since)], None

    def _both_before(self, first: int, oldest: int) -> int:
        """Where two that have not begun begin: the earlier start, if both can go back to it, else the later one."""
        low = min(self.first, first)
        return low if low >= max(self.oldest, oldest) else max(self.first, first)

    def _welcome(self, link: Link, frame: Frame) -> tuple[list[Frame], str | None]:
        if link.since is not None and link.session != frame.session and link.until == NEVER:
            return [], "another life"
        begun = bool(frame.further & 1)
        if not self.begun or frame.exchange >= self.next:
            fresh = link.since is None or link.session != frame.session or frame.exchange > link.since or not self.begun
            if fresh:
                link.agree(frame.exchange, frame.session, begun)
            return [], None
        if link.since is not None and link.session == frame.session and link.since <= self.next:
            return [], None  # it counts already
        since = self._next_block(self.next)  # past what the other end proposes: it can come here, we cannot go there
        link.agree(since, frame.session, begun)
        return [self._welcoming(frame.sender, since)], None

    def _welcoming(self, neighbour: int, since: int) -> Frame:
        return self.frame(Kind.WELCOME, neighbour, since, int(self.begun))

    def _next_block(self, exchange: int) -> int:
        return -(-exchange // self.every) * self.every
