"""Who counts from when: the rules by which two ends of a link come to agree, without a socket or a clock in them.

A link counts from the exchange that both ends know from a WELCOME, until one of them drops it. Whoever has not begun yet
sends JOIN; the other end answers WELCOME with the next exchange that it has not begun, and waits for the newcomer from there
on. So a restarted process rejoins where the others are, and both know where that is. Two processes that have both begun (after
the network between them was cut) go the same way, with a margin, and the one with the lower number asks.

An end that gives a neighbour up (dead, too late) says DROP with the first exchange that does not count; one that cannot use
what it heard says SKIP for that exchange. Neither costs anything while all goes well. The window that remains: the other end
may have counted that exchange before DROP or SKIP arrives, which takes one flight of a message; it is then told, and counts a
disagreement.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from droculo.runtime.frames import Frame, Kind

#: exchanges that two running processes leave themselves to agree on where a link begins again
MARGIN = 8
#: after every exchange that there will ever be
NEVER = 1 << 62
#: a neighbour can be one exchange ahead; rows for exchanges further ahead than this are not kept
WINDOW = 4


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
        self.begun = False
        self.first = 0  # where this process would begin
        self.next = 0  # the first exchange that it has not begun
        self.every = 1  # exchanges in a block: links begin with a block
        self.done: dict[int, int] = {}  # neighbour -> the last exchange in which its link counted here
        self.asked: dict[int, Frame] = {}  # JOINs of running processes, for the next exchange to answer
        self.surprises = 0  # exchanges that counted here, and not there

    def frame(self, kind: Kind, receiver: int, exchange: int, further: int = 0) -> Frame:
        return Frame(kind, self.run, self.session, self.me, receiver, exchange, further)

    def announce(self) -> list[Frame]:
        """A JOIN to every neighbour that is there and with which nothing is agreed yet. It may get lost: say it again."""
        return [
            self.frame(Kind.JOIN, q, self.next if self.begun else self.first, int(self.begun))
            for q, link in self.links.items()
            if link.alive and link.since is None and not link.parted and (not self.begun or self.me < q)
        ]

    def ready(self) -> bool:
        """Whether there is nobody left to wait for before the first exchange."""
        agreed = [link for link in self.links.values() if link.since is not None]
        if any(
            link.begun for link in agreed
        ):  # others are running, and wait for us: do not wait for those who are not there
            return all(link.since is not None for link in self.links.values() if link.alive)
        return len(agreed) == len(self.links)

    def begin(self) -> int:
        """Begin, with the earliest exchange from which on a link counts; alone, where one would begin oneself."""
        agreed = [link.since for link in self.links.values() if link.since is not None]
        self.begun = True
        self.next = max(self.first, min(agreed)) if agreed else self.first
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
        if frame.kind == Kind.ROWS:
            return [], self._rows(link, frame)
        if frame.kind == Kind.JOIN:
            return self._join(link, frame), None
        if frame.kind == Kind.WELCOME:
            return self._welcome(link, frame), None
        if frame.session != link.session:
            return [], "another life"
        if frame.kind == Kind.DROP:
            self._surprise(frame.sender, frame.exchange)
            link.until = min(link.until, frame.exchange)
        elif frame.kind == Kind.SKIP:
            if self.done.get(frame.sender, -1) >= frame.exchange and frame.exchange not in link.skipped:
                self.surprises += 1
            link.skipped.add(frame.exchange)
            link.skipped = {e for e in link.skipped if e >= self.next - WINDOW}
        else:
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

    def _rows(self, link: Link, frame: Frame) -> str | None:
        # Rows may overtake the WELCOME that they follow from: those of an unknown life are kept until it is known.
        if link.since is not None and frame.session != link.session:
            return "another life"
        if frame.exchange < (self.next - 1 if self.begun else 0):
            return "wrong round"
        if self.begun and frame.exchange > self.next + WINDOW:
            return "wrong round"
        if frame.exchange in link.inbox:
            return "twice"
        if len(link.inbox) > 2 * WINDOW:
            return "too many"
        link.inbox[frame.exchange] = frame
        return None

    def _join(self, link: Link, frame: Frame) -> list[Frame]:
        other_begun = bool(frame.further)
        if frame.session == link.session and link.since is not None:
            return [self._welcoming(frame.sender, link.since)]  # it was said again: so was the answer lost
        if other_begun and not self.begun:
            return []  # our own JOIN is on its way, and the other end knows best where it is
        if other_begun:  # answered by the next exchange: who hangs must not promise to be back soon
            self.asked[frame.sender] = frame
            return []
        link.alive = True
        since = max(self.first, frame.exchange) if not self.begun else self._next_block(max(self.next, frame.exchange))
        link.agree(since, frame.session, begun=False)
        return [self._welcoming(frame.sender, since)]

    def answer(self) -> list[Frame]:
        """What to say to running processes that want to join again; at the start of an exchange."""
        answers = []
        for q, frame in self.asked.items():
            link = self.links[q]
            if link.since is None:
                link.agree(
                    self._next_block(max(self.next, frame.exchange) + MARGIN * self.every), frame.session, begun=True
                )
            answers.append(self._welcoming(q, link.since or 0))
        self.asked.clear()
        return answers

    def _welcoming(self, neighbour: int, since: int) -> Frame:
        return self.frame(Kind.WELCOME, neighbour, since, int(self.begun))

    def _welcome(self, link: Link, frame: Frame) -> list[Frame]:
        if self.begun and frame.exchange < self.next:
            if link.since is not None:
                return []  # agreed meanwhile, by an answer of ours
            return [self.frame(Kind.JOIN, frame.sender, self.next, 1)]
        if not (self.begun and link.since is not None and link.session == frame.session):
            link.agree(frame.exchange, frame.session, begun=bool(frame.further))
        return []

    def _next_block(self, exchange: int) -> int:
        return -(-exchange // self.every) * self.every

    def _surprise(self, neighbour: int, exchange: int) -> None:
        last = self.done.get(neighbour, -1)
        self.surprises += max(0, last - exchange + 1)
