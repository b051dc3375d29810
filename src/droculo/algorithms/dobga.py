"""DOBGA, decentralized online boosted gradient ascent (Zhang et al. 2023): one Euclidean projection in every round.

Certain: x <- project(mix(x) + eta (1 - e^-gamma)/gamma grad f(Z x)), one exchange and one projection a round, regret
T^(1/2) for monotone functions on a set with 0. Ours: the same step with any other linearization (the boosted gradient is
its signal, the factor its beta), so that concave functions give decentralized online gradient ascent; and the constant
in eta = R/(G sqrt T), from the rule that Droculo follows too.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from droculo.algorithms.contract import Keys, OracleCalls, Ports
from droculo.algorithms.rivals import EveryRound
from droculo.algorithms.schedules import Scales, whole_horizon
from droculo.expect import expect
from droculo.feedback import full_information
from droculo.linearizations import Setting
from droculo.sets.geometry import Vector
from droculo.sets.membership import is_near


class DOBGA(EveryRound):
    """One agent of DOBGA. Make it with `DOBGA.design`.

    >>> from droculo import problems
    >>> problem = problems.TopB.random(agents=4, dim=6, budget=2, seed=0)
    >>> DOBGA.design(problem.setting, horizon=1024).block
    1
    """

    step_size: Vector

    @classmethod
    def design(cls, setting: Setting, *, horizon: int, scales: Scales | None = None) -> "DOBGA":
        """For any case whose gradients can be asked for anywhere, on a set that can project."""
        expect(setting, Setting, "setting", "Pass problem.setting.")
        T = whole_horizon(horizon)
        jax.eval_shape(setting.set.project, jnp.zeros(setting.set.dim))  # raises where it cannot
        scale = (scales or Scales()).step_for(full_information(), setting.linearization)
        step = scale * float(setting.set.radius) / (float(setting.bounds.gradient) * np.sqrt(T))
        return cls(setting.set, T, setting.linearization.for_set(setting.set), np.asarray(step))

    def init(self) -> Array:
        return jnp.asarray(self.domain.center)

    def decision(self, state: Array) -> Array:
        return state

    def update(self, ports: Ports, state: Array, total: Array, keys: Keys) -> tuple[Array, OracleCalls]:
        y = ports.mix(state) + self.step_size * self.linearization.beta * total
        return self.domain.project(y), OracleCalls(projections=jnp.ones((), jnp.int32))

    def credible(self, tree: Array, index: int | Array = 0) -> Array:
        return is_near(self.domain, tree)
