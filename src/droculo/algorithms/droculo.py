"""DROCULO (Lu, Pedramfar, Aggarwal, TMLR 2025): the paper's Algorithms 1 to 5, written once for one agent.

Which of the five it is follows from the parts: the linearization (where to ask), the signal (gradient, one value,
two values) and whether query points must be played.

    paper          here
    K, K_delta     domain, run_set (the shrunk set where the paper's schedule asks for values, else K itself)
    h, w, z        linearization.action, linearization.query, its draw
    T              timetable: blocks and slots of growing length (or, with a horizon, of K slots of L rounds)
    eta, eps       steps: the move of a block, and the tolerance of its projection
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
from droculo.algorithms.parts import adaptive_parts, prescribed_parts
from droculo.algorithms.schedules import Scales, Schedule, schedule
from droculo.algorithms.steps import Here, StepRule
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
    block: Array  # how many blocks have ended


class Droculo(Algorithm):
    """One agent of DROCULO. Make it with `Droculo.design`.

    >>> from droculo import Droculo, feedback, problems
    >>> problem = problems.TopB.random(agents=4, dim=6, budget=2, seed=0)
    >>> agent = Droculo.design(problem.setting, feedback.full_information(), theta=0.5)
    >>> agent.timetable.blocks(4).end.tolist()
    [1, 4, 9, 16]
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
    timetable: Timetable
    horizon: int | None = eqx.field(static=True)

    @classmethod
    def design(
        cls, setting: Setting, feedback: Feedback, *, theta: float = 0.5, horizon: int | None = None,
        oracle: InfeasibleProjection | None = None, draws: Draws | None = None, exchange: Exchange | None = None,
        steps: StepRule | None = None, start: ArrayLike | None = None,
    ) -> "Droculo":  # fmt: skip
        """The algorithm for a problem's setting and a feedback model. It needs no horizon and no bound on anything.

        `theta` in (0, 1] (less for some feedbacks) trades regret against communication: T^theta exchanges in the first T
        rounds, for every T. `horizon`: how many rounds a driver plays if it is not told; it changes nothing else. By default
        the step adapts itself, draws are even, and agents send y (and two numbers) unless the oracle starts from the x
        that they would send too. `start`: a point of K, by default its center.
        """
        chosen: dict[str, Any] = {"oracle": oracle, "draws": draws, "exchange": exchange, "start": start}
        return cls(**adaptive_parts(setting, feedback, theta, horizon, steps=steps, **chosen))

    @classmethod
    def prescribed(
        cls, setting: Setting, feedback: Feedback, *, horizon: int, theta: float = 0.5, scales: Scales | None = None,
        **chosen: Any,
    ) -> "Droculo":  # fmt: skip
        """The theorems' schedule for a known horizon and known bounds: equal blocks, one step size, one tolerance.

        `scales` multiplies it; `chosen` are the parts that `design` takes. `algorithms.published` is the paper as it stands.
        """
        plan = schedule(setting, feedback, horizon=horizon, theta=theta, scales=scales)
        return cls.from_schedule(setting, feedback, plan, **chosen)

    @classmethod
    def from_schedule(cls, setting: Setting, feedback: Feedback, plan: Schedule, **chosen: Any) -> "Droculo":
        """The same with a schedule of your own."""
        return cls(**prescribed_parts(setting, feedback, plan, **chosen))

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
        draws, exchange, steps = self.draws.init(self.domain.dim, c.dtype), self.exchange.init(c), self.steps.init(c)
        return DroculoState(c, c, memory, past, exchange, steps, draws, nothing)

    def decision(self, state: DroculoState) -> Array:
        return state.x

    def play(self, ports: Ports, state: DroculoState, slot: Slot) -> tuple[SlotSums, SlotPlay]:
        x, linearization, signal = state.x, self.linearization, self.feedback.signal
        draw = self.draws.draw(signal, slot, self.domain.dim, x.dtype, state.draws)
        z = linearization.quantile(draw.u)
        points = signal.points(linearization.query(x, z), draw.v, state.block)
        actions = self.feedback.actions(linearization.action(x), points, draw.when, slot.most)
        rounds = jnp.broadcast_to(slot.start + draw.when, points.shape[:1])
        earned = slot.start + jnp.arange(slot.most) if signal.hears_earned else None
        played = SlotPlay(actions, rounds, points, earned)
        answers = ports.ask(played, signal.order)
        asked = answers.asked if signal.order == 0 else linearization.pull(x, z, answers.asked[0])[None]
        return signal.tally(asked, draw.v, draw.alone, _of_rounds(answers.earned, slot)), played

    def update(self, ports: Ports, state: DroculoState, total: SlotSums, keys: Keys) -> tuple[Any, OracleCalls]:
        told = self.steps.say(state.steps)
        x, y, heard, exchange = self.exchange.mix(ports, state.x, state.y, told, state.exchange)
        o, past = self.feedback.signal.estimate(total, state.past, state.block)
        move, steps = self.steps.step(o, Here(state.x, state.y, y), heard, state.steps)
        target = y + move.by
        out = batching.project(self.oracle, self.run_set, x, target, move.tolerance, state.memory)
        y, draws = self.steps.keep(target, out), self.draws.next(state.draws, keys)
        new = DroculoState(out.x, y, out.memory, past, exchange, steps, draws, state.block + 1)
        return new, OracleCalls(out.calls, ~out.converged)

    def credible(self, tree: Any, index: int | Array = 0) -> Array:
        """x in K, y as near to it as the step rule keeps it, and numbers that the step rule can have said."""
        near = self.exchange.credible(tree, self.run_set, jnp.asarray(self.steps.outside))
        return near & self.steps.credible(tree[-1])


def _of_rounds(earned: Array | None, slot: Slot) -> Array | None:
    """What the actions of a slot earned: nothing where it has room for more rounds than are played."""
    return None if earned is None else jnp.where(jnp.arange(slot.most) < slot.length, earned, 0)
