"""The adversary: pure functions f(agent, t, x). Planted yardsticks, the paper's applications, and your own."""

from droculo.problems.adversaries import Adversary, Constant, Heterogeneous, IIDWeights, PeriodicWeights, Switching
from droculo.problems.applications import (
    NQP,
    Influence,
    Inventory,
    LogDetSensors,
    MeanField,
    MutualInformation,
    Pricing,
    Recommendation,
    Reconfiguration,
    Revenue,
    TieLines,
)
from droculo.problems.base import Comparator, Problem
from droculo.problems.delayed import Shifted
from droculo.problems.function import from_black_box, from_function
from droculo.problems.multilinear import MultilinearExtension, SampledExtension
from droculo.problems.noisy import Noisy
from droculo.problems.planted import (
    Coverage,
    Planted,
    PlantedCut,
    SetFunctions,
    TopB,
    WaterFilling,
    WeakQuadratic,
    WorstCase,
)
from droculo.problems.rounding import pipage, randomized_pipage

__all__ = [
    "NQP",
    "Adversary",
    "Comparator",
    "Constant",
    "Coverage",
    "Heterogeneous",
    "IIDWeights",
    "Influence",
    "Inventory",
    "LogDetSensors",
    "MeanField",
    "MultilinearExtension",
    "MutualInformation",
    "Noisy",
    "PeriodicWeights",
    "Planted",
    "PlantedCut",
    "Pricing",
    "Problem",
    "Recommendation",
    "Reconfiguration",
    "Revenue",
    "SampledExtension",
    "SetFunctions",
    "Shifted",
    "Switching",
    "TieLines",
    "TopB",
    "WaterFilling",
    "WeakQuadratic",
    "WorstCase",
    "from_black_box",
    "from_function",
    "pipage",
    "randomized_pipage",
]
