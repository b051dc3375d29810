"""One file per method; `draws`, `steps` and `exchange` are parts of DROCULO; `schedules` holds every power of T."""

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
from droculo.algorithms.dec_bftrl import DecBFTRL
from droculo.algorithms.dobga import DOBGA
from droculo.algorithms.draws import Draw, Draws, EvenDraws, IndependentDraws
from droculo.algorithms.droculo import Droculo, DroculoState
from droculo.algorithms.exchange import Exchange, Mixed, SendXY, SendY
from droculo.algorithms.meta_frank_wolfe import DMFW, MonoDMFW
from droculo.algorithms.presets import dpobga, published
from droculo.algorithms.schedules import Scales, Schedule, schedule
from droculo.algorithms.steps import FixedStep, StepRule

__all__ = [
    "DMFW",
    "DOBGA",
    "Algorithm",
    "Answers",
    "Anytime",
    "DecBFTRL",
    "Draw",
    "Draws",
    "Droculo",
    "DroculoState",
    "EvenDraws",
    "Exchange",
    "FixedStep",
    "IndependentDraws",
    "Keys",
    "Mixed",
    "MonoDMFW",
    "OracleCalls",
    "Phase",
    "Ports",
    "Scales",
    "Schedule",
    "SendXY",
    "SendY",
    "Slot",
    "SlotPlay",
    "StepRule",
    "dpobga",
    "message_bytes",
    "message_size",
    "numbers",
    "published",
    "schedule",
]
