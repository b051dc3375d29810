"""What both drivers share: blocks, their plan, checks of input, records and costs, and how programs are compiled."""

from droculo.engine.record import CostCurve, History, Ledger, Record, Trajectory

__all__ = ["CostCurve", "History", "Ledger", "Record", "Trajectory"]
