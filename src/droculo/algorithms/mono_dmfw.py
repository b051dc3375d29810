"""Mono-DMFW (Zhang et al. 2023): DMFW with one gradient of every function, and one inner step a round.

Certain: blocks of K = T^(3/5) rounds, which all play one point; the gradient of each round's function is asked at one
step of the path, in random order; two exchanges and one LOO call an inner step, hence 2 T and T; regret T^(4/5).
Reconstructed, since the text was not at hand: rho_k, the tracking of gradients and the online maximiser, as in DMFW.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from droculo.algorithms.base import Algorithm, OracleCalls, Ports, SlotPlay, is_near
from droculo.algorithms.frank_wolfe import (
    Heard,
    Leaders,
    begin,
    end_of_block,
    needs_zero,
    perturbation,
    random_bits,
    whole_number,
)
from droculo.algorithms.schedules import Scales, whole_horizon
from droculo.linearizations import Setting
from droculo.sets import Set
from droculo.sets.geometry import Vector


class MonoDMFW(Algorithm):
    """One agent of Mono-DMFW. Make it with `MonoDMFW.design`.

    >>> from droculo import problems
    >>> problem = problems.TopB.random(agents=4, dim=6, budget=2, seed=0)
    >>> MonoDMFW.design(problem.setting, horizon=1024).block
    64
    """

    domain: Set
    width: Vector  # of the perturbations
    rho: Vector  # (K,)
    horizon: int = eqx.field(static=True)
    block: int = eqx.field(static=True)
    slot: int = eqx.field(static=True, default=1)
    order: int = eqx.field(static=True, default=1)

    @classmethod
    def design(
        cls, setting: Setting, *, horizon: int, block: int | None = None, scales: Scales | None = None
    ) -> MonoDMFW:
        """For monotone functions on a set with 0 (case A2). `block`: K, by default the theorem's T^(3/5)."""
        needs_zero(setting, "Mono-DMFW")
        T = whole_horizon(horizon)
        K = max(1, round(T**0.6)) if block is None else whole_number(block, "block, the rounds of a block,")
        if K > T:
            raise ValueError(f"Mono-DMFW needs blocks of 1 to T = {T} rounds; got block={block}.")
        k = np.arange(1, K + 1, dtype=np.float64)
        rho = np.where(k <= K / 2 + 1, 2 / (k + 3) ** (2 / 3), 1.5 / (K - k + 2) ** (2 / 3))
        return cls(setting.set, perturbation(setting, T / K, scales), rho, T, K)

    @property
    def exchanges(self) -> int:
        return 2 * self.block

    @property
    def payload(self) -> int:
        return self.domain.dim

    def init(self) -> Leaders:
        return begin(self.domain, self.block)

    def decision(self, state: Leaders) -> Array:
        return state.path[-1]

    def play(self, ports: Ports, state: Leaders, start: Array, length: int, key: Array) -> tuple[Heard, SlotPlay]:
        q = start % self.block
        for_order, for_noise = jax.random.split(jax.random.fold_in(key, start - q))
        k = _place(for_order, q, self.block)
        played = SlotPlay(state.path[-1:], start[None], state.path[k][None])
        gradient = ports.ask(played, 1)[0]
        alone = (jnp.arange(self.block) == k)[:, None]
        bits = random_bits(for_noise)
        return Heard(jnp.where(alone, gradient, 0), jnp.where(q == 0, bits, 0)), played

    def update(self, ports: Ports, state: Leaders, total: Heard) -> tuple[Leaders, OracleCalls]:
        state = end_of_block(ports, self.domain, jnp.asarray(self.width), jnp.asarray(self.rho), state, total)
        return state, OracleCalls(loo_calls=jnp.asarray(self.block))

    def credible(self, tree: Array, index: int | Array = 0) -> Array:
        """The first half of a block's exchanges sends gradients, which may be anything; the second half points of K."""
        return (jnp.asarray(index) < self.block) | is_near(self.domain, tree)


def _place(key: Array, q: Array, length: int) -> Array:
    """Where q stands in a random order of 0 .. length - 1: the rank of its own number among all."""
    numbers = jax.random.uniform(key, (length,))
    mine = numbers[q]
    earlier = (numbers < mine) | ((numbers == mine) & (jnp.arange(length) < q))
    return jnp.sum(earlier)
