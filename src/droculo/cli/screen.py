"""Shared by all commands: the command line, output, a progress bar, one-line errors."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from droculo.experiments import Sweep
    from droculo.experiments.sweeps import Progress

#: columns where the output is no terminal
WIDTH = 130


@dataclass
class Given:
    """The command line, and if an interruption keeps the finished part of its work."""

    words: Sequence[str]
    keeps: bool = False

    @property
    def command(self) -> str:
        """As it can be typed again."""
        return shlex.join(["droculo", *self.words])


def console() -> Console:
    """The console for results."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else WIDTH, highlight=False, soft_wrap=False)


def complain(message: str) -> int:
    """One line to the error stream, whatever the message contains; the exit code of a wrong input."""
    print(f"droculo: {' '.join(message.split())}", file=sys.stderr)
    return 2


@contextmanager
def progress(what: str) -> Iterator[Progress]:
    """A bar on a terminal; elsewhere a line for every quarter."""
    from rich import progress as bars
    from rich.console import Console

    errors = Console(stderr=True, highlight=False)
    if not errors.is_terminal:
        told = -1

        def tell(done: int, total: int, label: str) -> None:
            nonlocal told
            quarter = 4 * done // max(total, 1)
            if quarter > told:
                told = quarter
                print(f"{what}: {done} of {total}", file=sys.stderr, flush=True)

        yield tell
        return
    text, last = bars.TextColumn, bars.TextColumn("{task.fields[last]}", style="dim")
    parts: list[Any] = [bars.BarColumn(), bars.MofNCompleteColumn(), bars.TimeElapsedColumn(), text("left")]
    columns = [text(what), *parts, bars.TimeRemainingColumn(), last]
    with bars.Progress(*columns, console=errors, transient=True) as bar:
        task = bar.add_task(what, total=None, last="")
        yield lambda done, total, label: bar.update(task, completed=done, total=total, last=label)


def report_problems(found: Sweep) -> int:
    """Say what failed, what is missing and what is out of date; the exit code."""
    screen = console()
    for cell, why in found.failures:
        complain(f"{cell.label}, T = {cell.horizon}, ended with an error: {why}")
    if found.aged:
        aged = f"{found.aged} cells were run with another version or other code"
        screen.print(f"{aged}: droculo resume {found.out} runs them again.", soft_wrap=True)
    if found.missing:
        screen.print(f"{len(found.missing)} cells were not run yet: droculo resume {found.out}", soft_wrap=True)
    return 1 if found.failures else 0
