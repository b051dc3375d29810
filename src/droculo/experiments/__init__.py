"""Runs that are worth repeating: Table 1 measured, methods head to head, and when projections pay."""

from droculo.experiments.readings import Reading, Shelf, measured, read
from droculo.experiments.rows import BEYOND, FULL, QUICK, ROWS, Row, Size
from droculo.experiments.table_1 import Measured, Swept, Table1, by_seed, measure_table_1

__all__ = [
    "BEYOND",
    "FULL",
    "QUICK",
    "ROWS",
    "Measured",
    "Reading",
    "Row",
    "Shelf",
    "Size",
    "Swept",
    "Table1",
    "by_seed",
    "measure_table_1",
    "measured",
    "read",
]
