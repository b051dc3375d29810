"""Cells played by real processes: where each process writes, and how its part becomes rows of the cell."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from droculo.experiments.cell import Cell, build
from droculo.experiments.rows import Row
from droculo.experiments.run import Played, run_cell, stacked
from droculo.experiments.spec import Spec
from droculo.experiments.store import Store, StoreError, write_whole
from droculo.runtime import assign_agents, gather, partition
from droculo.runtime.driver import ProcessRun, layout_of
from droculo.runtime.gathered import GatheredRun
from droculo.runtime.journal import read_entries
from droculo.runtime.transports.base import Meter


def folder_of(out: Path, key: str, seed: int, me: int | None = None) -> Path:
    """The folder in which process `me` writes its journal of one run; without `me`, the folder of all."""
    run = out / "processes" / key / f"seed-{seed}"
    return run if me is None else run / f"process-{me:05d}"


def keep_cell(store: Store, spec: Spec, cell: Cell, driver: str, processes: int, runs: Sequence[GatheredRun]) -> None:
    """Measure the runs of processes, and keep their rows like those of a simulated cell."""
    run = stacked([run.trajectory for run in runs])
    about: list[Row] = [
        {"driver": driver, "processes": processes, "missed_rounds": int(faults.missed_rounds.sum())}
        | {"failed_links": faults.failed_links, "disagreements": faults.disagreements}
        for faults in (each.faults for each in runs)
    ]
    played = Played(run, about, run.ledger.seconds)
    store.keep(cell.key(spec.folder), run_cell(cell, spec.folder, lambda *_: played))


def write_meter(folder: Path, part: ProcessRun) -> None:
    """Write the traffic of a finished process beside its journal."""
    write_whole(folder / "meter.json", json.dumps({**asdict(part.meter), "seconds": part.seconds}))


def read_run(out: Path, spec: Spec, cell: Cell, seed: int, processes: int) -> GatheredRun:
    """The run in the journals of all processes; a process without a journal has never played."""
    _, network, algorithm = build(cell, spec.folder)
    homes = assign_agents(network.n_agents, processes)
    there = len(list(folder_of(out, cell.key(spec.folder), seed).glob("process-*/about.json")))
    if there > processes:
        raise StoreError(f"{there} processes have played this run, and {processes} are to be gathered: say -n {there}.")
    parts = []
    for me in range(processes):
        folder = folder_of(out, cell.key(spec.folder), seed, me)
        meter, seconds = Meter(), 0.0
        if (folder / "meter.json").exists():
            told = json.loads((folder / "meter.json").read_text())
            seconds = told.pop("seconds")
            meter = Meter(**told)
        place = partition(network, homes, me)
        layout = layout_of(algorithm, place)
        if (folder / "about.json").exists():
            told = json.loads((folder / "about.json").read_text())
            if any(told.get(name) != value for name, value in asdict(layout).items()):
                raise StoreError(
                    f"{folder} was written by one of another number of processes: it has {told.get('agents')} agents, and one "
                    f"of {processes} processes has {layout.agents}. Say with -n how many there were."
                )
        parts.append(ProcessRun(place, tuple(read_entries(folder, layout)), meter, seconds, layout))
    if not any(part.entries for part in parts):
        raise StoreError(f"{folder_of(out, cell.key(spec.folder), seed)} holds no journal of any process of this run.")
    return gather(algorithm, parts)
