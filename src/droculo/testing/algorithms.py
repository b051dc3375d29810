"""The check of an algorithm: it is feasible, causal, local, repeatable, and reports the costs that it has."""

import itertools
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from droculo.algorithms import Algorithm
from droculo.algorithms.contract import Keys, SilentPorts
from droculo.engine import Record, Trajectory
from droculo.engine.costs import LABELS
from droculo.engine.plan import first_slot
from droculo.engine.run import as_rounds
from droculo.networks import Fixed, Network, from_graph, from_matrix, ring, single
from droculo.oracles import batching
from droculo.precision import double
from droculo.problems import Problem
from droculo.problems.wrappers import Wrapper
from droculo.sequencing import after
from droculo.sets import Set
from droculo.simulator import simulate
from droculo.testing.counting import CallCounter, Calls, Traffic, Watched, counting
from droculo.testing.points import all_inside, kinds

#: Seeds that are played together, so that agents are projected in chunks, as long as actions stay below this many numbers.
SEEDS, NUMBERS = 16, 1 << 24


def check_algorithm(
    problem: Problem,
    algorithm: Algorithm,
    network: Network,
    /,
    *,
    rounds: int | None = None,
    key: int = 0,
    seed: int = 0,
) -> None:
    """Raise an AssertionError, in a full sentence, for the first rule that is broken.

    Every action and query lies in K; changing f from round s on changes no action up to s; the same key gives the same
    run bit for bit; renaming the agents permutes the run; identical agents play alike whatever the weights of the network;
    states keep their types. In every run, exchanges, messages, questions and oracle calls are those really made, questions
    are about rounds of their slot (and points that were played, where the feedback requires it), and what is sent is
    credible. Runs are compiled and batched over seeds; ports and oracles count inside of them. `rounds`: how long a run is, by
    default the algorithm's horizon.
    """
    _check_types(algorithm)
    runs = _Runs(problem, algorithm, network, key, as_rounds(rounds, algorithm))
    base, again = runs.play(), runs.play()
    _check_feasible(problem.set, runs.rounds, base)
    assert np.array_equal(base.actions, again.actions), "the same key gave another run."
    for name, cost in base.ledger.counts.items():
        assert np.array_equal(cost, again.ledger.counts[name]), f"the same key gave other {name}."
    _check_causal(runs, base)
    _check_relabelling(runs, base, np.random.default_rng(seed).permutation(network.n_agents))
    _check_identical(runs)
    if base.ledger.separations.any():  # alone, where these calls are counted exactly
        runs.play(network=from_graph(single()), agents=np.zeros(1, int), key=runs.keys[:1])


class _ChangedFrom(Wrapper):
    """The same functions before round `since`; from then on others, of the same class."""

    problem: Problem
    since: Array
    bounds = property(attrgetter("problem.bounds"))
    noisy = property(attrgetter("problem.noisy"))

    def value(self, agent: Array, t: Array, x: Array) -> Array:
        return self._changed(t, x, lambda t, x: self.problem.value(agent, t, x))

    def gradient(self, agent: Array, t: Array, x: Array) -> Array:
        return self._changed(t, x, lambda t, x: self.problem.gradient(agent, t, x))

    def answer(self, agent: Array, t: Array, x: Array, order: int, key: Array) -> Array:
        return self._changed(t, x, lambda t, x: self.problem.answer(agent, t, x, order, key))

    def _changed(self, t: Array, x: Array, at: Any) -> Array:
        same = at(t, x)
        return jnp.where(t < self.since, same, same / 4 + at(t + 7, after(x, same)) / 2)


class _Runs:
    """Runs of one compiled program: the functions may change from some round on, weights and agents may differ.

    Ports and oracles report what they are used for, and every run is checked against its ledger.
    """

    def __init__(self, problem: Problem, algorithm: Algorithm, network: Network, key: int, rounds: int):
        self.rounds = rounds
        self.traffic = CallCounter(Traffic)
        (self.problem, counted), self.calls = counting((problem, algorithm))
        self.algorithm, self.network = Watched(counted, self.traffic), network
        seeds = _seeds(network.n_agents, network.n_agents * rounds * problem.set.dim)
        self.keys = jax.random.split(jax.random.key(key), seeds)

    def play(self, since: int | None = None, network: Network | None = None, **options: Any) -> Trajectory:
        problem = _ChangedFrom(self.problem, np.asarray(self.rounds if since is None else since))
        options = {"key": self.keys, "record": Record(queries=True), "rounds": self.rounds, **options}
        run = simulate(problem, self.algorithm, network or self.network, progress=False, **options)
        _check_ledger(self.calls.take(), self.traffic.take(), run, self.algorithm)
        return run

    @property
    def fixed(self) -> Fixed:
        """The network, or a ring where its links change: failures are drawn for every link by its number."""
        return self.network if isinstance(self.network, Fixed) else from_graph(ring(self.network.n_agents))

    def reweighted(self, change: Callable[[np.ndarray], np.ndarray]) -> Fixed:
        """The fixed network with other mixing weights, for as many links."""
        return self.fixed if self.network.n_agents == 1 else Fixed(from_matrix(change(self.fixed.to_matrix())))


def _seeds(agents: int, numbers: int) -> int:
    """How many seeds to play: so many that no chunk of agents is filled up with copies, whose calls would be counted."""
    step = SEEDS if SEEDS * numbers <= NUMBERS else 1

    def even(size: int) -> bool:
        return all(size < 2 * chunk or size % (size // chunk) == 0 for chunk in (batching.CHUNK, batching.NATIVE_CHUNK))

    return next(seeds for seeds in itertools.count(step, step) if even(seeds * agents))


def _check_feasible(set_: Set, horizon: int, run: Trajectory) -> None:
    assert len(run.rounds) == horizon, "some rounds were not played."
    assert np.all(np.isfinite(run.actions)), "an action is not finite."
    assert run.queries is not None
    with double():
        for what, points in (("action", run.actions), ("decision", run.decisions), ("query", run.queries)):
            inside = all_inside(set_, points.reshape(-1, set_.dim).astype(np.float64), 1e-9)
            assert inside, f"some {what} is outside the set."


def _check_causal(runs: _Runs, base: Trajectory) -> None:
    horizon, length = runs.rounds, int(runs.algorithm.timetable.blocks(1).end[0])
    for since in sorted({0, horizon // 3, horizon // 2, (3 * horizon) // 4}):
        given, changed = base.actions, runs.play(since).actions
        message = (
            f"changing f from round {since} on changed an action up to round {since}: the future leaks into the past."
        )
        assert np.array_equal(given[:, : since + 1], changed[:, : since + 1]), message
        assert since > 0 or horizon <= length or not np.array_equal(given, changed), (
            "changing every function changed no action: nothing is learned. Check with a longer horizon or longer steps."
        )


def _check_relabelling(runs: _Runs, base: Trajectory, order: np.ndarray) -> None:
    """Node p of the new network is agent order[p] of the old one."""
    run = base if runs.fixed is runs.network else runs.play(network=runs.fixed)
    other = runs.play(network=runs.reweighted(lambda A: A[np.ix_(order, order)]), agents=run.agents[order])
    worst = np.max(np.abs(other.actions - run.actions[:, :, order]))
    assert worst <= 1e-8, f"renaming the agents changed an action by {worst:g}: the names matter."


def _check_identical(runs: _Runs) -> None:
    """Equal values mix to themselves whatever the weights are, so identical agents cannot tell networks apart."""
    same = np.zeros(runs.network.n_agents, int)
    weaker = runs.reweighted(lambda A: (A + np.eye(len(A))) / 2)
    given, other = (runs.play(network=network, agents=same).actions for network in (runs.network, weaker))
    worst = np.max(np.abs(given - given[:, :, :1]))
    assert worst <= 1e-8, f"identical agents differ from one another by {worst:g}."
    worst = np.max(np.abs(given - other))
    assert worst <= 1e-8, f"identical agents play differently on a network with other weights, by {worst:g}."


def _check_types(algorithm: Algorithm) -> None:
    def block(state: Any) -> Any:
        keys, ports = Keys(jax.random.key(0), jax.random.key(1)), SilentPorts()
        share, _ = algorithm.play(ports, state, first_slot(algorithm, keys))
        return algorithm.update(ports, state, share, keys)[0]

    with double():
        before = jax.eval_shape(algorithm.init)
        after = jax.eval_shape(block, before)
    assert kinds(before) == kinds(after), "an update changes the state's types."


def _check_ledger(calls: Calls, traffic: Traffic, run: Trajectory, algorithm: Algorithm) -> None:
    # In a batched loop finished agents ask for zero directions, which do not count, but go on separating.
    alone = run.actions.shape[0] * run.actions.shape[2] == 1
    for name, made in calls._asdict().items():
        reported, what = int(run.ledger.counts[name].sum()), LABELS[name]
        right = reported == made or (name == "separations" and reported < made and not alone)
        assert right, f"the algorithm reports {reported} {what} and made {made}."
    made, not_credible, questions, outside, not_played = traffic
    declared = int(run.ledger.exchanges.sum())
    said = f"{algorithm.exchanges} exchanges an update, {declared} in all"
    assert made == declared, f"the algorithm declares {said}, and made {made}."
    assert not_credible == 0, (
        f"in {not_credible} of {declared} exchanges the algorithm sent what it would not believe of a neighbour (credible)."
    )
    asked = int((run.ledger.gradient_queries + run.ledger.value_queries).sum())
    assert questions == asked, f"{asked} questions are in the ledger, and {questions} were asked."
    assert outside == 0, f"{outside} of {asked} questions are about a round outside their slot."
    assert not_played == 0, (
        f"with {algorithm.feedback.kind} feedback an agent hears only about points that it played; "
        f"{not_played} of {asked} questions are about others."
    )
