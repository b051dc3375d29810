"""Whether an algorithm plays by the rules: feasible, causal, local, repeatable, and honest about its costs."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from droculo.algorithms import Algorithm, Answers, Keys, SlotPlay, message_size
from droculo.algorithms.contract import SilentPorts
from droculo.engine import Record, Trajectory
from droculo.linearizations import Bounds
from droculo.networks import Fixed, Network, from_graph, from_matrix, ring, single
from droculo.precision import double
from droculo.problems import Problem
from droculo.problems.wrapper import Wrapper
from droculo.simulator import simulate
from droculo.testing.counting import counting
from droculo.testing.points import all_inside

#: Updates that are run step by step to count what they cost.
UPDATES = 2


def check_algorithm(
    problem: Problem, algorithm: Algorithm, network: Network, /, *, key: int = 0, seed: int = 0
) -> None:
    """Raise an AssertionError, in a full sentence, for the first rule that is broken.

    Every action and query lies in K; changing f from round s on changes no action up to s; the same key gives the same
    run bit for bit; renaming the agents permutes the run; identical agents equal the run of one agent alone; states
    keep their types; exchanges, messages, questions and LOO calls are those really made; what is sent is credible.
    """
    rng = np.random.default_rng(seed)
    run = _run(problem, algorithm, network, key)
    _check_feasible(problem, algorithm, run)
    _check_repeatable(problem, algorithm, network, key, run)
    _check_causal(problem, algorithm, network, key, run)
    _check_relabelling(problem, algorithm, network, key, rng)
    _check_identical(problem, algorithm, network, key)
    with double():
        _check_types(algorithm)
        _check_counts(problem, algorithm)


def _run(problem: Problem, algorithm: Algorithm, network: Network, key: int, **options: Any) -> Trajectory:
    return simulate(problem, algorithm, network, key=key, record=Record(queries=True), progress=False, **options)


def _check_feasible(problem: Problem, algorithm: Algorithm, run: Trajectory) -> None:
    assert len(run.rounds) == algorithm.horizon, "some rounds were not played."
    assert np.all(np.isfinite(run.actions)), "an action is not finite."
    assert run.queries is not None
    dim = problem.set.dim
    with double():
        for what, points in (("action", run.actions), ("decision", run.decisions), ("query", run.queries)):
            assert all_inside(problem.set, points.reshape(-1, dim).astype(np.float64), 1e-9), (
                f"some {what} is outside the set."
            )


def _check_repeatable(problem: Problem, algorithm: Algorithm, network: Network, key: int, run: Trajectory) -> None:
    again = _run(problem, algorithm, network, key)
    assert np.array_equal(run.actions, again.actions), "the same key gave another run."
    assert np.array_equal(run.ledger.loo_calls, again.ledger.loo_calls), (
        "the same key gave another number of LOO calls."
    )


class _ChangedFrom(Wrapper):
    """The same functions before round `since`; from then on others, of the same class."""

    problem: Problem
    since: Array

    @property
    def bounds(self) -> Bounds:
        return self.problem.bounds

    def value(self, agent: Array, t: Array, x: Array) -> Array:
        same = self.problem.value(agent, t, x)
        return jnp.where(t < self.since, same, same / 4 + self.problem.value(agent, t + 7, x) / 2)


def _check_causal(problem: Problem, algorithm: Algorithm, network: Network, key: int, run: Trajectory) -> None:
    horizon = algorithm.horizon
    plain = _run(_ChangedFrom(problem, np.asarray(horizon)), algorithm, network, key)
    for since in sorted({0, horizon // 3, horizon // 2, (3 * horizon) // 4}):
        changed = _run(_ChangedFrom(problem, np.asarray(since)), algorithm, network, key)
        assert np.array_equal(plain.actions[: since + 1], changed.actions[: since + 1]), (
            f"changing f from round {since} on changed an action up to round {since}: the future leaks into the past."
        )
    if horizon > algorithm.block * algorithm.slot:
        assert not np.array_equal(
            plain.actions, _run(_ChangedFrom(problem, np.asarray(0)), algorithm, network, key).actions
        ), "changing every function changed no action: nothing is learned. Check with a longer horizon or longer steps."


def _check_relabelling(
    problem: Problem, algorithm: Algorithm, network: Network, key: int, rng: np.random.Generator
) -> None:
    """Node p of the new network is agent order[p] of the old one. On fixed links: failures are drawn per link."""
    if not isinstance(network, Fixed):
        network = from_graph(ring(network.n_agents))
    run = _run(problem, algorithm, network, key)
    order = rng.permutation(network.n_agents)
    matrix = network.to_matrix()[np.ix_(order, order)]
    renamed = _from_matrix(matrix)
    other = _run(problem, algorithm, renamed, key, agents=run.agents[order])
    worst = np.max(np.abs(other.actions - run.actions[:, order]))
    assert worst <= 1e-8, f"renaming the agents changed an action by {worst:g}: the names matter."


def _from_matrix(matrix: np.ndarray) -> Network:
    """The fixed network with these mixing weights."""
    return from_graph(single()) if len(matrix) == 1 else Fixed(from_matrix(matrix))


def _check_identical(problem: Problem, algorithm: Algorithm, network: Network, key: int) -> None:
    together = _run(problem, algorithm, network, key, agents=np.zeros(network.n_agents, int))
    alone = _run(problem, algorithm, from_graph(single()), key, agents=np.zeros(1, int))
    worst = np.max(np.abs(together.actions - alone.actions))
    assert worst <= 1e-8, f"identical agents differ from one agent alone by {worst:g}."


def _check_types(algorithm: Algorithm) -> None:
    def block(state: Any) -> Any:
        slot = algorithm.slot_at(jnp.zeros((), int), algorithm.slot, _keys(0))
        share, _ = algorithm.play(_Watching(None), state, slot)
        return algorithm.update(_Watching(None), state, share, _keys(1))[0]

    before = jax.eval_shape(algorithm.init)
    after = jax.eval_shape(block, before)
    kinds = [(leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(before)]
    assert kinds == [(leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(after)], (
        "an update changes the state's types."
    )


def _keys(number: int) -> Keys:
    return Keys(jax.random.key(number), jax.random.key(number))


class _Watching:
    """Ports that write down what passes through them."""

    def __init__(self, problem: Problem | None, judge: Algorithm | None = None):
        self.problem = problem
        self.judge = judge
        self.asked = 0
        self.sent: list[int] = []

    def ask(self, played: SlotPlay, order: int) -> Answers:
        self.asked += played.points.shape[0]
        if self.problem is None:
            return SilentPorts().ask(played, order)
        answers = [
            self.problem.answer(jnp.asarray(0), t, x, order, jax.random.key(0))
            for t, x in zip(played.rounds, played.points, strict=True)
        ]
        earned = None if played.earned is None else jnp.zeros(len(played.actions))
        return Answers(jnp.stack(answers), earned)

    def mix(self, tree: Any, index: int | Array = 0) -> Any:
        self.sent.append(sum(leaf.size for leaf in jax.tree.leaves(tree)))
        assert self.judge is None or bool(self.judge.credible(tree, index)), (
            f"the algorithm sent, in exchange {index} of an update, what it would not believe of a neighbour (credible)."
        )
        return tree


def _check_counts(problem: Problem, algorithm: Algorithm) -> None:
    """One agent, step by step without compilation, against what the algorithm says of itself."""
    counted, counter = counting(algorithm)
    ports = _Watching(problem, judge=algorithm)
    state = counted.init()
    said = [0, 0, 0]
    with jax.disable_jit():
        for block in range(UPDATES):
            start = jnp.asarray(block * algorithm.block * algorithm.slot)
            share, played = counted.play(ports, state, algorithm.slot_at(start, algorithm.slot, _keys(block)))
            # The other slots of the block would ask as often; their shares are not needed to count.
            scaled = jax.tree.map(lambda leaf: algorithm.block * leaf, share)
            state, spent = counted.update(ports, state, scaled, _keys(block))
            bill = (spent.loo_calls, spent.projections, spent.separations)
            said = [total + int(more) for total, more in zip(said, bill, strict=True)]
            assert played.actions.shape == (algorithm.slot, problem.set.dim), "a slot has one action for each round."
    for what, claimed, really in zip(("LOO calls", "projections", "separations"), said, counter.take(), strict=True):
        assert claimed == really, f"the algorithm reports {claimed} {what} and made {really}."
    assert len(ports.sent) == UPDATES * algorithm.exchanges, (
        f"the algorithm declares {algorithm.exchanges} exchanges an update; {UPDATES} updates made {len(ports.sent)}."
    )
    assert set(ports.sent) == {message_size(algorithm)}, (
        f"the algorithm declares messages of {message_size(algorithm)} numbers and sent {ports.sent}."
    )
