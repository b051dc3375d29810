"""The feedback models: a signal, and whether its query points must be played."""

from enum import StrEnum

import equinox as eqx
import jax.numpy as jnp
from jax import Array

from droculo.expect import expect
from droculo.feedback.signals import Gradient, OnePoint, Signal, TwoPoint


class FeedbackKind(StrEnum):
    """What an agent may ask for, by the paper's name: the key of Table 1.

    >>> FeedbackKind.BANDIT.values, FeedbackKind.BANDIT.played
    (1, True)
    """

    FULL_INFORMATION = "full information"
    SEMI_BANDIT = "semi-bandit"
    ZEROTH_ORDER = "zeroth order"
    BANDIT = "bandit"
    TWO_POINT = "two-point"

    @property
    def values(self) -> int:
        """How many values a query consists of; 0 for a gradient."""
        return {"zeroth order": 1, "bandit": 1, "two-point": 2}.get(self.value, 0)

    @property
    def played(self) -> bool:
        """True if the agent hears only about points that it plays (the paper's trivial queries)."""
        return self in (FeedbackKind.SEMI_BANDIT, FeedbackKind.BANDIT)

    @classmethod
    def of(cls, values: int, *, played: bool) -> "FeedbackKind":
        """The kind with queries of this many values (0: a gradient), played or not."""
        found = [kind for kind in cls if (kind.values, kind.played) == (values, played)]
        if not found:
            raise ValueError(
                f"{values} values of one round's function cannot all be played: an agent plays once a round. "
                "Use played=False, or one value (OnePoint)."
            )
        return found[0]


class Feedback(eqx.Module):
    """What an agent may learn: a signal, and the kind of queries that it is made of."""

    signal: Signal
    kind: FeedbackKind = eqx.field(static=True)

    def __init__(self, signal: Signal, *, played: bool):
        expect(signal, Signal, "signal", "Pass for example droculo.feedback.OnePoint(), with the brackets.")
        self.signal = signal
        self.kind = FeedbackKind.of(signal.values, played=played)

    @property
    def order(self) -> int:
        """Of the answers: 1 for gradients, 0 for values."""
        return self.signal.order

    def actions(self, action: Array, points: Array, when: Array, length: int) -> Array:
        """The plays of a slot of `length` rounds: the action, and in round `when` the query if it must be played."""
        quiet = jnp.broadcast_to(action, (length, *action.shape))
        return jnp.where((jnp.arange(length) == when)[:, None], points[0], quiet) if self.kind.played else quiet


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
