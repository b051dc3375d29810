"""Parallel work: all tasks are done, an error arrives, and a process that dies is replaced."""

import math
import multiprocessing
import os
import signal

import pytest

from droculo.experiments import engines
from droculo.experiments.engines import RETRIES, side_by_side


@pytest.fixture
def forked(monkeypatch):
    """Processes that are forked from one that has imported everything: what is done about a death does not depend on how a
    process starts, and a dozen that import JAX take half a minute."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([engines.__name__])
    monkeypatch.setattr(engines.multiprocessing, "get_context", lambda method: context)


def dies_once(task):
    """Kills its own process the first time, as the system does when memory runs out."""
    marker, number = task
    if number == 3 and not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def test_all_tasks_are_done():
    tasks = [float(k) for k in range(20)]
    assert sorted(side_by_side(math.sqrt, tasks, processes=2)) == [math.sqrt(t) for t in tasks]


def test_an_error_arrives():
    with pytest.raises(ValueError, match="math domain error"):
        list(side_by_side(math.sqrt, [1.0, -1.0], processes=2))


@pytest.mark.usefixtures("forked")
def test_a_process_that_dies_is_replaced(tmp_path):
    marker = tmp_path / "died"
    found = sorted(side_by_side(dies_once, [(marker, k) for k in range(6)], processes=2))
    assert marker.exists()
    assert found == list(range(6))


def dies_over_zero(number):
    if number == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


@pytest.mark.usefixtures("forked")
def test_a_task_that_always_dies_is_given_up_and_the_others_are_done():
    with pytest.raises(RuntimeError, match=f"a process died over the same task {RETRIES + 1} times"):
        list(side_by_side(dies_over_zero, [0], processes=2))
    found = list(side_by_side(dies_over_zero, list(range(12)), processes=2, died=lambda task: f"died over {task}"))
    assert sorted(map(str, found)) == sorted(["died over 0", *map(str, range(1, 12))])


def test_what_is_refused():
    with pytest.raises(ValueError, match="at least one process has to run; got 0"):
        side_by_side(math.sqrt, [1.0], processes=0)
    with pytest.raises(ValueError, match="there is no engine called 'spark'; there are local and ray"):
        side_by_side(math.sqrt, [1.0], processes=1, engine="spark")
