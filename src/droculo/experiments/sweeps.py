"""A sweep: run all cells of a spec side by side, keep each as soon as it is finished, and never run one twice."""

from __future__ import annotations

import json
import multiprocessing
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import jax

from droculo.algorithms import Algorithm
from droculo.engine import Record
from droculo.engine.memory_maps import clear_caches_if_needed
from droculo.experiments.cell import Cell, build
from droculo.experiments.engines import RETRIES, WHY_IT_DIED, cores, side_by_side
from droculo.experiments.rows import Rows
from droculo.experiments.run import FEW_MAPS, Driver, Played, run_cell, simulated
from droculo.experiments.spec import Spec, SpecError, parse
from droculo.experiments.store import Results, Store, StoreError, write_whole
from droculo.networks import Network
from droculo.problems import Problem
from droculo.simulator import simulate

#: (cells that are finished, cells in all, the one that was finished last)
Progress = Callable[[int, int, str], None]
#: timed runs of every method
TURNS = 9
#: seconds of timed runs after which a method is not timed again, since noise is small beside them
LONG = 10.0


@dataclass(frozen=True)
class Sweep:
    """A spec and the results of it in a folder."""

    spec: Spec
    out: Path
    results: Results
    failures: tuple[tuple[Cell, str], ...] = ()  # cells that ended with an error
    missing: tuple[Cell, ...] = ()  # cells that were not run yet
    command: str | None = None  # the command line that began it
    aged: int = 0  # cells whose rows come from another version or other code


class _Task(NamedTuple):
    cell: Cell
    folder: Path
    key: str


class _Done(NamedTuple):
    task: _Task
    rows: Rows | None
    error: str = ""
    details: str = ""


def _work(task: _Task) -> _Done:
    """Run a cell. An error becomes part of the result, since it must not stop the other cells."""
    try:
        if task.cell.key(task.folder) != task.key:
            mine = f"this worker has other code: droculo {version('droculo')}, or a user module that differs"
            raise RuntimeError(f"{mine}. Install the same on all machines.")
        return _Done(task, run_cell(task.cell, task.folder))
    except Exception as error:
        said = f"{type(error).__name__}: {error}".splitlines()[0]
        return _Done(task, None, said, traceback.format_exc())


def _died(task: _Task) -> _Done:
    return _Done(task, None, f"its process died {RETRIES + 1} times. {WHY_IT_DIED}")


def sweep(
    spec: Spec,
    out: Path,
    *,
    processes: int | None = None,
    engine: str = "local",
    progress: Progress | None = None,
    command: str | None = None,
) -> Sweep:
    """Run the cells that `out` lacks, and return the results of all. `command` is kept for the page.

    `processes`: by default one for each processor, or one in all if there is an accelerator or if runs are timed. Every cell
    is written as soon as it is finished, so an interruption costs only the cells that were running. The same call again
    resumes the sweep.
    """
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise RuntimeError("sweep() was reached while a worker started: call it under if __name__ == '__main__'.")
    store = Store(out)
    tasks = _tasks(spec)
    if not tasks:
        raise SpecError("the spec has no cell that can run.")
    command = begin(spec, out, command)
    store.tidy()
    waiting = [task for task in tasks if not store.finished(task.key)]
    finished, failures = len(tasks) - len(waiting), []
    tell = progress or (lambda done, total, label: None)
    tell(finished, len(tasks), "")
    usual = 1 if jax.default_backend() != "cpu" or any(cell.timed for cell in spec.cells) else cores()
    number = min(processes or usual, max(1, len(waiting)))
    for done in side_by_side(_work, waiting, number, engine=engine, died=_died) if waiting else ():
        if done.rows is None:
            failures.append((done.task.cell, done.error))
            if done.details:
                (out / "errors").mkdir(exist_ok=True)
                (out / "errors" / f"{done.task.key}.txt").write_text(done.details, encoding="utf-8")
        else:
            store.keep(done.task.key, done.rows)
        finished += 1
        tell(finished, len(tasks), done.task.cell.label)
    lost = {cell for cell, _ in failures}
    results = _read(store, [task.key for task in tasks if task.cell not in lost])
    store.gather(results)
    return Sweep(spec, out, results, tuple(failures), command=command)


def collect(out: Path) -> Sweep:
    """The results of a folder, also those of another version or other code; nothing is run."""
    spec, command = _left(out)
    store = Store(out)
    keys: dict[Cell, str] = {}
    missing, aged = [], 0
    tasks = _tasks(spec)
    others = {} if all(store.finished(task.key) for task in tasks) else store.of_other_code()
    for task in tasks:
        key = task.key if store.finished(task.key) else others.get(task.cell.asked)
        if key is None:
            missing.append(task.cell)
        else:
            keys[task.cell] = key
            aged += key != task.key
    if not keys:
        raise StoreError(f"{out} has no finished run of its spec yet: droculo resume {out} runs it.")
    results = _read(store, list(keys.values()))
    store.gather(results)
    return Sweep(spec, out, results, missing=tuple(missing), command=command, aged=aged)


def spec_of(out: Path) -> Spec:
    """The spec that a folder of results was made from."""
    return _left(out)[0]


def _left(out: Path) -> tuple[Spec, str | None]:
    """The spec and the command that a sweep wrote to its folder when it began."""
    try:
        text = (out / "spec.toml").read_text(encoding="utf-8")
        about = json.loads((out / "sweep.json").read_text(encoding="utf-8"))
        title, home, command = about["title"], about["modules"], about.get("command")
    except (OSError, ValueError, KeyError):
        raise StoreError(f"{out} is not a folder of results: it has no spec.toml and sweep.json of a sweep.") from None
    return replace(parse(text, name=str(out / "spec.toml"), folder=Path(home)), title=title), command


def _tasks(spec: Spec) -> list[_Task]:
    return [_Task(cell, spec.folder, cell.key(spec.folder)) for cell in spec.cells]


def _read(store: Store, keys: list[str]) -> Results:
    return Results(store.read("runs", keys), store.read("points", keys))


def begin(spec: Spec, out: Path, command: str | None) -> str | None:
    """Write the spec to the folder: makes it self-contained and resumable. The first command is kept."""
    out.mkdir(parents=True, exist_ok=True)
    if command is None:
        with suppress(StoreError, SpecError):
            command = _left(out)[1]
    about = json.dumps({"title": spec.title, "modules": str(spec.folder), "command": command}, indent=1) + "\n"
    for name, text in (("sweep.json", about), ("spec.toml", spec.text)):
        write_whole(out / name, text)
    return command


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
