"""Runs that are worth repeating: specs and sweeps, Table 1 measured, methods head to head, and when projections pay."""

from droculo.experiments.catalogue import ALGORITHMS, FEEDBACKS, NETWORKS, PROBLEMS, Entry
from droculo.experiments.cell import Cell, Choice, NotPossibleError, build
from droculo.experiments.compare import (
    Comparison,
    Contender,
    Outcome,
    compare,
    contenders,
    network_of,
    problem_of,
)
from droculo.experiments.crossover import Pace, Race, measure_crossover, race
from droculo.experiments.engines import ENGINES, side_by_side
from droculo.experiments.over_mpi import sweep_over_mpi
from droculo.experiments.over_zenoh import Deployment, agent_over_zenoh, sweep_over_zenoh
from droculo.experiments.play import Rows, play
from droculo.experiments.readings import Reading, Shelf, measured, read
from droculo.experiments.rows import EXTRA_ROWS, FULL, QUICK, ROWS, Row, Size
from droculo.experiments.spec import Spec, SpecError, load, parse
from droculo.experiments.store import Results, Store, StoreError
from droculo.experiments.sweep import Sweep, collect, spec_of, sweep
from droculo.experiments.table_1 import Measured, Swept, Table1, by_seed, growth, measure_table_1

__all__ = [
    "ALGORITHMS",
    "ENGINES",
    "EXTRA_ROWS",
    "FEEDBACKS",
    "FULL",
    "NETWORKS",
    "PROBLEMS",
    "QUICK",
    "ROWS",
    "Cell",
    "Choice",
    "Comparison",
    "Contender",
    "Deployment",
    "Entry",
    "Measured",
    "NotPossibleError",
    "Outcome",
    "Pace",
    "Race",
    "Reading",
    "Results",
    "Row",
    "Rows",
    "Shelf",
    "Size",
    "Spec",
    "SpecError",
    "Store",
    "StoreError",
    "Sweep",
    "Swept",
    "Table1",
    "agent_over_zenoh",
    "build",
    "by_seed",
    "collect",
    "compare",
    "contenders",
    "growth",
    "load",
    "measure_crossover",
    "measure_table_1",
    "measured",
    "network_of",
    "parse",
    "play",
    "problem_of",
    "race",
    "read",
    "side_by_side",
    "spec_of",
    "sweep",
    "sweep_over_mpi",
    "sweep_over_zenoh",
]
