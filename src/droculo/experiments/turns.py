"""Timing methods in turns, so that a slow moment of the computer affects all of them alike."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from droculo.algorithms import Algorithm
from droculo.engine import Record
from droculo.engine.memory_maps import clear_caches_if_needed
from droculo.experiments.cell import Cell, build
from droculo.experiments.run import FEW_MAPS, Driver, Played, run_cell, simulated
from droculo.experiments.spec import Spec
from droculo.experiments.store import Store
from droculo.experiments.sweeps import Progress, Sweep, begin, collect
from droculo.networks import Network
from droculo.problems import Problem
from droculo.simulator import simulate

#: timed runs of every method
TURNS = 9
#: seconds of timed runs after which a method is not timed again, since noise is small beside them
LONG = 10.0


def sweep_in_turns(
    spec: Spec, out: Path, *, turns: int = TURNS, progress: Progress | None = None, command: str | None = None
) -> Sweep:
    """Time and run the cells that `out` lacks; neighbouring cells with the same problem and horizon take turns."""
    begin(spec, out, command)
    store = Store(out)
    tell = progress or (lambda done, total, label: None)
    done = 0
    tell(done, len(spec.cells), "")
    for _, cells in groupby(spec.cells, key=lambda cell: (cell.problem, cell.horizon)):
        group = list(cells)
        if not all(store.finished(cell.key(spec.folder)) for cell in group):
            for cell, seconds in zip(group, in_turns(group, spec.folder, turns), strict=True):
                store.keep(cell.key(spec.folder), run_cell(cell, spec.folder, _with(seconds)))
        done += len(group)
        tell(done, len(spec.cells), group[-1].label)
    return collect(out)


def _with(timings: Sequence[float]) -> Driver:
    """The simulator, which reports seconds that were measured before."""

    def driver(problem: Problem, algorithm: Algorithm, network: Network, seeds: Sequence[int]) -> Played:
        played = simulated(problem, algorithm, network, seeds)
        return played._replace(about=[{**about, "timings": list(timings)} for about in played.about])

    return driver


def in_turns(cells: Sequence[Cell], folder: Path, turns: int) -> list[list[float]]:
    """The seconds of every timed run of each cell's first seed: fully optimized, compiled before, nothing recorded."""
    clear_caches_if_needed(FEW_MAPS)
    parts = [build(cell, folder) for cell in cells]

    def seconds(place: int) -> float:
        problem, network, algorithm = parts[place]
        key, nothing = cells[place].seeds[0], Record(every=0)
        run = simulate(problem, algorithm, network, key=key, record=nothing, progress=False, quick=False)
        return run.ledger.seconds

    for place in range(len(cells)):
        seconds(place)  # compiles
    spent: list[list[float]] = [[] for _ in cells]
    for _ in range(turns):
        for place, times in enumerate(spent):
            if sum(times) < LONG:
                times.append(seconds(place))
    return spent
