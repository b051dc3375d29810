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
from droculo.feedback.signals import Gradient, OnePoint, Signal, SlotSums, TwoPoint, ValueStats
from droculo.feedback.table import TABLE_1, Refusal, Row, look_up

__all__ = ["TABLE_1", "Feedback", "FeedbackKind", "Refusal", "Row", "look_up"]
__all__ += ["Gradient", "OnePoint", "Signal", "SlotSums", "TwoPoint", "ValueStats"]
__all__ += ["bandit", "full_information", "semi_bandit", "two_point", "zeroth_order"]
