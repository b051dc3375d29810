"""Driver 1: vmap over agents, one compiled loop over blocks."""

from droculo.simulator.checkpoint import Checkpoint
from droculo.simulator.simulate import simulate

__all__ = ["Checkpoint", "simulate"]
