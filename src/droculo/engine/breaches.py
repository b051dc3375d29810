"""Answers that break what a problem declares: counted as they come, since a check before the run sees a few rounds only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from droculo.algorithms.contract import Answers, Ports, SlotPlay
from droculo.oracles.native import once
from droculo.problems import Problem
from droculo.problems.base import NOT_PLAYED

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
#: how far an answer may be off, as a share of its bound: f may compute in single precision
ROUNDING = 1e-6
#: the size that rounding is a share of where no bound is declared
UNIT = 1e-3
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
    def of(cls, problem: Problem, order: int, rounds: Array, answers: Array, end: Array) -> Breaches:
        """Those among the answers of one agent before round `end`: gradients (order 1) or values (order 0), one in each row."""
        bounds, linearization, never = problem.bounds, problem.linearization, jnp.zeros(rounds.shape, bool)
        # f may count in whole numbers
        answers = answers.astype(jnp.promote_types(answers.dtype, jnp.result_type(float)))
        rounding = max(ROUNDING, np.sqrt(np.finfo(answers.dtype).eps))
        bound = bounds.gradient if order == 1 else bounds.value
        unit = jnp.where(jnp.isfinite(bound), bound, UNIT)
        if order == 1:
            size, least = jnp.linalg.norm(answers, axis=-1), answers.min(axis=-1)
            low = {"below_zero": never, "falling": least < -rounding * unit}
            if not linearization.monotone or problem.noisy:
                low["falling"] = never
        else:
            size = jnp.abs(answers)
            below = answers < -bounds.value_noise - rounding * unit
            if problem.noisy:  # a user's own noise may have a size that is not declared
                below &= bounds.value_noise > 0
            low = {"below_zero": below if linearization.non_negative else never, "falling": never}
        finite = jnp.isfinite(size)
        found = {"beyond_bounds": finite & (size > bound * (1 + rounding)), "not_finite": ~finite, **low}
        flags = jnp.stack([found[name] for name in BREACHES]) & (rounds < end) & (rounds != NOT_PLAYED)
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

    def __init__(self, ports: Ports, problem: Problem, end: Array, length: Array):
        self.mix, self.breaches = ports.mix, Breaches.none()
        self._ports, self._problem, self._end, self._length = ports, problem, end, length

    def ask(self, played: SlotPlay, order: int) -> Answers:
        played = self._really(played)
        answers = self._ports.ask(played, order)
        earned = answers.earned
        if played.earned is not None and earned is not None:  # what is not played earns nothing
            earned = jnp.where(played.earned == NOT_PLAYED, jnp.zeros_like(earned), earned)
        answers = Answers(once(answers.asked), earned)  # or XLA would ask again for what is looked at
        self.breaches |= Breaches.of(self._problem, order, played.rounds, answers.asked, self._end)
        if played.earned is not None and answers.earned is not None:
            self.breaches |= Breaches.of(self._problem, 0, played.earned, answers.earned, self._end)
        return answers

    def _really(self, played: SlotPlay) -> SlotPlay:
        """The same with the round `NOT_PLAYED` where a slot has room for more rounds than are played."""
        rounds, earned = jnp.where(self._length > 0, played.rounds, NOT_PLAYED), played.earned
        if earned is not None:
            earned = jnp.where(jnp.arange(earned.shape[0]) < self._length, earned, NOT_PLAYED)
        return SlotPlay(played.actions, rounds, played.points, earned)


@contextmanager
def asked_in_play() -> Iterator[None]:
    """Say what is wrong with an algorithm whose answers did not reach `Listening`."""
    try:
        yield
    except jax.errors.UnexpectedTracerError as error:
        raise TypeError(
            "an algorithm asked within jax.lax.scan, cond or while_loop, or within jax.vmap, or kept a value of its play "
            "elsewhere: ports.ask has to be called in play itself, as often as the slot needs."
        ) from error


def sentences(
    counts: Mapping[str, NDArray], first: Mapping[str, NDArray], agents: NDArray[np.int64], start: int = 0
) -> tuple[str, ...]:
    """What a person should know of these breaches: one sentence for each kind that occurred, and what to do.

    `counts` and `first` (-1 for none): (..., agents), for each of `BREACHES`; rounds count from `start`.
    """
    found = []
    for name, about in BREACHES.items():
        if (number := int(np.sum(counts[name]))) == 0:
            continue
        when = np.where(first[name] < 0, NEVER, first[name]).reshape(-1, len(agents)).min(axis=0)
        agent = int(np.argmin(when))
        found.append(
            f"There were {number} {about}; the first was given to agent {agents[agent]} in round {start + when[agent]}. {_ADVICE[name]}"
        )
    return tuple(found)
