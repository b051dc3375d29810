"""DROCULO (Lu, Pedramfar, Aggarwal, TMLR 2025): the paper's Algorithms 1 to 5, written once for one agent.

Which of the five it is follows from the parts: the linearization (where to ask), the signal (gradient, one value,
two values) and whether query points must be played.

    paper          here
    K, K_delta     domain, run_set (the shrunk set when values are asked, else K itself)
    h, w, z        linearization.action, linearization.query, its draw
    T, K, L        horizon, block, slot
    eta, eps       steps, tolerance
    x, y-tilde     state.x, state.y
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jax import Array
from numpy.typing import ArrayLike

from droculo.algorithms.contract import Algorithm, Keys, OracleCalls, Ports, Slot, SlotPlay
from droculo.algorithms.draws import Draws
from droculo.algorithms.exchange import Exchange
from droculo.algorithms.parts import parts_of
from droculo.algorithms.schedules import Scales, Schedule, schedule
from droculo.algorithms.steps import StepRule
from droculo.algorithms.timetable import Timetable
from droculo.feedback import Feedback
from droculo.feedback.signals import SlotSums, ValueStats
from droculo.linearizations import Linearization, Setting
from droculo.oracles import InfeasibleProjection, batching
from droculo.sets import Set
from droculo.sets.geometry import Vector


class DroculoState(eqx.Module):
    """What an agent carries from block to block."""

    x: Array  # the decision
    y: Array  # its infeasible companion
    memory: Any  # the oracle's, local to the agent
    past: ValueStats  # the signal's
    exchange: Any  # the exchange's
    steps: Any  # the step rule's
    draws: Any  # the draws'


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
    draws: Draws
    exchange: Exchange
    steps: StepRule
    oracle: InfeasibleProjection
    start: Vector
    tolerance: Vector
    timetable: Timetable
    horizon: int | None = eqx.field(static=True)

    @classmethod
    def design(
        cls, setting: Setting, feedback: Feedback, *, horizon: int, theta: float, scales: Scales | None = None,
        oracle: InfeasibleProjection | None = None, draws: Draws | None = None, exchange: Exchange | None = None,
        steps: StepRule | None = None, start: ArrayLike | None = None,
    ) -> "Droculo":  # fmt: skip
        """The algorithm for a problem's setting and a feedback model, with the theorems' schedule.

        `theta` in [0, 1] (less for some feedbacks) trades regret against communication; `scales` multiplies the schedule.
        By default draws are even, the step is the schedule's, and agents send y alone unless the oracle starts from the x
        that they would send. `start`: a point of K (of the shrunk K for values), by default its center.
        `algorithms.published` switches all our improvements off.
        """
        plan = schedule(setting, feedback, horizon=horizon, theta=theta, scales=scales, oracle=oracle)
        chosen = {"oracle": oracle, "draws": draws, "exchange": exchange, "steps": steps, "start": start}
        return cls.from_schedule(setting, feedback, plan, **chosen)

    @classmethod
    def from_schedule(cls, setting: Setting, feedback: Feedback, plan: Schedule, **chosen: Any) -> "Droculo":
        """The same with a schedule of your own; `chosen` are the parts that `design` takes."""
        return cls(**parts_of(setting, feedback, plan, **chosen))

    @property
    def exchanges(self) -> int:
        return 1

    @property
    def message(self) -> Any:
        return self.exchange.message(self.domain.dim, self.steps.message)

    def init(self) -> DroculoState:
        c = jnp.asarray(self.start)
        nothing = jnp.zeros((), c.dtype)
        past, memory = ValueStats(nothing, nothing), self.oracle.init(self.run_set, c)
        draws = self.draws.init(self.domain.dim, c.dtype)
        return DroculoState(c, c, memory, past, self.exchange.init(c), self.steps.init(c), draws)

    def decision(self, state: DroculoState) -> Array:
        return state.x

    def play(self, ports: Ports, state: DroculoState, slot: Slot) -> tuple[SlotSums, SlotPlay]:
        x, linearization, signal = state.x, self.linearization, self.feedback.signal
        draw = self.draws.draw(signal, slot, self.domain.dim, x.dtype, state.draws)
        z = linearization.quantile(draw.u)
        points = signal.points(linearization.query(x, z), draw.v)
        actions = self.feedback.actions(linearization.action(x), points, draw.when, slot.most)
        rounds = jnp.broadcast_to(slot.start + draw.when, points.shape[:1])
        earned = slot.start + jnp.arange(slot.most) if signal.hears_earned else None
        played = SlotPlay(actions, rounds, points, earned)
        answers = ports.ask(played, signal.order)
        asked = answers.asked if signal.order == 0 else linearization.pull(x, z, answers.asked[0])[None]
        return signal.tally(asked, draw.v, draw.alone, answers.earned), played

    def update(self, ports: Ports, state: DroculoState, total: SlotSums, keys: Keys) -> tuple[Any, OracleCalls]:
        told = self.steps.say(state.steps)
        x, y, heard, exchange = self.exchange.mix(ports, state.x, state.y, told, state.exchange)
        o, past = self.feedback.signal.estimate(total, state.past)
        eta, steps = self.steps.step(o, state.y, y, heard, state.steps)
        out = batching.project(self.oracle, self.run_set, x, y + eta * o, jnp.asarray(self.tolerance), state.memory)
        draws = self.draws.next(state.draws, keys)
        new = DroculoState(out.x, out.y, out.memory, past, exchange, steps, draws)
        return new, OracleCalls(out.calls, ~out.converged)

    def credible(self, tree: Any, index: int | Array = 0) -> Array:
        """x in K, and y as near to it as the oracle promises."""
        return self.exchange.credible(tree, self.run_set, jnp.sqrt(3 * jnp.asarray(self.tolerance)))
