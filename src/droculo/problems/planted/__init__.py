"""Problems with a best point in hindsight that is known exactly for any adversary, against which regret can be measured."""

from droculo.problems.planted.base import Planted
from droculo.problems.planted.cut import PlantedCut
from droculo.problems.planted.enumerated import Coverage, WeakQuadratic
from droculo.problems.planted.set_functions import SetFunctions
from droculo.problems.planted.tight import WorstCase
from droculo.problems.planted.top_b import TopB
from droculo.problems.planted.water_filling import WaterFilling

__all__ = ["Coverage", "Planted", "PlantedCut", "SetFunctions", "TopB", "WaterFilling", "WeakQuadratic", "WorstCase"]
