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

from droculo.runtime.places import Part, Place
from droculo.runtime.transport import Transport

#: compiled code calls a wire by its number, so that one program serves all wires of the same shape
_WIRES: WeakValueDictionary[int, Wire] = WeakValueDictionary()
_NUMBERS = itertools.count(1)

#: a link that has no business in an exchange: the network has it down, or not at all
IDLE = -1


def called(number: Any) -> Wire:
    """The wire of this number."""
    return _WIRES[int(number)]


@dataclass(frozen=True)
class _Route:
    """Which rows travel to and from one neighbour when a set of links is up."""

    send: NDArray[np.int64]  # places in `Place.agents`
    fill: NDArray[np.int64]  # places in `Place.elsewhere`


class Wire:
    """A process' links at work, and the meter of its agents. An error does not travel through compiled code: it is kept in
    `error`, nothing more is exchanged, and the driver raises it after the block."""

    def __init__(self, place: Place, transport: Transport):
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
        place, dtype = self.place, mine.dtype
        part = place.parts[number % len(place.parts)]
        rows = np.zeros((len(place.elsewhere), mine.shape[1]), dtype)
        heard = np.zeros(len(place.elsewhere), bool)
        works = up[: len(part.ids)]
        counts = works.copy()
        try:
            if self._rehearsing:
                counts[:] = False
            elif self.error is None:
                self._through(number, part, works, mine, rows, heard, counts)
        except (
            BaseException
        ) as error:  # an interruption from the keyboard too: it ends the block, not the compiled program
            self.error = error
            counts[:] = False
        self._count(part, counts, 1)
        return rows, heard, np.pad(counts, (0, place.links.weight.shape[1] - len(counts)))

    def refuse(self, number: Any, incredible: Any) -> NDArray[np.bool_]:
        """Called from compiled code when rows that were heard cannot be true: which links count after all."""
        place, exchange = self.place, int(number)
        part = place.parts[exchange % len(place.parts)]
        last = self.counted[-1]
        far = part.leads_to >= 0
        counts = np.where(far, last[part.leads_to] == 1, True) if len(last) else np.ones(len(part.ids), bool)
        liars = np.unique(part.leads_to[far & np.isin(part.theirs, np.nonzero(np.asarray(incredible))[0])])
        lost = np.isin(part.leads_to, liars) & counts
        for q in liars:
            if last[q] == 1:
                self.transport.refuse(exchange, place.neighbours[q], "outside the set")
                last[q] = 0
        self._count(part, lost, -1)
        return np.pad(~lost, (0, place.links.weight.shape[1] - len(lost)), constant_values=True)

    def _through(
        self,
        number: int,
        part: Part,
        works: NDArray[np.bool_],
        mine: NDArray,
        rows: NDArray,
        heard: NDArray[np.bool_],
        counts: NDArray[np.bool_],
    ) -> None:
        place = self.place
        routes = self._routes(number % len(place.parts), part, works)
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

    def _routes(self, which: int, part: Part, works: NDArray[np.bool_]) -> dict[int, _Route]:
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

    def _count(self, part: Part, links: NDArray[np.bool_], sign: int) -> None:
        """A message for every link that counted, at every end that lives here."""
        inside = part.leads_to < 0
        ends = np.concatenate([part.ours[links], part.theirs[links & inside]])
        self.messages += sign * np.bincount(ends, minlength=len(self.messages))
