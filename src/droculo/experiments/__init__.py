"""Runs that are worth repeating: Table 1 measured, methods head to head, and when projections pay."""

from droculo.experiments.readings import Reading, Shelf, measured, read
from droculo.experiments.rows import BEYOND, FULL, QUICK, ROWS, Row, Size

__all__ = ["BEYOND", "FULL", "QUICK", "ROWS", "Reading", "Row", "Shelf", "Size", "measured", "read"]
