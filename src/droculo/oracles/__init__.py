"""Infeasible projections: reaching K through its linear oracle alone."""

from droculo.oracles.base import InfeasibleProjection, Memory, Projection, lemma_bound
from droculo.oracles.corrective import ActiveSet
from droculo.oracles.infeasible import FrankWolfe, PaperFrankWolfe

__all__ = ["ActiveSet", "FrankWolfe", "InfeasibleProjection", "Memory", "PaperFrankWolfe", "Projection", "lemma_bound"]
