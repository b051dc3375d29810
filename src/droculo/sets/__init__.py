"""The domains of decisions: convex sets, given by their linear optimization oracle `argmax(direction)`."""

from droculo.sets.budgets import Knapsack, PartitionMatroid, budget, fixed_budget
from droculo.sets.combinatorial import Birkhoff, SpanningTrees
from droculo.sets.contract import Cut, Set
from droculo.sets.flows import Flows
from droculo.sets.geometry import Full, Geometry, Joint, Span, Subspace, ZeroSums
from droculo.sets.host import Host, HostSet, from_oracle
from droculo.sets.hull import Hull
from droculo.sets.polytope import Polytope
from droculo.sets.shapes import Box, L1Ball, L2Ball, NuclearBall, Simplex
from droculo.sets.wrappers import AffineImage, Product, Shrunk, scaled, translated

__all__ = ["AffineImage", "Birkhoff", "Box", "Cut", "Flows", "Full", "Geometry", "Host", "HostSet", "Hull", "Joint"]
__all__ += ["Knapsack", "L1Ball", "L2Ball", "NuclearBall", "PartitionMatroid", "Polytope", "Product", "Set", "Shrunk"]
__all__ += ["Simplex", "Span", "SpanningTrees", "Subspace", "ZeroSums", "budget", "fixed_budget", "from_oracle"]
__all__ += ["scaled", "translated"]
