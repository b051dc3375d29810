"""Work side by side, in processes."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")

#: tasks after which a process makes room for a new one: compiled programs pile up
TASKS = 4


def side_by_side(work: Callable[[Task], Result], tasks: Sequence[Task], processes: int) -> Iterator[Result]:
    """work(task) for every task, in whichever order they finish; `work` is a function of a module.

    >>> from operator import neg
    >>> list(side_by_side(neg, [1, 2], processes=1))
    [-1, -2]
    """
    if processes < 1:
        raise ValueError(f"at least one process has to run; got {processes}.")
    if processes == 1:
        yield from map(work, tasks)
        return
    # JAX has threads, which a fork would not survive. (A ProcessPoolExecutor can hang when its workers are replaced.)
    with multiprocessing.get_context("spawn").Pool(processes, maxtasksperchild=TASKS) as pool:
        yield from pool.imap_unordered(work, tasks)
