"""Where decisions live: a set is its linear optimization oracle, `argmax(direction)`."""

from droculo.sets.balls import L1Ball, L2Ball, NuclearBall
from droculo.sets.base import Set
from droculo.sets.boxes import Box, Knapsack, PartitionMatroid, Simplex, budget, budget_face
from droculo.sets.geometry import Full, Geometry, Joint, Span, Subspace, ZeroSums
from droculo.sets.wrappers import Image, Product, Shrunk, scaled, translated

__all__ = [
    "Box",
    "Full",
    "Geometry",
    "Image",
    "Joint",
    "Knapsack",
    "L1Ball",
    "L2Ball",
    "NuclearBall",
    "PartitionMatroid",
    "Product",
    "Set",
    "Shrunk",
    "Simplex",
    "Span",
    "Subspace",
    "ZeroSums",
    "budget",
    "budget_face",
    "scaled",
    "translated",
]
