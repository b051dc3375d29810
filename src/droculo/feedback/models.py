"""The feedback models: a signal, and whether its query points must be played."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jax import Array

from droculo.feedback.signals import Gradient, OnePoint, Signal, TwoPoint


class Feedback(eqx.Module):
    """What an agent may learn. `played` means trivial queries: it only hears about points that it plays."""

    name: str = eqx.field(static=True)
    signal: Signal
    played: bool = eqx.field(static=True)

    def actions(self, action: Array, points: Array, when: Array, length: int) -> Array:
        """The plays of a slot of `length` rounds: the action, and in round `when` the query if it must be played."""
        quiet = jnp.broadcast_to(action, (length, *action.shape))
        if not self.played:
            return quiet
        return jnp.where((jnp.arange(length) == when)[:, None], points[0], quiet)


def full_information() -> Feedback:
    """Gradients anywhere."""
    return Feedback("full information", Gradient(), played=False)


def semi_bandit() -> Feedback:
    """Gradients, only where the agent played."""
    return Feedback("semi-bandit", Gradient(), played=True)


def zeroth_order(*, control_variate: bool = True) -> Feedback:
    """One value a round, anywhere."""
    return Feedback("zeroth order", OnePoint(control_variate), played=False)


def bandit(*, control_variate: bool = True) -> Feedback:
    """One value a round, only where the agent played."""
    return Feedback("bandit", OnePoint(control_variate), played=True)


def two_point() -> Feedback:
    """Two exact values of the same round's function, anywhere."""
    return Feedback("two-point", TwoPoint(), played=False)
