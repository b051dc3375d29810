"""DROCULO, its parts (`draws`, `exchange`, `steps`) and its rivals; `schedules` makes numbers of the powers of T.

What a new algorithm is made of is in `droculo.algorithms.contract`.
"""

from droculo.algorithms.anytime import Anytime
from droculo.algorithms.contract import Algorithm
from droculo.algorithms.draws import Draws, EvenDraws, IndependentDraws
from droculo.algorithms.droculo import Droculo
from droculo.algorithms.exchange import Exchange, SendXY, SendY
from droculo.algorithms.meta_frank_wolfe import DMFW, MonoDMFW
from droculo.algorithms.presets import dpobga, published
from droculo.algorithms.rivals import DOBGA, DecBFTRL
from droculo.algorithms.schedules import Scales, Schedule
from droculo.algorithms.steps import AdaptiveStep, FixedStep, StepRule
from droculo.algorithms.timetable import Equal, Growing, Timetable

__all__ = ["DMFW", "DOBGA", "Algorithm", "Anytime", "DecBFTRL", "Droculo", "MonoDMFW", "dpobga", "published"]
__all__ += [
    "AdaptiveStep",
    "Draws",
    "EvenDraws",
    "Exchange",
    "FixedStep",
    "IndependentDraws",
    "SendXY",
    "SendY",
    "StepRule",
]
__all__ += ["Equal", "Growing", "Scales", "Schedule", "Timetable"]
