"""The adversary: pure functions f(agent, t, x). Planted yardsticks, the paper's applications, and your own."""

from droculo.problems.adversaries import Adversary, Constant, Heterogeneous, Independent, Switching, Waves
from droculo.problems.base import Comparator, Problem
from droculo.problems.function import from_black_box, from_function
from droculo.problems.noisy import Noisy
from droculo.problems.planted import Coverage, Planted, PlantedCut, Tight, TopB, WaterFilling, WeakQuadratic

__all__ = [
    "Adversary",
    "Comparator",
    "Constant",
    "Coverage",
    "Heterogeneous",
    "Independent",
    "Noisy",
    "Planted",
    "PlantedCut",
    "Problem",
    "Switching",
    "Tight",
    "TopB",
    "WaterFilling",
    "Waves",
    "WeakQuadratic",
    "from_black_box",
    "from_function",
]
