"""A sweep whose agents are the ranks of an MPI job."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from droculo.experiments.cell import Cell, build
from droculo.experiments.processes import folder_of, keep_cell
from droculo.experiments.spec import Spec
from droculo.experiments.store import Store
from droculo.experiments.sweeps import Progress, Sweep, begin, collect
from droculo.runtime import MPITransport, assign_agents, gather, partition, run_process
from droculo.runtime.driver import ProcessRun
from droculo.runtime.gathered import GatheredRun
from droculo.runtime.transports.mpi import bring_together, mpi


def sweep_over_mpi(
    spec: Spec, out: Path, *, progress: Progress | None = None, command: str | None = None
) -> Sweep | None:
    """Run the cells that `out` lacks, each rank with its agents; rank 0 keeps and returns the results, other ranks return None.

    Every rank writes its blocks under `out`. A job that was lost resumes there when it is started again with as many ranks,
    with the same result to the last bit.
    """
    world = mpi().COMM_WORLD
    _agree(world, spec)
    store, first = Store(out), world.Get_rank() == 0
    if first:
        begin(spec, out, command)
        store.tidy()
    tell = progress if first and progress is not None else lambda done, total, label: None
    tell(0, len(spec.cells), "")
    for number, cell in enumerate(spec.cells):
        key = cell.key(spec.folder)
        if _from_first(world, first and not store.finished(key)):
            runs = [_play(world, spec, cell, seed, folder_of(out, key, seed, world.Get_rank())) for seed in cell.seeds]
            if first:
                keep_cell(store, spec, cell, "mpi", world.Get_size(), [run for run in runs if run is not None])
            world.Barrier()
            for seed in cell.seeds:  # it is among the results now
                shutil.rmtree(folder_of(out, key, seed, world.Get_rank()), ignore_errors=True)
            world.Barrier()
            if first:
                shutil.rmtree(out / "processes" / key, ignore_errors=True)
        tell(number + 1, len(spec.cells), cell.label)
    return collect(out) if first else None


def _play(world: Any, spec: Spec, cell: Cell, seed: int, folder: Path) -> GatheredRun | None:
    problem, network, algorithm = build(cell, spec.folder)
    homes = assign_agents(network.n_agents, world.Get_size())
    place = partition(network, homes, world.Get_rank())
    transport = MPITransport(world, place.neighbours)
    part = run_process(problem, algorithm, network, place, transport, key=seed, folder=folder)
    parts: list[ProcessRun] | None = bring_together(world, part, lambda rank: partition(network, homes, rank))
    return None if parts is None else gather(algorithm, parts)


def _from_first(world: Any, mine: bool) -> bool:
    """The value of rank 0."""
    answer = np.array([mine], np.int8)
    world.Bcast(answer, 0)
    return bool(answer[0])


def _agree(world: Any, spec: Spec) -> None:
    """All ranks must run the same cells with the same code: 32 bytes tell, a digest of both."""
    keys = "".join(cell.key(spec.folder) for cell in spec.cells)
    mine = np.frombuffer(hashlib.sha256(keys.encode()).digest(), np.uint8)
    everyone = np.empty((world.Get_size(), len(mine)), np.uint8)
    world.Allgather(mine, everyone)
    others = np.nonzero(np.any(everyone != everyone[0], axis=1))[0]
    if len(others):
        raise RuntimeError(
            f"ranks {others.tolist()} read another spec than rank 0, or have other code: droculo, a user module, or the "
            "spec differ. Install the same on all hosts."
        )
