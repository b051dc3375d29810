"""The measures of a cell: rewards, regret, certificate and disagreement over time, and what they cost."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from droculo.algorithms import Algorithm
from droculo.algorithms.timetable import Span
from droculo.engine import History, Trajectory
from droculo.engine.costs import COUNTED
from droculo.experiments.cell import Cell, Choice, problem_of
from droculo.experiments.rows import SHARES, Row
from droculo.measure import Sample, best_fixed_point, certificate, regret, rewards
from droculo.measure._summary import END, best_rewards, luck, shares, standing_still
from droculo.measure.network import consensus_gaps
from droculo.measure.sampling import MOST_EVALUATIONS
from droculo.problems import Comparator, Problem

Numbers = NDArray[np.float64]

#: a network of more agents is not drawn, and measures of its single agents are not kept
MOST_DRAWN = 400
#: the sample on which a run is measured that is too large to be measured as a whole
SAMPLE = Sample(agents=16, functions=64, rounds=256)
#: nodes of the certificate's quadrature
NODES = 12


class Measured(NamedTuple):
    """Cumulative curves (seeds, times, agents); None where a quantity does not exist."""

    times: NDArray[np.int64]
    reward: Numbers | None
    regret: Numbers | None
    certified: Numbers | None
    error: Numbers | None  # (seeds, agents): of a certificate from a sample
    gap: Numbers  # distance of an agent's decision to the mean decision
    mean_gap: Numbers  # (seeds,): the largest distance, averaged over rounds
    best: Comparator | None
    shares: dict[str, Numbers]  # of the best fixed point, by column, (seeds,); empty where there is none
    moving: Numbers | None  # (times,): what the best fixed point of every stretch between two times earns, cumulative
    drawn: bool  # True if the measures of single agents are kept

    def _at(self, name: str, place: int, k: int, of: Any = np.mean) -> float | None:
        """A curve at a time, its mean or its largest value over agents."""
        curve: Numbers | None = getattr(self, name)
        return None if curve is None else float(of(curve[place, k]))

    def totals(self, place: int) -> Row:
        """The columns of `rows.RUNS` that are measured, for one seed."""
        best = self.best
        return {
            **{name: self._at(name, place, -1) for name in ("reward", "regret", "certified")},
            **{f"{name}_worst": self._at(name, place, -1, np.max) for name in ("regret", "certified")},
            "certified_error": None if self.error is None else float(np.max(self.error[place])),
            "consensus_gap": self._at("gap", place, -1, np.max),
            "consensus_gap_mean": float(self.mean_gap[place]),
            "best": None if best is None else best.total,
            "best_kind": None if best is None else best.kind,
            "best_gap": best.gap if best is not None and np.isfinite(best.gap) else None,
            **{name: float(self.shares[name][place]) if self.shares else None for name in SHARES},
            "sampled": self.error is not None,
        }

    def points(self, place: int, costs: dict[str, Numbers]) -> list[Row]:
        """The rows of `rows.POINTS` of one seed."""
        kept = {"regret": self.regret, "certified": self.certified, "gap": self.gap} if self.drawn else {}
        return [
            {
                "round": int(t),
                **{name: self._at(name, place, k) for name in ("reward", "regret", "certified")},
                "moving": None if self.moving is None else float(self.moving[k]),
                "consensus_gap": self._at("gap", place, k, np.max),
                **{name: float(curve[k]) for name, curve in costs.items()},
                **{f"agent_{name}": curve[place, k].tolist() for name, curve in kept.items() if curve is not None},
            }
            for k, t in enumerate(self.times)
        ]


def measured(cell: Cell, problem: Problem, run: Trajectory, folder: Path, sample: Sample | None = None) -> Measured:
    """Measure a batch of runs at the cell's times, or at their end alone on a sample.

    A run that is too large to be measured as a whole is measured on `SAMPLE`, and no best fixed point is searched for.
    """
    N, T = len(run.agents), run.horizon
    nodes = 1 if problem.linearization.trivial else NODES
    if sample is None and float(N) ** 2 * T * nodes > MOST_EVALUATIONS:
        sample, best = SAMPLE, problem.comparator(T, run.agents)
    else:
        best = best_point(cell.problem, folder, cell.problem.text(folder), T, N)
    given = None if best is None or best.kind in ("exact", "given") else best
    gaps = consensus_gaps(run)
    apart = gaps.max(axis=-1).mean(axis=-1)
    earned = lost = certified = None
    if sample is not None:
        error = np.zeros((len(run.actions), 1))
        if problem.differentiable:
            found = certificate(problem, run, sample=sample)
            earned, certified, error = found.rewards[:, None], found.bound[:, None], np.atleast_2d(found.error)
        if best is not None:
            lost = regret(problem, run, sample=sample, comparator=given).total[:, None]
        return Measured(np.array([T]), earned, lost, certified, error, gaps[:, -1:], apart, best, {}, None, False)
    times = np.unique(np.geomspace(1, T, cell.points).round().astype(np.int64))
    in_round = rewards(problem, run)
    earned = np.cumsum(in_round, axis=1)[:, times - 1]
    worth = {} if best is None else _shares(cell, folder, problem, run, in_round.mean(axis=-1), best)
    if best is not None:
        lost = regret(problem, run, at=times.tolist(), comparator=given).curve
    if problem.differentiable:
        certified = certificate(problem, run, nodes=NODES, at=times.tolist()).curve
    drawn, gaps = N <= MOST_DRAWN, gaps[:, times - 1]
    return Measured(times, earned, lost, certified, None, gaps, apart, best, worth, _moving(problem, run, times), drawn)


def _moving(problem: Problem, run: Trajectory, times: NDArray[np.int64]) -> Numbers | None:
    """What the best fixed point of every stretch between two of these times earns, cumulative; None where it is not known."""
    known = problem.comparators_between(np.append(0, times[:-1]), times, run.agents)
    exact = [found.total for found in known if found is not None and found.kind == "exact"]
    return np.cumsum(exact) if len(exact) == len(times) else None


def _shares(
    cell: Cell, folder: Path, problem: Problem, run: Trajectory, earned: Numbers, best: Comparator
) -> dict[str, Numbers]:
    """The columns `SHARES` from what the average agent earned in every round, (seeds, T); nothing where the best fixed point
    earns nothing in all or in the last rounds."""
    known = best_rewards(problem, run, best)
    if min(known.sum(), known[-max(1, round(END * len(known))) :].sum()) <= 0:
        return {}
    lucky = _luck(cell.problem, folder, cell.problem.text(folder), run.horizon, len(run.agents))
    curves = (np.broadcast_to(each, earned.shape) for each in (earned, standing_still(problem, run), lucky))
    return dict(zip(SHARES, (share for each in curves for share in shares(each, known)), strict=True))


@lru_cache(maxsize=8)
def _luck(choice: Choice, folder: Path, text: str, horizon: int, agents: int) -> Numbers:
    """What a random vertex earns in every round: once for all methods on the same problem."""
    problem = problem_of(choice, folder)
    return luck(problem, History.of(np.broadcast_to(problem.set.center, (horizon, agents, problem.set.dim))))


@lru_cache(maxsize=8)
def best_point(choice: Choice, folder: Path, text: str, horizon: int, agents: int) -> Comparator | None:
    """The best fixed point, searched for once for all methods on the same problem; None where a search would need gradients
    and there are none. (`text` tells versions of a user's problem apart.)"""
    problem = problem_of(choice, folder)
    if not problem.differentiable:
        return problem.comparator(horizon, np.arange(agents))
    return best_fixed_point(problem, horizon, agents)


def costs_at(run: Trajectory, agent: Algorithm, place: int, times: NDArray[np.int64]) -> dict[str, Numbers]:
    """The costs of the average agent after each of these times. Exchanges and queries are exact; counted costs are known at
    the roughly 20 checkpoints of `run.spending` and interpolated between them."""
    bill, spent = run.ledger, run.spending
    planned = agent.timetable.until(run.horizon)
    blocks = np.searchsorted(planned.end[planned.complete], times, side="right")
    slots = np.array([_slots(planned, t) for t in times])
    asked = float(np.mean(bill.gradient_queries[place] + bill.value_queries[place]))

    def curve(name: str) -> Numbers:
        known = spent.counts[name][place].mean(axis=-1)
        return np.interp(times, np.append(0, spent.rounds), np.append(0.0, known))

    size = float(np.mean(bill.bytes[place])) / max(float(np.mean(bill.messages[place])), 1.0)
    return {
        "exchanges": np.asarray(blocks * agent.exchanges, np.float64),
        "bytes": curve("messages") * size,
        **{name: curve(name) for name in COUNTED},
        "queries": np.asarray(asked * slots / planned.slots.sum(), np.float64),
    }


def _slots(planned: Span, t: int) -> int:
    """How many slots the first t rounds touch."""
    begun = np.clip(-(-(t - planned.first) // planned.slot), 0, planned.slots)
    return int(begun.sum())
