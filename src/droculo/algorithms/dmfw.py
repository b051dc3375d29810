"""DMFW, the decentralized meta-Frank-Wolfe method (Zhu et al. 2021): many exchanges and LOO calls in every round.

Certain: K inner steps a round, K = T^(3/2) for the regret bound T^(1/2); two exchanges (of x and of d) and one LOO call
an inner step, hence T^(5/2) of each; the alpha = 1 - 1/e. Reconstructed, since the text was not at hand: the rule by
which gradients are averaged (rho_k) and tracked, and the online maximiser (follow the perturbed leader). Ours: gamma < 1 is
played the same way.
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


class DMFW(Algorithm):
    """One agent of DMFW. Make it with `DMFW.design`.

    >>> from droculo import problems
    >>> problem = problems.TopB.random(agents=4, dim=6, budget=2, seed=0)
    >>> DMFW.design(problem.setting, horizon=16).exchanges
    128
    """

    domain: Set
    width: Vector  # of the perturbations
    rho: Vector  # (K,)
    horizon: int = eqx.field(static=True)
    inner: int = eqx.field(static=True)
    block: int = eqx.field(static=True, default=1)
    slot: int = eqx.field(static=True, default=1)
    order: int = eqx.field(static=True, default=1)

    @classmethod
    def design(cls, setting: Setting, *, horizon: int, inner: int | None = None, scales: Scales | None = None) -> DMFW:
        """For monotone functions on a set with 0 (case A2). `inner`: K, by default the theorem's T^(3/2)."""
        needs_zero(setting, "DMFW")
        T = whole_horizon(horizon)
        K = round(T**1.5) if inner is None else whole_number(inner, "inner, the number of inner steps a round,")
        rho = 2 / (np.arange(1, K + 1) + 3.0) ** (2 / 3)
        return cls(setting.set, perturbation(setting, T, scales), rho, T, K)

    @property
    def exchanges(self) -> int:
        return 2 * self.inner

    @property
    def payload(self) -> int:
        return self.domain.dim

    def init(self) -> Leaders:
        return begin(self.domain, self.inner)

    def decision(self, state: Leaders) -> Array:
        return state.path[-1]

    def play(self, ports: Ports, state: Leaders, start: Array, length: int, key: Array) -> tuple[Heard, SlotPlay]:
        played = SlotPlay(state.path[-1:], jnp.broadcast_to(start, (self.inner,)), state.path[:-1])
        gradients = ports.ask(played, 1)
        return Heard(gradients, random_bits(jax.random.fold_in(key, start))), played

    def update(self, ports: Ports, state: Leaders, total: Heard) -> tuple[Leaders, OracleCalls]:
        state = end_of_block(ports, self.domain, jnp.asarray(self.width), jnp.asarray(self.rho), state, total)
        return state, OracleCalls(loo_calls=jnp.asarray(self.inner))

    def credible(self, tree: Array, index: int | Array = 0) -> Array:
        """The first half of a block's exchanges sends gradients, which may be anything; the second half points of K."""
        return (jnp.asarray(index) < self.inner) | is_near(self.domain, tree)
