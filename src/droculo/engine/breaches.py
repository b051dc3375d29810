"""Answers that break what a problem declares: counted as they come, since a check before the run sees a few rounds only."""

from __future__ import annotations

from collections.abc import Mapping

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from droculo.algorithms.contract import Answers, Ports, SlotPlay
from droculo.oracles.native import once
from droculo.problems import Problem

#: what can be seen in an answer: name -> what it is
BREACHES = {
    "beyond_bounds": "answers larger than the problem's bounds",
    "not_finite": "answers that are not finite",
    "below_zero": "values below zero where the class of functions has none",
    "falling": "gradients with a negative coordinate where the class of functions is monotone",
}
#: what they mean, and what to do
_ADVICE = {
    "beyond_bounds": "Step sizes and guarantees rest on these bounds: declare larger ones.",
    "not_finite": "Check f at the points that it was asked at.",
    "below_zero": "No guarantee holds for such functions: add a constant to f, or choose a linearization that allows them.",
    "falling": "No guarantee holds for such functions: choose a linearization that is not for monotone ones.",
}
#: the round of what did not happen, in compiled code
NEVER = np.iinfo(np.int32).max


class DeclarationWarning(UserWarning):
    """Answers of a problem broke what it declares."""


class Breaches(eqx.Module):
    """How many answers there were of each of `BREACHES`, and the first round of each (`NEVER` if there is none)."""

    count: Array  # (kinds,)
    first: Array  # (kinds,)

    @classmethod
    def none(cls) -> Breaches:
        """No answers, no breaches."""
        kinds = len(BREACHES)
        return cls(jnp.zeros(kinds, jnp.int32), jnp.full(kinds, NEVER, jnp.int32))

    @classmethod
    def of(cls, problem: Problem, order: int, rounds: Array, answers: Array) -> Breaches:
        """Those among the answers of one agent: gradients (order 1) or values (order 0), one in each row."""
        bounds, linearization, never = problem.bounds, problem.linearization, jnp.zeros(rounds.shape, bool)
        rounding = np.sqrt(np.finfo(answers.dtype).eps)
        if order == 1:
            size, bound = jnp.linalg.norm(answers, axis=-1), bounds.gradient
            least = answers.min(axis=-1)
            low = {"below_zero": never, "falling": least < -rounding * bound}
            if not linearization.monotone or problem.noisy:
                low["falling"] = never
        else:
            size, bound = jnp.abs(answers), bounds.value
            below = answers < -bounds.value_noise - rounding * bound
            low = {"below_zero": below if linearization.up_concave else never, "falling": never}
        finite = jnp.isfinite(size)
        found = {"beyond_bounds": finite & (size > bound * (1 + rounding)), "not_finite": ~finite, **low}
        flags = jnp.stack([found[name] for name in BREACHES])
        first = jnp.where(flags, rounds.astype(jnp.int32), NEVER)
        return cls(flags.sum(axis=-1, dtype=jnp.int32), first.min(axis=-1, initial=NEVER))

    def __or__(self, other: Breaches) -> Breaches:
        """Both together."""
        return Breaches(self.count + other.count, jnp.minimum(self.first, other.first))

    def over_slots(self) -> Breaches:
        """All together, where slots are the first axis."""
        return Breaches(self.count.sum(axis=0, dtype=self.count.dtype), self.first.min(axis=0))


class Listening:
    """An agent's ports in one slot; what they answer is looked at on its way to the agent."""

    def __init__(self, ports: Ports, problem: Problem):
        self.breaches, self.mix = Breaches.none(), ports.mix
        self._ports, self._problem = ports, problem

    def ask(self, played: SlotPlay, order: int) -> Answers:
        answers = self._ports.ask(played, order)
        answers = Answers(once(answers.asked), answers.earned)  # or XLA would ask again for what is looked at
        self.breaches |= Breaches.of(self._problem, order, played.rounds, answers.asked)
        if played.earned is not None and answers.earned is not None:
            self.breaches |= Breaches.of(self._problem, 0, played.earned, answers.earned)
        return answers


def sentences(
    counts: Mapping[str, NDArray], first: Mapping[str, NDArray], agents: NDArray[np.int64]
) -> tuple[str, ...]:
    """What a person should know of these breaches: one sentence for each kind that occurred, and what to do.

    `counts` and `first` (-1 for none): (..., agents), for each of `BREACHES`.
    """
    found = []
    for name, about in BREACHES.items():
        if (number := int(np.sum(counts[name]))) == 0:
            continue
        when = np.where(first[name] < 0, NEVER, first[name]).reshape(-1, len(agents)).min(axis=0)
        agent = int(np.argmin(when))
        found.append(
            f"There were {number} {about}; the first was given to agent {agents[agent]} in round {when[agent]}. {_ADVICE[name]}"
        )
    return tuple(found)
