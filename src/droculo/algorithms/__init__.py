"""One file per method; `schedules` holds every power of T."""

from droculo.algorithms.base import Algorithm, Played, Ports, Spent
from droculo.algorithms.droculo import Droculo, DroculoState
from droculo.algorithms.schedules import Scales, Schedule, schedule

__all__ = ["Algorithm", "Droculo", "DroculoState", "Played", "Ports", "Scales", "Schedule", "Spent", "schedule"]
