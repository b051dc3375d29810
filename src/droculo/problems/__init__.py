"""The adversary: pure functions f(agent, t, x). Planted yardsticks, the paper's applications, and your own."""

from droculo.problems.adversaries import Adversary, Constant, Heterogeneous, IIDWeights, PeriodicWeights, Switching
from droculo.problems.applications.feeder import Reconfiguration, TieLines
from droculo.problems.applications.inventory import Inventory
from droculo.problems.applications.mean_field import MeanField
from droculo.problems.applications.pricing import Pricing
from droculo.problems.applications.quadratic import NQP
from droculo.problems.applications.recommendation import Recommendation
from droculo.problems.applications.sensors import LogDetSensors, MutualInformation
from droculo.problems.applications.social import Influence, Revenue
from droculo.problems.base import Comparator, Planted, Problem
from droculo.problems.function import from_black_box, from_function
from droculo.problems.multilinear import MultilinearExtension, SampledExtension
from droculo.problems.planted.enumerated import Coverage, WeakQuadratic
from droculo.problems.planted.formulas import PlantedCut, TopB, WaterFilling
from droculo.problems.planted.set_functions import SetFunctions
from droculo.problems.planted.traps import Spike, WorstCase
from droculo.problems.rounding import pipage, randomized_pipage
from droculo.problems.wrappers import Noisy, Shifted

__all__ = ["Comparator", "Noisy", "Problem", "Shifted", "from_black_box", "from_function"]
__all__ += ["Adversary", "Constant", "Heterogeneous", "IIDWeights", "PeriodicWeights", "Switching"]
__all__ += ["MultilinearExtension", "SampledExtension", "pipage", "randomized_pipage"]
__all__ += [
    "Coverage",
    "Planted",
    "PlantedCut",
    "SetFunctions",
    "Spike",
    "TopB",
    "WaterFilling",
    "WeakQuadratic",
    "WorstCase",
]
__all__ += ["NQP", "Influence", "Inventory", "LogDetSensors", "MeanField", "MutualInformation", "Pricing"]
__all__ += ["Recommendation", "Reconfiguration", "Revenue", "TieLines"]
