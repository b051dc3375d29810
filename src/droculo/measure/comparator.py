"""The best fixed point in hindsight where no formula gives it: searched for, and bounded from above."""

from collections.abc import Callable
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from droculo.linearizations import Linearization
from droculo.linearizations.base import Affine
from droculo.measure.sampling import MOST_EVALUATIONS, check_agents
from droculo.precision import double
from droculo.problems import Comparator, Problem
from droculo.sequencing import after


def best_fixed_point(
    problem: Problem,
    horizon: int,
    agents: ArrayLike | int,
    *,
    starts: int = 4,
    steps: int = 60,
    pairs: int = 256,
    seed: int = 0,
) -> Comparator:
    """The exact comparator where the problem knows it, else the best point that a Frank-Wolfe search comes upon.

    The search climbs the mean of f over `pairs` random (round, agent) pairs from several starts, with a line search.
    What it finds is evaluated over all rounds and agents, and the maximum is bounded there as in `measure.certificate`. For
    concave functions that is the Frank-Wolfe gap; for others it is loose, by up to 1/alpha. The comparator is "certified"
    when the gap is below one percent, else "found". `agents`: which functions the nodes have, or how many.

    >>> from droculo import problems
    >>> best_fixed_point(problems.TopB.random(agents=3, dim=5, budget=2, seed=0), 100, 3).kind
    'exact'
    """
    named = np.arange(agents) if isinstance(agents, int | np.integer) else np.asarray(agents, np.int64)
    check_agents(problem, named)
    if horizon < 1 or steps < 1 or starts < 1 or pairs < 1:
        raise ValueError(f"a search needs at least one round, step, start and pair; got a horizon of {horizon}.")
    known = problem.comparator(horizon, named)
    if known is not None:
        return known
    rng = np.random.default_rng(seed)
    every = len(named) * horizon
    if every > MOST_EVALUATIONS:
        raise ValueError(f"{len(named)} agents over {horizon} rounds are {every:.1e} functions: too many to search.")
    few = rng.choice(every, pairs, replace=False) if every > pairs else np.arange(every)
    chosen = np.stack([named[few % len(named)], few // len(named)], axis=1)
    center, ways = problem.set.geometry.center, rng.standard_normal((starts - 1, problem.set.dim))
    with double():
        first = problem.set.argmax(jnp.ones(problem.set.dim)) if center is None else jnp.asarray(center)
        begin = jnp.stack([first, *(problem.set.argmax(jnp.asarray(way)) for way in ways)])
        points, earned = _climb(problem, jnp.asarray(chosen), begin, steps)
        point = points[int(jnp.argmax(earned))]
        sums = _totals(problem, problem.linearization.for_set(problem.set), jnp.asarray(named), horizon, point)
        total, most = (float(part) / len(named) for part in sums)
    return Comparator.searched(np.asarray(point), total, max(0.0, most - total))


@eqx.filter_jit  # type: ignore[untyped-decorator]
def _climb(problem: Problem, pairs: Array, begin: Array, steps: int) -> tuple[Array, Array]:
    """Frank-Wolfe with the best of a few step lengths, from every start; never downhill."""
    lengths = jnp.concatenate([jnp.zeros(1), 0.5 ** jnp.arange(10.0)])

    def mean(f: Callable[[Array, Array, Array], Array], x: Array) -> Array:
        return jnp.mean(jax.lax.map(lambda pair: f(pair[0], pair[1], x), pairs, batch_size=64), axis=0)

    def step(_: Array, x: Array) -> Array:
        way = problem.set.argmax(mean(problem.gradient, x)) - x
        along = jax.lax.map(lambda s: mean(problem.value, x + s * way), lengths)
        return x + lengths[jnp.argmax(along)] * way

    def one(x: Array) -> tuple[Array, Array]:
        best = jax.lax.fori_loop(0, steps, step, x)
        return best, mean(problem.value, best)

    return jax.lax.map(one, begin)


@eqx.filter_jit  # type: ignore[untyped-decorator]
def _totals(
    problem: Problem, linearization: Linearization, agents: Array, horizon: int, point: Array
) -> tuple[Array, Array]:
    """What the point earns in all, and what no point earns more than."""
    reach = 2 * jnp.asarray(problem.set.radius)

    def one(number: Array) -> tuple[Array, Affine]:
        j, t = agents[number % agents.shape[0]], number // agents.shape[0]
        value, gradient = partial(problem.value, j, t), partial(problem.gradient, j, t)
        earned = value(point)
        return earned, linearization.upper_bounds(value, gradient, after(point, earned), reach=reach).tight

    each = jax.lax.map(one, jnp.arange(agents.shape[0] * horizon), batch_size=256)
    total, model = jax.tree.map(lambda part: part.sum(axis=0), each)
    return total, model(problem.set.argmax(model.slope)) / linearization.alpha
