"""A search for runs whose certificate is below their true alpha-regret, or whose bracket misses the optimum.

    python -m tests.counterexamples --minutes 60 --seed 0

An evolution strategy moves functions (rough ones among them: smoothed kinks, steep starts), points that are played, points
behind them and a point u of K, on several sets and in every class, such that alpha F(u) - F(a) exceeds the certificate by as
much as it can. It prints the largest excess that it met in each class, as a share of the reward at u.
"""

import argparse
import time
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from droculo import History, linearizations, measure, sets
from droculo.precision import double
from droculo.problems import Problem

#: rounds, terms of a function, vertices whose mean is a point
T, TERMS, VERTICES = 2, 3, 3
D = 3
#: of the bounds that are searched, and what a difference of two sums may be off by, as a share of the rewards
NODES, ROUNDING = (1, 3, 12), 1e-10


def softened(s, at, sharpness):
    """min(s / at, 1) with a rounded kink; concave and increasing, 0 at 0."""

    def rounded(s):
        return 1 - jnp.logaddexp(0.0, sharpness * (1 - s / at)) / sharpness

    return rounded(s) - rounded(0.0)


class Terms(Problem):
    """Sums of functions of non-negative combinations of coordinates, one kind for each class of functions."""

    set: sets.Set
    linearization: linearizations.Linearization
    bounds: linearizations.Bounds
    agents: int | None = eqx.field(static=True)
    kind: str = eqx.field(static=True)
    heights: np.ndarray  # (T, TERMS)
    slopes: np.ndarray  # (T, TERMS, d)
    kinks: np.ndarray  # (T, TERMS)
    sharpness: np.ndarray  # (T, TERMS)

    def value(self, agent, t, x):
        heights, kinks, sharpness = (jnp.asarray(a)[t] for a in (self.heights, self.kinks, self.sharpness))
        s, most = jnp.asarray(self.slopes)[t] @ x, jnp.asarray(self.slopes)[t].sum(axis=-1)
        if self.kind == "monotone":
            each = softened(s, kinks * most, sharpness)
        elif self.kind == "weak":  # slopes between gamma and 1, in any order
            gamma = self.linearization.gamma
            steep = jnp.logaddexp(0.0, sharpness * (s - kinks * most)) - jnp.logaddexp(0.0, -sharpness * kinks * most)
            each = gamma * s + (1 - gamma) * steep / sharpness
        elif self.kind == "tent":  # up and down again
            each = softened(s, kinks * most, sharpness) - softened(most, kinks * most, sharpness) * s / most
        else:  # concave, in any direction
            apart = s - kinks * most
            each = -jnp.logaddexp(0.0, sharpness * apart) / sharpness
        return jnp.sum(heights * each)


CLASSES = {
    "concave": ("concave", linearizations.Concave(), sets.L2Ball(D)),
    "A1": ("monotone", linearizations.MonotoneGeneral(), sets.fixed_budget(D, 1)),
    "A1, gamma = 0.5": ("weak", linearizations.MonotoneGeneral(0.5), sets.fixed_budget(D, 1)),
    "A2": ("monotone", linearizations.MonotoneOrigin(), sets.budget(D, 1)),
    "A2, knapsack": ("monotone", linearizations.MonotoneOrigin(), sets.Knapsack([1.0, 0.6, 0.3], 0.9)),
    "A2, gamma = 0.5": ("weak", linearizations.MonotoneOrigin(0.5), sets.budget(D, 1)),
    "A2, gamma = 0.1": ("weak", linearizations.MonotoneOrigin(0.1), sets.Box(np.zeros(D), np.ones(D))),
    "A3": ("tent", linearizations.NonMonotoneGeneral(), sets.fixed_budget(D, 1)),
    "A3, box": ("tent", linearizations.NonMonotoneGeneral(), sets.Box(np.zeros(D), np.ones(D))),
    "A4": ("tent", linearizations.NonMonotoneDownClosed(), sets.budget(D, 2)),
    "A4, box": ("tent", linearizations.NonMonotoneDownClosed(), sets.Box(np.zeros(D), np.ones(D))),
}
ANCHORED = {name: linearization.for_set(set_) for name, (_, linearization, set_) in CLASSES.items()}
POINTS = 2 * T + 1
SIZE = T * TERMS * (D + 3) + POINTS * VERTICES * (D + 1)


def points(set_, numbers):
    """Means of a few vertices each."""
    numbers = numbers.reshape(POINTS, VERTICES, D + 1)
    corners = jax.vmap(jax.vmap(set_.argmax))(numbers[..., :D])
    shares = jnp.exp(2 * numbers[..., D])
    return jnp.sum(corners * (shares / shares.sum(axis=1, keepdims=True))[..., None], axis=1)


def posed(name, numbers):
    """The problem and the points that a candidate stands for: u, the actions, the decisions behind them."""
    (kind, _, set_), linearization = CLASSES[name], ANCHORED[name]
    terms, where = jnp.split(numbers, [T * TERMS * (D + 3)])
    terms = terms.reshape(T, TERMS, D + 3)
    problem = Terms(
        set_, linearization, linearizations.Bounds(1.0, 1.0), None, kind,
        heights=jnp.exp(2 * terms[..., 0]), slopes=jnp.exp(4 * terms[..., 1 : D + 1]),
        kinks=0.9 * jnp.exp(-jnp.abs(3 * terms[..., D + 1])), sharpness=1 + jnp.exp(3 * terms[..., D + 2]),
    )  # fmt: skip
    where = points(set_, where)
    return problem, where[0], where[1 : T + 1], where[T + 1 :]


def totals(problem, u, actions):
    """What u and the actions earn."""
    at = jax.vmap(problem.value, (None, 0, 0))
    return jnp.sum(at(0, jnp.arange(T), jnp.broadcast_to(u, (T, D)))), jnp.sum(at(0, jnp.arange(T), actions))


def scale(problem, at_u, earned):
    return abs(at_u) + abs(earned) + 1e-6 * problem.heights.sum()


@eqx.filter_jit
def excesses(name, candidates, nodes):
    """By how much regret exceeds its certificate, or the optimum its bound, for every candidate, as a share of the rewards."""

    def one(numbers):
        problem, u, actions, decisions = posed(name, numbers)
        linearization, (at_u, earned) = problem.linearization, totals(problem, u, actions)

        def of_round(t, x):
            value, gradient = partial(problem.value, 0, t), partial(problem.gradient, 0, t)
            return linearization.upper_bounds(value, gradient, x, nodes)

        bounds = jax.tree.map(lambda part: part.sum(axis=0), jax.vmap(of_round)(jnp.arange(T), decisions))
        highest = [model(problem.set.argmax(model.slope)) for model in bounds[:2]]
        return (linearization.alpha * at_u - jnp.minimum(*highest)) / scale(problem, at_u, earned)

    return jax.vmap(one)(candidates)


def excess(name, numbers):
    """The same of one candidate, by the library's certificate as it is called."""
    with double():
        problem, u, actions, decisions = posed(name, jnp.asarray(numbers))
        at_u, earned = map(float, totals(problem, u, actions))
        problem = jax.tree.map(np.asarray, problem)
        plays = History.of(np.asarray(actions)[:, None], np.asarray(decisions)[:, None])
    found = measure.certificate(problem, plays)
    above = max(found.alpha * at_u - earned - float(found.bound[0]), found.alpha * (at_u - float(found.optimum_high)))
    return float(above / scale(problem, at_u, earned))


def search(name, rng, seconds, nodes=3, population=200, enough=np.inf):
    """The worst candidate that an evolution strategy comes upon, its excess, and how many it tried; restarts when it stalls."""
    end, most, worst, tried = time.monotonic() + seconds, -np.inf, None, 0
    while time.monotonic() < end and most < enough:
        mean, width, last, stalled = rng.standard_normal(SIZE), 1.0, -np.inf, 0
        while stalled < 10 and most < enough and (time.monotonic() < end or worst is None):
            moved = rng.uniform(size=(population, SIZE)) < 0.3
            each = mean + width * rng.standard_normal((population, SIZE)) * (moved if tried else 1)
            with double():
                found = np.nan_to_num(np.asarray(excesses(name, jnp.asarray(each), nodes)), nan=np.inf)
            best, tried = int(np.argmax(found)), tried + population
            stalled = 0 if found[best] > last + 1e-6 else stalled + 1
            if found[best] > last:
                mean, last = each[best], float(found[best])
            if last > most:
                most, worst = last, mean
            width = max(0.02, width * (1.1 if stalled == 0 else 0.7))
    return worst, most, tried


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    rng, largest = np.random.default_rng(asked.seed), -np.inf
    for name in CLASSES:
        for nodes in NODES:
            worst, most, tried = search(name, rng, 60 * asked.minutes / len(CLASSES) / len(NODES), nodes)
            largest = max(largest, most, called := excess(name, worst))
            about = f"{name:20} {nodes:3} nodes {tried:9} candidates"
            print(f"{about}, largest excess {most:9.2e}, of the certificate as called {called:9.2e}", flush=True)
    return 1 if largest > ROUNDING else 0


if __name__ == "__main__":
    raise SystemExit(main())
