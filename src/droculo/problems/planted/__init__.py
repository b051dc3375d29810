"""Problems with a best point in hindsight that is known exactly for any adversary, against which regret can be measured."""

from droculo.problems.base import Planted
from droculo.problems.planted.enumerated import Coverage, WeakQuadratic
from droculo.problems.planted.formulas import PlantedCut, TopB, WaterFilling, WorstCase
from droculo.problems.planted.set_functions import SetFunctions

__all__ = ["Coverage", "Planted", "PlantedCut", "SetFunctions", "TopB", "WaterFilling", "WeakQuadratic", "WorstCase"]
