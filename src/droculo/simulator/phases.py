"""Runs of unknown length: one simulation after the other, joined into one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax import Array

from droculo.algorithms import Anytime
from droculo.engine.costs import COSTS, COUNTED, CostCurve, Ledger
from droculo.engine.record import Record, Trajectory
from droculo.engine.run import as_keys
from droculo.networks import Network
from droculo.problems import Problem, Shifted
from droculo.simulator.checkpoint import Checkpoint


def in_phases(
    simulate: Callable[..., Trajectory],
    problem: Problem,
    anytime: Anytime,
    network: Network,
    key: Array | int,
    rounds: int | None,
    checkpoint: Checkpoint | None,
    options: dict[str, Any],
) -> Trajectory:
    """Play every phase of `anytime` as a separate run with its own key, against the problem from that round on."""
    if isinstance(rounds, bool) or not isinstance(rounds, int | np.integer) or rounds < 1:
        raise ValueError(f"an Anytime has no horizon: say with rounds=... how long to play; got rounds={rounds!r}.")
    every = (options["record"] or Record()).every
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
        run = simulate(
            Shifted(problem, phase.start), phase.algorithm, network,
            key=own if batched else own[0], rounds=phase.rounds, checkpoint=folder, **options,
        )  # fmt: skip
        parts.append(replace(run, rounds=run.rounds + phase.start))
    return _joined(parts, int(rounds))


def _joined(parts: Sequence[Trajectory], horizon: int) -> Trajectory:
    def along_rounds(name: str) -> Any:
        pieces = [getattr(part, name) for part in parts]
        return None if pieces[0] is None else np.concatenate(pieces, axis=-4 if name == "queries" else -3)

    starts = np.cumsum([0, *(part.horizon for part in parts[:-1])])
    counts = {name: np.sum([part.ledger.counts[name] for part in parts], axis=0) for name in COSTS}
    return Trajectory(
        horizon=horizon,
        rounds=np.concatenate([part.rounds for part in parts]),
        actions=along_rounds("actions"),
        decisions=along_rounds("decisions"),
        queries=along_rounds("queries"),
        agents=parts[0].agents,
        states=parts[-1].states,
        ledger=Ledger(counts, sum(part.ledger.seconds for part in parts)),
        spending=CostCurve(
            np.concatenate([part.spending.rounds + start for part, start in zip(parts, starts, strict=True)]),
            {name: _so_far([part.spending.counts[name] for part in parts]) for name in COUNTED},
        ),
    )


def _so_far(pieces: list[Any]) -> Any:
    """Every phase counts from where the phases before it ended."""
    before = np.cumsum([piece[..., -1:, :] for piece in pieces], axis=0)
    return np.concatenate(
        [pieces[0], *(piece + start for piece, start in zip(pieces[1:], before, strict=False))], axis=-2
    )
