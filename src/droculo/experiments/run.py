"""Run one cell: play it by any driver, and measure it. The result is always rows."""

from __future__ import annotations

import platform
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from droculo.algorithms import Algorithm, Droculo
from droculo.engine import Trajectory
from droculo.engine.breaches import BREACHES, DeclarationWarning
from droculo.engine.costs import COSTS, COUNTED, CostCurve, Ledger
from droculo.engine.memory_maps import clear_caches_if_needed
from droculo.engine.results_version import RESULTS_VERSION
from droculo.experiments import catalogue
from droculo.experiments.cell import Cell, build
from droculo.experiments.measures import MOST_DRAWN, costs_at, measured
from droculo.experiments.rows import Row, Rows
from droculo.feedback.table import look_up
from droculo.measure import Sample
from droculo.networks import Network
from droculo.problems import Problem
from droculo.simulator import simulate

#: memory mappings before runs are timed, so that no program is forgotten between the warm-up and the timed run
FEW_MAPS = 20_000


class Played(NamedTuple):
    """What a driver returns: the runs of all seeds as one batch, and for each seed the columns that only the driver knows."""

    run: Trajectory
    about: Sequence[Row]
    seconds: float = 0.0  # that passed before the driver was called


Driver = Callable[[Problem, Algorithm, Network, Sequence[int]], Played]


class CellRun(NamedTuple):
    """A cell that was played, with its parts."""

    cell: Cell
    folder: Path
    problem: Problem
    network: Network
    algorithm: Algorithm
    played: Played
    began: float


def simulated(problem: Problem, algorithm: Algorithm, network: Network, seeds: Sequence[int]) -> Played:
    """Simulate all seeds in one compiled call."""
    keys = jnp.stack([jax.random.key(seed) for seed in seeds])
    run = simulate(problem, algorithm, network, key=keys, progress=False)
    return Played(run, [{"driver": "simulator"}] * len(seeds))


def timed(problem: Problem, algorithm: Algorithm, network: Network, seeds: Sequence[int]) -> Played:
    """Simulate every seed alone and time it, fully optimized, after a first run that compiles the program."""
    clear_caches_if_needed(FEW_MAPS)
    simulate(problem, algorithm, network, key=seeds[0], progress=False, quick=False)
    runs = [simulate(problem, algorithm, network, key=seed, progress=False, quick=False) for seed in seeds]
    return Played(stacked(runs), [{"driver": "simulator", "timings": [run.ledger.seconds]} for run in runs])


def stacked(runs: Sequence[Trajectory]) -> Trajectory:
    """Runs of one cell as a batch, with a first axis for their seeds."""
    bills = [run.ledger for run in runs]
    costs = {name: np.stack([bill.counts[name] for bill in bills]) for name in COSTS}
    curves = {name: np.stack([run.spending.counts[name] for run in runs]) for name in COUNTED}
    actions, decisions = (np.stack([getattr(run, name) for run in runs]) for name in ("actions", "decisions"))
    first = {name: np.stack([bill.first[name] for bill in bills]) for name in BREACHES}
    ledger, spending = (
        Ledger(costs, sum(bill.seconds for bill in bills), first),
        CostCurve(runs[0].spending.rounds, curves),
    )
    return replace(runs[0], actions=actions, decisions=decisions, states=None, ledger=ledger, spending=spending)


def run_cell(cell: Cell, folder: Path, driver: Driver | None = None) -> Rows:
    """Play a cell, by default in the simulator, and measure every seed of it."""
    return rows_of(play_cell(cell, folder, driver))


def play_cell(cell: Cell, folder: Path, driver: Driver | None = None) -> CellRun:
    """Play a cell without measuring it, for a picture of the runs themselves."""
    began = time.perf_counter()
    problem, network, algorithm = build(cell, folder)
    driver = driver or (timed if cell.timed else simulated)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeclarationWarning)  # they are a column of the rows
        played = driver(problem, algorithm, network, cell.seeds)
    return CellRun(cell, folder, problem, network, algorithm, played, began)


def rows_of(found: CellRun, sample: Sample | None = None) -> Rows:
    """Measure a cell that was played; on a sample, its end alone."""
    cell, run = found.cell, found.played.run
    values = measured(cell, found.problem, run, found.folder, sample)
    said = "\n".join(run.warnings) or None
    common = {"run": cell.key(found.folder), **_about(found), "warnings": said, **_provenance(cell)}
    rows, points = [], []
    for place, (seed, about) in enumerate(zip(cell.seeds, found.played.about, strict=True)):
        costs = {name: float(np.mean(run.ledger.counts[name][place])) for name in COSTS}
        seconds = time.perf_counter() - found.began + found.played.seconds
        rows.append({**common, "seed": seed, **about, **values.totals(place), **costs, "seconds": seconds})
        spent = costs_at(run, found.algorithm, place, values.times)
        points += [{"run": common["run"], "seed": seed, **point} for point in values.points(place, spent)]
    return Rows(rows, points)


def _about(found: CellRun) -> Row:
    cell, problem, network, agent = found.cell, found.problem, found.network, found.algorithm
    linearization = problem.linearization.for_set(problem.set)
    # The theta that was asked for, or the default of an algorithm of the catalogue that has one.
    entry = catalogue.ALGORITHMS.get(cell.algorithm.name)
    usual = None if entry is None else entry.options().get("theta")
    theta: float | None = dict(cell.algorithm.options).get("theta", usual)
    promised, source = _promise(cell, linearization.case, problem, agent, theta)
    links = np.concatenate([weights.edges.ends for weights in network.cycle])
    few = network.n_agents <= MOST_DRAWN and len(links) <= 10 * MOST_DRAWN
    return {
        "problem": cell.problem.label,
        "network": cell.network.label,
        "algorithm": cell.algorithm.name,
        "label": cell.label,
        "feedback": str(agent.feedback.kind),
        "theta": None if theta is None else float(theta),
        "horizon": cell.horizon,
        "agents": network.n_agents,
        "dim": problem.set.dim,
        "domain": type(problem.set).__name__,
        "case": linearization.case,
        "alpha": None if linearization.alpha is None else float(linearization.alpha),
        "mixing_rate": float(network.mixing_rate),
        "blocks": int(agent.timetable.until(cell.horizon).complete.sum()),
        "promised_exponent": promised,
        "promised_by": source,
        "links": np.unique(links, axis=0).ravel().tolist() if few else None,
    }


def _promise(
    cell: Cell, case: str, problem: Problem, agent: Algorithm, theta: float | None
) -> tuple[float, str] | tuple[None, None]:
    """The power of T that a theorem promises for the regret of this method, and the theorem."""
    if isinstance(agent, Droculo) and theta is not None:
        row = look_up(problem.linearization, agent.feedback, theta, noisy=problem.setting.noisy)
        return row.regret_exponent(float(theta)), row.source
    entry = catalogue.ALGORITHMS.get(cell.algorithm.name)
    shortened = dict(cell.algorithm.options).get("inner") is not None  # fewer steps than DMFW's theorem asks for
    if entry is None or entry.promise is None or case != "A2" or shortened:
        return None, None
    return entry.promise.regret, entry.promise.source


def _provenance(cell: Cell) -> Row:
    device = jax.devices()[0]
    return {
        "spec": cell.asked,
        **{name: version(name) for name in ("droculo", "jax", "numpy")},
        "results_version": RESULTS_VERSION,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "device": f"{device.platform}: {device.device_kind}",
        "played_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
