"""One file per method; `schedules` holds every power of T."""

from droculo.algorithms.anytime import Anytime, Phase
from droculo.algorithms.base import Algorithm, OracleCalls, Ports, SlotPlay
from droculo.algorithms.dec_bftrl import DecBFTRL
from droculo.algorithms.dmfw import DMFW
from droculo.algorithms.dobga import DOBGA
from droculo.algorithms.dpobga import dpobga
from droculo.algorithms.droculo import Droculo, DroculoState
from droculo.algorithms.mono_dmfw import MonoDMFW
from droculo.algorithms.schedules import Scales, Schedule, schedule

__all__ = [
    "DMFW",
    "DOBGA",
    "Algorithm",
    "Anytime",
    "DecBFTRL",
    "Droculo",
    "DroculoState",
    "MonoDMFW",
    "OracleCalls",
    "Phase",
    "Ports",
    "Scales",
    "Schedule",
    "SlotPlay",
    "dpobga",
    "schedule",
]
