"""Neighbours over MPI: one neighbourhood collective per exchange, on a distributed graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from droculo.expect import extra
from droculo.runtime.driver import ProcessRun
from droculo.runtime.partitions import Partition
from droculo.runtime.transports.base import NEVER, Heard, Meter, Rows, Transport, why_unusable


def mpi() -> Any:
    """mpi4py's MPI module; using it starts MPI."""
    return extra("mpi4py.MPI", "processes over MPI", "mpi")


#: why a rank can refuse what another sent
_REASONS = ("not finite", "outside the set")


class MPITransport(Transport):
    """A rank and the ranks that it has links to. It receives nothing from any other.

    A rank that is lost ends the whole job, as is usual with MPI; the job can be continued from its checkpoint.
    """

    def __init__(self, communicator: Any, neighbours: tuple[int, ...]):
        super().__init__(communicator.Get_rank(), neighbours)
        self.communicator = communicator
        self.graph = communicator.Create_dist_graph_adjacent(list(neighbours), list(neighbours))

    def meet(self, first: int, every: int, oldest: int = 0, last: int = NEVER) -> int:
        """All ranks begin where the rank that is furthest behind begins."""
        least = np.array([first], np.int64)
        self.communicator.Allreduce(mpi().IN_PLACE, least, mpi().MIN)
        return int(least[0])

    def exchange(self, number: int, outgoing: Mapping[int, Rows], shapes: Mapping[int, tuple[int, int]]) -> Heard:
        if not self.neighbours:
            return {}
        dtype = next(iter(outgoing.values())).dtype if outgoing else np.dtype(np.float64)
        send = [
            np.ascontiguousarray(outgoing[q]).reshape(-1) if q in outgoing else np.empty(0, dtype)
            for q in self.neighbours
        ]
        sizes = [int(np.prod(shapes[q])) if q in shapes else 0 for q in self.neighbours]
        out = send[0] if len(send) == 1 else np.concatenate(send)
        received = np.empty(sum(sizes), dtype)
        self.graph.Neighbor_alltoallv([out, [part.size for part in send]], [received, sizes])
        self.meter.frames += len(outgoing)
        self.meter.bytes += out.nbytes
        heard, at = {}, 0
        for neighbour, size in zip(self.neighbours, sizes, strict=True):
            if neighbour in shapes:
                rows = received[at : at + size].reshape(shapes[neighbour])
                why = why_unusable(rows, shapes[neighbour], dtype)
                if why is None:
                    heard[neighbour] = rows
                else:
                    self.refuse(number, neighbour, why)
            at += size
        return heard

    def close(self) -> None:
        if self.graph is not None:
            self.graph.Free()
            self.graph = None


def bring_together(
    communicator: Any, part: ProcessRun, partition_of: Callable[[int], Partition]
) -> list[ProcessRun] | None:
    """The parts of all ranks, at rank 0; None elsewhere. They travel as plain bytes, in the layout of the journal."""
    layout = part.layout
    mine = np.frombuffer(layout.join(part.entries), np.uint8)
    refused = [part.meter.refused.get(reason, 0) for reason in _REASONS]
    about = np.array([len(mine), part.meter.frames, part.meter.bytes, int(part.seconds * 1e6), *refused])
    every = np.empty((communicator.Get_size(), len(about)), np.int64)
    communicator.Allgather(about.astype(np.int64), every)
    root = communicator.Get_rank() == 0
    data = np.empty(every[:, 0].sum() if root else 0, np.uint8)
    communicator.Gatherv(mine, [data, every[:, 0]] if root else None, 0)
    if not root:
        return None
    parts, at = [], 0
    for rank, (size, frames, sent, microseconds, *refused) in enumerate(every.tolist()):
        partition = partition_of(rank)
        own = replace(layout, agents=len(partition.agents), neighbours=len(partition.neighbours))
        entries = tuple(own.split(data[at : at + size].tobytes()))
        reasons = {reason: number for reason, number in zip(_REASONS, refused, strict=True) if number}
        parts.append(ProcessRun(partition, entries, Meter(frames, sent, refused=reasons), microseconds / 1e6, own))
        at += size
    return parts
