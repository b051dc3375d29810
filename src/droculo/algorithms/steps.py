"""Step rules: how far an agent moves along the signal of a block."""

from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jax import Array

from droculo.sets.geometry import Vector


class StepRule(eqx.Module):
    """The step size eta of every block, from what the agent itself has seen and what its neighbours told it.

    A rule may send a few numbers with every exchange: `message` says their shapes, `say` gives them, and the weighted
    average over the neighbourhood comes back as `heard`.
    """

    @property
    def message(self) -> Any:
        """What it adds to an exchange: a tree of `jax.ShapeDtypeStruct`; by default nothing."""
        return ()

    def init(self, y: Array) -> Any:
        """The state before the first block, given the starting point; by default there is none."""
        return ()

    def say(self, state: Any) -> Any:
        """What it sends with the exchange of this block, in the shapes of `message`."""
        return ()

    @abstractmethod
    def step(self, signal: Array, own: Array, mixed: Array, heard: Any, state: Any) -> tuple[Array, Any]:
        """The step size for this block's signal, and the new state. `own` and `mixed`: y before and after the exchange."""


class FixedStep(StepRule):
    """The theorems' rule: the same eta in every block."""

    step_size: Vector

    def step(self, signal: Array, own: Array, mixed: Array, heard: Any, state: Any) -> tuple[Array, Any]:
        return jnp.asarray(self.step_size), state
