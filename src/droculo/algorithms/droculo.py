"""DROCULO (Lu, Pedramfar, Aggarwal, TMLR 2025): the paper's Algorithms 1 to 5, written once for one agent.

Which of the five it is follows from the parts: the linearization (where to ask), the signal (gradient, one value,
two values) and whether query points must be played.

    paper          here
    K, K_delta     domain, run_set (the shrunk set when values are asked, else K itself)
    h, w, z        linearization.action, linearization.query, its draw
    T, K, L        horizon, block, slot
    eta, eps       step_size, tolerance
    x, y-tilde     state.x, state.y
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from droculo.algorithms.base import Algorithm, OracleCalls, Ports, SlotPlay, is_near
from droculo.algorithms.schedules import Scales, Schedule, schedule
from droculo.expect import expect
from droculo.feedback import Feedback, OnePoint, SlotSums, ValueStats, look_up
from droculo.linearizations import Linearization, Setting
from droculo.oracles import InfeasibleProjection, PaperFrankWolfe, batching
from droculo.oracles.default import default_oracle
from droculo.precision import double
from droculo.sets import Set, Shrunk
from droculo.sets.geometry import Vector

#: the fractional part of the golden ratio: its multiples, modulo 1, fill [0, 1] most evenly
GOLDEN = 0.6180339887498949


class DroculoState(eqx.Module):
    """What an agent carries from block to block."""

    x: Array  # the decision
    y: Array  # its infeasible companion
    memory: Any  # the oracle's, local to the agent
    past: ValueStats  # the signal's


class Droculo(Algorithm):
    """One agent of DROCULO. Make it with `Droculo.design`.

    >>> from droculo import Droculo, feedback, problems
    >>> problem = problems.TopB.random(agents=4, dim=6, budget=2, seed=0)
    >>> agent = Droculo.design(problem.setting, feedback.full_information(), horizon=1024, theta=0.5)
    >>> agent.block, agent.slot
    (32, 1)
    """

    domain: Set
    run_set: Set
    linearization: Linearization
    feedback: Feedback
    oracle: InfeasibleProjection
    start: Vector
    step_size: Vector
    tolerance: Vector
    horizon: int = eqx.field(static=True)
    block: int = eqx.field(static=True)
    slot: int = eqx.field(static=True)
    lean: bool = eqx.field(static=True)
    even: bool = eqx.field(static=True)

    @classmethod
    def design(
        cls,
        setting: Setting,
        feedback: Feedback,
        *,
        horizon: int,
        theta: float,
        oracle: InfeasibleProjection | None = None,
        lean: bool | None = None,
        even: bool = True,
        scales: Scales | None = None,
        start: ArrayLike | None = None,
    ) -> Droculo:
        """The algorithm for a problem's setting and a feedback model, with the theorems' schedule.

        `theta` in [0, 1] (less for some feedbacks) trades regret against communication; `scales` multiplies the
        schedule; `start` is a point of K (of the shrunk K for value feedback), by default its center. `lean`: send y
        alone, half the bytes of the paper's (x, y), by default wherever the oracle does not start from the x it would
        be sent; `even`: spread a block's random draws evenly instead of drawing them independently. `published`
        switches all our improvements off.
        """
        expect(setting, Setting, "setting", "Pass problem.setting.")
        expect(feedback, Feedback, "feedback", "Pass for example droculo.feedback.bandit(), with the brackets.")
        expect(oracle, (InfeasibleProjection, type(None)), "oracle", "Pass for example droculo.oracles.ActiveSet().")
        expect(scales, (Scales, type(None)), "scales", "Pass for example droculo.Scales(step=2.0).")
        expect(theta, (int, float, np.number), "theta", "It is a number between 0 and 1.")
        row = look_up(setting.linearization, feedback, theta)
        plan = schedule(setting, feedback, row, horizon=horizon, theta=theta, scales=scales, oracle=oracle)
        return cls.from_schedule(setting, feedback, plan, oracle=oracle, lean=lean, even=even, start=start)

    @classmethod
    def published(
        cls, setting: Setting, feedback: Feedback, *, horizon: int, theta: float, start: ArrayLike | None = None
    ) -> Droculo:
        """As the paper has it: its oracle, its constants, (x, y) sent, independent draws and no control variate.

        >>> from droculo import Droculo, feedback, problems
        >>> problem = problems.TopB.random(agents=4, dim=6, budget=2, seed=0)
        >>> Droculo.published(problem.setting, feedback.bandit(), horizon=1024, theta=0.5).payload
        12
        """
        if isinstance(feedback, Feedback) and isinstance(feedback.signal, OnePoint):
            feedback = eqx.tree_at(lambda f: f.signal, feedback, OnePoint(control_variate=False))
        return cls.design(
            setting, feedback, horizon=horizon, theta=theta, oracle=PaperFrankWolfe(), lean=False, even=False,
            scales=Scales.theorem(), start=start,
        )  # fmt: skip

    @classmethod
    def from_schedule(
        cls,
        setting: Setting,
        feedback: Feedback,
        plan: Schedule,
        *,
        oracle: InfeasibleProjection | None = None,
        lean: bool | None = None,
        even: bool = True,
        start: ArrayLike | None = None,
    ) -> Droculo:
        """The same with a schedule of your own."""
        if feedback.signal.order == 0 and not plan.delta > 0:
            raise ValueError(
                f"{feedback.name} feedback asks at a distance delta > 0; got a schedule with {plan.delta}."
            )
        domain = setting.set
        setting.linearization.for_set(domain)  # refuses a set that its case does not cover, before that is shrunk
        oracle = oracle or default_oracle(domain)
        run_set = Shrunk(domain, plan.delta) if feedback.signal.order == 0 else domain
        return cls(
            domain=domain,
            run_set=run_set,
            linearization=setting.linearization.for_set(run_set),
            feedback=eqx.tree_at(lambda f: f.signal, feedback, feedback.signal.prepare(domain, plan.delta)),
            oracle=oracle,
            start=_starting_point(run_set, start),
            step_size=np.asarray(plan.step_size, np.float64),
            tolerance=np.asarray(plan.tolerance, np.float64),
            horizon=plan.horizon,
            block=plan.block,
            slot=plan.slot,
            lean=not oracle.starts_from_x0 if lean is None else lean,
            even=even,
        )

    @property
    def order(self) -> int:
        return self.feedback.signal.order

    @property
    def exchanges(self) -> int:
        return 1

    @property
    def payload(self) -> int:
        return (1 if self.lean else 2) * self.domain.dim

    def init(self) -> DroculoState:
        c = jnp.asarray(self.start)
        nothing = jnp.zeros((), c.dtype)
        return DroculoState(c, c, self.oracle.init(self.run_set, c), ValueStats(nothing, nothing))

    def decision(self, state: DroculoState) -> Array:
        return state.x

    def play(
        self, ports: Ports, state: DroculoState, start: Array, length: int, key: Array
    ) -> tuple[SlotSums, SlotPlay]:
        x, linearization, signal = state.x, self.linearization, self.feedback.signal
        z, when, v, alone = self._draw(start, length, key, x)
        points = signal.points(linearization.query(x, z), v)
        actions = self.feedback.actions(linearization.action(x), points, when, length)
        played = SlotPlay(actions, jnp.broadcast_to(start + when, points.shape[:1]), points)
        answers = ports.ask(played, signal.order)
        if signal.order == 1:
            answers = linearization.pull(x, z, answers[0])[None]
        return signal.tally(answers, v, alone), played

    def _draw(self, start: Array, length: int, key: Array, x: Array) -> tuple[Array, Array, Array, Array]:
        """The slot's z, its query round, its direction v, and whether no other slot has -v.

        `even`: all z of a block are one random shift of a golden-ratio sequence, and directions go in pairs, with the
        same z. Each is distributed as it should be, whatever x is; together they cover their range evenly.
        """
        signal, slot = self.feedback.signal, self.slot
        first = start - start % (self.block * slot)  # of the block
        q = (start - first) // slot
        second = q % 2 if self.even and signal.pairs else jnp.zeros_like(q)
        for_block, for_slots = jax.random.split(key)
        for_chance, for_v = jax.random.split(jax.random.fold_in(for_slots, start - second * slot))
        u, share = jax.random.uniform(for_chance, (2,), x.dtype)
        alone = jnp.ones((), bool)
        if self.even:
            if signal.pairs:
                slots = jnp.minimum(self.block, -(-(self.horizon - first) // slot))
                alone = (second == 0) & (q + 1 >= slots)
                q = q // 2
            shift = jax.random.uniform(jax.random.fold_in(for_block, first), (), x.dtype)
            u = (shift + q * GOLDEN) % 1
        v = signal.draw(for_v, x.shape[0], x.dtype) * (1 - 2 * second)
        # A slot of one round has no round to choose, and then gradients need no draw of their own.
        when = jnp.minimum((share * length).astype(start.dtype), length - 1) if length > 1 else jnp.zeros_like(start)
        return self.linearization.quantile(u), when, v, alone

    def update(self, ports: Ports, state: DroculoState, total: SlotSums) -> tuple[DroculoState, OracleCalls]:
        x, y = (state.x, ports.mix(state.y)) if self.lean else ports.mix((state.x, state.y))
        o, past = self.feedback.signal.estimate(total, state.past)
        y = y + self.step_size * o
        out = batching.project(self.oracle, self.run_set, x, y, jnp.asarray(self.tolerance), state.memory)
        return DroculoState(out.x, out.y, out.memory, past), OracleCalls(out.calls, ~out.converged)

    def credible(self, tree: Any, index: int | Array = 0) -> Array:
        """x in K, and y as near to it as the oracle promises."""
        x, y = (tree, tree) if self.lean else tree
        promised = jnp.sqrt(3 * jnp.asarray(self.tolerance, y.dtype))
        return is_near(self.run_set, x, promised if self.lean else 0.0) & is_near(self.run_set, y, promised)


def _starting_point(run_set: Set, start: ArrayLike | None) -> Vector:
    with double():
        if start is None:
            if run_set.geometry.center is not None:
                return run_set.geometry.center
            return np.asarray(run_set.argmax(jnp.ones(run_set.dim)), np.float64)
        point = np.asarray(start, np.float64)
        if point.shape != (run_set.dim,):
            raise ValueError(f"start must be a vector of {run_set.dim} numbers; got shape {point.shape}.")
        if not bool(run_set.contains(jnp.asarray(point), 1e-9)):
            raise ValueError(
                f"start is not a point of the set that the algorithm runs on ({type(run_set).__name__}); "
                "leave it out to begin at the center, or pass a point for which set.contains(start) holds."
            )
    return point
