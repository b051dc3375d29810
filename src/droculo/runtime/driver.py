"""Driver 2: the agents of one process play their part of a run, block by block. Read this file first.

The way of one block through the modules:

    driver.run_process                 for each block
      | states, first round
    block.CompiledBlock                compiled: play all slots, then update (algorithms)
      |    ports.ask                     the problem's answers             engine.block
      |    ports.mix                     one message for each agent        messages
      |      | ordered callback to Python
      |    exchange.NeighbourExchange    the rows that each neighbour needs  partitions
      |      |
      |    transports: memory, mpi, zenoh (zenoh: protocol.frames, protocol.membership)  <->  neighbours
      |      |
      |    plausible rows are averaged                                     networks.links
      | states, costs, recorded rounds
    journal.Journal.keep               on disk, if there is a folder

Afterwards `gathered.gather` puts the parts of all processes together; `agent.Agent` is the same for one agent in your own loop.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike, NDArray

from droculo.algorithms import Algorithm
from droculo.algorithms.contract import message_bytes, message_size
from droculo.engine import Record
from droculo.engine.block import begin
from droculo.engine.breaches import BREACHES, Breaches, sentences
from droculo.engine.fingerprint import Fingerprint, behaviour_of_algorithm, behaviour_of_problem, fingerprint
from droculo.engine.plan import PIECES, Piece, Played, one_by_one, pieces, shape_of
from droculo.engine.run import Run, check_answered, check_finite, check_inside, played_next
from droculo.expect import expect
from droculo.networks import Network
from droculo.problems import Problem
from droculo.runtime.block import CompiledBlock, CompiledLinks
from droculo.runtime.exchange import NeighbourExchange
from droculo.runtime.journal import Entry, Journal, Layout, begun_with
from droculo.runtime.partitions import Partition, identity_of
from droculo.runtime.transports.base import Meter, Transport

#: where no horizon is known, a block has room for so many recorded rounds; longer ones for the next power of two
ROOM_OF_A_BLOCK = 256


@dataclass(frozen=True)
class ProcessRun:
    """What one process did in a run."""

    partition: Partition
    entries: tuple[Entry, ...]  # the blocks it played, in order
    meter: Meter
    seconds: float
    layout: Layout  # the shapes of its entries


def run_process(
    problem: Problem,
    algorithm: Algorithm,
    network: Network,
    partition: Partition,
    transport: Transport,
    *,
    key: Array | int,
    rounds: int | None = None,
    record: Record | None = None,
    folder: Path | str | None = None,
    agents: ArrayLike | None = None,
    dtype: Any = np.float64,
    quick: bool | None = None,
    pace: float = 0.0,
    progress: Callable[[int, int], None] | None = None,
    strict: bool = False,
) -> ProcessRun:
    """Play the agents of `partition` in the run that `simulate` with the same arguments plays as a whole.

    All processes of a run are given the same problem, algorithm, network and key; a process evaluates the functions of its
    own agents only. It compiles, meets its neighbours, and plays. With a `folder` it writes every block as it goes, and
    continues from there when it is started again; all processes may then be asked for more rounds, unless the algorithm is for a
    known horizon. `pace`: seconds that a block takes at least. `progress` is called with the number of rounds played, and of
    all rounds. `strict`: as in `simulate`.
    """
    options: dict[str, Any] = {"rounds": rounds, "record": record, "agents": agents, "dtype": dtype, "strict": strict}
    run = Run.of(problem, algorithm, network, key=key, **options)
    _check(run, partition, transport)
    began = time.perf_counter()
    with run.precision():
        world = run.world(nodes=partition.agents)
        journal = _journal_of(run, partition, None if folder is None else Path(folder))
        exchange = NeighbourExchange(partition, transport, journal)
        block = CompiledBlock(world, CompiledLinks.of(exchange), run.keys[0], run.quick_blocks(quick))
        played = Played(run.rounds, run.record, len(partition.agents), room=ROOM_OF_A_BLOCK)
        states, plan = begin(world), one_by_one(pieces(algorithm, played))
        shapes = shape_of(algorithm, played, plan)
        with exchange.dry_run():  # compile before the neighbours are met, so that none of them waits for the compiler
            for (shape, _), piece in {
                (s, block.quickly(p.spans)): p for s, p in zip(shapes, plan, strict=True)
            }.items():
                block(shape, states, piece.spans.at(0))
        try:
            first, states = meet(exchange, algorithm, states, _complete(run))
            for entry in journal.entries if strict else ():
                check_answered(_said(run, partition, entry.costs[-len(BREACHES) :], entry.first))
            for piece, shape in list(zip(plan, shapes, strict=True))[first:]:
                due = time.monotonic() + pace
                states, last = _play(run, partial(block, shape), exchange, piece, states)
                if progress is not None:
                    progress(last, run.rounds)
                if pace:
                    time.sleep(max(0.0, due - time.monotonic()))
        finally:
            transport.close()
            journal.close()
    took = time.perf_counter() - began
    return ProcessRun(partition, tuple(journal.entries), transport.meter, took, journal.layout)


def _play(
    run: Run, block: Callable[..., Any], exchange: NeighbourExchange, piece: Piece, states: Any
) -> tuple[Any, int]:
    """Play a block, check what came out of it, and write it down. Returns the states after it, and its last round + 1."""
    span, every = piece.spans.at(0), run.record.every
    number, first, last = int(span.number), piece.start, piece.start + piece.rounds
    decisions = np.zeros((len(exchange.partition.agents), run.algorithm.domain.dim), run.kind)
    if every:
        decisions = np.asarray(_decisions(run.algorithm, states), run.kind)
    exchange.reset()
    states, spent, breaches, kept = block(states, span)
    leaves = exchange.finish(states)
    _check_answers(run, exchange.partition, leaves, breaches, first, last)
    often = run.strict or number % max(1, len(run.algorithm.timetable.until(run.rounds).number) // PIECES) == 0
    if kept is None:
        at_the_end = run.strict or last == run.rounds
        agents = len(exchange.partition.agents)
        check_inside(
            run, np.zeros(0), played_next(run, agents, states, span) if at_the_end else [], first, last - first
        )
        rounds, actions = np.zeros(0, np.int64), np.zeros((0, *decisions.shape), run.kind)
    else:
        rounds = np.arange(-(-first // every) * every, last, every)
        actions = np.swapaxes(np.asarray(kept.actions)[:, : len(rounds)], 0, 1)
        check_inside(run, kept.outside, [actions] if often else [], first, last - first)
    exchange.keep(leaves, number, rounds, actions, decisions, spent, breaches, complete=bool(span.complete))
    return states, last


@eqx.filter_jit  # type: ignore[untyped-decorator]
def _decisions(algorithm: Algorithm, states: Any) -> Array:
    return jax.vmap(algorithm.decision)(states)


def _check_answers(run: Run, here: Partition, leaves: list[Any], breaches: Breaches, first: int, last: int) -> None:
    """States after a block are finite, and, where that is asked for, answers keep what is declared."""
    said = _said(run, here, np.asarray(breaches.count).T, np.asarray(breaches.first).T)
    check_finite(leaves, first, last - first, said)
    if run.strict:
        check_answered(said)


def _said(run: Run, here: Partition, counts: NDArray, first: NDArray) -> tuple[str, ...]:
    """`counts` and `first`: (kinds, agents)."""
    by_kind, rounds = (dict(zip(BREACHES, part, strict=True)) for part in (counts, first))
    return sentences(by_kind, rounds, run.identities[here.agents])


def check_transport_of(partition: Partition, transport: Transport) -> None:
    """Refuse a transport that was made for another process."""
    expect(transport, Transport, "transport", "Pass for example droculo.runtime.MPITransport(...).")
    if (transport.me, transport.neighbours) != (partition.me, partition.neighbours):
        raise ValueError(
            f"the transport is that of process {transport.me} with neighbours {transport.neighbours}; process {partition.me} "
            f"of this network has the neighbours {partition.neighbours}. Make the transport with partition.me and "
            "partition.neighbours."
        )


def _check(run: Run, partition: Partition, transport: Transport) -> None:
    """What can be wrong in a process beyond what can be wrong in any run, before anything is sent."""
    check_transport_of(partition, transport)
    if not partition.network.matches(identity_of(run.network)):
        raise ValueError(
            f"the partition of process {partition.me} is one of another network. Make it with partition(network, ...)."
        )
    if run.record.queries:
        raise ValueError("a process does not record its queries; use simulate with Record(queries=True) for that.")
    if len(run.keys) != 1:
        raise ValueError(f"a process plays one run at a time; got a batch of {len(run.keys)} keys.")
    algorithm = run.algorithm
    exchanges = len(algorithm.timetable.until(run.rounds).number) * algorithm.exchanges
    if run.kind == np.float32 and exchanges >= 2**31:
        raise ValueError(
            f"in single precision a run has fewer than 2^31 exchanges; got {exchanges}. Use dtype=float64."
        )
    rows = max(len(partition.agents), len(partition.elsewhere))
    transport.largest = rows * message_bytes(algorithm, run.kind)
    if transport.limit is not None and transport.largest > transport.limit:
        raise ValueError(
            f"a frame may have to carry {transport.largest} bytes ({rows} agents of {message_size(algorithm)} numbers), and this "
            f"transport carries at most {transport.limit}. Spread the agents over more processes."
        )


def states_kept(partition: Partition) -> int:
    """How many states a journal keeps: as many as this process can be ahead of the slowest one, and two."""
    return partition.reach + 2


def _complete(run: Run) -> int:
    """How many blocks end with an update."""
    return int(run.algorithm.timetable.until(run.rounds).complete.sum())


def _journal_of(run: Run, partition: Partition, folder: Path | None) -> Journal:
    """The journal of a process, which may have been begun with fewer rounds where the algorithm has no horizon."""
    layout, states = layout_of(run.algorithm, partition, run.kind), states_kept(partition)
    if folder is None:
        return Journal(None, layout, fingerprint(), states)
    rounds = run.rounds if run.algorithm.timetable.last is not None else begun_with(folder, run.rounds)
    if rounds <= run.rounds:
        journal = Journal(folder, layout, _identity(run, partition, rounds), states, rounds=rounds)
        beyond = any(np.any(entry.rounds >= run.rounds) for entry in journal.entries)
        if not beyond and max(journal.checkpoints(), default=0) <= _complete(run):
            return journal
    raise ValueError(f"{folder} is that of a run of more than {run.rounds} rounds: ask for as many, or for more.")


def _identity(run: Run, partition: Partition, rounds: int) -> Fingerprint:
    """What a journal that was begun with so many rounds belongs to. A process asks the functions of its own agents only, and
    only about rounds that are played."""
    asked = (run.record, str(run.kind), run.identities, run.keys)
    here = run.identities[partition.agents]
    seen = behaviour_of_problem(run.problem, here, rounds), behaviour_of_algorithm(run.algorithm)
    return fingerprint(run.problem, run.algorithm, run.network, partition.agents, partition.elsewhere, asked, seen)


def layout_of(algorithm: Algorithm, partition: Partition, kind: Any = np.float64) -> Layout:
    """The shapes of the blocks that the agents of a partition play."""
    sizes = (len(partition.agents), algorithm.domain.dim, algorithm.exchanges, len(partition.neighbours))
    return Layout(*sizes, str(np.dtype(kind)))


def meet(exchange: NeighbourExchange, algorithm: Algorithm, states: Any, blocks: int) -> tuple[int, Any]:
    """The block to begin with, and the states before it. If the others have gone on, these are the states of the checkpoint.
    `blocks`: how many end with an update."""
    saved = exchange.journal.checkpoints()
    latest, every = max(saved, default=0), algorithm.exchanges
    oldest = latest  # consecutive states only: a gap is where the process was away
    while oldest - 1 in saved or oldest == 1:
        oldest -= 1
    first = exchange.transport.meet(latest * every, every, oldest * every, blocks * every)
    block = first // every
    if block < latest and block not in saved and block > 0:
        raise ValueError(
            f"the others can continue from block {block}, and here only the states before blocks {sorted(saved)} are kept. Start "
            "again in another folder."
        )
    exchange.journal.begin(block)
    start = min(block, latest)
    if start not in saved:
        return block, states
    leaves, structure = jax.tree.flatten(states)
    parts = np.split(saved[start], np.cumsum([leaf.nbytes for leaf in leaves])[:-1])
    found = [part.view(leaf.dtype).reshape(leaf.shape) for part, leaf in zip(parts, leaves, strict=True)]
    return block, jax.tree.unflatten(structure, map(jnp.asarray, found))
