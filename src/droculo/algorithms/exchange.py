"""Exchanges: what an agent sends to its neighbours at the end of a block, and what it makes of what they send."""

from abc import abstractmethod
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jax import Array

from droculo.algorithms.contract import Ports, numbers
from droculo.sets import Set
from droculo.sets.membership import is_near


class Mixed(NamedTuple):
    """What came out of an exchange."""

    x: Array  # the point that the oracle starts from
    y: Array  # the weighted average of the neighbourhood
    heard: Any  # the same of what the step rule sent
    state: Any


class Exchange(eqx.Module):
    """A gossip scheme. What an agent sends to its neighbours at the end of a block, and what it makes of what they send.

    The network average of y must not change by it, and one call of `ports.mix` is one exchange. A scheme with memory
    (of what was sent and heard before) keeps it in its state; drivers need not know.
    """

    @abstractmethod
    def message(self, dim: int, more: Any) -> Any:
        """What is sent, as a tree of `jax.ShapeDtypeStruct`; `more` is what the step rule adds."""

    def init(self, y: Array) -> Any:
        """The state before the first block, given the starting point; by default there is none."""
        return ()

    @abstractmethod
    def mix(self, ports: Ports, x: Array, y: Array, more: Any, state: Any) -> Mixed:
        """Talk to the neighbours."""

    @abstractmethod
    def credible(self, tree: Any, domain: Set, distance: Array) -> Array:
        """True if a neighbour can have sent this: x lies in the domain, and y no farther from it than `distance`."""


class SendY(Exchange):
    """Send y alone: half the bytes of the paper's (x, y), for oracles that do not start from x."""

    def message(self, dim: int, more: Any) -> Any:
        return numbers(dim), more

    def mix(self, ports: Ports, x: Array, y: Array, more: Any, state: Any) -> Mixed:
        y, heard = ports.mix((y, more))
        return Mixed(x, y, heard, state)

    def credible(self, tree: Any, domain: Set, distance: Array) -> Array:
        return is_near(domain, tree[0], distance)


class SendXY(Exchange):
    """Send (x, y), as the paper does."""

    def message(self, dim: int, more: Any) -> Any:
        return numbers(dim), numbers(dim), more

    def mix(self, ports: Ports, x: Array, y: Array, more: Any, state: Any) -> Mixed:
        x, y, heard = ports.mix((x, y, more))
        return Mixed(x, y, heard, state)

    def credible(self, tree: Any, domain: Set, distance: Array) -> Array:
        return is_near(domain, tree[0], jnp.zeros_like(distance)) & is_near(domain, tree[1], distance)
