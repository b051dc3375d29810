"""Cells played by processes of their own: where each writes, and how their parts become the rows of a cell."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from droculo.engine import Trajectory
from droculo.engine.costs import COSTS, COUNTED, CostCurve, Ledger
from droculo.experiments.cell import Cell, build
from droculo.experiments.play import Driven, play
from droculo.experiments.spec import Spec
from droculo.experiments.store import Store, StoreError
from droculo.experiments.whole_files import write_whole
from droculo.runtime import GatheredRun, Meter, ProcessRun, assign_agents, gather, partition
from droculo.runtime.driver import layout_of
from droculo.runtime.journal import read_entries


def folder_of(out: Path, key: str, seed: int, me: int | None = None) -> Path:
    """Where process `me` writes its journal of one run; without a process, where all of them do."""
    run = out / "processes" / key / f"seed-{seed}"
    return run if me is None else run / f"process-{me:05d}"


def fingerprint_of(spec: Spec) -> bytes:
    """32 bytes that all processes of a job must share: what they run, and with which code."""
    return hashlib.sha256("".join(cell.key(spec.folder) for cell in spec.cells).encode()).digest()


def keep_cell(store: Store, spec: Spec, cell: Cell, driver: str, processes: int, runs: Sequence[GatheredRun]) -> None:
    """Measure what processes have played, and keep its rows as those of a simulated cell."""
    run = _stacked([run.trajectory for run in runs])
    rows = play(cell, spec.folder, Driven(driver, processes, run, tuple(run.faults for run in runs)))
    store.keep(cell.key(spec.folder), rows)


def write_meter(folder: Path, part: ProcessRun) -> None:
    """What went over the wire, beside the journal of a process that has finished."""
    write_whole(folder / "meter.json", json.dumps({**asdict(part.meter), "seconds": part.seconds}))


def read_run(out: Path, spec: Spec, cell: Cell, seed: int, processes: int) -> GatheredRun:
    """The run that the journals of all processes tell of; a process that never wrote is one that never played."""
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


def _stacked(runs: list[Trajectory]) -> Trajectory:
    """Runs of one cell with a first axis for their seeds."""
    bills = [run.ledger for run in runs]
    costs = {name: np.stack([bill.counts[name] for bill in bills]) for name in COSTS}
    curves = {name: np.stack([run.spending.counts[name] for run in runs]) for name in COUNTED}
    return Trajectory(
        horizon=runs[0].horizon,
        rounds=runs[0].rounds,
        actions=np.stack([run.actions for run in runs]),
        decisions=np.stack([run.decisions for run in runs]),
        agents=runs[0].agents,
        states=None,
        ledger=Ledger(costs, sum(bill.seconds for bill in bills)),
        spending=CostCurve(runs[0].spending.rounds, curves),
    )
