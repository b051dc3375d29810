"""Neighbours over MPI: one neighbourhood collective per exchange, on a distributed graph."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from droculo.expect import extra
from droculo.runtime.driver import ProcessRun
from droculo.runtime.partitions import Partition
from droculo.runtime.transports.base import NEVER, Heard, Meter, Rows, Shapes, Transport


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

    def exchange(self, number: int, outgoing: Mapping[int, Rows], shapes: Shapes) -> Heard:
        if not self.neighbours:
            return {}
        dtype = next(iter(outgoing.values())).dtype if outgoing else np.dtype(np.float64)
        empty = np.zeros((0, 0), dtype)
        send = [outgoing.get(q, empty).reshape(-1) for q in self.neighbours]
        sizes = [math.prod(shapes.get(q, (0, 0))) for q in self.neighbours]
        out, received = np.concatenate(send), np.empty(sum(sizes), dtype)
        self.graph.Neighbor_alltoallv([out, [part.size for part in send]], [received, sizes])
        self.meter.frames += len(outgoing)
        self.meter.bytes += out.nbytes
        heard = {}
        for neighbour, part in zip(self.neighbours, np.split(received, np.cumsum(sizes)[:-1]), strict=True):
            if neighbour in shapes:
                rows = part.reshape(shapes[neighbour])
                if self.usable(number, neighbour, rows, shapes[neighbour], dtype):
                    heard[neighbour] = rows
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
    parts = []
    for rank, own in enumerate(np.split(data, np.cumsum(every[:-1, 0]))):
        _, frames, sent, microseconds, *refused = every[rank].tolist()
        partition = partition_of(rank)
        shapes = replace(layout, agents=len(partition.agents), neighbours=len(partition.neighbours))
        reasons = {reason: number for reason, number in zip(_REASONS, refused, strict=True) if number}
        meter = Meter(frames, sent, refused=reasons)
        parts.append(ProcessRun(partition, tuple(shapes.split(own.tobytes())), meter, microseconds / 1e6, shapes))
    return parts
