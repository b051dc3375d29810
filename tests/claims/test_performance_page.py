"""The page on performance is made of measured sections, and targets can be missed."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from benchmarks.bench import write_page
from benchmarks.targets import Target, table

RESULTS = Path(__file__).parents[2] / "docs" / "results"


def test_the_page_is_made_of_its_sections(tmp_path):
    shutil.copytree(RESULTS / "performance", tmp_path / "performance")
    write_page(tmp_path)
    assert (tmp_path / "performance.md").read_text() == (RESULTS / "performance.md").read_text()


@pytest.mark.parametrize(
    ("target", "met"),
    [
        (Target("speed", 5.1, at_least=5), True),
        (Target("speed", 4.9, at_least=5), False),
        (Target("speed", 4.9, at_least=5, noise=0.1), True),
        (Target("calls", np.float64(2.1), at_most=2), False),
        (Target("calls", float("nan"), at_most=2), False),
    ],
)
def test_a_target_is_met_or_missed(target, met):
    assert target.met is met  # a bool of Python, which JSON knows
    assert target.line.startswith("ok" if met else "MISS")


def test_a_table_has_three_digits():
    assert table(["a", "b"], [[1.23456, "x"]]).splitlines()[-1] == "| 1.23 | x |"
