"""What the theorems promise for a run, in numbers, before it is made."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypedDict

from droculo.algorithms import Scales
from droculo.algorithms.schedules import Schedule, answer_bound, schedule, slot_power
from droculo.expect import expect
from droculo.feedback import Feedback, Row, look_up
from droculo.linearizations import Setting
from droculo.networks import Network


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

    Without a network it speaks of a single agent. The bounds are worst cases with all their constants: expect a run to
    stay far below them. `scales`: the theorems' own by default; `Scales()` for the constants that `Droculo.design` uses, which
    do better in runs and have larger worst cases.

    >>> from droculo import feedback, problems
    >>> problem = problems.TopB.random(agents=4, dim=6, budget=2, seed=0)
    >>> found = guarantee(problem.setting, feedback.full_information(), horizon=1024, theta=0.5)
    >>> found.exponents.regret, found.exchanges, found.queries
    (0.75, 32, 1024)
    """
    expect(network, (Network, type(None)), "network", "Pass droculo.networks.from_graph(graph), or leave it out.")
    row = look_up(setting.linearization, feedback, theta)
    plan = schedule(setting, feedback, horizon=horizon, theta=theta, scales=scales or Scales.theorem())
    return Guarantee(
        exponents=exponents(row, feedback, theta),
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
    slots = math.ceil(plan.horizon / plan.slot)
    queries = slots * max(1, feedback.kind.values)
    return Costs(exchanges=plan.exchanges, queries=queries, loo_calls=plan.exchanges * per_block)


def exponents(row: Row, feedback: Feedback, theta: float) -> Exponents:
    """The powers of T of a row of Table 1."""
    power = slot_power(row, feedback)
    return Exponents(row.regret_exponent(theta), float(theta), 2 * float(theta), 1 - float(power) * theta)


def _regret(setting: Setting, feedback: Feedback, row: Row, plan: Schedule, network: Network | None) -> float:
    linearization = setting.linearization.for_set(setting.set)
    R, M1 = float(setting.set.radius), float(setting.bounds.lipschitz)
    smooth = linearization.signal_smoothness(M1, float(setting.bounds.smoothness))
    G = answer_bound(setting, feedback, plan.delta)
    T = plan.exchanges * plan.block  # slots, the last block filled up
    total = _theorem_1(
        beta=float(linearization.beta), R=R, G=G, L1=smooth, T=T, K=plan.block, eta=plan.step_size, eps=plan.tolerance,
        mixing=1.0 if network is None else _mixing(network), N=1 if network is None else network.n_agents,
    )  # fmt: skip
    if plan.delta > 0:  # smoothing and shrinking, appendices D, F, G
        total += (3 + 4 * R / float(setting.set.inner_radius)) * plan.delta * M1 * T
    if row.slots:  # one round of every slot plays the query, appendix E
        total = plan.slot * total + 2 * M1 * R * math.ceil(plan.horizon / plan.slot)
    return total


def _mixing(network: Network) -> float:
    """What takes the place of 1/(1 - lambda_2): how far disagreements of all past exchanges add up, at most.

    Over a cycle of c matrices disagreement is known to shrink by rate^c, and within it not to grow.
    """
    c = len(network.cycle)
    return c / (1 - network.mixing_rate**c)


def _theorem_1(
    *, beta: float, R: float, G: float, L1: float, T: float, K: float, eta: float, eps: float, mixing: float, N: int
) -> float:
    """thm:main_base with what its print lost: a factor T in the third line, sqrt(3) in its consensus term."""
    root = math.sqrt(3 * eps)
    alone = 2 * R**2 / eta + 18 * eps * T / (eta * K) + 7 * eta * T * K * G**2 + 13 * T * G * root
    together = mixing * (12 * eps * T / (eta * K) + 9 * eta * T * K * G**2 + 12 * T * G * root)
    apart = 3 * math.sqrt(2 * eps) + math.sqrt(3) * mixing * (3 * eta * K * G + 2 * root)
    if N == 1:  # one agent cannot disagree: the third line is zero
        return beta * (alone + together)
    return beta * (alone + together + T * (G + 2 * L1 * R) * (math.sqrt(N) + 1) * apart)
