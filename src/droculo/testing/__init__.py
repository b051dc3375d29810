"""Checks for what users bring themselves: whether a set or a network keeps the contract the algorithms rely on."""

from droculo.testing.networks import check_network
from droculo.testing.sets import check_set

__all__ = ["check_network", "check_set"]
