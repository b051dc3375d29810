"""How g may be estimated from what an oracle answers: a gradient, one value, or two values."""

import dataclasses
from abc import abstractmethod
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import Array

from droculo.sets import Set
from droculo.sets.geometry import Subspace, Vector


class SlotSums(eqx.Module):
    """What a block adds up. Every entry is a sum over slots, so tallies simply add."""

    estimate: Array  # gradients, or values times their directions
    alone: Array  # the same, of slots without a partner only
    directions: Array  # the directions themselves
    values: Array  # the values themselves
    count: Array


class ValueStats(eqx.Module):
    """The values an agent has seen so far: the source of its control variate."""

    values: Array
    count: Array


class Signal(eqx.Module):
    """Where to ask around the query point w, and what to make of the answers."""

    #: how many values one query asks for; 0 means that it asks for a gradient
    values: ClassVar[int]
    #: True if slots may go in pairs, with opposite directions
    pairs: ClassVar[bool] = False
    #: True if it makes use of the values that played actions earn without being asked for (bandit feedback reveals them)
    hears_earned: ClassVar[bool] = False

    @property
    def order(self) -> int:
        """Of the oracle's answers: 1 for gradients, 0 for values."""
        return 0 if self.values else 1

    def prepare(self, domain: Set, delta: float, *, power: float = 0.0, inward: bool = False) -> "Signal":
        """This signal on K, perturbing by delta b^(-power) in block b = 1, 2, ...; `inward`: around query points that are
        moved towards the center of K, so far that the perturbed ones stay in K."""
        return self

    @abstractmethod
    def draw(self, key: Array, dim: int, dtype: np.dtype) -> Array:
        """The random direction v of one slot."""

    @abstractmethod
    def points(self, w: Array, v: Array, block: Array) -> Array:
        """The points to ask at, one per row. `block`: how many blocks have ended."""

    @abstractmethod
    def tally(self, answers: Array, v: Array, alone: bool | Array = True, earned: Array | None = None) -> SlotSums:
        """One slot's share of the block's sum. Not `alone`: another slot of the block has the direction -v. `earned`: the
        values of the slot's actions, if `hears_earned`; zero where the slot is shorter than others of the run."""

    @abstractmethod
    def estimate(self, tally: SlotSums, past: ValueStats, block: Array) -> tuple[Array, ValueStats]:
        """The block's sum of estimates of g, and the past with this block in it."""


class Gradient(Signal):
    """The gradient at w itself."""

    values: ClassVar[int] = 0

    def draw(self, key: Array, dim: int, dtype: np.dtype) -> Array:
        return jnp.zeros(dim, dtype)

    def points(self, w: Array, v: Array, block: Array) -> Array:
        return w[None]

    def tally(self, answers: Array, v: Array, alone: bool | Array = True, earned: Array | None = None) -> SlotSums:
        nothing = jnp.zeros((), answers.dtype)
        return SlotSums(answers[0], answers[0], v, nothing, nothing)

    def estimate(self, tally: SlotSums, past: ValueStats, block: Array) -> tuple[Array, ValueStats]:
        return tally.estimate, past


class _Perturbed(Signal):
    """Shared by the value signals: v uniform on the unit sphere of L0, at distance delta from w."""

    subspace: Subspace | None = eqx.field(default=None, kw_only=True)
    delta: Vector = eqx.field(default_factory=lambda: np.zeros(()), kw_only=True)
    power: float = eqx.field(default=0.0, kw_only=True, static=True)
    center: Vector | None = eqx.field(default=None, kw_only=True)  # query points move towards it; None: they stay
    inner_radius: Vector | None = eqx.field(default=None, kw_only=True)

    def prepare(self, domain: Set, delta: float, *, power: float = 0.0, inward: bool = False) -> "Signal":
        ball = {"center": domain.center, "inner_radius": np.asarray(domain.inner_radius)} if inward else {}
        how = {"subspace": domain.subspace, "delta": np.asarray(delta, np.float64), "power": power}
        return dataclasses.replace(self, **how, **ball)

    def _distance(self, block: Array) -> Array:
        """delta in this block."""
        delta = jnp.asarray(self.delta)
        return delta if self.power == 0 else delta * (1 + block) ** -self.power

    def _inside(self, w: Array, delta: Array) -> Array:
        """w, moved so far that a ball of radius delta around it lies in K."""
        if self.center is None or self.inner_radius is None:
            return w
        return w + delta / self.inner_radius * (self.center - w)

    def draw(self, key: Array, dim: int, dtype: np.dtype) -> Array:
        return self._sphere.sample(key, dim)

    @property
    def _sphere(self) -> Subspace:
        assert self.subspace is not None, "call .prepare(set, delta) first"
        return self.subspace


class OnePoint(_Perturbed):
    """One value: (k/delta) f(w + delta v) v is an unbiased estimate of the smoothed function's gradient.

    The slots of a block may go in pairs with opposite directions, v and -v: each direction is still uniform, so each
    estimate is unbiased, and what the two values have in common cancels. Where a slot has no partner the control
    variate subtracts from its value the mean of all *other* values seen so far. That does not depend on this slot's v,
    and E[v] = 0, so the estimate stays unbiased; its size falls from (k/delta) B0 to (k/delta) times the fluctuation of
    the values. `control_variate=False` is the paper's plain estimator.
    """

    values: ClassVar[int] = 1
    pairs: ClassVar[bool] = True

    control_variate: bool = eqx.field(static=True, default=True)

    def points(self, w: Array, v: Array, block: Array) -> Array:
        delta = self._distance(block)
        return (self._inside(w, delta) + delta * v)[None]

    def tally(self, answers: Array, v: Array, alone: bool | Array = True, earned: Array | None = None) -> SlotSums:
        share = answers[0] * v
        return SlotSums(share, jnp.where(alone, share, 0), v, answers[0], jnp.ones((), answers.dtype))

    def estimate(self, tally: SlotSums, past: ValueStats, block: Array) -> tuple[Array, ValueStats]:
        seen = ValueStats(past.values + tally.values, past.count + tally.count)
        total = tally.estimate
        if self.control_variate:
            # sum_q (o_q - b_q) v_q with b_q = (S - o_q)/(n - 1), the mean of the other n - 1 values (0 if none). Pairs
            # have no part in sum_q v_q.
            share = jnp.where(seen.count > 1, 1 / jnp.maximum(seen.count - 1, 1), 0)
            total = total + share * (tally.alone - seen.values * tally.directions)
        return self._sphere.dimension / self._distance(block) * total, seen


class TwoPoint(_Perturbed):
    """Two values of the same function: (k/2 delta) (f(w + delta v) - f(w - delta v)) v.

    Needs an exact value oracle (with a noisy one its regret is that of one value, see `look_up`); its size does not grow as delta falls, so its regret is that of gradients
    (the paper's Remark on two-point estimates).
    """

    values: ClassVar[int] = 2

    def points(self, w: Array, v: Array, block: Array) -> Array:
        delta = self._distance(block)
        w = self._inside(w, delta)
        return jnp.stack([w + delta * v, w - delta * v])

    def tally(self, answers: Array, v: Array, alone: bool | Array = True, earned: Array | None = None) -> SlotSums:
        share, nothing = (answers[0] - answers[1]) * v, jnp.zeros((), answers.dtype)
        return SlotSums(share, share, v, nothing, nothing)

    def estimate(self, tally: SlotSums, past: ValueStats, block: Array) -> tuple[Array, ValueStats]:
        return self._sphere.dimension / (2 * self._distance(block)) * tally.estimate, past
