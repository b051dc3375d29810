"""Every (case, feedback) pair that can be learned, in one small design; tests that share it share its program."""

import numpy as np

from droculo import Droculo, Scales, feedback, networks, problems

N, T = 4, 36
PROBLEMS = {
    "concave": problems.WaterFilling.random(agents=N, dim=5, budget=2.0, seed=2),
    "A1": problems.TopB.random(agents=N, dim=5, budget=2, seed=2, face=True),
    "A2": problems.TopB.random(agents=N, dim=5, budget=2, seed=2),
    "A3": problems.PlantedCut.random(agents=N, left=2, right=3, seed=2),
    "A4": problems.PlantedCut.random(agents=N, left=2, right=3, seed=2, down_closed=True),
}
FIRST_ORDER = ("full_information", "semi_bandit")
PAIRS = [
    (case, model)
    for case in PROBLEMS
    for model in (*FIRST_ORDER, "zeroth_order", "bandit", "two_point")
    if case != "A4" or model in FIRST_ORDER
]
RING = networks.connect(networks.ring(N))


def design(case, model, **options):
    """Long steps and a tight tolerance, so that the oracle has work to do within few rounds."""
    scales = Scales(step=20.0 if model in FIRST_ORDER else 60.0, tolerance=0.1)
    settings = {"horizon": T, "theta": 0.6, "scales": scales} | options
    return Droculo.design(PROBLEMS[case].setting, getattr(feedback, model)(), **settings)


def matchings():
    """Two networks of pairs, neither of them connected; together they are."""
    first = np.kron(np.eye(2), np.full((2, 2), 0.5))
    order = [1, 2, 3, 0]
    return first, first[np.ix_(order, order)]
