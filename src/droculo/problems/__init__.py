"""The adversary: pure functions f(agent, t, x), planted instances first."""

from droculo.problems.base import Comparator, Problem
from droculo.problems.function import from_function
from droculo.problems.planted import PlantedCut, TopB, WaterFilling, Waves

__all__ = ["Comparator", "PlantedCut", "Problem", "TopB", "WaterFilling", "Waves", "from_function"]
