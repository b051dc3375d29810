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
    """Sizes on K that an agent may count on, and that `droculo.testing.check_problem` checks.

    What an oracle may answer: |gradient| <= gradient (the paper's G), |value| <= value (B0). And of the functions
    themselves: `lipschitz` (the paper's M1; the bound on the gradient unless the oracle is noisy) and `smoothness`,
    the Lipschitz constant of their gradients, infinite where it is not known. `value_noise` is how far a value may be
    off.
    """

    gradient: Vector
    value: Vector
    lipschitz: Vector
    smoothness: Vector
    value_noise: Vector

    def __init__(
        self, gradient: float, value: float, *, lipschitz: float | None = None, smoothness: float | None = None
    ):
        for name, bound in (("gradient", gradient), ("value", value), ("lipschitz constant", lipschitz)):
            if bound is not None and not (bound > 0 and math.isfinite(bound)):
                raise ValueError(f"the bound on the {name} must be positive and finite; got {bound}.")
        if smoothness is not None and not smoothness >= 0:
            raise ValueError(f"the smoothness is a non-negative number, or None where unknown; got {smoothness}.")
        # Arrays, so that problems which differ only in their data share one compiled program.
        self.gradient, self.value = np.asarray(gradient, np.float64), np.asarray(value, np.float64)
        self.lipschitz = np.asarray(gradient if lipschitz is None else lipschitz, np.float64)
        self.smoothness = np.asarray(np.inf if smoothness is None else smoothness, np.float64)
        self.value_noise = np.zeros(())


@dataclass(frozen=True)
class Setting:
    """Everything the adversary's choice cannot change."""

    set: Set
    linearization: Linearization
    bounds: Bounds
