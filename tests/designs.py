"""Every (case, feedback) pair that can be learned, in one small design; tests that share it share its program."""

import numpy as np

from droculo import Droculo, Scales, feedback, networks, oracles, problems
from droculo.algorithms import AdaptiveStep, IndependentDraws, SendXY

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
RING = networks.from_graph(networks.ring(N))


def _planted():
    """Every other planted problem in each of its cases, each against an adversary of another kind."""
    rng = np.random.default_rng(5)
    covers = rng.uniform(size=(6, 5)) < 0.4
    factors = rng.uniform(size=(4, 5, 2))
    matrices = factors @ factors.transpose(0, 2, 1)
    low, high = rng.uniform(0, 0.5, (2, N, 6))
    high += low
    waves = problems.PeriodicWeights.random(1, 4, low=0.2, high=1.0, swing=1.0, seed=5)
    return {
        "coverage A2, i.i.d.": problems.Coverage(problems.IIDWeights(low, high, seed=1), covers, 2),
        "coverage A1, against a follower": problems.Coverage(
            problems.Switching.against_a_follower(low, high[:, ::-1], every=4), covers, 2, face=True
        ),
        "weak A2, disjoint": problems.WeakQuadratic(
            problems.Heterogeneous(waves, agents=N, dial=1.0), matrices, 0.7, 2
        ),
        "weak A1, fixed": problems.WeakQuadratic(problems.Constant(high[:, :4]), matrices, 0.7, 2, face=True),
        "set functions A2": problems.SetFunctions.random(agents=N, dim=5, budget=2, seed=1),
        "set functions A3": problems.SetFunctions.random(agents=N, dim=5, budget=2, seed=1, monotone=False, face=True),
        "revenue": problems.Revenue.karate(agents=N, budget=2),
        "influence": problems.Influence.davis(agents=N),
        **{
            f"tight {case}": problems.WorstCase.random(case, agents=N, pairs=2, seed=3)
            for case in ("A1", "A2", "A3", "A4")
        },
        "spike": problems.Spike.random("A3", agents=N, pairs=2, seed=3),
        "pushed": problems.Spike.pushed("A4", agents=N, pairs=2, seed=3, rounds=8),
    }


PLANTED = _planted()


def models(problem):
    """The names of the feedback models from which the problem's case can be learned."""
    first_order_only = problem.linearization.case == "A4"
    return FIRST_ORDER if first_order_only else (*FIRST_ORDER, "zeroth_order", "bandit", "two_point")


def design(case, model, **options):
    """For one of PROBLEMS."""
    return design_for(PROBLEMS[case], model, **options)


def design_for(problem, model, **options):
    """The default, which adapts itself. Gradients go with the default oracle and y alone sent, values with the one that
    compiles faster and (x, y) sent; it has the steps of the default oracle, so that it has work to do within few rounds."""
    oracle = None if model in FIRST_ORDER else oracles.FrankWolfe()
    settings = {"horizon": T, "theta": 0.6, "oracle": oracle, "steps": AdaptiveStep(problem.set)} | options
    return Droculo.design(problem.setting, getattr(feedback, model)(), **settings)


def prescribed(case, model, **options):
    """The theorems' schedule with long steps and a tight tolerance, so that the oracle has work to do within few rounds."""
    first = model in FIRST_ORDER
    scales = Scales(step=20.0 if first else 60.0, tolerance=0.1)
    settings = {
        "horizon": T,
        "theta": 0.6,
        "scales": scales,
        "oracle": None if first else oracles.FrankWolfe(),
    } | options
    return Droculo.prescribed(PROBLEMS[case].setting, getattr(feedback, model)(), **settings)


#: what the kernel is compared with the paper's algorithm on, and certified on
HORIZONS = {"A2": 37}  # a prime: the last block, and its last slot, are shorter; with 36 rounds they are not
# Longer steps and tighter tolerances, so that agents reach the boundary and the oracle has work to do; but not so
# tight that Frank-Wolfe ends up among vertices that tie to the last bit, where two roundings take two ways.
BOLD = {True: Scales(step=20.0, tolerance=0.05), False: Scales(step=60.0, tolerance=0.2)}


def paper(case, model, **options):
    """The paper's algorithm with longer steps."""
    parts = {"oracle": oracles.PaperFrankWolfe(), "exchange": SendXY(), "draws": IndependentDraws()} | options
    problem, horizon, scales = PROBLEMS[case], HORIZONS.get(case, T), BOLD[model in FIRST_ORDER]
    return Droculo.prescribed(
        problem.setting, getattr(feedback, model)(), horizon=horizon, theta=0.6, scales=scales, **parts
    )


def matchings():
    """Two networks of pairs, neither of them connected; together they are."""
    first = np.kron(np.eye(2), np.full((2, 2), 0.5))
    order = [1, 2, 3, 0]
    return first, first[np.ix_(order, order)]
