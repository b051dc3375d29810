"""How a signal may be asked for: signals, feedback models, and Table 1 as data."""

from droculo.feedback.models import (
    Feedback,
    FeedbackKind,
    bandit,
    full_information,
    semi_bandit,
    two_point,
    zeroth_order,
)
from droculo.feedback.signals import Gradient, OnePoint, Signal, TwoPoint
from droculo.feedback.table import TABLE_1

__all__ = ["TABLE_1", "Feedback", "FeedbackKind", "Gradient", "OnePoint", "Signal", "TwoPoint"]
__all__ += ["bandit", "full_information", "semi_bandit", "two_point", "zeroth_order"]
