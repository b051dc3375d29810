"""What commands share: what was typed, where to print, a progress bar, one-line errors."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from droculo.experiments.sweep import Progress

#: columns where the output is no terminal
WIDTH = 130


@dataclass
class Given:
    """What was typed, and whether an interruption of it keeps what is finished."""

    words: Sequence[str]
    keeps: bool = False

    @property
    def command(self) -> str:
        """As one could type it again."""
        return shlex.join(["droculo", *self.words])


def console() -> Console:
    """Where results go."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else WIDTH, highlight=False, soft_wrap=False)


def complain(message: str) -> int:
    """One line to the error stream, whatever the message contains; the exit code of a wrong input."""
    print(f"droculo: {' '.join(message.split())}", file=sys.stderr)
    return 2


@contextmanager
def progress(what: str) -> Iterator[Progress]:
    """A bar on a terminal; elsewhere a line for every quarter."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

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
    columns: list[Any] = [
        TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(),
        TextColumn("{task.fields[last]}", style="dim"),
    ]  # fmt: skip
    with Progress(*columns, console=errors, transient=True) as bar:
        task = bar.add_task(what, total=None, last="")
        yield lambda done, total, label: bar.update(task, completed=done, total=total, last=label)


def table(title: str, head: Sequence[tuple[str, str]], rows: Sequence[Sequence[str]]) -> Any:
    """A table for the terminal; `head` has (name, "left" or "right") for every column."""
    from rich import box
    from rich.table import Table

    made = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", title_style="bold", pad_edge=False)
    for name, side in head:
        made.add_column(name, justify="right" if side == "right" else "left", overflow="fold")
    for row in rows:
        made.add_row(*row)
    return made
