"""A problem of your own in under twenty lines: shared advertising budgets, known to the agents only by their sales."""

import jax.numpy as jnp
import numpy as np

from droculo import Droculo, feedback, linearizations, networks, problems, sets, simulate
from droculo.linearizations import Bounds
from droculo.testing import check_problem


class Advertising(problems.Problem):
    """Reach of channel spending: f = sum_c 1 - prod_k (1 - p_ck x_k), customers c of one shop; weekly seasons."""

    pull: np.ndarray  # (shops, customers, channels): how well a channel reaches a customer
    set: sets.Set = sets.budget(4, 1.5)
    linearization: linearizations.Linearization = linearizations.MonotoneOrigin()
    bounds: Bounds = Bounds()  # not known
    agents: int | None = 6

    def value(self, agent, t, x):
        season = 0.75 + 0.25 * jnp.cos(2 * jnp.pi * t / 7)
        return season * jnp.sum(1 - jnp.prod(1 - jnp.asarray(self.pull)[agent] * x, axis=1))


def main() -> None:
    problem = Advertising(np.random.default_rng(0).uniform(0, 1, (6, 20, 4)) * [0.9, 0.6, 0.3, 0.1])
    check_problem(problem)
    agent = Droculo.design(problem.setting, feedback.bandit(), theta=0.5)
    run = simulate(problem, agent, networks.from_graph(networks.ring(6)), key=0, rounds=3000)
    print("spending per channel after 3000 days of watching sales:", np.round(run.decisions[-1].mean(axis=0), 2))


if __name__ == "__main__":
    main()
