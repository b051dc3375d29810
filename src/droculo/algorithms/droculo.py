"""DROCULO (Lu, Pedramfar, Aggarwal, TMLR 2025): the paper's Algorithms 1 to 5, written once for one agent.

Which of the five it is follows from the parts: the linearization (where to ask), the signal (gradient, one value,
two values) and whether query points must be played.

    paper          here
    K, K_delta     domain, run_set (the shrunk set when values are asked, else K itself)
    h, w, z        link.action, link.query, its draw
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

from droculo.algorithms.base import Algorithm, Played, Ports, Spent
from droculo.algorithms.schedules import Scales, Schedule, schedule
from droculo.expect import expect
from droculo.feedback import Feedback, Past, Tally, look_up
from droculo.linearizations import Linearization, Setting
from droculo.oracles import Corrective, InfeasibleProjection
from droculo.precision import double
from droculo.sets import Set, Shrunk
from droculo.sets.geometry import Vector


class DroculoState(eqx.Module):
    """What an agent carries from block to block."""

    x: Array  # the decision
    y: Array  # its infeasible companion
    memory: Any  # the oracle's, local to the agent
    past: Past  # the signal's


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
    link: Linearization
    feedback: Feedback
    oracle: InfeasibleProjection
    start: Vector
    step_size: Vector
    tolerance: Vector
    horizon: int = eqx.field(static=True)
    block: int = eqx.field(static=True)
    slot: int = eqx.field(static=True)
    lean: bool = eqx.field(static=True)

    @classmethod
    def design(
        cls,
        setting: Setting,
        feedback: Feedback,
        *,
        horizon: int,
        theta: float,
        oracle: InfeasibleProjection | None = None,
        lean: bool = False,
        scales: Scales | None = None,
        start: ArrayLike | None = None,
    ) -> Droculo:
        """The algorithm for a problem's setting and a feedback model, with the theorems' schedule.

        `theta` in [0, 1] (less for some feedbacks) trades regret against communication; `lean=True` sends y alone
        instead of the paper's (x, y); `scales` multiplies the schedule; `start` is a point of K (of the shrunk K for
        value feedback), by default its center.
        """
        expect(setting, Setting, "setting", "Pass problem.setting.")
        expect(feedback, Feedback, "feedback", "Pass for example droculo.feedback.bandit(), with the brackets.")
        expect(oracle, (InfeasibleProjection, type(None)), "oracle", "Pass for example droculo.oracles.Corrective().")
        expect(scales, (Scales, type(None)), "scales", "Pass for example droculo.Scales(step=2.0).")
        expect(theta, (int, float, np.number), "theta", "It is a number between 0 and 1.")
        row = look_up(setting.linearization, feedback, theta)
        plan = schedule(setting, feedback, row, horizon=horizon, theta=theta, scales=scales)
        return cls.from_schedule(setting, feedback, plan, oracle=oracle, lean=lean, start=start)

    @classmethod
    def from_schedule(
        cls,
        setting: Setting,
        feedback: Feedback,
        plan: Schedule,
        *,
        oracle: InfeasibleProjection | None = None,
        lean: bool = False,
        start: ArrayLike | None = None,
    ) -> Droculo:
        """The same with a schedule of your own."""
        if feedback.signal.order == 0 and not plan.delta > 0:
            raise ValueError(
                f"{feedback.name} feedback asks at a distance delta > 0; got a schedule with {plan.delta}."
            )
        domain = setting.set
        setting.linearization.on(domain)  # refuses a set that its case does not cover, before that is shrunk
        run_set = Shrunk(domain, plan.delta) if feedback.signal.order == 0 else domain
        return cls(
            domain=domain,
            run_set=run_set,
            link=setting.linearization.on(run_set),
            feedback=eqx.tree_at(lambda f: f.signal, feedback, feedback.signal.prepare(domain, plan.delta)),
            oracle=oracle or Corrective(),
            start=_starting_point(run_set, start),
            step_size=np.asarray(plan.step_size, np.float64),
            tolerance=np.asarray(plan.tolerance, np.float64),
            horizon=plan.horizon,
            block=plan.block,
            slot=plan.slot,
            lean=lean,
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
        return DroculoState(c, c, self.oracle.init(self.run_set, c), Past(nothing, nothing))

    def decision(self, state: DroculoState) -> Array:
        return state.x

    def play(self, ports: Ports, state: DroculoState, start: Array, length: int, key: Array) -> tuple[Tally, Played]:
        x, link, signal = state.x, self.link, self.feedback.signal
        for_chance, for_v = jax.random.split(key)
        chance = jax.random.uniform(for_chance, (2,), x.dtype)
        z = link.quantile(chance[0])
        v = signal.draw(for_v, x.shape[0], x.dtype)
        when = jnp.minimum((chance[1] * length).astype(start.dtype), length - 1)
        points = signal.points(link.query(x, z), v)
        actions = self.feedback.actions(link.action(x), points, when, length)
        played = Played(actions, jnp.broadcast_to(start + when, points.shape[:1]), points)
        answers = ports.ask(played, signal.order)
        if signal.order == 1:
            answers = link.pull(x, z, answers[0])[None]
        return signal.tally(answers, v), played

    def update(self, ports: Ports, state: DroculoState, total: Tally) -> tuple[DroculoState, Spent]:
        x, y = (state.x, ports.mix(state.y)) if self.lean else ports.mix((state.x, state.y))
        o, past = self.feedback.signal.estimate(total, state.past)
        y = y + self.step_size * o
        out = self.oracle(self.run_set, x, y, jnp.asarray(self.tolerance), state.memory)
        return DroculoState(out.x, out.y, out.memory, past), Spent(out.calls, ~out.met)


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
