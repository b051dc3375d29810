"""What both drivers share: blocks, their plan, checks of input, records and costs, and how programs are compiled."""

from droculo.engine.costs import COSTS, CostCurve, Ledger
from droculo.engine.record import History, Record, Trajectory

__all__ = ["COSTS", "CostCurve", "History", "Ledger", "Record", "Trajectory"]
