"""Decentralized, projection-free, online optimization.

A problem is posed over a set; a linearization says which signal certifies progress; feedback says how that signal
may be asked for; an algorithm is one agent's behaviour; `simulate` lets all agents play.
"""

import os

from droculo import feedback, linearizations, measure, networks, oracles, problems, sets
from droculo.algorithms import Anytime, Droculo, Scales
from droculo.cache import keep_compiled
from droculo.engine import History, Record, Trajectory
from droculo.simulator import Checkpoint, simulate

__version__ = "0.1.0"

__all__ = [
    "Anytime",
    "Checkpoint",
    "Droculo",
    "History",
    "Record",
    "Scales",
    "Trajectory",
    "feedback",
    "keep_compiled",
    "linearizations",
    "measure",
    "networks",
    "oracles",
    "problems",
    "sets",
    "simulate",
]

if os.environ.get("DROCULO_CACHE"):
    keep_compiled()
