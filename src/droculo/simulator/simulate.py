"""Driver 1: all agents in one process. The verb, its checks, and the loop over compiled pieces."""

from __future__ import annotations

import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike, NDArray
from tqdm import tqdm

from droculo.algorithms import Algorithm, Anytime
from droculo.engine.behaviour import behaviour_of_algorithm, behaviour_of_problem
from droculo.engine.block import World, begin
from droculo.engine.compiling import is_short, program
from droculo.engine.costs import COUNTED, CostCurve, Ledger
from droculo.engine.fingerprint import fingerprint
from droculo.engine.inputs import (
    as_identities,
    as_keys,
    as_rounds,
    cast,
    check,
    check_answers,
    check_finite,
    check_inside,
)
from droculo.engine.memory_maps import clear_caches_if_needed
from droculo.engine.plan import Piece, pieces, questions
from droculo.engine.record import Record, Trajectory
from droculo.expect import expect
from droculo.networks import Network
from droculo.problems import Problem
from droculo.simulator.checkpoint import Checkpoint
from droculo.simulator.phases import in_phases
from droculo.simulator.stretch import stretch


def simulate(
    problem: Problem,
    algorithm: Algorithm | Anytime,
    network: Network,
    *,
    key: Array | int,
    rounds: int | None = None,
    record: Record | None = None,
    checkpoint: Checkpoint | None = None,
    agents: ArrayLike | None = None,
    dtype: Any = np.float64,
    progress: bool | None = None,
    quick: bool | None = None,
) -> Trajectory:
    """Play `algorithm` on every node of `network` against `problem`, and return what happened.

    `key` is a JAX random key (or a whole number to make one from), or a batch of keys: one run for each, compiled and
    run together. `rounds`: play so many rounds only, by default the algorithm's horizon; an `Anytime` has none, and
    needs them. `agents` says which function and which random stream each node has: 0, 1, ..., N-1 by default.
    `progress`: show a bar; by default only when the run takes more than a few seconds. `quick`: compile in less
    than half the time a program that takes several times as long, by default for short runs. Same key, same result.

    >>> from droculo import Droculo, feedback, networks, problems, simulate
    >>> problem = problems.TopB.random(agents=4, dim=6, budget=2, seed=0)
    >>> agent = Droculo.design(problem.setting, feedback.bandit(), horizon=100, theta=0.5)
    >>> run = simulate(problem, agent, networks.from_graph(networks.ring(4)), key=0)
    >>> run.actions.shape
    (100, 4, 6)
    """
    expect(
        problem,
        Problem,
        "problem",
        "Pass for example droculo.problems.TopB.random(...), or problems.from_function(...).",
    )
    expect(
        algorithm, (Algorithm, Anytime), "algorithm", "Pass for example droculo.Droculo.design(problem.setting, ...)."
    )
    expect(network, Network, "network", "Turn a graph or weights into one with droculo.networks.from_graph(graph).")
    expect(record, (Record, type(None)), "record", "Pass for example droculo.Record(every=10).")
    expect(checkpoint, (Checkpoint, type(None)), "checkpoint", "Pass droculo.Checkpoint(folder).")
    record = record or Record()
    if isinstance(algorithm, Anytime):
        options: dict[str, Any] = {
            "record": record,
            "agents": agents,
            "dtype": dtype,
            "progress": progress,
            "quick": quick,
        }
        return in_phases(simulate, problem, algorithm, network, key, rounds, checkpoint, options)
    rounds = as_rounds(rounds, algorithm.horizon)
    keys, batched = as_keys(key)
    identities = as_identities(agents, network.n_agents)
    kind = np.dtype(dtype)
    check(problem, algorithm, network, identities, kind)
    clear_caches_if_needed()
    began = time.perf_counter()
    with jax.enable_x64(kind == np.float64):
        parts = jax.tree.map(lambda leaf: cast(leaf, kind), (problem, algorithm, network))
        world = World(*parts, jnp.asarray(identities))
        check_answers(world)
        states = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (len(keys), *leaf.shape)), begin(world))
        plan = pieces(algorithm, rounds, record)
        saved: list[dict[str, np.ndarray]] = []
        if checkpoint is not None:
            given = (problem, algorithm, network, identities, keys, record, str(kind), [piece.rounds for piece in plan])
            seen = behaviour_of_problem(problem, identities, rounds), behaviour_of_algorithm(algorithm)
            identity = fingerprint(given, jax.tree.map(np.shape, states), seen)
            saved = checkpoint.load(identity, len(plan))
        if saved:
            structure = jax.tree.structure(states)
            states = jax.tree.unflatten(
                structure, [jnp.asarray(saved[-1][f"state{i}"]) for i in range(len(jax.tree.leaves(states)))]
            )
        play = program(stretch, quick=is_short(algorithm, network.n_agents) if quick is None else quick)
        played = sum(piece.rounds for piece in plan[: len(saved)])
        patience = 3.0 if progress is None else 0.0
        with tqdm(
            total=rounds,
            initial=played,
            unit=" rounds",
            delay=patience,
            disable=progress is False,
            leave=bool(progress),
        ) as bar:
            for number, piece in enumerate(plan[len(saved) :], start=len(saved)):
                states, bill, kept = play(
                    world, piece.shape, states, keys, jnp.asarray(piece.start), jnp.asarray(piece.blocks)
                )
                arrays = _to_host(bill, kept, piece)
                check_finite(states, piece.start, piece.rounds)
                if kept is not None:
                    check_inside(kept.outside[:, : piece.blocks], piece.start, piece.rounds)
                if checkpoint is not None:
                    leaves = {f"state{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(states))}
                    checkpoint.save(number, arrays | leaves)
                saved.append(arrays)
                bar.update(piece.rounds)
        states = jax.tree.map(np.asarray, states)
    ends = np.cumsum([piece.rounds for piece in plan])
    took = time.perf_counter() - began
    return _assemble(algorithm, ends, record, identities, states, saved, batched, kind, took)


def _to_host(bill: Any, kept: Any, piece: Piece) -> dict[str, np.ndarray]:
    """The piece's numbers as NumPy arrays: seeds first, then recorded rounds, then agents."""
    costs = {"messages": bill.messages, **vars(bill.spent)}
    arrays = {name: np.asarray(value).astype(np.int64) for name, value in costs.items()}
    if kept is None:
        return arrays
    # Buffers are (seeds, blocks, agents, rounds of the block, ...); rounds and agents change places.
    number = piece.blocks
    played = np.asarray(kept.rounds)[0, :number, 0]
    valid = np.asarray(kept.valid)[0, :number, 0] & (played < piece.start + piece.rounds)
    arrays["rounds"] = played[valid].astype(np.int64)
    arrays["actions"] = np.swapaxes(np.asarray(kept.actions)[:, :number], 2, 3)[:, valid]
    which_block = np.nonzero(valid)[0]
    arrays["decisions"] = np.asarray(kept.decisions)[:, which_block]
    if kept.queries is not None:
        arrays["queries"] = np.swapaxes(np.asarray(kept.queries)[:, :number], 2, 3)[:, valid]
    return arrays


def _assemble(
    algorithm: Algorithm,
    ends: NDArray[np.int64],
    record: Record,
    identities: NDArray[np.int64],
    states: Any,
    saved: list[dict[str, np.ndarray]],
    batched: bool,
    kind: np.dtype,
    seconds: float,
) -> Trajectory:
    def unbatch(array: Any) -> Any:
        return array if batched else array[0]

    def joined(name: str) -> Any:
        shape = (saved[0]["messages"].shape[0], 0, len(identities), algorithm.domain.dim)
        return unbatch(np.concatenate([s[name] for s in saved], axis=1) if record.every else np.zeros(shape, kind))

    def total(name: str) -> NDArray[np.int64]:
        return unbatch(sum(s[name] for s in saved))

    def so_far(name: str) -> NDArray[np.int64]:
        return unbatch(np.cumsum(np.stack([s[name] for s in saved], axis=1), axis=1))

    rounds = int(ends[-1])
    blocks = -(-rounds // (algorithm.block * algorithm.slot))
    asked = -(-rounds // algorithm.slot) * questions(algorithm)
    counted = {name: total(name) for name in COUNTED}
    ledger = Ledger.of(algorithm, counted, blocks, asked, kind, seconds)
    return Trajectory(
        horizon=rounds,
        rounds=np.concatenate([s["rounds"] for s in saved]) if record.every else np.zeros(0, np.int64),
        actions=joined("actions"),
        decisions=joined("decisions"),
        queries=joined("queries") if record.queries and record.every else None,
        agents=identities,
        states=jax.tree.map(unbatch, states),
        ledger=ledger,
        spending=CostCurve(ends, {name: so_far(name) for name in COUNTED}),
    )
