"""A sweep: run all cells of a spec side by side, keep each as soon as it is finished, and never run one twice."""

from __future__ import annotations

import json
import multiprocessing
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

import jax

from droculo.experiments.cell import Cell
from droculo.experiments.engines import RETRIES, WHY_IT_DIED, cores, side_by_side
from droculo.experiments.rows import Rows
from droculo.experiments.run import run_cell
from droculo.experiments.spec import Spec, SpecError, parse
from droculo.experiments.store import Results, Store, StoreError
from droculo.experiments.whole_files import write_whole

#: (cells that are finished, cells in all, the one that was finished last)
Progress = Callable[[int, int, str], None]


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
    details: str = ""


def _work(task: _Task) -> _Done:
    """Run a cell. An error becomes part of the result, since it must not stop the other cells."""
    try:
        if task.cell.key(task.folder) != task.key:
            raise RuntimeError(
                f"this worker has other code: droculo {version('droculo')}, or a user module that differs. Install "
                "the same on all machines."
            )
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
    others: dict[str, str] | None = None
    for task in _tasks(spec):
        if store.finished(task.key):
            keys[task.cell] = task.key
            continue
        others = store.of_other_code() if others is None else others
        if task.cell.asked in others:
            keys[task.cell] = others[task.cell.asked]
            aged += others[task.cell.asked] != task.key
        else:
            missing.append(task.cell)
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
