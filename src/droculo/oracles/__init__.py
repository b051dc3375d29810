"""Infeasible projections: reaching K through its linear oracle alone."""

from droculo.oracles.base import InfeasibleProjection, Memory, Projection, lemma_bound
from droculo.oracles.corrective import Corrective
from droculo.oracles.infeasible import Paper, Sharp

__all__ = ["Corrective", "InfeasibleProjection", "Memory", "Paper", "Projection", "Sharp", "lemma_bound"]
