"""A custom algorithm in under sixty lines, as a skeleton to start from: decentralized gradient ascent with a projection."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from droculo import feedback, measure, networks, problems, sets, simulate
from droculo.algorithms import Algorithm, Growing
from droculo.algorithms.contract import OracleCalls, SlotPlay, numbers
from droculo.testing import check_algorithm


class GradientAscent(Algorithm):
    """In every round, x <- project(mix(x) + step * gradient)."""

    domain: sets.Set
    step: float
    horizon: int | None = eqx.field(static=True, default=None)  # as many rounds as one likes
    timetable: Growing = Growing(theta=1.0)  # in blocks of one round: it talks after each
    exchanges: int = eqx.field(static=True, default=1)  # calls of `mix` in an update

    @property
    def feedback(self):
        return feedback.semi_bandit()  # it asks for gradients where it plays

    @property
    def message(self):
        return numbers(self.domain.dim)  # what an exchange sends to each neighbour

    def init(self):
        return jnp.asarray(self.domain.center)  # the state: here the decision itself

    def decision(self, state):
        return state

    def play(self, ports, state, slot):
        played = SlotPlay(actions=state[None], rounds=slot.start[None], points=state[None])  # asks where it plays
        return ports.ask(played, order=1).asked[0], played

    def update(self, ports, state, total, keys):
        moved = ports.mix(state) + self.step * total
        return self.domain.project(moved), OracleCalls(projections=jnp.ones((), jnp.int32))


def main() -> None:
    problem = problems.WaterFilling.random(agents=4, dim=5, budget=2.0, seed=0)
    ring = networks.from_graph(networks.ring(4))
    T = 400
    agent = GradientAscent(problem.set, problem.set.radius / (problem.bounds.gradient * np.sqrt(T)))
    check_algorithm(problem, agent, ring, rounds=T)
    regret = measure.regret(problem, simulate(problem, agent, ring, key=0, rounds=T))
    print(
        f"regret a round of the mean agent: {np.mean(regret.total) / T:.3f}, at {np.mean(regret.ratio):.1%} of the optimum"
    )


if __name__ == "__main__":
    main()
