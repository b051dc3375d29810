"""Decentralized, projection-free, online optimization.

A problem is posed over a set; a linearization says which signal certifies progress; feedback says how that signal
may be asked for; an algorithm is one agent's behaviour; `simulate` lets all agents play.
"""

import importlib
import os
from types import ModuleType
from typing import TYPE_CHECKING

from droculo import algorithms, feedback, linearizations, measure, networks, oracles, problems, sets
from droculo.algorithms import Droculo, Scales
from droculo.cache import keep_compiled
from droculo.engine import History, Record, Trajectory
from droculo.simulator import Checkpoint, simulate

__version__ = "0.1.0"  # the only place: the package takes it from here

__all__ = ["Checkpoint", "Droculo", "History", "Record", "Scales", "Trajectory", "simulate"]
__all__ += ["algorithms", "feedback", "linearizations", "measure", "networks", "oracles", "problems", "sets"]
__all__ += ["experiments", "report", "runtime", "testing"]

if TYPE_CHECKING:
    from droculo import experiments as experiments
    from droculo import report as report
    from droculo import runtime as runtime
    from droculo import testing as testing

#: packages that are imported when they are first used, so that `import droculo` stays quick
_LATER = ("experiments", "report", "runtime", "testing")


def __getattr__(name: str) -> ModuleType:
    if name in _LATER:
        return importlib.import_module(f"droculo.{name}")
    raise AttributeError(f"module 'droculo' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})


if os.environ.get("DROCULO_CACHE"):
    keep_compiled()
