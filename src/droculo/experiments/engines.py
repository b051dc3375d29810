"""Parallel work: in processes of this machine, or on a Ray cluster."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import NoReturn, TypeVar

from droculo.expect import extra

Task = TypeVar("Task")
Result = TypeVar("Result")

ENGINES = ("local", "ray")
#: times that a task is repeated after its process has died
RETRIES = 2
#: processes side by side; Windows can wait for no more than 61
MOST = 60
WHY_IT_DIED = (
    "Too little memory is the usual reason: run with fewer processes. A script that starts processes must do so under "
    "if __name__ == '__main__'."
)


def side_by_side(
    work: Callable[[Task], Result],
    tasks: Sequence[Task],
    processes: int,
    *,
    engine: str = "local",
    died: Callable[[Task], Result] | None = None,
) -> Iterator[Result]:
    """work(task) for every task, in whichever order they finish; `work` is a function of a module.

    A task whose process dies (out of memory, killed) is done again, twice at most; then `died(task)` is its result, or, without
    `died`, an error ends all work. An error that `work` raises ends all work too.

    >>> from operator import neg
    >>> list(side_by_side(neg, [1, 2], processes=1))
    [-1, -2]
    """
    if processes < 1:
        raise ValueError(f"at least one process has to run; got {processes}.")
    if engine not in ENGINES:
        raise ValueError(f"there is no engine called {engine!r}; there are {' and '.join(ENGINES)}.")
    if engine == "ray":
        return _on_ray(work, tasks, died or _fatal)
    return map(work, tasks) if processes == 1 else _in_processes(work, tasks, min(processes, MOST), died or _fatal)


def _fatal(task: object) -> NoReturn:
    raise RuntimeError(f"a process died over the same task {RETRIES + 1} times. {WHY_IT_DIED}")


def cores() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _in_processes(
    work: Callable[[Task], Result], tasks: Sequence[Task], processes: int, died: Callable[[Task], Result]
) -> Iterator[Result]:
    waiting = dict(enumerate(tasks))
    deaths: Counter[int] = Counter()
    while waiting:
        suspects = yield from _until_a_death(work, waiting, list(waiting), processes)
        # The task of the dead process is not known: the tasks in progress are repeated one by one, before all others.
        for place in suspects:
            while place in waiting:
                if (yield from _until_a_death(work, waiting, [place], 1)):
                    deaths[place] += 1
                    if deaths[place] >= RETRIES:
                        yield died(waiting.pop(place))


def _until_a_death(
    work: Callable[[Task], Result], waiting: dict[int, Task], order: list[int], processes: int
) -> Generator[Result, None, list[int]]:
    """Results until all is done or a process has died; returns the places of the tasks that may have been the reason.

    Finished tasks are removed from `waiting`.
    """
    # JAX has threads, which a fork would not survive.
    spawn = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(min(processes, len(order)), mp_context=spawn, initializer=_live_with_parent)
    done_all = False
    try:
        places = {pool.submit(work, waiting[place]): place for place in order}
        for done in as_completed(places):
            result = done.result()
            del waiting[places[done]]
            yield result
        done_all = True
        return []
    except BrokenProcessPool:
        # Tasks are begun in order, one for each process and one ahead.
        return [place for place in order if place in waiting][: processes + 1]
    finally:
        pool.shutdown(wait=done_all, cancel_futures=True)


def _live_with_parent() -> None:
    """A worker ends with an interruption from the keyboard, and when the process that started it has ended."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _on_ray(work: Callable[[Task], Result], tasks: Sequence[Task], died: Callable[[Task], Result]) -> Iterator[Result]:
    ray = extra("ray", "sweeps on a cluster", "ray")
    started = not ray.is_initialized()
    if started:
        with warnings.catch_warnings():
            # JAX warns of every fork; Ray's are followed at once by another program, which is safe.
            warnings.simplefilter("ignore", RuntimeWarning)
            # The cluster that RAY_ADDRESS names or that runs here already; else one is started on this machine.
            ray.init(log_to_driver=False, logging_level="error", include_dashboard=False)
    try:
        remote = ray.remote(max_retries=RETRIES, num_cpus=1)(work)
        waiting = {remote.remote(task): task for task in tasks}
        while waiting:
            (done,), _ = ray.wait(list(waiting), num_returns=1)
            task = waiting.pop(done)
            try:
                result = ray.get(done)
            except ray.exceptions.RayTaskError:  # an error of `work`
                raise
            except ray.exceptions.RayError:
                result = died(task)
            yield result
    finally:
        if started:
            ray.shutdown()
