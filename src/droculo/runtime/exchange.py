"""The host's half of `mix`: select the rows that neighbours need, exchange them, and report which links counted."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import jax
import numpy as np
from numpy.typing import NDArray

from droculo.algorithms.contract import OracleCalls
from droculo.engine.breaches import Breaches
from droculo.runtime.journal import Entry, Journal
from droculo.runtime.partitions import LocalLinks, Partition
from droculo.runtime.transports.base import Transport

#: compiled code calls an exchange by its handle, a number, so that one program serves all exchanges of the same shape
_EXCHANGES: WeakValueDictionary[int, NeighbourExchange] = WeakValueDictionary()
_HANDLES = itertools.count(1)

#: a link that is not scheduled in this exchange: the network has it down, or does not have it
IDLE = -1
#: why compiled code doubts a row that was received
IMPLAUSIBLE, NOT_FINITE = 1, 2


def exchange_of(handle: Any) -> NeighbourExchange:
    """The exchange with this handle."""
    return _EXCHANGES[int(handle)]


class _Route(NamedTuple):
    """Which rows travel to and from one neighbour when a set of links is up."""

    send: NDArray[np.int64]  # positions in `Partition.agents`
    fill: NDArray[np.int64]  # positions in `Partition.elsewhere`


def _routes(part: LocalLinks, works: NDArray[np.bool_]) -> dict[int, _Route]:
    """The route of every neighbour with a link that works."""
    found = {}
    for q in np.unique(part.leads_to[works & (part.leads_to >= 0)]):
        links = works & (part.leads_to == q)
        # Sorted by the agents' numbers at both ends, so that sender and receiver mean the same rows.
        found[int(q)] = _Route(np.unique(part.ours[links]), np.unique(part.theirs[links]))
    return found


class NeighbourExchange:
    """The links of a process at work, and the meter of its agents. An error does not travel through compiled code: it is kept
    in `error`, nothing more is exchanged, and the driver raises it after the block."""

    def __init__(self, partition: Partition, transport: Transport, journal: Journal):
        self.partition = partition
        self.transport = transport
        self.journal = journal
        transport.listener = journal.link
        self.error: BaseException | None = None
        self.handle = next(_HANDLES)
        _EXCHANGES[self.handle] = self
        self._dry = False
        self._usual = [_routes(part, np.ones(len(part.ids), bool)) for part in partition.parts]
        self.reset()

    def reset(self) -> None:
        """Forget what was counted, for the next block."""
        self.messages = np.zeros(len(self.partition.agents), np.int64)
        self._counts = np.zeros(0, bool)  # the links that counted last
        self.counted: list[NDArray[np.int8]] = []  # for each exchange: which neighbours' links counted

    def finish(self, states: Any) -> list[NDArray]:
        """Wait for what a block came to, and raise the error that an exchange kept, if there is one."""
        leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(states)]
        if self.error is not None:
            raise self.error
        return leaves

    def keep(
        self,
        leaves: list[NDArray],
        block: int,
        rounds: NDArray,
        actions: NDArray,
        decisions: NDArray,
        spent: OracleCalls,
        breaches: Breaches,
        complete: bool = True,
    ) -> None:
        """Write down what was played in a block, what it cost, what its answers broke, and the states after it if it was
        played to its end."""
        broken, first = (np.asarray(part).T for part in (breaches.count, breaches.first))
        costs = np.stack([self.messages, *map(np.asarray, vars(spent).values()), *broken]).astype(np.int64)
        exchanges = self.journal.layout.exchanges
        counted = np.full((exchanges, len(self.partition.neighbours)), IDLE, np.int8)
        counted[: len(self.counted)] = np.reshape(self.counted, (len(self.counted), counted.shape[1]))
        entry = Entry(block, rounds.astype(np.int64), actions, decisions, costs, first, counted)
        self.journal.keep(entry, leaves if complete else None)

    @contextmanager
    def dry_run(self) -> Iterator[None]:
        """Within it nothing is sent or received: to compile without communicating."""
        self._dry = True
        yield
        self._dry = False
        self.reset()

    def exchange(
        self, number: int, up: NDArray[np.bool_], mine: NDArray
    ) -> tuple[NDArray, NDArray[np.bool_], NDArray[np.bool_]]:
        """Called from compiled code with the rows of the agents here. Returns those of the agents elsewhere, which of them
        were received, and which links counted."""
        partition = self.partition
        part = partition.parts[number % len(partition.parts)]
        rows = np.zeros((len(partition.elsewhere), mine.shape[1]), mine.dtype)
        heard, padded = np.zeros(len(rows), bool), np.zeros(partition.links.weight.shape[1], bool)
        counts = padded[: len(part.ids)]
        counts[:] = up[: len(part.ids)]
        try:
            if self._dry or self.error is not None:
                counts[:] = False
            else:
                self._talk(number, part, mine, rows, heard, counts)
        except BaseException as error:  # an interruption from the keyboard too: it ends the block, not the program
            self.error = error
            counts[:] = False
        self._count(part, counts, 1)
        self._counts = counts.copy()
        return rows, heard, padded

    def refuse(self, number: Any, doubts: Any) -> NDArray[np.bool_]:
        """Called from compiled code when received rows cannot be true. Returns which links count after all. All rows of a
        neighbour came in one frame, so none of them counts."""
        exchange, doubts = int(number), np.asarray(doubts)
        part = self.partition.parts[exchange % len(self.partition.parts)]
        kept = np.ones(self.partition.links.weight.shape[1], bool)
        for q, neighbour in enumerate(self.partition.neighbours):
            links = np.nonzero((part.leads_to == q) & self._counts)[0]
            worst = max(doubts[part.theirs[links]], default=0)
            if worst > 0:
                self.transport.refuse(exchange, neighbour, "not finite" if worst == NOT_FINITE else "outside the set")
                self.counted[-1][q] = 0
                kept[links] = False
        self._count(part, ~kept[: len(part.ids)], -1)
        return kept

    def _talk(
        self, number: int, part: LocalLinks, mine: NDArray, rows: NDArray, heard: NDArray, counts: NDArray
    ) -> None:
        """Exchange rows with the neighbours, and clear `counts` for links that failed."""
        neighbours = self.partition.neighbours
        routes = self._usual[number % len(self._usual)] if counts.all() else _routes(part, counts)
        outgoing = {neighbours[q]: mine[route.send] for q, route in routes.items()}
        shapes = {neighbours[q]: (len(route.fill), mine.shape[1]) for q, route in routes.items()}
        answers = self.transport.exchange(number, outgoing, shapes)
        last = np.full(len(neighbours), IDLE, np.int8)
        for q, route in routes.items():
            answer = answers.get(neighbours[q])
            last[q] = answer is not None
            if answer is not None:
                rows[route.fill], heard[route.fill] = answer, True
            else:
                counts[part.leads_to == q] = False
        self.counted.append(last)

    def _count(self, part: LocalLinks, links: NDArray[np.bool_], sign: int) -> None:
        """Count a message for every link that counted, at every end that is an agent here."""
        ends = np.concatenate([part.ours[links], part.theirs[links & (part.leads_to < 0)]])
        self.messages += sign * np.bincount(ends, minlength=len(self.messages))
