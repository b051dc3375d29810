"""Tables, figures and pages from the rows of a sweep. Nothing here runs an algorithm."""

from collections.abc import Callable
from pathlib import Path

from droculo.experiments import Sweep
from droculo.report.charts import write_exports
from droculo.report.compare import write_compare
from droculo.report.crossover import write_crossover
from droculo.report.figure import Figure
from droculo.report.interactive import write_page
from droculo.report.page import Page
from droculo.report.table import Table
from droculo.report.table1 import write_table1
from droculo.report.theory import write_theory

#: the page of each study: writes NAME.md and its figures to a folder, and returns the text
STUDY_PAGES: dict[str, Callable[[Sweep, Path, str], str]] = {
    "compare": write_compare,
    "crossover": write_crossover,
    "table1": write_table1,
    "theory": write_theory,
}

__all__ = ["STUDY_PAGES", "Figure", "Page", "Table", "write_exports", "write_page"]
