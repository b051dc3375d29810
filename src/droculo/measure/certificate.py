"""An upper bound on alpha-regret that needs no optimum, for any played sequence, and what it says of the optimum."""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from droculo.linearizations import Linearization
from droculo.measure.regret import need_all_rounds, network_reward
from droculo.precision import double
from droculo.problems import Problem
from droculo.simulator import Trajectory

Numbers = NDArray[np.float64]


class Certificate(NamedTuple):
    """alpha-regret of agent i <= bound[i], whatever the optimum is, and optimum_low <= optimum <= optimum_high.

    With g_t = (1/N) sum_j g(f_{t,j}, x_t) and S = sum_t g_t, upper-linearizability gives for every agent

        alpha-regret <= beta (max over u in K of <S, u> - sum_t <g_t, x_t>) + sum_t (1/N) sum_j [f(h(x_t)) - f(a_t)],

    where the last sum corrects for actions a_t that are not h(x_t): query rounds, perturbations, and any action of a
    method that has no h. Anchor and origin are those of K itself. Hence the optimum (of the sum over rounds, a network
    average) is at most (reward + bound)/alpha. It is at least what some fixed point earns; a reward alone is no lower
    bound, for an agent that follows a moving adversary can beat every fixed point.
    """

    alpha: float
    bound: Numbers  # (..., agents)
    correction: Numbers  # (..., agents): the part of it that is due to actions other than h(x)
    rewards: Numbers  # (..., agents): (1/N) sum_{t,j} f_{t,j}(a_t^i)
    optimum_low: Numbers  # (...)
    optimum_high: Numbers  # (...)


def certificate(problem: Problem, trajectory: Trajectory, *, nodes: int = 12) -> Certificate:
    """Certify a run whose every round was recorded. `nodes`: of the quadrature over the linearization's Z.

    Costs N^2 gradients (times `nodes`) a round, and one LOO call for each agent at the end. To certify a method of your
    own, pass a `Trajectory` with its `actions` and with `decisions` of your choice in K: any points give a valid bound.

    >>> from droculo import Droculo, feedback, networks, problems, simulate
    >>> problem = problems.TopB.random(agents=3, dim=5, budget=2, seed=0)
    >>> agent = Droculo.design(problem.setting, feedback.semi_bandit(), horizon=60, theta=0.5)
    >>> run = simulate(problem, agent, networks.connect(networks.ring(3)), key=0)
    >>> from droculo.measure import certificate, regret
    >>> found = certificate(problem, run)
    >>> bool((found.bound >= regret(problem, run).total).all())
    True
    """
    need_all_rounds(trajectory, "a certificate")
    link = problem.linearization.on(problem.set)
    assert link.alpha is not None
    with double():
        rounds, agents = jnp.asarray(trajectory.rounds), jnp.asarray(trajectory.agents)
        actions, decisions = (jnp.asarray(a, jnp.float64) for a in (trajectory.actions, trajectory.decisions))
        batched = actions.ndim == 4
        if not batched:
            actions, decisions = actions[None], decisions[None]
        found = [_one_run(problem, link, rounds, agents, a, x, nodes) for a, x in zip(actions, decisions, strict=True)]
    linear, gap, earned, low = (np.stack([np.asarray(part) for part in parts]) for parts in zip(*found, strict=True))
    bound = float(link.beta) * linear + gap
    high = np.min((earned + bound) / float(link.alpha), axis=-1)
    arrays = [a if batched else a[0] for a in (bound, gap, earned, low, high)]
    return Certificate(float(link.alpha), *arrays)


@eqx.filter_jit  # type: ignore[untyped-decorator]
def _one_run(
    problem: Problem, link: Linearization, rounds: Array, agents: Array, actions: Array, decisions: Array, nodes: int
) -> tuple:
    """Of every agent: max <S, u> - sum <g, x>; the correction; the reward. And the best fixed point among a few."""

    def in_round(t: Array, actions: Array, decisions: Array) -> tuple[Array, ...]:
        def of_agent(action: Array, x: Array) -> tuple[Array, ...]:
            def of_function(j: Array) -> tuple[Array, ...]:
                g = link.signal(lambda w: problem.gradient(j, t, w), x, nodes)
                earned = problem.value(j, t, action)
                return g, problem.value(j, t, link.action(x)) - earned, earned

            g, gap, earned = (jnp.mean(part, axis=0) for part in jax.vmap(of_function)(agents))
            return g, jnp.dot(g, x), gap, earned

        return jax.vmap(of_agent)(actions, decisions)

    def add(total: tuple[Array, ...], part: tuple[Array, ...]) -> tuple[tuple[Array, ...], None]:
        return jax.tree.map(jnp.add, total, in_round(*part)), None

    nothing = jax.tree.map(
        lambda a: jnp.zeros(a.shape, a.dtype), jax.eval_shape(in_round, rounds[0], actions[0], decisions[0])
    )
    (S, inner, gap, earned), _ = jax.lax.scan(add, nothing, (rounds, actions, decisions))
    best = jax.vmap(problem.set.argmax)(S)
    linear = jnp.sum(S * best, axis=1) - inner
    fixed = jnp.concatenate([jnp.mean(actions, axis=(0, 1))[None], jnp.mean(actions[-1], axis=0)[None], best[:1]])
    totals = jax.lax.scan(lambda sum, t: (sum + network_reward(problem, agents, t, fixed), None), jnp.zeros(3), rounds)[
        0
    ]
    return linear, gap, earned, jnp.max(totals)
