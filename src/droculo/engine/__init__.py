"""What both drivers share: runs as they are given, blocks, plans, records, costs, and how programs are compiled."""

from droculo.engine.costs import COSTS, CostCurve, Ledger
from droculo.engine.record import History, Record, Trajectory

__all__ = ["COSTS", "CostCurve", "History", "Ledger", "Record", "Trajectory"]
