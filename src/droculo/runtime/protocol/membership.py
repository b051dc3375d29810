"""The rules by which two ends of a link agree on when it counts, without sockets and without a clock.

A link counts from the exchange that both ends know from a WELCOME, until one of them drops it. A process that has not begun
sends JOIN; a running process answers WELCOME with the next exchange that it has not begun, and waits for the newcomer from
there on. So a restarted process rejoins where the others are, and both know where that is. Two that have both not begun agree
on the earlier of their starts, if both can go back to it. Two that have both begun (after the network between them was cut, or
one of them stalled) leave a margin; the one that turns out to be past it names its own next exchange, and waits there.

An end that gives a neighbour up (dead, silent) says DROP with the first exchange that does not count; one that cannot use
what it received says SKIP for that exchange. Neither costs anything while all goes well. The window that remains: the other
end may have counted that exchange before DROP or SKIP arrives, which takes one flight of a message; it is then told, and
counts a one-sided exchange. The states of a link and all rules are the table in `transitions`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from droculo.runtime.protocol.frames import Frame, Kind
from droculo.runtime.protocol.transitions import LINKED, Action, Event, Facts, Rule, State, rule_for
from droculo.runtime.transports.base import NEVER

#: blocks that two running processes leave themselves to agree on where a link begins again
MARGIN = 8
#: frames that are kept of one neighbour; it cannot pass an exchange without us, so an honest one has one or two
MOST_KEPT = 8
#: frames that are kept of a life of a neighbour with which nothing is agreed yet
MOST_UNKNOWN = 2


@dataclass
class Link:
    """One neighbour, as this end sees it."""

    state: State = State.ABSENT
    since: int = 0  # while agreed: the link counts from this exchange on,
    until: int = NEVER  # and no longer from this one on
    session: int = 0  # the life of the neighbour that this was last agreed with
    was_running: bool = False  # the neighbour had begun when this was agreed
    alive: bool = False  # its sign of life is there
    used: int = -1  # the last exchange whose rows were used here
    question: Frame | None = None  # the JOIN of a running process, for the next exchange to answer
    inbox: dict[int, Frame] = field(default_factory=dict)
    skipped: set[int] = field(default_factory=set)  # exchanges that the other end could not use

    @property
    def agreed(self) -> bool:
        """True if there is an exchange from which on the link counts or has counted."""
        return self.state in LINKED

    @property
    def parted(self) -> bool:
        """True if the neighbour has finished."""
        return self.state in (State.LEAVING, State.PARTED)

    def counts(self, exchange: int) -> bool:
        """True if both ends mean the link to count in this exchange, as far as this end knows."""
        return self.agreed and self.since <= exchange < self.until and exchange not in self.skipped

    def agree(self, exchange: int, session: int, was_running: bool) -> None:
        """The link counts from here on, with this life of the neighbour."""
        self.since, self.until, self.session, self.was_running = exchange, NEVER, session, was_running
        self.inbox = {e: frame for e, frame in self.inbox.items() if e >= exchange and frame.session == session}
        self.skipped.clear()

    def forget(self) -> None:
        """Nothing is agreed any more."""
        self.until = NEVER
        self.inbox.clear()


class Membership:
    """The links of one process. Pass it what arrives, and send what it returns."""

    def __init__(self, me: int, neighbours: tuple[int, ...], run: bytes, session: int):
        self.me = me
        self.run = run
        self.session = session
        self.links = {q: Link() for q in neighbours}
        self.meeting = False  # before that no JOIN is answered: where this process begins is not known
        self.begun = False
        self.first = 0  # where this process would begin
        self.oldest = 0  # how far it can go back
        self.last = NEVER  # the exchange after the last
        self.next = 0  # the first exchange that it has not begun
        self.every = 1  # exchanges in a block: links begin with a block
        self.one_sided = 0  # exchanges that counted here and not at the other end
        #: called with the state and the rule of every transition, for simulations that report which ones they covered
        self.observer: Callable[[State, Rule], None] | None = None
        self._actions: dict[Action, Callable[[Link, Frame], None]] = {
            Action.NOTHING: lambda link, frame: None,
            Action.KEEP_ROWS: lambda link, frame: link.inbox.update({frame.exchange: frame}),
            Action.KEEP_QUESTION: lambda link, frame: setattr(link, "question", frame),
            Action.AGREE_WITH_NEWCOMER: self._agree_with_newcomer,
            Action.AGREE_AS_NAMED: lambda link, frame: link.agree(frame.exchange, frame.session, _begun(frame)),
            Action.AGREE_ON_OURS: lambda link, frame: link.agree(self._block(), frame.session, _begun(frame)),
            Action.AGREE_WITH_MARGIN: self._agree_with_margin,
            Action.END_AS_NAMED: self._end_as_named,
            Action.END_AFTER_INBOX: self._end_after_inbox,
            Action.MARK_UNUSED: self._mark_unused,
            Action.FORGET: lambda link, frame: link.forget(),
        }

    def meet(self, first: int, every: int, oldest: int, last: int) -> None:
        """From now on others are answered."""
        self.first = self.next = first
        self.every, self.oldest, self.last, self.meeting = every, oldest, last, True

    def frame(self, kind: Kind, receiver: int, exchange: int, further: int = 0) -> Frame:
        """A frame of this process."""
        return Frame(kind, self.run, self.session, self.me, receiver, exchange, further)

    def announce(self) -> list[Frame]:
        """A JOIN to every neighbour that is alive and with which nothing is agreed yet. It may get lost: send it again."""
        start, further = (self.next, 1) if self.begun else (self.first, self.oldest << 1)
        return [
            self.frame(Kind.JOIN, q, start, further)
            for q, link in self.links.items()
            if link.alive and link.state == State.ABSENT and (not self.begun or self.me < q)
        ]

    def lower(self) -> list[Frame]:
        """Before the start: if a neighbour begins earlier than we would, so do we, and tell the others."""
        low = max(self.oldest, min(self._agreed(), default=self.first))
        if self.begun or self.awaited() or low >= self.first:
            return []
        self.first = self.next = low
        return [self.frame(Kind.JOIN, q, low, self.oldest << 1) for q, link in self.links.items() if link.alive]

    def ready(self) -> bool:
        """True if no neighbour is left to wait for before the first exchange."""
        return all(link.agreed for link in self.links.values())

    def awaited(self) -> bool:
        """True if a neighbour is running already, and waits for us."""
        return any(link.agreed and link.was_running for link in self.links.values())

    def begin(self) -> int:
        """Begin, with the earliest exchange from which on a link counts; without links, where this process would begin."""
        agreed = self._agreed()
        self.begun = True
        self.next = max(self.oldest, min(agreed)) if agreed else self.first
        return self.next

    def token(self, neighbour: int, alive: bool) -> bool:
        """A neighbour's sign of life came or went. Returns True if a link was lost by it."""
        link = self.links[neighbour]
        link.alive = alive
        return not alive and self._happens(link, Event.LOST, neighbour).becomes is State.ENDING

    def receive(self, frame: Frame) -> tuple[list[Frame], str | None]:
        """The answers to a frame, and the reason if it is not used."""
        link = self.links.get(frame.sender)
        if link is None or frame.receiver != self.me:
            return [], "not a neighbour"
        if frame.exchange > self.last:
            return [], "wrong round"
        rule = self._happens(link, Event[frame.kind.name], frame.sender, frame)
        return [] if rule.reply is None else [self._welcome(frame.sender)], rule.refusal

    def drop(self, neighbour: int, exchange: int) -> Frame:
        """Give a neighbour up from this exchange on."""
        self._happens(self.links[neighbour], Event.GIVEN_UP, neighbour)
        return self.frame(Kind.DROP, neighbour, exchange)

    def settle(self, exchange: int) -> None:
        """After an exchange: links that ended are over, and may be agreed on again."""
        for neighbour, link in self.links.items():
            if link.until <= exchange + 1:
                self._happens(link, Event.ENDED, neighbour)
            else:
                link.inbox = {e: frame for e, frame in link.inbox.items() if e > exchange}

    def answer(self) -> list[Frame]:
        """The answers to running processes that want to join again; at the start of an exchange."""
        answers = []
        for neighbour, link in self.links.items():
            if link.question is not None:
                self._happens(link, Event.ANSWERED, neighbour, link.question)
                answers.append(self._welcome(neighbour))
                link.question = None
        return answers

    def _happens(self, link: Link, event: Event, neighbour: int, frame: Frame | None = None) -> Rule:
        """Carry out the rule that applies."""
        told = frame or self.frame(Kind.WAIT, neighbour, self.next)  # what happens at this end comes with no frame
        rule = rule_for(link.state, event, self._facts(link, told))
        if self.observer is not None:
            self.observer(link.state, rule)
        self._actions[rule.does](link, told)
        link.state = rule.becomes or link.state
        return rule

    def _facts(self, link: Link, frame: Frame) -> Facts:
        same = link.session == frame.session
        return Facts(
            meeting=self.meeting,
            begun=self.begun,
            same_life=same,
            sender_begun=_begun(frame),
            past=self.begun and frame.exchange < self.next,
            counting=link.since <= self.next,
            later=frame.exchange > link.since,
            outdated=frame.exchange < (self.next - 1 if self.begun else 0),
            known=frame.exchange in link.inbox,
            full=len(link.inbox) >= (MOST_KEPT if link.agreed and same else MOST_UNKNOWN),
        )

    def _agree_with_newcomer(self, link: Link, frame: Frame) -> None:
        """A running process names its next block. Of two that have not begun, the earlier start is taken if both can go back
        to it, else the later one."""
        if self.begun:
            since = self._block(frame.exchange)
        else:
            low, oldest = min(self.first, frame.exchange), max(self.oldest, frame.further >> 1)
            since = low if low >= oldest else max(self.first, frame.exchange)
        link.alive = True
        link.agree(since, frame.session, was_running=False)

    def _agree_with_margin(self, link: Link, frame: Frame) -> None:
        since = self._block(max(self.next, frame.exchange) + MARGIN * self.every)
        link.agree(since, frame.session, was_running=True)

    def _end_as_named(self, link: Link, frame: Frame) -> None:
        if frame.kind == Kind.DROP:
            self.one_sided += max(0, link.used - frame.exchange + 1)
        link.until = min(link.until, frame.exchange)

    def _end_after_inbox(self, link: Link, frame: Frame) -> None:
        sent = [e for e in link.inbox if link.counts(e)]
        link.until = min(link.until, max(sent, default=self.next - 2) + 1, self.next)

    def _mark_unused(self, link: Link, frame: Frame) -> None:
        if link.used >= frame.exchange and frame.exchange not in link.skipped:
            self.one_sided += 1
        link.skipped = {e for e in link.skipped | {frame.exchange} if e >= self.next - MOST_KEPT}

    def _welcome(self, neighbour: int) -> Frame:
        return self.frame(Kind.WELCOME, neighbour, self.links[neighbour].since, int(self.begun))

    def _agreed(self) -> list[int]:
        return [link.since for link in self.links.values() if link.agreed]

    def _block(self, exchange: int = 0) -> int:
        """The first block that neither this process nor the other has begun."""
        return -(-max(self.next, exchange) // self.every) * self.every


def _begun(frame: Frame) -> bool:
    """True if the sender of a JOIN or WELCOME is past its start."""
    return bool(frame.further & 1)
