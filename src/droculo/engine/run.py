"""A run as both drivers are asked for it: checked once, before any work starts, and cast to the precision that it is played in."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike, NDArray

from droculo.algorithms import Algorithm
from droculo.algorithms.contract import SilentPorts
from droculo.algorithms.timetable import Span
from droculo.engine.block import RunKeys, World
from droculo.engine.breaches import DeclarationWarning
from droculo.engine.compiling import quick_blocks
from droculo.engine.record import Record, Trajectory
from droculo.expect import expect
from droculo.networks import Network
from droculo.problems import Problem
from droculo.sets.membership import CALLS, outside_of_a_sample

#: recorded actions that are looked at after every piece of a run, where membership is a search with the linear oracle
LOOKS_A_PIECE = 2


@dataclass(frozen=True)
class Run:
    """What is to be played, as it was given; `world` has it as arrays."""

    problem: Problem
    algorithm: Algorithm
    network: Network
    keys: Array  # one for each seed
    batched: bool  # True if a batch of keys was given
    rounds: int
    record: Record
    identities: NDArray[np.int64]  # which function and random stream each node has
    kind: np.dtype
    strict: bool  # True if an answer that breaks what the problem declares ends the run

    @classmethod
    def of(
        cls,
        problem: Problem,
        algorithm: Algorithm,
        network: Network,
        *,
        key: Array | int,
        rounds: int | None = None,
        record: Record | None = None,
        agents: ArrayLike | None = None,
        dtype: Any = np.float64,
        strict: bool = False,
    ) -> Run:
        """Check the arguments of a driver, as far as that is possible without running anything."""
        check_types(problem, algorithm, network, record)
        rounds = as_rounds(rounds, algorithm)
        keys, batched = as_keys(key)
        identities, kind = as_identities(agents, network.n_agents), np.dtype(dtype)
        check(problem, algorithm, network, identities, kind)
        return cls(problem, algorithm, network, keys, batched, rounds, record or Record(), identities, kind, strict)

    def precision(self) -> AbstractContextManager[Any]:
        """Within it JAX computes in the precision of the run."""
        return jax.enable_x64(self.kind == np.float64)

    def world(self, nodes: ArrayLike | None = None) -> World:
        """The run as arrays, for these nodes or for all, after one question to the problem. Call it within `precision`."""
        parts = jax.tree.map(lambda leaf: cast(leaf, self.kind), (self.problem, self.algorithm, self.network))
        here = self.identities if nodes is None else self.identities[np.asarray(nodes)]
        world = World(*parts, jax.device_put(here), jnp.asarray(self.rounds))
        check_answers(world)
        return world

    def quick_blocks(self, quick: bool | None) -> float:
        """How many blocks are compiled quickly: all or none as `quick` asks for; where it was left open, those of a short run."""
        if quick is None:
            return quick_blocks(self.algorithm, self.network.n_agents)
        return math.inf if quick else 0


def check_types(problem: Any, algorithm: Any, network: Any, record: Any, kinds: Any = Algorithm) -> None:
    """Refuse arguments of another kind. `kinds`: what an algorithm may be."""
    advice = "Pass for example droculo.problems.TopB.random(...), or problems.from_function(...)."
    expect(problem, Problem, "problem", advice)
    expect(algorithm, kinds, "algorithm", "Pass for example droculo.Droculo.design(problem.setting, ...).")
    expect(network, Network, "network", "Turn a graph or weights into one with droculo.networks.from_graph(graph).")
    expect(record, (Record, type(None)), "record", "Pass for example droculo.Record(every=10).")


def cast(leaf: Any, kind: np.dtype) -> Any:
    """An array of JAX, of this kind if it has fractions. NumPy's arrays are copied as they are: `jnp.asarray` compiles a program
    for every shape."""
    if isinstance(leaf, np.ndarray | np.generic):
        return jax.device_put(
            np.asarray(leaf, kind if np.issubdtype(leaf.dtype, np.floating) else None), may_alias=False
        )
    if isinstance(leaf, jax.Array) and not jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return jnp.asarray(leaf, kind) if np.issubdtype(leaf.dtype, np.floating) else leaf
    return leaf


def as_keys(key: Array | int) -> tuple[Array, bool]:
    if isinstance(key, int | np.integer) and 0 <= key < 2**32:
        key = jax.random.key(int(key))
    known = isinstance(key, jax.Array) and jnp.issubdtype(key.dtype, jax.dtypes.prng_key)
    if not isinstance(key, jax.Array) or not known or key.ndim > 1 or key.size == 0:
        raise TypeError(
            "key must be a whole number from 0 to 2^32 - 1, a JAX random key such as jax.random.key(0), or a batch of keys such as "
            f"jax.random.split(jax.random.key(0), 8); got {type(key).__name__}."
        )
    return (key, True) if key.ndim == 1 else (key[None], False)


def as_rounds(rounds: int | None, algorithm: Algorithm) -> int:
    """How many rounds to play, by default all that the algorithm is for."""
    horizon = algorithm.horizon
    if rounds is None:
        if horizon is None:
            raise ValueError("this algorithm plays for as long as you like: say how many rounds, with rounds=...")
        return int(horizon)
    if isinstance(rounds, bool) or not isinstance(rounds, int | np.integer) or rounds < 1:
        raise ValueError(f"rounds is a whole number, at least 1; got {rounds!r}.")
    last = algorithm.timetable.last
    if last is not None and rounds > last:
        raise ValueError(
            f"rounds is a whole number from 1 to the algorithm's horizon, {last}; got {rounds!r}. Design the algorithm "
            "for a longer horizon, or wrap its design in droculo.algorithms.Anytime."
        )
    return int(rounds)


def check(
    problem: Problem, algorithm: Algorithm, network: Network, identities: NDArray[np.int64], kind: np.dtype
) -> None:
    """Check what can be checked without running anything."""
    if kind not in (np.float64, np.float32):
        raise ValueError(f"dtype must be float64 or float32; got {kind}.")
    mine, theirs = jax.tree.leaves(algorithm.domain), jax.tree.leaves(problem.set)
    same = type(algorithm.domain) is type(problem.set) and len(mine) == len(theirs)
    if not (same and all(map(np.array_equal, mine, theirs))):
        raise ValueError(
            f"the algorithm was designed for another set ({type(algorithm.domain).__name__}, {algorithm.domain.dim} "
            f"coordinates) than the problem's ({type(problem.set).__name__}, {problem.set.dim} coordinates). "
            "Design it from problem.setting."
        )
    if identities.shape != (network.n_agents,):
        raise ValueError(
            f"agents must name one function for each of the {network.n_agents} nodes; got {identities.shape}."
        )
    if problem.agents is not None and not np.all((identities >= 0) & (identities < problem.agents)):
        raise ValueError(
            f"the problem is posed for agents 0 to {problem.agents - 1}, and the {network.n_agents} nodes of the network "
            f"are to be agents {identities.min()} to {identities.max()}. Make problem and network with the same number of "
            "agents, or say with agents=... which function each node has."
        )


def as_identities(agents: ArrayLike | None, nodes: int) -> NDArray[np.int64]:
    """Which function each node has, by default 0, 1, ..."""
    if agents is None:
        return np.arange(nodes)
    given = np.asarray(agents)
    if not np.issubdtype(given.dtype, np.integer):
        raise TypeError(f"agents must be whole numbers, one for each node; got {given.dtype}.")
    return given.astype(np.int64)


def check_answers(world: World) -> None:
    """Ask the problem once before any work starts, and refuse answers that are not finite or have another shape."""
    algorithm, problem = world.algorithm, world.problem
    asked = problem, algorithm, np.asarray(world.agents)[0], jnp.asarray(0)
    try:
        value = eqx.filter_eval_shape(_value, *asked)
    except (jax.errors.JAXTypeError, jax.errors.JAXIndexError) as error:
        raise TypeError(
            "f(agent, t, x) cannot be traced: write it with jax.numpy, without Python `if` or list indices on agent, t or "
            f"x (use jnp.where, and jnp.asarray(table)[agent]). JAX says: {str(error).splitlines()[0]}"
        ) from error
    if value.shape != ():
        raise ValueError(f"f must return a single number; got an array of shape {value.shape}.")
    order = algorithm.feedback.order
    answer, finite = _answer(*asked, order)
    what, expected = ("gradient", (algorithm.domain.dim,)) if order == 1 else ("value", ())
    if answer.shape != expected:
        raise ValueError(f"the {what} of the problem must have shape {expected}; got {answer.shape}.")
    if not bool(finite):
        raise ValueError(
            f"the {what} of agent {int(asked[2])} in round 0 at the starting point is not finite. "
            "Check f there, or start elsewhere with start=..."
        )


# Compiled as a whole, since one operation after the other would be a program for each, and traced once for many runs.
@eqx.filter_jit  # type: ignore[untyped-decorator]
def _value(problem: Problem, algorithm: Algorithm, agent: Array, t: Array) -> Array:
    return problem.value(agent, t, algorithm.decision(algorithm.init()))


@eqx.filter_jit  # type: ignore[untyped-decorator]
def _answer(problem: Problem, algorithm: Algorithm, agent: Array, t: Array, order: int) -> tuple[Array, Array]:
    """The answer to one question at the starting point, and whether it is finite."""
    answer = problem.answer(agent, t, algorithm.decision(algorithm.init()), order, jax.random.key(0))
    return answer, jnp.all(jnp.isfinite(answer))


def check_inside(run: Run, outside: Array | NDArray, recorded: Sequence[NDArray], start: int, rounds: int) -> None:
    """An action or a query outside of K is an error, never silent. `outside`: how many compiled code found; where membership
    is a search, or nothing is recorded, the `recorded` actions and queries are looked at here: a few, or, if `strict`, all, and
    as long as it takes."""
    domain, number = run.algorithm.domain, int(np.sum(np.asarray(outside)))
    if not (domain.has_fast_contains and run.record.every):
        looks = [max(1, points.size // domain.dim) if run.strict else LOOKS_A_PIECE for points in recorded]
        calls = None if run.strict else CALLS
        number = sum(
            outside_of_a_sample(domain, points, n, seed=start, calls=calls)
            for points, n in zip(recorded, looks, strict=True)
        )
    if number:
        raise ValueError(
            f"{number} of the recorded actions and queries between rounds {start} and {start + rounds - 1} lie outside "
            "the set. The algorithm's action or query leaves it: check a custom linearization with "
            "droculo.testing.check_linearization, an algorithm with check_algorithm."
        )


def played_next(run: Run, agents: int, states: Any, span: Span) -> list[NDArray]:
    """Actions and queries of two of so many agents in the states (agents, ...) that they are in, for runs that record nothing.
    `span`: a block."""
    few, number = jax.tree.map(lambda leaf: leaf[:LOOKS_A_PIECE], states), min(LOOKS_A_PIECE, agents)
    placed = Span(*map(jnp.asarray, span))
    played = _plays(run.algorithm, number, few, placed, RunKeys.of(run.keys[0]), int(span.slot))
    return [np.asarray(points) for points in played]


@eqx.filter_jit  # type: ignore[untyped-decorator]
def _plays(algorithm: Algorithm, number: int, states: Any, span: Span, keys: RunKeys, most: int) -> tuple[Array, Array]:
    def one(agent: Array, state: Any) -> tuple[Array, Array]:
        played = algorithm.play(SilentPorts(), state, span.slot_at(0, keys.of_agent(agent), most))[1]
        return played.actions, played.points

    return jax.vmap(one)(jnp.arange(number), states)


def warned(run: Trajectory) -> Trajectory:
    """The run, after a Python warning for each sentence of `run.warnings`."""
    for sentence in run.warnings:
        warnings.warn(sentence, DeclarationWarning, stacklevel=3)
    return run


def check_answered(said: Sequence[str]) -> None:
    """Stop a strict run. `said`: what the answers broke."""
    if said:
        raise ValueError(f"{' '.join(said)} (This run is strict; without strict=True it is a warning.)")


def check_finite(states: Any, start: int, rounds: int, said: Sequence[str] = ()) -> None:
    """A step that left the floating-point numbers is an error, never silent. `said`: what the answers broke."""
    leaves = [leaf for leaf in jax.tree.leaves(states) if jnp.issubdtype(leaf.dtype, jnp.floating)]
    if not all(np.all(np.isfinite(np.asarray(leaf))) for leaf in leaves):
        raise FloatingPointError(
            f"an agent's state stopped being finite between rounds {start} and {start + rounds - 1}: the problem answered "
            "with NaN or infinity there, or the step size is not finite. Pieces saved by a checkpoint before that are intact."
            + "".join(f" {sentence}" for sentence in said)
        )
