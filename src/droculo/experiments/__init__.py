"""Runs that are worth repeating: Table 1 measured, methods head to head, and when projections pay."""

from droculo.experiments.compare import (
    NETWORKS,
    PROBLEMS,
    Comparison,
    Contender,
    Outcome,
    compare,
    contenders,
    network_of,
    problem_of,
)
from droculo.experiments.crossover import Pace, Race, measure_crossover, race
from droculo.experiments.readings import Reading, Shelf, measured, read
from droculo.experiments.rows import BEYOND, FULL, QUICK, ROWS, Row, Size
from droculo.experiments.table_1 import Measured, Swept, Table1, by_seed, growth, measure_table_1

__all__ = [
    "BEYOND",
    "FULL",
    "NETWORKS",
    "PROBLEMS",
    "QUICK",
    "ROWS",
    "Comparison",
    "Contender",
    "Measured",
    "Outcome",
    "Pace",
    "Race",
    "Reading",
    "Row",
    "Shelf",
    "Size",
    "Swept",
    "Table1",
    "by_seed",
    "compare",
    "contenders",
    "growth",
    "measure_crossover",
    "measure_table_1",
    "measured",
    "network_of",
    "problem_of",
    "race",
    "read",
]
