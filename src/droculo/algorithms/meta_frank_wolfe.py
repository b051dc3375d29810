"""The meta-Frank-Wolfe methods: K Frank-Wolfe steps through the network, each guided by an online linear maximizer.

**DMFW** (Zhu et al. 2021). Certain: K inner steps a round, K = T^(3/2) for the regret bound T^(1/2); two exchanges (of x
and of d) and one LOO call an inner step, hence T^(5/2) of each; the alpha = 1 - 1/e.

**Mono-DMFW** (Zhang et al. 2023). Certain: blocks of K = T^(3/5) rounds, which all play one point; the gradient of each
round's function is asked at one step of the path, in random order; two exchanges and one LOO call an inner step, hence
2 T and T; regret T^(4/5).

Reconstructed in both, since the texts were not at hand: the rule by which gradients are averaged (rho_k) and tracked, and
the online maximizer (follow the perturbed leader). Ours: gamma < 1 is played the same way.
"""

from typing import ClassVar, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from droculo.algorithms.contract import Keys, OracleCalls, Ports, Slot, SlotPlay
from droculo.algorithms.rivals import Rival
from droculo.algorithms.schedules import Scales, whole_horizon
from droculo.expect import expect
from droculo.linearizations import Linearization, Setting
from droculo.sets.geometry import Vector
from droculo.sets.membership import is_near


class Leaders(eqx.Module):
    """The path of an agent, x^1 .. x^(K+1), and what its K online linear maximizers have heard so far."""

    path: Array  # (K + 1, d)
    totals: Array  # (K, d)


class _MetaFrankWolfe(Rival):
    """What both methods share. A block's sum is the gradient of every inner step, (K, d)."""

    width: Vector  # of the perturbations
    rho: Vector  # (K,)
    #: True if the slots of a block are in random order, for which half of a key is kept
    shuffles: ClassVar[bool] = False

    @property
    def inner(self) -> int:
        """K, the number of inner steps."""
        return int(self.rho.shape[0])

    @property
    def exchanges(self) -> int:
        return 2 * self.inner

    def init(self) -> Leaders:
        """Nothing is known: every v^k is the center, the same for all agents, so that no exchange is needed."""
        center = jnp.asarray(self.domain.center)
        steps = jnp.arange(self.inner + 1, dtype=center.dtype) / self.inner
        return Leaders(steps[:, None] * center, jnp.zeros((self.inner, self.domain.dim), center.dtype))

    def decision(self, state: Leaders) -> Array:
        return state.path[-1]

    def update(self, ports: Ports, state: Leaders, total: Array, keys: Keys) -> tuple[Leaders, OracleCalls]:
        """Feed d^1 .. d^K to the maximizers, and walk the path of the next block: 2 K exchanges, K calls of the LOO."""
        inner, steps = self.inner, jnp.arange(self.inner)
        nothing = jnp.zeros(self.domain.dim, state.path.dtype)

        def track(carry: tuple[Array, Array], step: tuple[Array, Array, Array]) -> tuple[tuple[Array, Array], Array]:
            g, d = carry
            k, rho_k, gradient = step
            new = (1 - rho_k) * g + rho_k * gradient
            d = ports.mix(d, k) + new - g
            return (new, d), d

        _, feeds = jax.lax.scan(track, (nothing, nothing), (steps, jnp.asarray(self.rho), total))
        totals = state.totals + feeds
        key = jax.random.split(keys.own)[1] if self.shuffles else keys.own
        noise = jnp.asarray(self.width) * jax.random.uniform(key, totals.shape, totals.dtype)

        def walk(x: Array, step: tuple[Array, Array]) -> tuple[Array, Array]:
            k, leader = step
            x = ports.mix(x, inner + k) + self.domain.argmax(leader) / inner
            return x, x

        _, path = jax.lax.scan(walk, nothing, (steps, totals + noise))
        return Leaders(jnp.concatenate([nothing[None], path]), totals), OracleCalls(loo_calls=jnp.asarray(inner))

    def credible(self, tree: Array, index: int | Array = 0) -> Array:
        """The first half of a block's exchanges sends gradients, which may be anything; the second half points of K."""
        return (jnp.asarray(index) < self.inner) | is_near(self.domain, tree)


class DMFW(_MetaFrankWolfe):
    """One agent of DMFW. Make it with `DMFW.design`.

    >>> from droculo import problems
    >>> problem = problems.TopB.random(agents=4, dim=6, budget=2, seed=0)
    >>> DMFW.design(problem.setting, horizon=16).exchanges
    128
    """

    @classmethod
    def design(cls, setting: Setting, *, horizon: int, inner: int | None = None, scales: Scales | None = None) -> Self:
        """For monotone functions on a set with 0 (case A2). `inner`: K, by default the theorem's T^(3/2)."""
        needs_zero(setting, "DMFW")
        T = whole_horizon(horizon)
        K = round(T**1.5) if inner is None else _whole_number(inner, "inner, the number of inner steps a round,")
        rho = 2 / (np.arange(1, K + 1) + 3.0) ** (2 / 3)
        return cls(setting.set, T, _perturbation(setting, T, scales), rho)

    def play(self, ports: Ports, state: Leaders, slot: Slot) -> tuple[Array, SlotPlay]:
        played = SlotPlay(state.path[-1:], jnp.broadcast_to(slot.start, (self.inner,)), state.path[:-1])
        return ports.ask(played, 1).asked, played


class MonoDMFW(_MetaFrankWolfe):
    """One agent of Mono-DMFW. Make it with `MonoDMFW.design`.

    >>> from droculo import problems
    >>> problem = problems.TopB.random(agents=4, dim=6, budget=2, seed=0)
    >>> MonoDMFW.design(problem.setting, horizon=1024).block
    64
    """

    shuffles: ClassVar[bool] = True

    @classmethod
    def design(cls, setting: Setting, *, horizon: int, block: int | None = None, scales: Scales | None = None) -> Self:
        """For monotone functions on a set with 0 (case A2). `block`: K, by default the theorem's T^(3/5)."""
        needs_zero(setting, "Mono-DMFW")
        T = whole_horizon(horizon)
        K = max(1, round(T**0.6)) if block is None else _whole_number(block, "block, the rounds of a block,")
        if K > T:
            raise ValueError(f"Mono-DMFW needs blocks of 1 to T = {T} rounds; got block={block}.")
        k = np.arange(1, K + 1, dtype=np.float64)
        rho = np.where(k <= K / 2 + 1, 2 / (k + 3) ** (2 / 3), 1.5 / (K - k + 2) ** (2 / 3))
        return cls(setting.set, T, _perturbation(setting, T / K, scales), rho, block=K)

    def play(self, ports: Ports, state: Leaders, slot: Slot) -> tuple[Array, SlotPlay]:
        # The place of this slot in a random order of the block: the rank of its own number among all.
        numbers = jax.random.uniform(jax.random.split(slot.keys.fold_in(slot.block_start).own)[0], (self.block,))
        mine, places = numbers[slot.index], jnp.arange(self.block)
        k = jnp.sum((numbers < mine) | ((numbers == mine) & (places < slot.index)))
        played = SlotPlay(state.path[-1:], slot.start[None], state.path[k][None])
        alone = (places == k)[:, None]
        return jnp.where(alone, ports.ask(played, 1).asked[0], 0), played


def _perturbation(setting: Setting, feeds: float, scales: Scales | None) -> Vector:
    """The width of the perturbations: G sqrt(number of feeds), over the scale of the step: a longer step is a smaller
    perturbation. (Our choice: Kalai and Vempala's, with sqrt(d) times the Euclidean norms for its l1 ones; they cancel.)"""
    step = (scales or Scales()).step
    return np.asarray(setting.bounds.known("gradient") * np.sqrt(feeds) / step)


def _whole_number(value: int, what: str) -> int:
    """A count, or an error."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ValueError(f"{what} is a whole number, at least 1; got {value!r}.")
    return int(value)


def needs_zero(setting: Setting, method: str) -> Linearization:
    """These methods begin at 0, and only monotone functions reward that."""
    expect(setting, Setting, "setting", "Pass problem.setting.")
    linearization, domain = setting.linearization, setting.set
    if linearization.case != "A2" or not domain.contains_origin:
        raise ValueError(
            f"{method} is for monotone functions on a set that contains 0 (case A2); got case {linearization.case} on "
            f"{type(domain).__name__}. Use Droculo, which covers this case."
        )
    return linearization.for_set(domain)
