"""Methods of the literature that move in every round, after one exchange, and what all rivals of DROCULO share."""

from typing import Any, NamedTuple, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from droculo.algorithms.contract import Algorithm, Keys, OracleCalls, Ports, Slot, SlotPlay, numbers
from droculo.algorithms.schedules import Scales, whole_horizon
from droculo.algorithms.steps import AdaptiveStep, FixedStep, Here, StepRule
from droculo.algorithms.timetable import Equal, Growing, Timetable
from droculo.expect import expect
from droculo.feedback import Feedback, full_information
from droculo.linearizations import Linearization, Setting
from droculo.oracles import Projection
from droculo.sets import Set
from droculo.sets.geometry import Vector
from droculo.sets.membership import is_near

#: the tolerance of a projection that has none
EXACT = float(np.finfo(np.float32).tiny)
#: halvings after which nothing is left of an interval in double precision
HALVINGS = 60


class Rival(Algorithm):
    """It asks for gradients anywhere, in slots of one round, and every exchange sends one vector."""

    domain: Set
    horizon: int | None = eqx.field(static=True)
    block: int = eqx.field(static=True, default=1, kw_only=True)

    @property
    def timetable(self) -> Timetable:
        return Growing(1.0) if self.horizon is None else Equal(self.block, 1, self.horizon)

    @property
    def feedback(self) -> Feedback:
        return full_information()

    @property
    def message(self) -> jax.ShapeDtypeStruct:
        return numbers(self.domain.dim)


class EveryRound(Rival):
    """It moves in every round, after one exchange, by the linearization's signal at its decision."""

    linearization: Linearization

    @property
    def exchanges(self) -> int:
        return 1

    def play(self, ports: Ports, state: eqx.Module | Array, slot: Slot) -> tuple[Array, SlotPlay]:
        x, h = self.decision(state), self.linearization
        z = h.quantile(jax.random.uniform(jax.random.fold_in(slot.keys.own, slot.start), (), x.dtype))
        played = SlotPlay(h.action(x)[None], slot.start[None], h.query(x, z)[None])
        return h.pull(x, z, ports.ask(played, 1).asked[0]), played


class DOBGAState(eqx.Module):
    """What an agent carries from round to round."""

    x: Array  # its decision
    y: Array  # what it sends: the decision, unless its step rule keeps more
    steps: Any  # the step rule's


class DOBGA(EveryRound):
    """DOBGA, decentralized online boosted gradient ascent (Zhang et al. 2023): one Euclidean projection in every round.

    Certain: x <- project(mix(x) + eta (1 - e^-gamma)/gamma grad f(Z x)), one exchange and one projection a round, regret
    T^(1/2) for monotone functions on a set with 0. Ours: the same step with any other linearization (the boosted gradient
    is its signal, the factor its beta), so that concave functions give decentralized online gradient ascent; the
    constant in eta = R/(G sqrt T); and, where one asks for it, DROCULO's adaptive step. Make one agent with `DOBGA.design`.

    >>> from droculo import problems
    >>> problem = problems.TopB.random(agents=4, dim=6, budget=2, seed=0)
    >>> DOBGA.design(problem.setting, horizon=1024).block
    1
    """

    steps: StepRule

    @classmethod
    def design(
        cls, setting: Setting, *, horizon: int | None = None, scales: Scales | None = None, adaptive: bool = False
    ) -> Self:
        """For any case whose gradients can be asked for anywhere, on a set that can project. `adaptive`: with the step rule that
        `Droculo.design` takes too, which needs no horizon and no bound."""
        expect(setting, Setting, "setting", "Pass problem.setting.")
        jax.eval_shape(setting.set.project, jnp.zeros(setting.set.dim))  # raises where it cannot
        T = None if adaptive and horizon is None else whole_horizon(horizon)
        steps: StepRule = AdaptiveStep(setting.set)
        if not adaptive:
            assert T is not None
            scale = (scales or Scales()).step
            eta = scale * float(setting.set.radius) / (setting.bounds.known("gradient") * np.sqrt(T))
            steps = FixedStep(eta, EXACT)
        return cls(setting.set, T, setting.linearization.for_set(setting.set), steps)

    @property
    def timetable(self) -> Timetable:
        return Growing(1.0) if isinstance(self.steps, AdaptiveStep) else super().timetable

    @property
    def message(self) -> Any:
        return numbers(self.domain.dim), self.steps.message

    def init(self) -> DOBGAState:
        c = jnp.asarray(self.domain.center)
        return DOBGAState(c, c, self.steps.init(c))

    def decision(self, state: DOBGAState) -> Array:
        return state.x

    def update(self, ports: Ports, state: DOBGAState, total: Array, keys: Keys) -> tuple[DOBGAState, OracleCalls]:
        mixed, heard = ports.mix((state.y, self.steps.say(state.steps)))
        signal = self.linearization.beta * total
        move, steps = self.steps.step(signal, Here(state.x, state.y, mixed), heard, state.steps)
        target = mixed + move.by
        x = self.domain.project(target)
        one = jnp.ones((), jnp.int32)
        y = self.steps.keep(target, Projection(x, x, 0 * one, one > 0, ()))
        return DOBGAState(x, y, steps), OracleCalls(projections=one)

    def credible(self, tree: Any, index: int | Array = 0) -> Array:
        y, told = tree
        return is_near(self.domain, y, jnp.asarray(self.steps.outside)) & self.steps.credible(told)


class BFTRLState(eqx.Module):
    """What an agent carries from round to round."""

    slope: Array  # the mixed sum of losses
    leader: Array  # u, in the ball of radius R
    offset: Array  # p, in K - x0: the leader pulled back into K
    ray: Array  # s: how the gauge distance grows at the leader


class DecBFTRL(EveryRound):
    """Dec-BFTRL (arXiv 2608.30271): follow the regularized leader behind a barrier, with a separation oracle and no LOO.

    Certain: one d-vector sent a round, O(log T) calls of the separation oracle, regret T^(1/2). Reconstructed: the
    constants nu = 1 and mu = (2 kappa G/R) sqrt(2 T (1 + 1/delta)), delta = 1 - |W - J|, kappa = R/r. Ours: mu is divided
    by the scale of the step, as for all methods here; sets whose affine hull is not all of R^d, within that hull. Make one
    agent with `DecBFTRL.design`.

        paper      here
        K, x0      domain, its center
        r, R       inner_radius, reach (K - x0 lies in the ball of radius R)
        theta, u   state.slope, state.leader
        p, s       state.offset, state.ray: GaugeDist of the leader

    >>> from droculo import problems
    >>> problem = problems.TopB.random(agents=4, dim=6, budget=2, seed=0)
    >>> DecBFTRL.design(problem.setting, horizon=1024, mixing_rate=0.5).block
    1
    """

    reach: Vector
    curvature: Vector  # mu
    precision: Vector  # 1/T

    @classmethod
    def design(cls, setting: Setting, *, horizon: int, mixing_rate: float, scales: Scales | None = None) -> Self:
        """For any case whose gradients can be asked for anywhere, on a set that can separate.

        `mixing_rate`: |W - J|, the network's second largest singular value (`network.mixing_rate`).
        """
        expect(setting, Setting, "setting", "Pass problem.setting.")
        expect(mixing_rate, (int, float, np.number), "mixing_rate", "Pass network.mixing_rate.")
        T, domain = whole_horizon(horizon), setting.set
        jax.eval_shape(domain.separate, jnp.zeros(domain.dim))  # raises where it cannot
        if not 0 <= mixing_rate < 1:
            raise ValueError(f"the mixing rate |W - J| lies in [0, 1); got {mixing_rate}. Pass network.mixing_rate.")
        R, r = float(domain.radius) + float(np.linalg.norm(domain.center)), float(domain.inner_radius)
        bound = 2 * R / r * setting.bounds.known("gradient")
        step = (scales or Scales()).step
        mu = bound / R * np.sqrt(2 * T * (1 + 1 / (1 - mixing_rate))) / step
        return cls(domain, T, setting.linearization.for_set(domain), np.asarray(R), np.asarray(mu), np.asarray(1 / T))

    def init(self) -> BFTRLState:
        nothing = jnp.zeros_like(jnp.asarray(self.domain.center))
        return BFTRLState(nothing, nothing, nothing, nothing)

    def decision(self, state: BFTRLState) -> Array:
        return jnp.asarray(self.domain.center) + state.offset

    def update(self, ports: Ports, state: BFTRLState, total: Array, keys: Keys) -> tuple[BFTRLState, OracleCalls]:
        loss = -self.domain.subspace.project(total)
        outward = jnp.dot(loss, state.leader) < 0
        loss = loss - jnp.where(outward, jnp.dot(loss, state.offset), 0) * state.ray
        slope = self.domain.subspace.project(ports.mix(state.slope) + loss)  # rounding would add up
        leader = self._leader(slope)
        gauge = gauge_distance(self.domain, leader, jnp.asarray(self.precision))
        return BFTRLState(slope, leader, gauge.share * leader, gauge.ray), OracleCalls(separations=gauge.calls)

    def _leader(self, slope: Array) -> Array:
        """argmin over |u| < R of -log(R^2 - |u|^2) + mu/2 |u|^2 + <slope, u>: against the slope, by a root in [0, R)."""
        steepness = jnp.linalg.norm(slope)

        def halve(_: Array, ends: tuple[Array, Array]) -> tuple[Array, Array]:
            low, high = ends
            s = (low + high) / 2
            rising = 2 * s / (self.reach**2 - s**2) + self.curvature * s < steepness
            return jnp.where(rising, s, low), jnp.where(rising, high, s)

        start = (jnp.zeros_like(steepness), jnp.asarray(self.reach, slope.dtype))
        length, _ = jax.lax.fori_loop(0, HALVINGS, halve, start)
        return -length * slope / jnp.where(steepness > 0, steepness, 1)


class Gauge(NamedTuple):
    """Where the ray from x0 through x0 + u leaves K."""

    share: Array  # a: the largest share of u found in K - x0, 1 if u itself is; 1/a - 1 is the gauge distance
    ray: Array  # s: a subgradient of the gauge distance there, 0 if u is in K - x0
    calls: Array


def gauge_distance(domain: Set, u: Array, precision: Array) -> Gauge:
    """GaugeDist: bisection along u with the separation oracle, until r^2 precision/(2 |u|^2)."""
    center, r = jnp.asarray(domain.center), jnp.asarray(domain.inner_radius)
    square = jnp.dot(u, u)
    width = r**2 * precision / (2 * jnp.where(square > 0, square, 1))
    width = jnp.maximum(width, 4 * float(np.finfo(u.dtype).eps))  # below rounding nothing can be halved
    first = domain.separate(center + u)

    def wide(ends: Any) -> Array:
        low, high, _, _ = ends
        return high - low > width

    def halve(ends: Any) -> Any:
        low, high, normal, calls = ends
        share = (low + high) / 2
        cut = domain.separate(center + share * u)
        if_inside, if_outside = (share, high, normal), (low, share, cut.normal)
        return *jax.tree.map(lambda yes, no: jnp.where(cut.inside, yes, no), if_inside, if_outside), calls + 1

    one = jnp.ones((), u.dtype)
    start = (jnp.where(first.inside, one, 0), one, first.normal, jnp.ones((), jnp.int32))
    low, high, normal, calls = jax.lax.while_loop(wide, halve, start)
    normal = domain.subspace.project(normal)  # on a face its other part would carry the leader off the affine hull
    along = high * jnp.dot(normal, u)
    return Gauge(low, jnp.where(first.inside, 0, normal / jnp.where(along != 0, along, 1)), calls)
