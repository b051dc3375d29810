"""Infeasible projections: reaching K through its linear oracle alone."""

from droculo.oracles.active_set import ActiveSet
from droculo.oracles.contract import InfeasibleProjection, Memory, Projection, lemma_bound
from droculo.oracles.frank_wolfe import FrankWolfe, PaperFrankWolfe
from droculo.sets import Set

__all__ = ["ActiveSet", "FrankWolfe", "InfeasibleProjection", "Memory", "PaperFrankWolfe", "Projection", "lemma_bound"]


def default_oracle(domain: Set) -> InfeasibleProjection:
    """The oracle for this set if the user chose none: today `ActiveSet` for every set.

    >>> from droculo import sets
    >>> default_oracle(sets.Simplex(3))
    ActiveSet()
    """
    return ActiveSet()
