"""The feedback models: a signal, and whether its query points must be played."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jax import Array

from droculo.expect import expect
from droculo.feedback.signals import Gradient, OnePoint, Signal, TwoPoint


class Feedback(eqx.Module):
    """What an agent may learn. `played` means trivial queries: it only hears about points that it plays."""

    signal: Signal
    played: bool = eqx.field(static=True)

    def __check_init__(self) -> None:
        expect(self.signal, Signal, "signal", "Pass for example droculo.feedback.OnePoint(), with the brackets.")
        if self.played and isinstance(self.signal, TwoPoint):
            raise ValueError(
                "two values of one round's function cannot both be played: an agent plays once a round. "
                "Use played=False, or one value (OnePoint)."
            )

    @property
    def name(self) -> str:
        """The paper's name of the model."""
        if isinstance(self.signal, TwoPoint):
            return "two-point"
        names = {
            (1, False): "full information",
            (1, True): "semi-bandit",
            (0, False): "zeroth order",
            (0, True): "bandit",
        }
        return names[self.signal.order, self.played]

    def actions(self, action: Array, points: Array, when: Array, length: int) -> Array:
        """The plays of a slot of `length` rounds: the action, and in round `when` the query if it must be played."""
        quiet = jnp.broadcast_to(action, (length, *action.shape))
        if not self.played:
            return quiet
        return jnp.where((jnp.arange(length) == when)[:, None], points[0], quiet)


def full_information() -> Feedback:
    """Gradients anywhere."""
    return Feedback(Gradient(), played=False)


def semi_bandit() -> Feedback:
    """Gradients, only where the agent played."""
    return Feedback(Gradient(), played=True)


def zeroth_order(*, control_variate: bool = True) -> Feedback:
    """One value a round, anywhere."""
    return Feedback(OnePoint(control_variate), played=False)


def bandit(*, control_variate: bool = True) -> Feedback:
    """One value a round, only where the agent played."""
    return Feedback(OnePoint(control_variate), played=True)


def two_point() -> Feedback:
    """Two exact values of the same round's function, anywhere."""
    return Feedback(TwoPoint(), played=False)
