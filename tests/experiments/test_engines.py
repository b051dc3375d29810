"""Processes that are replaced after a few tasks: everything is done, and nobody waits for ever."""

import math

import pytest

from droculo.experiments.engines import side_by_side


def test_all_tasks_are_done_though_processes_are_replaced():
    tasks = [float(k) for k in range(20)]
    assert sorted(side_by_side(math.sqrt, tasks, processes=2)) == [math.sqrt(t) for t in tasks]


def test_an_error_arrives():
    with pytest.raises(ValueError, match="math domain error"):
        list(side_by_side(math.sqrt, [1.0, -1.0], processes=2))


def test_no_process_is_refused():
    with pytest.raises(ValueError, match="at least one process has to run; got 0"):
        list(side_by_side(math.sqrt, [1.0], processes=0))
