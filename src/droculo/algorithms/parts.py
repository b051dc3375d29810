"""The parts that an agent of DROCULO is made of: which are the defaults, and which combinations are refused."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from droculo.algorithms.draws import Draws, EvenDraws
from droculo.algorithms.exchange import Exchange, SendXY, SendY
from droculo.algorithms.schedules import Schedule, row_of, whole_horizon
from droculo.algorithms.steps import AdaptiveStep, FixedStep, StepRule
from droculo.algorithms.timetable import Equal, Growing
from droculo.expect import expect
from droculo.feedback import Feedback
from droculo.linearizations import Setting
from droculo.oracles import InfeasibleProjection, default_oracle
from droculo.precision import double
from droculo.sets import Set, Shrunk
from droculo.sets.geometry import Vector

#: the rounds of the first slots where a query has to be played and is not the action: shorter ones would make most of the
#: first blocks queries
SLOT = 3.0


def adaptive_parts(
    setting: Setting,
    feedback: Feedback,
    theta: float,
    horizon: int | None,
    *,
    steps: StepRule | None = None,
    **chosen: Any,
) -> dict[str, Any]:
    """The fields of an agent that needs neither bounds nor a horizon; None stands for the default of a part."""
    row = row_of(setting, feedback, theta)
    if theta == 0:
        raise ValueError(
            "theta = 0 means one exchange in all, however long the run: take theta > 0, or Droculo.prescribed with a horizon."
        )
    domain = setting.set
    parts = _parts(setting, feedback, domain, **chosen)
    # An oracle that starts from x has a long way to a point far outside of K, and pays for every digit.
    how = {"slack": 0.0, "exactness": 0.1} if parts["oracle"].starts_from_x0 else {}
    if feedback.kind.values == 1:  # agents sit apart because of noise, which their average does not have
        how["caution"] = 0.0
    delta = 0.5 * float(domain.inner_radius) if feedback.order == 0 else 0.0
    return {
        **parts,
        "feedback": _prepared(feedback, domain, delta, power=float(row.delta), inward=True),
        "steps": _part(steps, StepRule, "steps", "algorithms.FixedStep(0.1, 0.01)") or AdaptiveStep(domain, **how),
        "timetable": Growing(float(theta), float(row.slot), first=SLOT if row.slots else 1.0),
        "horizon": None if horizon is None else whole_horizon(horizon),
    }


def prescribed_parts(
    setting: Setting, feedback: Feedback, plan: Schedule, *, steps: StepRule | None = None, **chosen: Any
) -> dict[str, Any]:
    """The fields of an agent with the theorems' schedule."""
    if feedback.order == 0 and not plan.delta > 0:
        raise ValueError(f"{feedback.kind} feedback asks at a distance delta > 0; got a schedule with {plan.delta}.")
    domain = setting.set
    setting.linearization.for_set(domain)  # refuses a set that its case does not cover, before that is shrunk
    run_set = Shrunk(domain, plan.delta) if feedback.order == 0 else domain
    return {
        **_parts(setting, feedback, run_set, **chosen),
        "feedback": _prepared(feedback, domain, plan.delta),
        "steps": _part(steps, StepRule, "steps", "algorithms.FixedStep(0.1, 0.01)")
        or FixedStep(plan.step_size, plan.tolerance),
        "timetable": Equal(plan.block, plan.slot, plan.horizon),
        "horizon": plan.horizon,
    }


def _parts(
    setting: Setting,
    feedback: Feedback,
    run_set: Set,
    *,
    oracle: InfeasibleProjection | None = None,
    draws: Draws | None = None,
    exchange: Exchange | None = None,
    start: ArrayLike | None = None,
) -> dict[str, Any]:
    """The fields that do not depend on the schedule."""
    _part(oracle, InfeasibleProjection, "oracle", "oracles.ActiveSet()")
    oracle = oracle or default_oracle(setting.set)
    chosen = _part(exchange, Exchange, "exchange", "algorithms.SendXY()")
    return {
        "domain": setting.set,
        "run_set": run_set,
        "linearization": setting.linearization.for_set(run_set),
        "draws": _part(draws, Draws, "draws", "algorithms.IndependentDraws()") or EvenDraws(),
        "exchange": chosen or (SendXY() if oracle.starts_from_x0 else SendY()),
        "oracle": oracle,
        "start": _starting_point(run_set, start),
    }


def _part(given: Any, kind: type, name: str, example: str) -> Any:
    expect(given, (kind, type(None)), name, f"Pass for example droculo.{example}, with the brackets.")
    return given


def _prepared(feedback: Feedback, domain: Set, delta: float, **how: Any) -> Feedback:
    """The feedback with a signal that knows the set, and how far from its query points it asks."""
    return eqx.tree_at(lambda f: f.signal, feedback, feedback.signal.prepare(domain, delta, **how))


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
