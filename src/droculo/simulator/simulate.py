"""Driver 1: all agents in one process. `simulate` checks, plays one compiled piece after the other, and assembles the run."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike, NDArray
from tqdm import tqdm

from droculo.algorithms import Algorithm, Anytime
from droculo.engine.block import begin
from droculo.engine.breaches import BREACHES, NEVER, asked_in_play, sentences
from droculo.engine.compiling import program
from droculo.engine.costs import COSTS, COUNTED, CostCurve, Ledger
from droculo.engine.fingerprint import Fingerprint, behaviour_of_algorithm, behaviour_of_problem, fingerprint
from droculo.engine.memory_maps import clear_caches_if_needed
from droculo.engine.plan import Piece, Played, pieces, questions, shape_of
from droculo.engine.record import Record, Trajectory
from droculo.engine.run import (
    Run,
    as_keys,
    check_answered,
    check_finite,
    check_inside,
    check_types,
    played_next,
    warned,
)
from droculo.expect import expect
from droculo.networks import Network
from droculo.problems import Problem, Shifted
from droculo.simulator.checkpoint import Checkpoint
from droculo.simulator.earlier import Earlier
from droculo.simulator.stretch import Bill, Decided, stretch

#: the arrays of one piece of a run
Arrays = dict[str, np.ndarray]
#: a run that takes less than so many seconds shows no progress bar unless one is asked for
PATIENCE = 3.0


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
    strict: bool = False,
    resume: Trajectory | None = None,
) -> Trajectory:
    """Play `algorithm` on every node of `network` against `problem`, and return what happened.

    `key` is a JAX random key (or a whole number to make one from), or a batch of keys: one run for each, compiled and
    run together. `rounds`: how many rounds to play, by default the algorithm's horizon, if it has one. `resume`: a shorter run
    with the same algorithm, network and key, to go on from; what is returned is the whole run, bit for bit that of playing
    all rounds at once. `agents` says which function and which random stream each node has: 0, 1, ..., N-1 by default.
    `progress`: show a bar; by default only when the run takes more than a few seconds. `quick`: compile in less
    than half the time a program that takes several times as long, by default for short runs. Same key, same result.

    Answers that break what the problem declares are counted in `run.ledger` and said in `run.warnings`; with `strict` they
    end the run, and membership of every recorded action and query is decided even where that is a search.

    >>> from droculo import Droculo, feedback, networks, problems, simulate
    >>> problem = problems.TopB.random(agents=4, dim=6, budget=2, seed=0)
    >>> agent = Droculo.design(problem.setting, feedback.bandit())
    >>> run = simulate(problem, agent, networks.from_graph(networks.ring(4)), key=0, rounds=100)
    >>> run.actions.shape
    (100, 4, 6)
    """
    check_types(problem, algorithm, network, record, (Algorithm, Anytime))
    expect(checkpoint, (Checkpoint, type(None)), "checkpoint", "Pass droculo.Checkpoint(folder).")
    expect(resume, (Trajectory, type(None)), "resume", "Pass what simulate returned.")
    options: dict[str, Any] = {"record": record or Record(), "agents": agents, "dtype": dtype, "strict": strict}
    if resume is not None and (checkpoint is not None or isinstance(algorithm, Anytime)):
        raise ValueError(
            "resume=... is for one algorithm without a checkpoint folder, which resumes by itself. Leave one of them out."
        )
    if isinstance(algorithm, Anytime):
        return _in_phases(problem, algorithm, network, key, rounds, checkpoint, progress, quick, options)
    run = Run.of(problem, algorithm, network, key=key, rounds=rounds, **options)
    return warned(_played(run, checkpoint, progress, quick, resume=None if resume is None else Earlier.of(resume, run)))


def _played(
    run: Run,
    checkpoint: Checkpoint | None,
    progress: bool | None,
    quick: bool | None,
    start: int = 0,
    resume: Earlier | None = None,
) -> Trajectory:
    """The run, piece by piece. `start`: its first round, as messages count them."""
    algorithm, began = run.algorithm, time.perf_counter()
    clear_caches_if_needed()
    with run.precision():
        world, short = run.world(), run.quick_blocks(quick)
        states = begin(world, len(run.keys)) if resume is None else resume.states
        played = Played(run.rounds, run.record, len(run.identities))
        plan = pieces(algorithm, played, 0 if resume is None else resume.blocks, short)
        shapes = shape_of(algorithm, played, plan)
        leaves, structure = jax.tree.flatten(states)
        saved: list[Arrays] = []
        if checkpoint is not None:
            saved = checkpoint.load(_identity(run, plan, states), len(plan))
            for piece, arrays in zip(plan, saved, strict=False):
                _check_piece(run, piece, arrays, start)
        if saved:
            states = jax.tree.unflatten(structure, [jnp.asarray(saved[-1][f"state{i}"]) for i in range(len(leaves))])
        for number in _with_progress(plan, len(saved), progress):
            piece, shape = plan[number], shapes[number]
            play, spans = program(stretch, quick=bool(piece.spans.number[0] < short)), piece.padded(shape.blocks)
            with asked_in_play():
                states, bill, decided = play(world, shape, states, run.keys, spans, jnp.asarray(piece.blocks))
            saved.append(_to_host(bill, decided, piece, run.record.every))
            check_finite(states, start + piece.start, piece.rounds, _said(run, saved[-1], start))
            _check_piece(run, piece, saved[-1], start)
            if not run.record.every and (run.strict or number == len(plan) - 1):
                agents, last = len(run.identities), piece.spans.at(-1)
                next_ones = played_next(run, agents, jax.tree.map(lambda leaf: leaf[0], states), last)
                check_inside(run, np.zeros(0), next_ones, start + piece.start, piece.rounds)
            if checkpoint is not None:
                after = {f"state{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(states))}
                checkpoint.save(number, saved[-1] | after)
        states = jax.tree.map(np.asarray, states)
    took = time.perf_counter() - began + (0 if resume is None else resume.seconds)
    return _assemble(run, plan, states, saved, took, resume)


def _check_piece(run: Run, piece: Piece, saved: Arrays, start: int) -> None:
    """A piece that was played now or before: points of K, and, where that is asked for, answers that keep what is declared."""
    if run.strict:
        check_answered(_said(run, saved, start))
    recorded = [saved[name] for name in ("actions", "queries") if name in saved]
    check_inside(run, saved["outside"], recorded, start + piece.start, piece.rounds)


def _said(run: Run, saved: Arrays, start: int) -> tuple[str, ...]:
    first = dict(zip(BREACHES, np.moveaxis(saved["first"], -2, 0), strict=True))
    return sentences(saved, first, run.identities, start)


def _with_progress(plan: list[Piece], done: int, progress: bool | None) -> Iterator[int]:
    """The numbers of the pieces that are left, with a bar that counts their rounds."""
    rounds = [piece.rounds for piece in plan]
    delay = PATIENCE if progress is None else 0.0
    shown: dict[str, Any] = {"delay": delay, "disable": progress is False, "leave": bool(progress)}
    with tqdm(total=sum(rounds), initial=sum(rounds[:done]), unit=" rounds", **shown) as bar:
        for number in range(done, len(plan)):
            yield number
            bar.update(rounds[number])


def _identity(run: Run, plan: list[Piece], states: Any) -> Fingerprint:
    """What a checkpoint belongs to."""
    given = (run.problem, run.algorithm, run.network, run.identities, run.keys, run.record, str(run.kind))
    seen = behaviour_of_problem(run.problem, run.identities, run.rounds), behaviour_of_algorithm(run.algorithm)
    return fingerprint(given, [piece.rounds for piece in plan], jax.tree.map(np.shape, states), seen)


def _to_host(bill: Bill, decided: Decided, piece: Piece, every: int) -> Arrays:
    """The piece's numbers as NumPy arrays: seeds first, then recorded rounds, then agents."""
    arrays: Arrays = {name: np.asarray(cost).astype(np.int64) for name, cost in bill.costs.items()}
    counted, first = (np.swapaxes(np.asarray(part), 1, 2) for part in (bill.breaches.count, bill.breaches.first))
    arrays |= {name: counted[:, kind].astype(np.int64) for kind, name in enumerate(BREACHES)}
    arrays["first"], arrays["outside"] = first, np.zeros(0)
    if decided.kept is None:
        return arrays
    arrays["outside"] = np.asarray(decided.kept.outside)
    arrays["rounds"] = rounds = np.arange(-(-piece.start // every) * every, piece.start + piece.rounds, every)
    places = np.searchsorted(piece.spans.end, rounds, side="right")
    arrays["decisions"] = np.asarray(decided.decisions)[:, places]  # one for each block
    for name in ("actions", "queries"):  # buffers are (seeds, agents, rounds, ...)
        if (found := getattr(decided.kept, name)) is not None:
            arrays[name] = np.swapaxes(np.asarray(found)[:, :, : len(rounds)], 1, 2)
    return arrays


def _assemble(
    run: Run, plan: list[Piece], states: Any, saved: list[Arrays], seconds: float, resume: Earlier | None
) -> Trajectory:
    """The pieces put together; without a batch of seeds, without an axis for them."""
    algorithm, every = run.algorithm, run.record.every
    ends = [piece.start + piece.rounds for piece in plan]
    if resume is not None:
        saved, ends = [*resume.arrays, *saved], [*resume.ends, *ends]
    nothing = np.zeros((len(run.keys), 0, len(run.identities), algorithm.domain.dim), run.kind)

    def unbatch(array: Any) -> Any:
        return array if run.batched else array[0]

    def joined(name: str) -> Any:
        return unbatch(np.concatenate([arrays[name] for arrays in saved], axis=1) if every else nothing)

    spans = algorithm.timetable.until(run.rounds)
    blocks, asked = int(spans.complete.sum()), int(spans.slots.sum()) * questions(algorithm)
    spent = {name: unbatch(np.cumsum([arrays[name] for arrays in saved], axis=0).swapaxes(0, 1)) for name in COUNTED}
    total = {name: curve[..., -1, :] for name, curve in spent.items()}
    first = unbatch(np.min([arrays["first"] for arrays in saved], axis=0))
    return Trajectory(
        horizon=run.rounds,
        rounds=np.concatenate([arrays["rounds"] for arrays in saved]) if every else np.zeros(0, np.int64),
        actions=joined("actions"),
        decisions=joined("decisions"),
        queries=joined("queries") if run.record.queries and every else None,
        agents=run.identities,
        states=jax.tree.map(unbatch, states),
        ledger=Ledger.of(algorithm, total, first, blocks, asked, run.kind, seconds),
        spending=CostCurve(np.asarray(ends), spent),
        key=np.asarray(jax.random.key_data(unbatch(run.keys))),
        record=run.record,
    )


def _in_phases(
    problem: Problem,
    anytime: Anytime,
    network: Network,
    key: Array | int,
    rounds: int | None,
    checkpoint: Checkpoint | None,
    progress: bool | None,
    quick: bool | None,
    options: dict[str, Any],
) -> Trajectory:
    """Play every phase of `anytime` as a separate run with its own key, against the problem from that round on."""
    if isinstance(rounds, bool) or not isinstance(rounds, int | np.integer) or rounds < 1:
        raise ValueError(f"an Anytime has no horizon: say with rounds=... how long to play; got rounds={rounds!r}.")
    every = options["record"].every
    if every > 1 and anytime.first % every:
        raise ValueError(
            f"recorded rounds must be evenly spaced across phases: {every}, the distance of recorded rounds, must divide the first "
            f"phase, {anytime.first} rounds. Pass Anytime(..., first={-(-anytime.first // every) * every}) or another record."
        )
    keys, batched = as_keys(key)
    parts = []
    for number, phase in enumerate(anytime.phases(int(rounds))):
        own = jax.vmap(lambda key, number=number: jax.random.fold_in(key, number))(keys)
        # A phase that is cut short has a separate folder, so that a longer run can continue from the phases before it.
        cut = "" if phase.rounds == phase.algorithm.horizon else f"-first-{phase.rounds}"
        folder = None if checkpoint is None else Checkpoint(Path(checkpoint.folder) / f"phase-{number:02d}{cut}")
        key = own if batched else own[0]
        run = Run.of(Shifted(problem, phase.start), phase.algorithm, network, key=key, rounds=phase.rounds, **options)
        part = _played(run, folder, progress, quick, phase.start)
        parts.append(replace(part, rounds=part.rounds + phase.start))
    return warned(_joined(parts, int(rounds)))


def _joined(parts: Sequence[Trajectory], horizon: int) -> Trajectory:
    def along_rounds(name: str) -> Any:
        pieces = [getattr(part, name) for part in parts]
        return None if pieces[0] is None else np.concatenate(pieces, axis=-4 if name == "queries" else -3)

    starts = np.cumsum([0, *(part.horizon for part in parts[:-1])])
    counts = {name: np.sum([part.ledger.counts[name] for part in parts], axis=0) for name in COSTS}
    first = {name: _first([part.ledger.first[name] for part in parts], starts) for name in BREACHES}
    return Trajectory(
        horizon=horizon,
        rounds=np.concatenate([part.rounds for part in parts]),
        actions=along_rounds("actions"),
        decisions=along_rounds("decisions"),
        queries=along_rounds("queries"),
        agents=parts[0].agents,
        states=parts[-1].states,
        ledger=Ledger(counts, sum(part.ledger.seconds for part in parts), first),
        spending=CostCurve(
            np.concatenate([part.spending.rounds + start for part, start in zip(parts, starts, strict=True)]),
            {name: _so_far([part.spending.counts[name] for part in parts]) for name in COUNTED},
        ),
    )


def _first(rounds: list[Any], starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The first round of all phases, or -1: every phase counts its rounds from 0."""
    found = np.array([np.where(own < 0, NEVER, own + start) for own, start in zip(rounds, starts, strict=True)])
    return np.where(found.min(axis=0) == NEVER, -1, found.min(axis=0))


def _so_far(pieces: list[Any]) -> Any:
    """Every phase counts from where the phases before it ended."""
    ends = np.cumsum([piece[..., -1:, :] for piece in pieces], axis=0)
    shifted = [piece + end for piece, end in zip(pieces[1:], ends[:-1], strict=True)]
    return np.concatenate([pieces[0], *shifted], axis=-2)
