"""Which signal certifies progress: (alpha, beta, action, query) for every class of functions."""

from droculo.linearizations.base import Bounds, Custom, Linearization, Setting
from droculo.linearizations.cases import (
    Concave,
    MonotoneGeneral,
    MonotoneOrigin,
    NonMonotoneDownClosed,
    NonMonotoneGeneral,
)

__all__ = ["Bounds", "Concave", "Custom", "Linearization", "MonotoneGeneral", "MonotoneOrigin"]
__all__ += ["NonMonotoneDownClosed", "NonMonotoneGeneral", "Setting"]
