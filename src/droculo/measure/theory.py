"""Before a run: what the theorems promise for it in numbers, and the theta with the best promise within given budgets."""

import math
from dataclasses import dataclass, replace
from typing import TypedDict

import numpy as np

from droculo.algorithms import Droculo, Growing, Scales
from droculo.algorithms.parts import SLOT
from droculo.algorithms.schedules import Schedule, answer_bound, schedule
from droculo.expect import expect
from droculo.feedback import Feedback
from droculo.feedback.table import Row, look_up
from droculo.linearizations import Setting
from droculo.networks import Network

#: thetas that are looked at, from 0 to the largest that Table 1 allows
GRID = 401


@dataclass(frozen=True)
class Exponents:
    """Powers of T at a given theta: regret, exchanges and LOO calls as in Table 1, and queries."""

    regret: float
    exchanges: float
    loo_calls: float
    queries: float


@dataclass(frozen=True)
class Guarantee:
    """What Theorems 1 to 6 say of one run. Costs are per agent.

    `exchanges` and `queries` are exact. `loo_calls` bounds an agent that sends (x, y), as in the paper. `regret` bounds
    the expected alpha-regret of every agent; it is infinite where the smoothness of the functions is not known.
    """

    exponents: Exponents
    schedule: Schedule
    exchanges: int
    queries: int
    loo_calls: float
    regret: float
    source: str


def guarantee(
    setting: Setting,
    feedback: Feedback,
    *,
    horizon: int,
    theta: float,
    network: Network | None = None,
    scales: Scales | None = None,
) -> Guarantee:
    """The theorem for this setting, feedback, horizon and theta, with the corrected numbers of Theorem 1.

    Without a network it speaks of a single agent. The bounds are worst cases: expect a run to stay far below them.
    `scales` multiplies the theorems' schedule.

    >>> from droculo import feedback, problems
    >>> problem = problems.TopB.random(agents=4, dim=6, budget=2, seed=0)
    >>> found = guarantee(problem.setting, feedback.full_information(), horizon=1024, theta=0.5)
    >>> found.exponents.regret, found.exchanges, found.queries
    (0.75, 32, 1024)
    """
    expect(network, (Network, type(None)), "network", "Pass droculo.networks.from_graph(graph), or leave it out.")
    row = look_up(setting.linearization, feedback, theta, noisy=setting.noisy)
    plan = schedule(setting, feedback, horizon=horizon, theta=theta, scales=scales)
    return Guarantee(
        exponents=Exponents(row.regret_exponent(theta), float(theta), 2 * float(theta), 1 - float(row.slot) * theta),
        schedule=plan,
        **costs(setting, feedback, plan),
        regret=_regret(setting, feedback, row, plan, network),
        source=row.source,
    )


class Costs(TypedDict):
    """What a schedule costs an agent at most."""

    exchanges: int
    queries: int
    loo_calls: float


def costs(setting: Setting, feedback: Feedback, plan: Schedule) -> Costs:
    """Exchanges and queries exactly; of LOO calls the bound: for each block Lemma 1's

    27 R^2/eps (8.5 + 5.5 q + q^2) with q = (K eta G)^2/eps.
    """
    q = (plan.block * plan.step_size * answer_bound(setting, feedback, plan.delta)) ** 2 / plan.tolerance
    per_block = 27 * float(setting.set.radius) ** 2 / plan.tolerance * (8.5 + 5.5 * q + q**2)
    queries = math.ceil(plan.horizon / plan.slot) * max(1, feedback.kind.values)
    return Costs(exchanges=plan.exchanges, queries=queries, loo_calls=plan.exchanges * per_block)


def _regret(setting: Setting, feedback: Feedback, row: Row, plan: Schedule, network: Network | None) -> float:
    """thm:main_base with what its print lost: a factor T in the third line, sqrt(3) in its consensus term."""
    linearization = setting.linearization.for_set(setting.set)
    R, M1 = float(setting.set.radius), setting.bounds.known("lipschitz")
    L1 = linearization.signal_smoothness(M1, float(setting.bounds.smoothness))
    G, K, eta, eps = answer_bound(setting, feedback, plan.delta), plan.block, plan.step_size, plan.tolerance
    T = plan.exchanges * K  # slots, the last block filled up
    # In the place of 1/(1 - lambda_2): how far disagreements of all past exchanges add up, at most. Over a cycle of c
    # matrices disagreement is known to shrink by rate^c, and within it not to grow.
    c, rate, N = (1, 0.0, 1) if network is None else (len(network.cycle), network.mixing_rate, network.n_agents)
    mixing = c / (1 - rate**c)
    root = math.sqrt(3 * eps)
    total = 2 * R**2 / eta + 18 * eps * T / (eta * K) + 7 * eta * T * K * G**2 + 13 * T * G * root
    total += mixing * (12 * eps * T / (eta * K) + 9 * eta * T * K * G**2 + 12 * T * G * root)
    if N > 1:  # one agent cannot disagree: the third line is zero
        apart = 3 * math.sqrt(2 * eps) + math.sqrt(3) * mixing * (3 * eta * K * G + 2 * root)
        total += T * (G + 2 * L1 * R) * (math.sqrt(N) + 1) * apart
    total *= float(linearization.beta)
    if plan.delta > 0:  # smoothing and shrinking, appendices D, F, G
        total += (3 + 4 * R / float(setting.set.inner_radius)) * plan.delta * M1 * T
    if row.slots:  # one round of every slot plays the query, appendix E
        total = plan.slot * total + 2 * M1 * R * math.ceil(plan.horizon / plan.slot)
    return total


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
        return Droculo.design(self.setting, self.feedback, theta=self.theta, horizon=self.guarantee.schedule.horizon)


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

    Regret grows like T^(1 - theta/2) or T^(1 - theta/4), so the best is the largest theta that fits. Exchanges and queries are
    those of the agent that `design` makes, whose blocks grow. The bounds on regret and LOO calls are those of the theorems'
    schedule with this theta; the agent's own regret has the same exponent, up to a logarithm (docs/adaptive.md). `scales`: as in
    `guarantee`.

    >>> from droculo import feedback, problems
    >>> problem = problems.TopB.random(agents=4, dim=6, budget=2, seed=0)
    >>> found = plan(problem.setting, feedback.full_information(), horizon=1024, exchanges=100)
    >>> round(found.theta, 2), found.guarantee.exchanges, round(found.guarantee.exponents.regret, 2)
    (0.67, 100, 0.67)
    """
    budgets = {"exchanges": exchanges, "loo_calls": loo_calls, "queries": queries}
    for name, budget in budgets.items():
        expect(budget, (int, float, np.number, type(None)), f"the budget of {name}", "It is a number per agent.")
        if budget is not None and not budget > 0:
            raise ValueError(f"the budget of {name} must be positive; got {budget}.")
    row = look_up(setting.linearization, feedback, 0.0, noisy=setting.noisy)
    asked = {name: float(budget) for name, budget in budgets.items() if budget is not None}
    thetas = np.linspace(0, float(row.theta_max), GRID)[1:]
    schedules = (schedule(setting, feedback, horizon=horizon, theta=theta, scales=scales) for theta in thetas)
    every = [
        _planned(setting, feedback, row, float(theta), each) for theta, each in zip(thetas, schedules, strict=True)
    ]
    table = {name: np.array([float(cost[name]) for cost in every]) for name in asked}  # type: ignore[literal-required]
    fits = np.all([table[name] <= asked[name] for name in asked], axis=0) if asked else np.ones(len(thetas), bool)
    if not np.any(fits):
        about = f"no theta fits {horizon} rounds of {feedback.kind} feedback into the budgets. "
        raise NoPlanError(about + _reason(asked, table, thetas))
    theta = float(thetas[np.flatnonzero(fits)[-1]])
    promised = guarantee(setting, feedback, horizon=horizon, theta=theta, network=network, scales=scales)
    exact = _planned(setting, feedback, row, theta, promised.schedule)
    return Plan(setting, feedback, theta, replace(promised, exchanges=exact["exchanges"], queries=exact["queries"]))


def _planned(setting: Setting, feedback: Feedback, row: Row, theta: float, schedule: Schedule) -> Costs:
    """Exchanges and queries of an agent whose blocks grow, exactly; the bound on LOO calls is the schedule's."""
    spans = Growing(theta, float(row.slot), first=SLOT if row.slots else 1.0).until(schedule.horizon)
    found = costs(setting, feedback, schedule)
    found["exchanges"], found["queries"] = (
        int(spans.complete.sum()),
        int(spans.slots.sum()) * max(1, feedback.kind.values),
    )
    return found


def _reason(asked: dict[str, float], table: dict[str, np.ndarray], thetas: np.ndarray) -> str:
    """Name the budgets that no theta meets alone; if each can be met, say that they contradict one another."""
    words = {"exchanges": "exchanges", "loo_calls": "LOO calls (the bound on them)", "queries": "queries"}
    short, ranges = [], []
    for name, budget in asked.items():
        needed, fitting = table[name], thetas[table[name] <= budget]
        if len(fitting):
            ranges.append(f"{words[name]} need theta from {fitting.min():.3g} to {fitting.max():.3g}")
        else:
            least = f"the least is {math.ceil(needed.min())}, at theta = {thetas[int(np.argmin(needed))]:.3g}"
            short.append(f"{words[name]}: {least}, and the budget is {budget:g}")
    if short:
        return "; ".join(short) + ". Raise it, or choose a shorter horizon or another feedback."
    return "Each alone can be met, not all together: " + "; ".join(ranges) + "."
