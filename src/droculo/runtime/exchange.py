"""The host's half of `mix`: pick the rows that neighbours need, exchange them, say which links counted."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from droculo.runtime.partitions import LocalLinks, Partition
from droculo.runtime.transports.base import Transport

#: compiled code calls a wire by its number, so that one program serves all wires of the same shape
_WIRES: WeakValueDictionary[int, NeighbourExchange] = WeakValueDictionary()
_NUMBERS = itertools.count(1)

#: a link that has no business in an exchange: the network has it down, or not at all
IDLE = -1


def called(number: Any) -> NeighbourExchange:
    """The wire of this number."""
    return _WIRES[int(number)]


@dataclass(frozen=True)
class _Route:
    """Which rows travel to and from one neighbour when a set of links is up."""

    send: NDArray[np.int64]  # places in `Partition.agents`
    fill: NDArray[np.int64]  # places in `Partition.elsewhere`


class NeighbourExchange:
    """A process' links at work, and the meter of its agents. An error does not travel through compiled code: it is kept in
    `error`, nothing more is exchanged, and the driver raises it after the block."""

    def __init__(self, place: Partition, transport: Transport):
        self.place = place
        self.transport = transport
        self.error: BaseException | None = None
        self.number = next(_NUMBERS)
        _WIRES[self.number] = self
        self._rehearsing = False
        self._usual: dict[int, dict[int, _Route]] = {}
        self.reset()

    def reset(self) -> None:
        """Forget what was counted, for the next block."""
        self.messages = np.zeros(len(self.place.agents), np.int64)
        self._counts = np.zeros(0, bool)  # the links that counted last
        self.counted: list[NDArray[np.int8]] = []  # for each exchange: which neighbours' links counted

    @contextmanager
    def rehearsal(self) -> Iterator[None]:
        """Meanwhile nothing is sent and nobody is heard: to compile and to warm up."""
        self._rehearsing = True
        yield
        self._rehearsing = False
        self.reset()

    def exchange(
        self, number: int, up: NDArray[np.bool_], mine: NDArray
    ) -> tuple[NDArray, NDArray[np.bool_], NDArray[np.bool_]]:
        """Called from compiled code with the rows of the agents here: those of the agents elsewhere, which of them were
        heard, and which links counted."""
        place = self.place
        part = place.parts[number % len(place.parts)]
        rows = np.zeros((len(place.elsewhere), mine.shape[1]), mine.dtype)
        heard = np.zeros(len(place.elsewhere), bool)
        padded = np.zeros(place.links.weight.shape[1], bool)
        counts = padded[: len(part.ids)]
        counts[:] = up[: len(part.ids)]
        try:
            if self._rehearsing or self.error is not None:
                counts[:] = False
            else:
                self._through(number, part, mine, rows, heard, counts)
        except BaseException as error:  # an interruption from the keyboard too: it ends the block, not the program
            self.error = error
            counts[:] = False
        self._count(part, counts, 1)
        self._counts = counts.copy()
        return rows, heard, padded

    def refuse(self, number: Any, incredible: Any) -> NDArray[np.bool_]:
        """Called from compiled code when rows that were heard cannot be true: which links count after all. All rows of that
        neighbour came in one frame, and none of them counts."""
        place, exchange = self.place, int(number)
        part = place.parts[exchange % len(place.parts)]
        doubted = (part.leads_to >= 0) & np.isin(part.theirs, np.nonzero(np.asarray(incredible))[0])
        liars = np.unique(part.leads_to[doubted & self._counts])
        lost = np.isin(part.leads_to, liars) & self._counts
        for q in liars:
            self.transport.refuse(exchange, place.neighbours[q], "outside the set")
            self.counted[-1][q] = 0
        self._count(part, lost, -1)
        kept = np.ones(place.links.weight.shape[1], bool)
        kept[: len(lost)] = ~lost
        return kept

    def _through(
        self,
        number: int,
        part: LocalLinks,
        mine: NDArray,
        rows: NDArray,
        heard: NDArray[np.bool_],
        counts: NDArray[np.bool_],
    ) -> None:
        """Fill in what was heard; of the links that are up, in `counts`, strike out those that failed."""
        place = self.place
        routes = self._routes(number % len(place.parts), part, counts)
        outgoing = {place.neighbours[q]: mine[route.send] for q, route in routes.items()}
        shapes = {place.neighbours[q]: (len(route.fill), mine.shape[1]) for q, route in routes.items()}
        said = self.transport.exchange(number, outgoing, shapes)
        last = np.full(len(place.neighbours), IDLE, np.int8)
        for q, route in routes.items():
            answer = said.get(place.neighbours[q])
            last[q] = answer is not None
            if answer is not None:
                rows[route.fill] = answer
                heard[route.fill] = True
            else:
                counts &= part.leads_to != q
        self.counted.append(last)

    def _routes(self, which: int, part: LocalLinks, works: NDArray[np.bool_]) -> dict[int, _Route]:
        usual = bool(works.all())
        if usual and which in self._usual:
            return self._usual[which]
        found = {}
        for q in range(len(self.place.neighbours)):
            links = works & (part.leads_to == q)
            if links.any():
                # Sorted by the agents' numbers at both ends, so that sender and receiver mean the same rows.
                found[q] = _Route(np.unique(part.ours[links]), np.unique(part.theirs[links]))
        if usual:
            self._usual[which] = found
        return found

    def _count(self, part: LocalLinks, links: NDArray[np.bool_], sign: int) -> None:
        """A message for every link that counted, at every end that lives here."""
        ends = part.ours[links]
        inside = part.leads_to < 0
        if inside.any():
            ends = np.concatenate([ends, part.theirs[links & inside]])
        self.messages += sign * np.bincount(ends, minlength=len(self.messages))
