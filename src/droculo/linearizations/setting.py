"""What an agent is told before the first round: the set, the class of functions, and how large they get."""

from __future__ import annotations

import math
from dataclasses import dataclass

import equinox as eqx
import numpy as np

from droculo.linearizations.base import Linearization
from droculo.sets import Set
from droculo.sets.geometry import Vector


class Bounds(eqx.Module):
    """Sizes of what an oracle may answer: |gradient| <= gradient (the paper's G), |value| <= value (B0)."""

    gradient: Vector
    value: Vector

    def __init__(self, gradient: float, value: float):
        for name, bound in (("gradient", gradient), ("value", value)):
            if not (bound > 0 and math.isfinite(bound)):
                raise ValueError(f"the bound on the {name} must be positive and finite; got {bound}.")
        # Arrays, so that problems which differ only in their data share one compiled program.
        self.gradient, self.value = np.asarray(gradient, np.float64), np.asarray(value, np.float64)


@dataclass(frozen=True)
class Setting:
    """Everything the adversary's choice cannot change."""

    set: Set
    linearization: Linearization
    bounds: Bounds
