"""A set of your own in under twenty lines: an ellipsoid, checked against the contract and played on."""

import jax.numpy as jnp
import numpy as np

from droculo import Droculo, feedback, linearizations, networks, problems, simulate
from droculo.sets import Full, Geometry, Set
from droculo.testing import check_set


class Ellipsoid(Set):
    """{x : sum (x_i / axes_i)^2 <= 1}."""

    axes: np.ndarray
    geometry: Geometry

    def __init__(self, axes):
        self.axes = np.asarray(axes, float)
        self.geometry = Geometry(
            dim=len(axes), radius=max(axes), subspace=Full(len(axes)), center=0.0, inner_radius=min(axes),
            anchor=0.0, contains_origin=True, down_closed=False, curved=True,
        )  # fmt: skip

    def argmax(self, direction):
        stretched = self.axes * direction
        return self.axes * stretched / jnp.maximum(jnp.linalg.norm(stretched), 1e-30)

    def contains(self, x, tolerance=1e-9):
        return jnp.linalg.norm(x / self.axes) <= 1 + tolerance / self.axes.min()


def main() -> None:
    ellipsoid = Ellipsoid([1.0, 2.0, 0.5])
    check_set(ellipsoid)
    target = np.array([2.0, 2.0, 2.0])
    problem = problems.from_function(
        lambda agent, t, x: -jnp.sum((x - target) ** 2), ellipsoid, linearizations.Concave()
    )
    agent = Droculo.design(problem.setting, feedback.semi_bandit(), theta=1.0)
    run = simulate(problem, agent, networks.from_graph(networks.ring(5)), key=0, rounds=1000)
    print(
        "the point of the ellipsoid nearest to (2, 2, 2) is (0.635, 1.301, 0.208); agent 0 found",
        np.round(run.actions[-1, 0], 3),
    )


if __name__ == "__main__":
    main()
