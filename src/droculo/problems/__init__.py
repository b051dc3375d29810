"""The adversary: pure functions f(agent, t, x). Planted yardsticks, the paper's applications, and your own."""

from droculo.problems.adversaries import Adversary, Constant, Heterogeneous, Independent, Switching, Waves
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
from droculo.problems.delayed import Delayed
from droculo.problems.function import from_black_box, from_function
from droculo.problems.multilinear import MultilinearExtension, SampledExtension
from droculo.problems.noisy import Noisy
from droculo.problems.planted import (
    Coverage,
    Planted,
    PlantedCut,
    SetFunctions,
    Tight,
    TopB,
    WaterFilling,
    WeakQuadratic,
)
from droculo.problems.rounding import pipage, randomized_pipage

__all__ = [
    "NQP",
    "Adversary",
    "Comparator",
    "Constant",
    "Coverage",
    "Delayed",
    "Heterogeneous",
    "Independent",
    "Influence",
    "Inventory",
    "LogDetSensors",
    "MeanField",
    "MultilinearExtension",
    "MutualInformation",
    "Noisy",
    "Planted",
    "PlantedCut",
    "Pricing",
    "Problem",
    "Recommendation",
    "Reconfiguration",
    "Revenue",
    "SampledExtension",
    "SetFunctions",
    "Switching",
    "TieLines",
    "Tight",
    "TopB",
    "WaterFilling",
    "Waves",
    "WeakQuadratic",
    "from_black_box",
    "from_function",
    "pipage",
    "randomized_pipage",
]
