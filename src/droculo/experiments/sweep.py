"""A sweep: all cells of a spec, side by side, each kept as soon as it is finished, none played twice."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from droculo.experiments.cell import Cell
from droculo.experiments.engines import cores, side_by_side
from droculo.experiments.play import Rows, play
from droculo.experiments.spec import Spec, SpecError, parse
from droculo.experiments.store import Results, Store, StoreError

#: (cells that are finished, cells in all, the one that was finished last)
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Sweep:
    """A spec and what there is of it in a folder."""

    spec: Spec
    out: Path
    results: Results
    failures: tuple[tuple[Cell, str], ...] = ()  # cells that ended with an error
    missing: tuple[Cell, ...] = ()  # cells that were not played yet


@dataclass(frozen=True)
class _Task:
    cell: Cell
    folder: Path
    key: str


@dataclass(frozen=True)
class _Done:
    task: _Task
    rows: Rows | None
    error: str = ""


def _work(task: _Task) -> _Done:
    """Play a cell. An error is handed over: it is one cell's, and no reason to stop all others."""
    try:
        return _Done(task, play(task.cell, task.folder))
    except Exception as error:
        return _Done(task, None, f"{type(error).__name__}: {error}".splitlines()[0])


def sweep(
    spec: Spec,
    out: Path,
    *,
    processes: int | None = None,
    engine: str = "local",
    progress: Progress | None = None,
) -> Sweep:
    """Play what is not in `out` yet, and return all of it.

    `processes`: by default as many as there are processors. Every cell is written as soon as it is finished: an
    interruption, of whatever kind, costs only what was being played. The same sweep again goes on from there.
    """
    store = Store(out)
    tasks = _tasks(spec)
    if not tasks:
        raise SpecError("the spec has no cell that can run.")
    _begin(spec, out)
    store.tidy()
    waiting = [task for task in tasks if not store.finished(task.key)]
    finished, failures = len(tasks) - len(waiting), []
    tell = progress or (lambda done, total, label: None)
    tell(finished, len(tasks), "")
    number = min(processes or cores(), max(1, len(waiting)))
    for done in side_by_side(_work, waiting, number, engine=engine) if waiting else ():
        if done.rows is None:
            failures.append((done.task.cell, done.error))
        else:
            store.keep(done.task.key, done.rows)
        finished += 1
        tell(finished, len(tasks), done.task.cell.label)
    lost = {cell for cell, _ in failures}
    return Sweep(spec, out, _read(store, [task for task in tasks if task.cell not in lost]), tuple(failures))


def collect(out: Path) -> Sweep:
    """What a folder holds of its spec, without playing anything."""
    spec = spec_of(out)
    store = Store(out)
    tasks = _tasks(spec)
    there = [task for task in tasks if store.finished(task.key)]
    missing = tuple(task.cell for task in tasks if not store.finished(task.key))
    if not there:
        raise StoreError(f"{out} has no finished run of its spec yet: droculo resume {out} plays them.")
    return Sweep(spec, out, _read(store, there), missing=missing)


def spec_of(out: Path) -> Spec:
    """The spec that a folder of results was made from."""
    try:
        text = (out / "spec.toml").read_text(encoding="utf-8")
        home = json.loads((out / "sweep.json").read_text(encoding="utf-8"))["modules"]
    except (OSError, ValueError, KeyError):
        raise StoreError(f"{out} is not a folder of results: it has no spec.toml and sweep.json of a sweep.") from None
    return parse(text, name=str(out / "spec.toml"), folder=Path(home))


def _tasks(spec: Spec) -> list[_Task]:
    return [_Task(cell, spec.folder, cell.key(spec.folder)) for cell in spec.cells]


def _read(store: Store, tasks: list[_Task]) -> Results:
    keys = [task.key for task in tasks]
    return Results(store.read("runs", keys), store.read("points", keys))


def _begin(spec: Spec, out: Path) -> None:
    """Leave the spec in the folder, so that the folder explains itself and can be resumed."""
    out.mkdir(parents=True, exist_ok=True)
    about = json.dumps({"title": spec.title, "modules": str(spec.folder)}, indent=1) + "\n"
    for name, text in (("sweep.json", about), ("spec.toml", spec.text)):
        half = out / f".{name}.part"
        half.write_text(text, encoding="utf-8")
        half.replace(out / name)
