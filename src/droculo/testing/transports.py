"""The check of a transport: `check_transport`, called by every process of a small network at once."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from droculo.runtime import Transport
from droculo.testing.points import need

#: exchanges in a block, as the check pretends
EVERY = 3


def check_transport(transport: Transport, *, exchanges: int = 12, large: int = 20_000) -> None:
    """Raise an AssertionError that says which part of the contract of `Transport` does not hold, and close the transport.

    Every process of the network (threads, ranks of a job, or programs on several hosts) calls it with its own transport,
    all at about the same time, and checks for itself: what travels is known at both ends. `large`: most numbers in a message.
    """
    me, neighbours = transport.me, transport.neighbours
    first = transport.meet(0, EVERY)
    need(first == 0, f"meet(0, {EVERY}) of processes that begin together must return 0; got {first}.")
    frames = size = 0
    for number in range(exchanges):
        dtype = np.float32 if number % 4 == 3 else np.float64
        # Links take turns to be idle, so that an exchange with some neighbours only is tried too.
        using = [q for q in neighbours if (me + q + number) % 3 or number % 2]
        rows = large if number == 1 else 1 + number % 3
        sent = {q: _said(me, q, number, rows, dtype) for q in using}
        heard = transport.exchange(number, sent, dict.fromkeys(using, (rows, 2)))
        frames, size = frames + len(sent), size + sum(each.nbytes for each in sent.values())
        message = f"processes {using} when nothing fails; it heard from {sorted(heard)}."
        need(set(heard) == set(using), f"exchange {number} must hear from {message}")
        for q, found in heard.items():
            wanted = _said(q, me, number, rows, dtype)
            need(found.dtype == wanted.dtype, f"exchange {number} must keep the kind of numbers; got {found.dtype}.")
            need(np.array_equal(found, wanted), f"exchange {number} must bring what process {q} sent, bit for bit.")
    counted = transport.meter.frames, transport.meter.bytes
    message = f"the meter must count {frames} frames and {size} bytes; it says {counted[0]} and {counted[1]}."
    need(counted == (frames, size), message)
    _check_refusals(transport, exchanges)
    transport.close()


def _check_refusals(transport: Transport, number: int) -> None:
    """What is not finite does not count, and the link works again afterwards."""
    me, neighbours = transport.me, transport.neighbours
    bad = {q: _said(me, q, number, 1, np.float64) for q in neighbours}
    for q in neighbours:
        if me < q:  # the lower end of every link sends rubbish
            bad[q][0, 0] = [np.nan, np.inf][number % 2]
    heard = transport.exchange(number, bad, dict.fromkeys(neighbours, (1, 2)))
    fooled = [q for q in heard if q < me]
    need(not fooled, f"rows with NaN or infinity must not count; process {me} was given those of {fooled}.")
    for later in (number + 1, number + 2):
        good = {q: _said(me, q, later, 1, np.float64) for q in neighbours}
        heard = transport.exchange(later, good, dict.fromkeys(neighbours, (1, 2)))
    need(set(heard) == set(neighbours), f"after rubbish a link must work again; process {me} hears {sorted(heard)}.")


def _said(sender: int, receiver: int, number: int, rows: int, dtype: Any) -> NDArray:
    return np.random.default_rng([sender, receiver, number]).standard_normal((rows, 2)).astype(dtype)
