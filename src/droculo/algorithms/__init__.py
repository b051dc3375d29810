"""DROCULO, its `parts`, and its rivals; `schedules` makes numbers of Table 1's powers of T."""

from droculo.algorithms.anytime import Anytime, Phase
from droculo.algorithms.contract import (
    Algorithm,
    Answers,
    Keys,
    OracleCalls,
    Ports,
    Slot,
    SlotPlay,
    message_bytes,
    message_size,
    numbers,
)
from droculo.algorithms.droculo import Droculo, DroculoState
from droculo.algorithms.meta_frank_wolfe import DMFW, MonoDMFW
from droculo.algorithms.parts import (
    Draw,
    Draws,
    EvenDraws,
    Exchange,
    FixedStep,
    IndependentDraws,
    Mixed,
    SendXY,
    SendY,
    StepRule,
)
from droculo.algorithms.presets import dpobga, published
from droculo.algorithms.rivals import DOBGA, DecBFTRL
from droculo.algorithms.schedules import Scales, Schedule, schedule

__all__ = ["Algorithm", "Answers", "Keys", "OracleCalls", "Ports", "Slot", "SlotPlay"]
__all__ += ["message_bytes", "message_size", "numbers"]
__all__ += ["Draw", "Draws", "EvenDraws", "FixedStep", "IndependentDraws", "StepRule"]
__all__ += ["Exchange", "Mixed", "SendXY", "SendY"]
__all__ += ["DMFW", "DOBGA", "Anytime", "DecBFTRL", "Droculo", "DroculoState", "MonoDMFW", "Phase"]
__all__ += ["Scales", "Schedule", "dpobga", "published", "schedule"]
