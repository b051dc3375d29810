"""The states of a link, and the table that says how events change them. Data only: `Membership` carries it out.

A rule applies in its states to its event, if its condition holds. Of the rules that apply, the first counts. The diagram and
the table of docs/processes.md are drawn from here, and a test walks all states, events and facts.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from droculo.runtime.protocol.frames import Kind


class State(Enum):
    """What this end knows of a link to a neighbour."""

    ABSENT = "nothing is agreed"
    AGREED = "the link counts from an agreed exchange on"
    ENDING = "agreed, and the exchange from which on the link no longer counts is known"
    LEAVING = "agreed, and the neighbour has finished"
    PARTED = "nothing is agreed, and the neighbour has finished"


class Event(Enum):
    """What can happen to a link: a frame of one of the kinds arrives, or something happens at this end."""

    ROWS = "ROWS"
    JOIN = "JOIN"
    WELCOME = "WELCOME"
    DROP = "DROP"
    SKIP = "SKIP"
    BYE = "BYE"
    WAIT = "WAIT"
    LOST = "dead"  # the neighbour's sign of life is gone
    GIVEN_UP = "given up"  # this end gives the neighbour up
    ENDED = "last exchange over"  # the last exchange that counts is over
    ANSWERED = "question answered"  # this end begins an exchange, and answers the JOIN that it kept


class Facts(NamedTuple):
    """What conditions look at: the frame, and where this process is."""

    meeting: bool = True  # this process knows where it would begin
    begun: bool = True  # this process is past its start
    same_life: bool = True  # the sender is the life of the neighbour that the link was last agreed with
    sender_begun: bool = False  # the sender is past its start
    past: bool = False  # this process has begun the exchange that the frame names, or a later one
    counting: bool = False  # the agreed exchange is no later than this process's next one
    later: bool = False  # the frame names a later exchange than the agreed one
    outdated: bool = False  # the frame's exchange is over
    known: bool = False  # rows of this exchange are there already
    full: bool = False  # as many rows are kept as are allowed


class Action(Enum):
    """What this end does besides changing the state and replying."""

    NOTHING = ""
    KEEP_ROWS = "keep the rows for their exchange"
    KEEP_QUESTION = "answer at the start of the next exchange"
    AGREE_WITH_NEWCOMER = "agree on the next block that both can begin"
    AGREE_AS_NAMED = "agree on the exchange that it names"
    AGREE_ON_OURS = "agree on this end's next block"
    AGREE_WITH_MARGIN = "agree on a block a few blocks ahead"
    END_AS_NAMED = "the link no longer counts from the exchange that it names"
    END_AFTER_INBOX = "the link no longer counts after what has arrived"
    MARK_UNUSED = "the link does not count in the exchange that it names"
    FORGET = "forget the agreement"


class Rule(NamedTuple):
    """A line of the table. `becomes` None leaves the state as it is; `refusal` says why the frame is not used."""

    event: Event
    states: tuple[State, ...]
    when: str  # one of `CONDITIONS`
    does: Action
    becomes: State | None = None
    reply: Kind | None = None
    refusal: str | None = None


#: conditions by what they say; "" always holds
CONDITIONS: dict[str, Callable[[Facts], bool]] = {
    "": lambda facts: True,
    "this process does not know yet where it begins": lambda facts: not facts.meeting,
    "it comes from another life of the neighbour": lambda facts: not facts.same_life,
    "it comes from the agreed life, and one end has begun": (
        lambda facts: facts.same_life and (facts.begun or facts.sender_begun)
    ),
    "both ends have begun": lambda facts: facts.begun and facts.sender_begun,
    "only the sender has begun": lambda facts: facts.sender_begun and not facts.begun,
    "this end is past the named exchange, and its link counts already": (
        lambda facts: facts.past and facts.same_life and facts.counting
    ),
    "this end is past the named exchange": lambda facts: facts.past,
    "it comes from the agreed life, this end has begun, and the named exchange is not later": (
        lambda facts: facts.same_life and facts.begun and not facts.later
    ),
    "their exchange is over": lambda facts: facts.outdated,
    "there are rows of their exchange": lambda facts: facts.known,
    "too many rows wait": lambda facts: facts.full,
}

LINKED = (State.AGREED, State.ENDING, State.LEAVING)
EVERY = tuple(State)
_OTHER_LIFE = "it comes from another life of the neighbour"
_UNREADY = "this process does not know yet where it begins"


def _stranger(event: Event, states: tuple[State, ...]) -> Rule:
    return Rule(event, states, _OTHER_LIFE, Action.NOTHING, refusal="another life")


TABLE: tuple[Rule, ...] = (
    # Rows may overtake the WELCOME that they follow from: a few of an unknown life are kept until it is known.
    _stranger(Event.ROWS, LINKED),
    Rule(Event.ROWS, EVERY, "their exchange is over", Action.NOTHING, refusal="wrong round"),
    Rule(Event.ROWS, EVERY, "there are rows of their exchange", Action.NOTHING, refusal="twice"),
    Rule(Event.ROWS, EVERY, "too many rows wait", Action.NOTHING, refusal="too many"),
    Rule(Event.ROWS, EVERY, "", Action.KEEP_ROWS),
    # A JOIN before this process knows where it begins is sent again later.
    Rule(Event.JOIN, EVERY, _UNREADY, Action.NOTHING),
    _stranger(Event.JOIN, (State.AGREED,)),  # no other process takes the place of a neighbour that is there
    # The answer was lost.
    Rule(Event.JOIN, LINKED, "it comes from the agreed life, and one end has begun", Action.NOTHING, reply=Kind.WELCOME),
    # Answered only at our next exchange, so that a stalled process cannot commit to a start.
    Rule(Event.JOIN, EVERY, "both ends have begun", Action.KEEP_QUESTION),
    # Our own JOIN is on its way, and the other end knows best where it is.
    Rule(Event.JOIN, EVERY, "only the sender has begun", Action.NOTHING),
    Rule(Event.JOIN, EVERY, "", Action.AGREE_WITH_NEWCOMER, becomes=State.AGREED, reply=Kind.WELCOME),
    Rule(Event.WELCOME, EVERY, _UNREADY, Action.NOTHING),
    _stranger(Event.WELCOME, (State.AGREED,)),
    Rule(Event.WELCOME, LINKED, "this end is past the named exchange, and its link counts already", Action.NOTHING),
    # The other end can come to where this end is, and this end cannot go back.
    Rule(
        Event.WELCOME, EVERY, "this end is past the named exchange", Action.AGREE_ON_OURS,
        becomes=State.AGREED, reply=Kind.WELCOME,
    ),
    Rule(
        Event.WELCOME, LINKED,
        "it comes from the agreed life, this end has begun, and the named exchange is not later", Action.NOTHING,
    ),
    Rule(Event.WELCOME, EVERY, "", Action.AGREE_AS_NAMED, becomes=State.AGREED),
    _stranger(Event.DROP, EVERY),
    Rule(Event.DROP, (State.AGREED, State.ENDING), "", Action.END_AS_NAMED, becomes=State.ENDING),
    Rule(Event.DROP, EVERY, "", Action.END_AS_NAMED),
    _stranger(Event.SKIP, EVERY),
    Rule(Event.SKIP, EVERY, "", Action.MARK_UNUSED),
    _stranger(Event.BYE, EVERY),
    Rule(Event.BYE, LINKED, "", Action.END_AS_NAMED, becomes=State.LEAVING),
    Rule(Event.BYE, EVERY, "", Action.END_AS_NAMED, becomes=State.PARTED),
    _stranger(Event.WAIT, EVERY),
    Rule(Event.WAIT, EVERY, "", Action.NOTHING),
    # What a neighbour sent before it died may be used; later rows are not waited for.
    Rule(Event.LOST, (State.AGREED, State.ENDING), "", Action.END_AFTER_INBOX, becomes=State.ENDING),
    Rule(Event.LOST, EVERY, "", Action.NOTHING),
    Rule(Event.GIVEN_UP, (State.LEAVING, State.PARTED), "", Action.FORGET, becomes=State.PARTED, reply=Kind.DROP),
    Rule(Event.GIVEN_UP, EVERY, "", Action.FORGET, becomes=State.ABSENT, reply=Kind.DROP),
    Rule(Event.ENDED, (State.LEAVING, State.PARTED), "", Action.FORGET, becomes=State.PARTED),
    Rule(Event.ENDED, (State.ENDING, State.ABSENT), "", Action.FORGET, becomes=State.ABSENT),
    Rule(Event.ENDED, EVERY, "", Action.NOTHING),
    Rule(Event.ANSWERED, LINKED, "", Action.NOTHING, reply=Kind.WELCOME),
    Rule(Event.ANSWERED, EVERY, "", Action.AGREE_WITH_MARGIN, becomes=State.AGREED, reply=Kind.WELCOME),
)  # fmt: skip

#: the rules of a state and an event, in order
_RULES = {
    (state, event): tuple(rule for rule in TABLE if rule.event == event and state in rule.states)
    for state in State
    for event in Event
}


def rule_for(state: State, event: Event, facts: Facts) -> Rule:
    """The rule that applies.

    >>> rule_for(State.AGREED, Event.BYE, Facts()).becomes
    <State.LEAVING: 'agreed, and the neighbour has finished'>
    """
    return next(rule for rule in _RULES[state, event] if CONDITIONS[rule.when](facts))
