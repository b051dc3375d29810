"""Applications: the problems that the paper names, posed so that its assumptions hold."""

from droculo.problems.applications.feeder import Reconfiguration, TieLines
from droculo.problems.applications.inventory import Inventory
from droculo.problems.applications.mean_field import MeanField
from droculo.problems.applications.pricing import Pricing
from droculo.problems.applications.quadratic import NQP
from droculo.problems.applications.recommendation import Recommendation
from droculo.problems.applications.sensors import LogDetSensors, MutualInformation
from droculo.problems.applications.social import Influence, Revenue

__all__ = [
    "NQP",
    "Influence",
    "Inventory",
    "LogDetSensors",
    "MeanField",
    "MutualInformation",
    "Pricing",
    "Recommendation",
    "Reconfiguration",
    "Revenue",
    "TieLines",
]
