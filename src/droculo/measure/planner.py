"""From budgets to a schedule: the theta with the best exponent of regret within them, or the reason why none fits."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from droculo.algorithms import Droculo, Scales
from droculo.algorithms.schedules import schedule
from droculo.expect import expect
from droculo.feedback import Feedback, look_up
from droculo.linearizations import Setting
from droculo.measure.theory import Guarantee, costs, guarantee
from droculo.networks import Network

#: thetas that are looked at, from 0 to the largest that Table 1 allows
GRID = 401


class NoPlanError(ValueError):
    """No theta keeps within the budgets; the message says which budget stands in the way."""


@dataclass(frozen=True)
class Plan:
    """The theta to use, and what is promised for it."""

    setting: Setting
    feedback: Feedback
    theta: float
    guarantee: Guarantee

    def design(self) -> Droculo:
        """The algorithm that follows the plan."""
        return Droculo.from_schedule(self.setting, self.feedback, self.guarantee.schedule)


def plan(
    setting: Setting,
    feedback: Feedback,
    *,
    horizon: int,
    exchanges: int | None = None,
    loo_calls: float | None = None,
    queries: int | None = None,
    network: Network | None = None,
    scales: Scales | None = None,
) -> Plan:
    """The best plan for `horizon` rounds in which no agent exceeds its budgets of exchanges, LOO calls and queries.

    Regret grows like T^(1 - theta/2) or T^(1 - theta/4), so the best is the largest theta that fits. Exchanges and queries of a run equal the
    plan's; its LOO calls are at most the plan's bound (often a hundredth of it). `scales`: the theorems' own by default, since
    that is what they promise; `Scales()` for the constants that `Droculo.design` uses.

    >>> from droculo import feedback, problems
    >>> problem = problems.TopB.random(agents=4, dim=6, budget=2, seed=0)
    >>> found = plan(problem.setting, feedback.full_information(), horizon=1024, exchanges=100)
    >>> round(found.theta, 2), found.guarantee.exchanges, round(found.guarantee.exponents.regret, 2)
    (0.66, 94, 0.67)
    """
    scales = scales or Scales.theorem()
    budgets = {"exchanges": exchanges, "loo_calls": loo_calls, "queries": queries}
    for name, budget in budgets.items():
        expect(budget, (int, float, np.number, type(None)), f"the budget of {name}", "It is a number per agent.")
        if budget is not None and not budget > 0:
            raise ValueError(f"the budget of {name} must be positive; got {budget}.")
    row = look_up(setting.linearization, feedback, 0.0)
    asked = {name: float(budget) for name, budget in budgets.items() if budget is not None}
    thetas = np.linspace(0, float(row.theta_max), GRID)
    plans = (schedule(setting, feedback, horizon=horizon, theta=theta, scales=scales) for theta in thetas)
    every = [costs(setting, feedback, plan) for plan in plans]
    table = {name: np.array([float(cost[name]) for cost in every]) for name in asked}  # type: ignore[literal-required]
    fits = np.all([table[name] <= asked[name] for name in asked], axis=0) if asked else np.ones(GRID, bool)
    if not np.any(fits):
        raise NoPlanError(_reason(asked, table, thetas, feedback, horizon))
    theta = float(thetas[np.flatnonzero(fits)[-1]])
    promised = guarantee(setting, feedback, horizon=horizon, theta=theta, network=network, scales=scales)
    return Plan(setting, feedback, theta, promised)


def _reason(
    asked: dict[str, float], table: dict[str, np.ndarray], thetas: np.ndarray, feedback: Feedback, horizon: int
) -> str:
    """Name the budgets that no theta meets alone; if each can be met, say that they contradict one another."""
    words = {"exchanges": "exchanges", "loo_calls": "LOO calls (the bound on them)", "queries": "queries"}
    short = [
        f"{words[name]}: the least is {math.ceil(table[name].min())}, at theta = {thetas[int(np.argmin(table[name]))]:.3g}, "
        f"and the budget is {asked[name]:g}"
        for name in asked
        if table[name].min() > asked[name]
    ]
    about = f"no theta fits {horizon} rounds of {feedback.kind} feedback into the budgets. "
    if short:
        return about + "; ".join(short) + ". Raise it, or choose a shorter horizon or another feedback."
    fitting = {name: thetas[table[name] <= asked[name]] for name in asked}
    ranges = [f"{words[name]} need theta from {fit.min():.3g} to {fit.max():.3g}" for name, fit in fitting.items()]
    return about + "Each alone can be met, not all together: " + "; ".join(ranges) + "."
