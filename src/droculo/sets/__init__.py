"""The domains of decisions: convex sets, given by their linear optimization oracle `argmax(direction)`."""

from droculo.sets.budgets import Knapsack, PartitionMatroid, budget, fixed_budget
from droculo.sets.combinatorial import Birkhoff, SpanningTrees
from droculo.sets.contract import Set
from droculo.sets.flows import Flows
from droculo.sets.geometry import Full, Geometry, Span, ZeroSums
from droculo.sets.host import from_oracle
from droculo.sets.hull import Hull
from droculo.sets.polytope import Polytope
from droculo.sets.shapes import Box, L1Ball, L2Ball, NuclearBall, Simplex
from droculo.sets.wrappers import AffineImage, Product, Shrunk, scaled, translated

__all__ = ["AffineImage", "Birkhoff", "Box", "Flows", "Full", "Geometry", "Hull", "Knapsack", "L1Ball", "L2Ball"]
__all__ += [
    "NuclearBall",
    "PartitionMatroid",
    "Polytope",
    "Product",
    "Set",
    "Shrunk",
    "Simplex",
    "Span",
    "SpanningTrees",
]
__all__ += ["ZeroSums", "budget", "fixed_budget", "from_oracle", "scaled", "translated"]
