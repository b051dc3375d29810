"""Work side by side: in processes of this machine, or on a Ray cluster."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from droculo.expect import extra

Task = TypeVar("Task")
Result = TypeVar("Result")

ENGINES = ("local", "ray")
#: times that work is begun again after a process has died over it
RETRIES = 2


def side_by_side(
    work: Callable[[Task], Result], tasks: Sequence[Task], processes: int, *, engine: str = "local"
) -> Iterator[Result]:
    """work(task) for every task, in whichever order they finish; `work` is a function of a module.

    A task whose process dies (out of memory, killed) is done again, a few times. An error that `work` raises ends it all.

    >>> from operator import neg
    >>> list(side_by_side(neg, [1, 2], processes=1))
    [-1, -2]
    """
    if processes < 1:
        raise ValueError(f"at least one process has to run; got {processes}.")
    if engine not in ENGINES:
        raise ValueError(f"there is no engine called {engine!r}; there are {' and '.join(ENGINES)}.")
    if engine == "ray":
        return _on_ray(work, tasks)
    return map(work, tasks) if processes == 1 else _in_processes(work, tasks, processes)


def cores() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _in_processes(work: Callable[[Task], Result], tasks: Sequence[Task], processes: int) -> Iterator[Result]:
    waiting = dict(enumerate(tasks))
    deaths = 0
    while waiting:
        # JAX has threads, which a fork would not survive.
        pool = ProcessPoolExecutor(
            min(processes, len(waiting)), mp_context=multiprocessing.get_context("spawn"), initializer=_live_with_parent
        )
        finished = False
        try:
            places = {pool.submit(work, task): place for place, task in waiting.items()}
            for done in as_completed(places):
                result = done.result()
                del waiting[places[done]]
                yield result
            finished = True
        except BrokenProcessPool:
            deaths += 1
            if deaths > RETRIES:
                raise RuntimeError(
                    f"a process died {deaths} times over what is left to do ({len(waiting)} of {len(tasks)} tasks). Too little "
                    "memory is the usual reason: run with fewer processes."
                ) from None
        finally:
            pool.shutdown(wait=finished, cancel_futures=True)


def _live_with_parent() -> None:
    """A worker ends with an interruption from the keyboard, and with the process that it works for, however that ended."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _on_ray(work: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
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
        waiting = [remote.remote(task) for task in tasks]
        while waiting:
            done, waiting = ray.wait(waiting, num_returns=1)
            yield ray.get(done[0])
    finally:
        if started:
            ray.shutdown()
