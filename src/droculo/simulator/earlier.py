"""The beginning of a run, from which it goes on: what `simulate(..., resume=run)` takes from the shorter run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from droculo.engine.breaches import BREACHES, NEVER
from droculo.engine.costs import COUNTED
from droculo.engine.record import Trajectory
from droculo.engine.run import Run

_ANOTHER = "the run to go on from was played by another algorithm or on another network. Pass the same ones."


@dataclass(frozen=True)
class Earlier:
    """The whole blocks of a shorter run. A block that it began and did not end is played again, which gives the same."""

    blocks: int
    states: Any  # after these blocks, seeds first
    ends: list[int]  # the round after each of its pieces
    arrays: list[dict[str, np.ndarray]]  # of each piece, as the simulator keeps them
    seconds: float  # that it took

    @classmethod
    def of(cls, given: Trajectory, run: Run) -> Earlier:
        """Of a finished run, if `run` is a longer one of the same kind; else an error."""
        _check(given, run)
        spans = run.algorithm.timetable.until(given.horizon)
        blocks = int(spans.complete.sum())
        last = int(spans.end[blocks - 1]) if blocks else 0
        ends = [int(t) for t in given.spending.rounds if t <= last]
        pairs = list(zip([0, *ends][: len(ends)], ends, strict=True))
        arrays = [_piece(given, run.batched, place, *pair) for place, pair in enumerate(pairs)]
        like = jax.eval_shape(run.algorithm.init)
        states = given.states if run.batched else jax.tree.map(lambda leaf: leaf[None], given.states)
        _check_states(states, like, run)
        if max(ends, default=0) != last or np.any(given.ledger.exchanges != blocks * run.algorithm.exchanges):
            raise ValueError(_ANOTHER)
        with run.precision():
            return cls(blocks, jax.tree.map(jnp.asarray, states), ends, arrays, given.ledger.seconds)


def _check(given: Trajectory, run: Run) -> None:
    if given.key is None:
        raise ValueError(
            "this run was put together: of processes, which go on from their own folders (see run_process), or of the phases of an "
            "Anytime, which do not go on."
        )
    same = {
        "key": np.array_equal(given.key, jax.random.key_data(run.keys if run.batched else run.keys[0])),
        "agents": np.array_equal(given.agents, run.identities),
        "record": given.record == run.record,
        "dtype": given.actions.dtype == run.kind,
    }
    if others := [name for name, equal in same.items() if not equal]:
        raise ValueError(
            f"the run to go on from had another {', '.join(others)}. Pass the same, so that what is returned is one run."
        )
    if run.rounds <= given.horizon:
        raise ValueError(
            f"the run to go on from has {given.horizon} rounds already; ask for more than that, not {run.rounds}."
        )


def _check_states(states: Any, like: Any, run: Run) -> None:
    shape = (len(run.keys), len(run.identities))
    found, expected = ([leaf.shape for leaf in jax.tree.leaves(tree)] for tree in (states, like))
    if found != [shape + leaf for leaf in expected]:
        raise ValueError(_ANOTHER)


def _piece(given: Trajectory, batched: bool, place: int, start: int, end: int) -> dict[str, np.ndarray]:
    """The numbers of one piece of a finished run."""

    def seeds_first(array: Any) -> np.ndarray:
        return np.asarray(array) if batched else np.asarray(array)[None]

    counts = {name: seeds_first(given.spending.counts[name]) for name in COUNTED}
    before = {name: curve[:, place - 1] if place else np.zeros_like(curve[:, 0]) for name, curve in counts.items()}
    arrays = {name: curve[:, place] - before[name] for name, curve in counts.items()}
    first = np.stack([seeds_first(given.ledger.first[name]) for name in BREACHES], axis=-2)
    arrays |= {"first": np.where(first < 0, NEVER, first), "outside": np.zeros(0)}
    if given.record.every:
        here = (given.rounds >= start) & (given.rounds < end)
        arrays["rounds"] = given.rounds[here]
        for name in ("actions", "decisions", "queries"):
            if (found := getattr(given, name)) is not None:
                arrays[name] = seeds_first(found)[:, here]
    return arrays
