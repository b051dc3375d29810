"""Driver 1: vmap over agents, one compiled loop over blocks."""

from droculo.simulator.checkpoint import Checkpoint
from droculo.simulator.simulate import simulate
from droculo.simulator.trajectory import Ledger, Plays, Record, Spending, Trajectory

__all__ = ["Checkpoint", "Ledger", "Plays", "Record", "Spending", "Trajectory", "simulate"]
