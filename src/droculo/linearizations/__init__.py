"""Which signal certifies progress: (alpha, beta, action, query) for every class of functions."""

from droculo.linearizations.base import Custom, Linearization
from droculo.linearizations.cases import (
    Concave,
    MonotoneGeneral,
    MonotoneOrigin,
    NonMonotoneDownClosed,
    NonMonotoneGeneral,
)
from droculo.linearizations.setting import Bounds, Setting

__all__ = [
    "Bounds",
    "Concave",
    "Custom",
    "Linearization",
    "MonotoneGeneral",
    "MonotoneOrigin",
    "NonMonotoneDownClosed",
    "NonMonotoneGeneral",
    "Setting",
]
