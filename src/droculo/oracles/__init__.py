"""Infeasible projections: reaching K through its linear oracle alone."""

from droculo.oracles.active_set import ActiveSet
from droculo.oracles.contract import InfeasibleProjection, Memory, Projection, lemma_bound
from droculo.oracles.frank_wolfe import FrankWolfe, PaperFrankWolfe

__all__ = ["ActiveSet", "FrankWolfe", "InfeasibleProjection", "Memory", "PaperFrankWolfe", "Projection", "lemma_bound"]
