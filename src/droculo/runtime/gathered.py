"""Put the parts of all processes together: the run as the simulator would have returned it, and its faults."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from droculo.algorithms import Algorithm
from droculo.engine import Record, Trajectory
from droculo.engine.breaches import BREACHES, NEVER
from droculo.engine.costs import COUNTED, CostCurve, Ledger
from droculo.engine.plan import Played, pieces, questions
from droculo.engine.run import as_identities, as_rounds, warned
from droculo.precision import double
from droculo.runtime.driver import ProcessRun


@dataclass(frozen=True)
class Faults:
    """What went wrong in a run; all zero if nothing did. Both ends of a link are counted."""

    missed_rounds: NDArray[np.int64]  # (N,): rounds in which an agent did not play
    failed_links: int  # (end of a link, exchange) pairs that did not count although the network has the link up
    disagreements: int  # (link, exchange) pairs that one end counted and the other did not, or crashed before recording
    refused: dict[str, int]  # reason -> frames that were received and not used


@dataclass(frozen=True)
class GatheredRun:
    """A run of several processes."""

    trajectory: Trajectory
    faults: Faults


def gather(
    algorithm: Algorithm,
    parts: Sequence[ProcessRun],
    *,
    rounds: int | None = None,
    record: Record | None = None,
    agents: ArrayLike | None = None,
) -> GatheredRun:
    """Put the parts of all processes of one run together; `rounds`, `record` and `agents` are those of `run_process`.

    A round that an agent missed has the action and decision of the last round that it played, or those of its start if
    there is none. `Faults.missed_rounds` counts such rounds.
    """
    rounds, record = as_rounds(rounds, algorithm), record or Record()
    if not parts:
        raise ValueError("there are no parts to put together.")
    nodes = np.concatenate([part.partition.agents for part in parts])
    if not np.array_equal(np.sort(nodes), np.arange(len(nodes))):
        raise ValueError(f"the parts hold the agents {np.sort(nodes).tolist()}; each of 0, 1, ... must occur once.")
    spans = algorithm.timetable.until(rounds)
    blocks, starts, lasts = len(spans.number), spans.first, np.minimum(spans.end, rounds)
    _check_recorded(parts, starts, lasts, rounds, record.every)
    costs = np.zeros((blocks, len(COUNTED), len(nodes)), np.int64)
    played, first = np.zeros((blocks, len(nodes)), np.int64), np.full((len(BREACHES), len(nodes)), NEVER)
    for part in parts:
        for entry in part.entries:
            costs[entry.block, :, part.partition.agents] = entry.costs.T
            played[entry.block, part.partition.agents] = 1
            first[:, part.partition.agents] = np.minimum(first[:, part.partition.agents], entry.first)
    plan = pieces(algorithm, Played(rounds, record, len(nodes)))
    ends = np.cumsum([piece.rounds for piece in plan])
    so_far = np.cumsum(costs, axis=0)[np.cumsum([piece.blocks for piece in plan]) - 1]
    lengths = lasts - starts
    recorded, actions, decisions = _plays(algorithm, parts, rounds, record.every, len(nodes))
    curves = {cost: so_far[:, row] for row, cost in enumerate(COUNTED)}
    spent = {cost: curve[-1] for cost, curve in curves.items()}
    with double():
        asked = (spans.slots @ played) * questions(algorithm)
    seconds = max(part.seconds for part in parts)
    trajectory = Trajectory(
        horizon=rounds,
        rounds=recorded,
        actions=actions,
        decisions=decisions,
        agents=as_identities(agents, len(nodes)),
        states=None,
        ledger=Ledger.of(algorithm, spent, first, spans.complete @ played, asked, parts[0].layout.dtype, seconds),
        spending=CostCurve(ends, curves),
    )
    refused = sum((Counter(part.meter.refused) for part in parts), Counter())
    return GatheredRun(warned(trajectory), Faults(lengths @ (1 - played), *_links(parts), dict(refused)))


def _check_recorded(parts: Sequence[ProcessRun], starts: NDArray, lasts: NDArray, rounds: int, every: int) -> None:
    """Parts must have been played with the rounds and the record that they are put together with."""

    def expected(block: int) -> NDArray[np.int64]:
        first, last = int(starts[block]), int(lasts[block])
        return np.arange(-(-first // every) * every, last, every) if every else np.zeros(0, np.int64)

    for part in parts:
        for entry in part.entries:
            if entry.block >= len(starts) or not np.array_equal(entry.rounds, expected(entry.block)):
                raise ValueError(
                    f"process {part.partition.me} has not recorded block {entry.block} of a run of {rounds} rounds with "
                    f"Record(every={every}): pass the rounds and the record with which it was played."
                )


def _plays(
    algorithm: Algorithm, parts: Sequence[ProcessRun], rounds: int, every: int, agents: int
) -> tuple[NDArray[np.int64], NDArray, NDArray]:
    """Recorded rounds, actions and decisions, with missed rounds filled in."""
    recorded = np.arange(0, rounds, every) if every else np.zeros(0, np.int64)
    dtype = np.dtype(parts[0].layout.dtype)
    actions = np.full((len(recorded), agents, algorithm.domain.dim), np.nan, dtype)
    decisions = actions.copy()
    for part in parts:
        here = part.partition.agents
        for entry in part.entries if every else ():
            rows = entry.rounds // every
            actions[rows[:, None], here] = entry.actions
            decisions[rows[:, None], here] = entry.decisions
    with double():
        start = np.asarray(algorithm.decision(algorithm.init()), dtype)
    there = ~np.isnan(actions[..., :1])
    last = np.maximum.accumulate(np.where(there, np.arange(len(recorded))[:, None, None], -1))
    filled = [np.take_along_axis(kept, np.maximum(last, 0), axis=0) for kept in (actions, decisions)]
    return recorded, np.where(last >= 0, filled[0], start), np.where(last >= 0, filled[1], start)


def _links(parts: Sequence[ProcessRun]) -> tuple[int, int]:
    """How many ends of links failed, and how many links counted at one end only."""
    failed = disagreements = 0
    seen: dict[
        tuple[frozenset[int], int], NDArray[np.int8]
    ] = {}  # (ends of a link, block) -> counted, for each exchange
    for part in parts:
        for entry in part.entries:
            failed += int(np.sum(entry.counted == 0))
            for neighbour, mine in zip(part.partition.neighbours, entry.counted.T, strict=True):
                link = frozenset((part.partition.me, neighbour)), entry.block
                if link in seen:
                    disagreements += int(np.sum(seen.pop(link) != mine))
                else:
                    seen[link] = mine
    return failed, disagreements + sum(int(np.sum(counted == 1)) for counted in seen.values())
