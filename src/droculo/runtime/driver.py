"""Driver 2: the agents of one process play their part of a run, block by block, and talk to neighbours over a transport."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike, NDArray

from droculo.algorithms import Algorithm, message_bytes, message_size
from droculo.engine import Record
from droculo.engine.behaviour import behaviour_of_algorithm, behaviour_of_problem
from droculo.engine.block import Kept, World, begin
from droculo.engine.compiling import is_short
from droculo.engine.fingerprint import Fingerprint, fingerprint
from droculo.engine.inputs import (
    as_identities,
    as_keys,
    as_rounds,
    cast,
    check,
    check_answers,
    check_finite,
    check_inside,
)
from droculo.engine.plan import Plan
from droculo.expect import expect
from droculo.networks import Network
from droculo.problems import Problem
from droculo.runtime.block import CompiledLinks, Step
from droculo.runtime.exchange import NeighbourExchange
from droculo.runtime.journal import Entry, Journal, Layout
from droculo.runtime.partitions import Partition, identity_of
from droculo.runtime.transports.base import Meter, Transport


@dataclass(frozen=True)
class ProcessRun:
    """What one process did in a run."""

    place: Partition
    entries: tuple[Entry, ...]  # the blocks it played, in order
    meter: Meter
    seconds: float
    layout: Layout  # the shapes of its entries


def run_process(
    problem: Problem,
    algorithm: Algorithm,
    network: Network,
    place: Partition,
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
) -> ProcessRun:
    """Play the agents of `place` in the run that `simulate` with the same arguments plays whole.

    All processes of a run are given the same problem, algorithm, network and key; a process evaluates the functions of its
    own agents only. It compiles, meets its neighbours, and plays. With a `folder` it writes every block as it goes, and
    goes on from there when it is started again. `pace`: seconds that a block takes at least. `progress` is called with the
    rounds played, and how many there are.
    """
    expect(problem, Problem, "problem", "Pass for example droculo.problems.TopB.random(...).")
    expect(algorithm, Algorithm, "algorithm", "Pass for example droculo.Droculo.design(problem.setting, ...).")
    expect(network, Network, "network", "Turn a graph or weights into one with droculo.networks.from_graph(graph).")
    expect(transport, Transport, "transport", "Pass for example droculo.runtime.MPITransport(...).")
    if (transport.me, transport.neighbours) != (place.me, place.neighbours):
        raise ValueError(
            f"the transport is that of process {transport.me} with neighbours {transport.neighbours}, and the place is "
            f"{place.me} with neighbours {place.neighbours}. Make it with place.me and place.neighbours."
        )
    if not place.network.matches(identity_of(network)):
        raise ValueError(
            f"the place of process {place.me} is one of another network. Make it with partition(network, ...)."
        )
    record, rounds = record or Record(), as_rounds(rounds, algorithm.horizon)
    if record.queries:
        raise ValueError("a process does not record its queries; use simulate with Record(queries=True) for that.")
    keys, batched = as_keys(key)
    if batched and len(keys) != 1:
        raise ValueError(f"a process takes part in one run at a time; got a batch of {len(keys)} keys.")
    identities, kind = as_identities(agents, network.n_agents), np.dtype(dtype)
    check(problem, algorithm, network, identities, kind)
    _check_sizes(algorithm, place, transport, rounds, kind)
    began = time.perf_counter()
    with jax.enable_x64(kind == np.float64):
        parts = jax.tree.map(lambda leaf: cast(leaf, kind), (problem, algorithm, network))
        world = World(*parts, jnp.asarray(identities[place.agents]))
        check_answers(world)
        wire = NeighbourExchange(place, transport)
        cable = CompiledLinks.of(place, wire)
        states = begin(world)
        layout = layout_of(algorithm, place, kind)
        plan = Plan.of(algorithm, rounds, record)
        short = is_short(algorithm, network.n_agents) if quick is None else quick
        step = Step(world, cable, keys[0], short)
        home = None if folder is None else Path(folder)
        asked = (rounds, record, str(kind), identities, keys)
        identity = fingerprint() if home is None else _identity(problem, algorithm, network, place, asked)
        journal = Journal(home, layout, identity, place.reach + 2)
        transport.listener = journal.link
        with wire.rehearsal():  # compile before the neighbours are met: nobody waits for a compiler
            for shape in plan.shapes():
                step(shape, states, 0)
        try:
            block, states = meet(transport, journal, algorithm, states, plan.blocks)
            for number in range(block, plan.blocks):
                due = time.monotonic() + pace
                first, shape = number * plan.length, plan.shape(number)
                last = min(first + plan.length, rounds)
                wire.reset()
                states, spent, kept = step(shape, states, first)
                leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(states)]
                if wire.error is not None:
                    raise wire.error
                if not all(np.all(np.isfinite(leaf)) for leaf in leaves):
                    check_finite(states, first, last - first)  # says what is wrong
                if kept is not None:
                    check_inside(kept.outside, first, last - first)
                journal.keep(_entry(number, last, spent, kept, wire, layout), leaves)
                if progress is not None:
                    progress(last, rounds)
                if pace:
                    time.sleep(max(0.0, due - time.monotonic()))
        finally:
            transport.close()
            journal.close()
    return ProcessRun(place, tuple(journal.entries), transport.meter, time.perf_counter() - began, layout)


def layout_of(algorithm: Algorithm, place: Partition, kind: Any = np.float64) -> Layout:
    """The shapes of the blocks that the agents of a place play."""
    sizes = (len(place.agents), algorithm.domain.dim, algorithm.exchanges, len(place.neighbours))
    return Layout(*sizes, str(np.dtype(kind)))


def meet(transport: Transport, journal: Journal, algorithm: Algorithm, states: Any, blocks: int) -> tuple[int, Any]:
    """The block to begin with, and the states before it: those of the checkpoint, also where the others have gone on."""
    saved = journal.checkpoints()
    latest, every = max(saved, default=0), algorithm.exchanges
    oldest = latest  # consecutive states only: a gap is where the process was away
    while oldest - 1 in saved or oldest == 1:
        oldest -= 1
    first = transport.meet(latest * every, every, oldest * every, blocks * every)
    block = first // every
    if block < latest and block not in saved and block > 0:
        raise ValueError(
            f"the others can go on from block {block}, and here only the states before blocks {sorted(saved)} are kept. Begin "
            "anew in another folder."
        )
    journal.begin(block)
    start = min(block, latest)
    return block, _restored(saved[start], states) if start in saved else states


def _restored(data: NDArray[np.uint8], states: Any) -> Any:
    leaves, structure = jax.tree.flatten(states)
    found, at = [], 0
    for leaf in leaves:
        size = leaf.size * leaf.dtype.itemsize
        found.append(jnp.asarray(np.frombuffer(data, leaf.dtype, leaf.size, at).reshape(leaf.shape)))
        at += size
    return jax.tree.unflatten(structure, found)


def _identity(
    problem: Problem, algorithm: Algorithm, network: Network, place: Partition, asked: tuple[Any, ...]
) -> Fingerprint:
    """What a journal belongs to. A process asks the functions of its own agents only."""
    rounds, _, _, identities, _ = asked
    seen = behaviour_of_problem(problem, identities[place.agents], rounds), behaviour_of_algorithm(algorithm)
    return fingerprint(problem, algorithm, network, place.agents, place.elsewhere, asked, seen)


def _check_sizes(algorithm: Algorithm, place: Partition, transport: Transport, rounds: int, kind: np.dtype) -> None:
    """What could not be sent or counted is an error before anything is."""
    numbers = -(-rounds // (algorithm.block * algorithm.slot)) * algorithm.exchanges
    if kind == np.float32 and numbers >= 2**31:
        raise ValueError(f"in single precision a run has fewer than 2^31 exchanges; got {numbers}. Use dtype=float64.")
    rows = max(len(place.agents), len(place.elsewhere))
    transport.largest = rows * message_bytes(algorithm, kind)
    if transport.limit is not None and transport.largest > transport.limit:
        raise ValueError(
            f"a frame may have to carry {transport.largest} bytes ({rows} agents of {message_size(algorithm)} numbers), and this "
            f"transport carries at most {transport.limit}. Spread the agents over more processes."
        )


def entry_of(
    block: int,
    rounds: NDArray,
    actions: NDArray,
    decisions: NDArray,
    spent: Any,
    wire: NeighbourExchange,
    layout: Layout,
) -> Entry:
    """A block for the journal: what was played, and what it cost."""
    costs = np.stack([wire.messages, *(np.asarray(cost) for cost in vars(spent).values())]).astype(np.int64)
    counted = np.asarray(wire.counted, np.int8).reshape(layout.exchanges, layout.neighbours)
    return Entry(block, rounds.astype(np.int64), actions, decisions, costs, counted)


def _entry(number: int, last: int, spent: Any, kept: Kept | None, wire: NeighbourExchange, layout: Layout) -> Entry:
    if kept is None:
        nothing = np.zeros((0, layout.agents, layout.dim), layout.dtype)
        still = np.zeros((layout.agents, layout.dim), layout.dtype)
        return entry_of(number, np.zeros(0, np.int64), nothing, still, spent, wire, layout)
    rounds = np.asarray(kept.rounds)[0]
    valid = np.asarray(kept.valid)[0] & (rounds < last)
    actions = np.swapaxes(np.asarray(kept.actions), 0, 1)[valid]
    return entry_of(number, rounds[valid], actions, np.asarray(kept.decisions), spent, wire, layout)
