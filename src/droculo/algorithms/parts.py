"""The parts that an agent of DROCULO is made of: which are the defaults, and which combinations are refused."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from droculo.algorithms.draws import Draws, EvenDraws
from droculo.algorithms.exchange import Exchange, SendXY, SendY
from droculo.algorithms.schedules import Schedule
from droculo.algorithms.steps import FixedStep, StepRule
from droculo.algorithms.timetable import Equal
from droculo.expect import expect
from droculo.feedback import Feedback
from droculo.linearizations import Setting
from droculo.oracles import InfeasibleProjection, default_oracle
from droculo.precision import double
from droculo.sets import Set, Shrunk
from droculo.sets.geometry import Vector


def parts_of(
    setting: Setting,
    feedback: Feedback,
    plan: Schedule,
    *,
    oracle: InfeasibleProjection | None = None,
    draws: Draws | None = None,
    exchange: Exchange | None = None,
    steps: StepRule | None = None,
    start: ArrayLike | None = None,
) -> dict[str, Any]:
    """The fields of an agent with these parts; None stands for the default."""
    for part, kind, name, example in (
        (draws, Draws, "draws", "IndependentDraws()"),
        (exchange, Exchange, "exchange", "SendXY()"),
        (steps, StepRule, "steps", "FixedStep(0.1)"),
    ):
        expect(part, (kind, type(None)), name, f"Pass for example droculo.algorithms.{example}, with the brackets.")
    if feedback.order == 0 and not plan.delta > 0:
        raise ValueError(f"{feedback.kind} feedback asks at a distance delta > 0; got a schedule with {plan.delta}.")
    domain = setting.set
    setting.linearization.for_set(domain)  # refuses a set that its case does not cover, before that is shrunk
    run_set = Shrunk(domain, plan.delta) if feedback.order == 0 else domain
    oracle = oracle or default_oracle(domain)
    return {
        "domain": domain,
        "run_set": run_set,
        "linearization": setting.linearization.for_set(run_set),
        "feedback": eqx.tree_at(lambda f: f.signal, feedback, feedback.signal.prepare(domain, plan.delta)),
        "draws": draws or EvenDraws(),
        "exchange": exchange or (SendXY() if oracle.starts_from_x0 else SendY()),
        "steps": steps or FixedStep(np.asarray(plan.step_size, np.float64)),
        "oracle": oracle,
        "start": _starting_point(run_set, start),
        "tolerance": np.asarray(plan.tolerance, np.float64),
        "timetable": Equal(plan.block, plan.slot, plan.horizon),
        "horizon": plan.horizon,
    }


def _starting_point(run_set: Set, start: ArrayLike | None) -> Vector:
    """A point of the set: the one that was given, or the center, or some vertex where no center is known."""
    with double():
        if start is None:
            center = run_set.geometry.center
            return np.asarray(run_set.argmax(jnp.ones(run_set.dim)), np.float64) if center is None else center
        point = np.asarray(start, np.float64)
        if point.shape != (run_set.dim,):
            raise ValueError(f"start must be a vector of {run_set.dim} numbers; got shape {point.shape}.")
        if not bool(run_set.contains(jnp.asarray(point), 1e-9)):
            raise ValueError(
                f"start is not a point of the set that the algorithm runs on ({type(run_set).__name__}); "
                "leave it out to begin at the center, or pass a point for which set.contains(start) holds."
            )
    return point
