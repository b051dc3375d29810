"""Play one cell of a grid and measure it: rows of numbers, one for each seed and one for each recorded point."""

from __future__ import annotations

import json
import platform
import time
from datetime import UTC, datetime
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from droculo.algorithms import Algorithm, Droculo
from droculo.engine import Trajectory
from droculo.engine.costs import COSTS, COUNTED
from droculo.engine.results_version import RESULTS_VERSION
from droculo.experiments import catalogue
from droculo.experiments.cell import Cell, Choice, build, problem_of
from droculo.feedback import look_up
from droculo.measure import Sample, best_fixed_point, certificate, regret, rewards
from droculo.measure.network import consensus_gaps
from droculo.measure.sampling import MOST_EVALUATIONS
from droculo.networks import Network
from droculo.problems import Comparator, Problem
from droculo.runtime import Faults
from droculo.simulator import simulate

Numbers = NDArray[np.float64]
Row = dict[str, Any]

#: a network of more agents or links than this is not drawn, and its agents are not kept one by one
MOST_DRAWN = 400
#: what is measured of a run that is too large to measure whole
SAMPLE = Sample(agents=16, functions=64, rounds=256)
#: nodes of the certificate's quadrature
NODES = 12


class Rows(NamedTuple):
    """What is kept of a cell."""

    runs: list[Row]  # one for each seed
    points: list[Row]  # one for each seed and recorded time


class Driven(NamedTuple):
    """A cell that processes of their own have played: all seeds, stacked, and what went wrong in each."""

    driver: str
    processes: int
    run: Trajectory
    faults: tuple[Faults, ...]

    def about(self, place: int) -> Row:
        faults = self.faults[place]
        return {
            "driver": self.driver,
            "processes": self.processes,
            "missed_rounds": int(faults.missed_rounds.sum()),
            "failed_links": faults.failed_links,
            "disagreements": faults.disagreements,
        }


def play(cell: Cell, folder: Path, driven: Driven | None = None) -> Rows:
    """Run all seeds of a cell in one compiled call (unless processes have played them), and measure every one of them."""
    began = time.perf_counter()
    problem, network, agent = build(cell, folder)
    keys = jnp.stack([jax.random.key(seed) for seed in cell.seeds])
    run = simulate(problem, agent, network, key=keys, progress=False) if driven is None else driven.run
    times = np.unique(np.geomspace(1, cell.horizon, cell.points).round().astype(np.int64))
    measured = _measured(cell, problem, run, times, folder)
    common = {"run": cell.key(folder), **_about(cell, problem, network, agent), **_provenance(cell)}
    bill = run.ledger
    rows, points = [], []
    for place, seed in enumerate(cell.seeds):
        costs = {name: float(np.mean(bill.counts[name][place])) for name in COSTS}
        driver = {"driver": "simulator"} if driven is None else driven.about(place)
        seconds = time.perf_counter() - began + (0.0 if driven is None else driven.run.ledger.seconds)
        rows.append({**common, "seed": seed, **driver, **measured.totals(place), **costs, "seconds": seconds})
        points += measured.points(place, seed, _costs_at(run, agent, place, measured.times))
    return Rows(rows, [{"run": common["run"], **point} for point in points])


class _Measured(NamedTuple):
    """Cumulative curves (seeds, times, agents); None where a quantity does not exist."""

    times: NDArray[np.int64]
    nodes: NDArray[np.int64]  # the agents that were measured
    reward: Numbers | None
    regret: Numbers | None
    certified: Numbers | None
    gap: Numbers  # distance of an agent's decision to the mean decision
    best: Comparator | None
    sampled: bool
    drawn: bool  # whether agents are kept one by one

    def totals(self, place: int) -> Row:
        def ends(curve: Numbers | None, of: Any = np.mean) -> float | None:
            return None if curve is None else float(of(curve[place, -1]))

        known = self.best is not None
        return {
            "reward": ends(self.reward),
            "regret": ends(self.regret),
            "regret_worst": ends(self.regret, np.max),
            "certified": ends(self.certified),
            "certified_worst": ends(self.certified, np.max),
            "consensus_gap": float(np.max(self.gap[place, -1])),
            "best": self.best.total if self.best is not None else None,
            "best_kind": self.best.kind if self.best is not None else None,
            "best_gap": self.best.gap if known and self.best is not None and np.isfinite(self.best.gap) else None,
            "sampled": self.sampled,
        }

    def points(self, place: int, seed: int, costs: dict[str, Numbers]) -> list[Row]:
        def of(curve: Numbers | None, k: int) -> float | None:
            return None if curve is None else float(np.mean(curve[place, k]))

        def each(curve: Numbers | None, k: int) -> list[float] | None:
            return None if curve is None or not self.drawn else [float(v) for v in curve[place, k]]

        return [
            {
                "seed": seed,
                "round": int(t),
                "reward": of(self.reward, k),
                "regret": of(self.regret, k),
                "certified": of(self.certified, k),
                "consensus_gap": float(np.max(self.gap[place, k])),
                **{name: float(curve[k]) for name, curve in costs.items()},
                "agent_regret": each(self.regret, k),
                "agent_certified": each(self.certified, k),
                "agent_gap": each(self.gap, k),
            }
            for k, t in enumerate(self.times)
        ]


def _measured(cell: Cell, problem: Problem, run: Trajectory, times: NDArray[np.int64], folder: Path) -> _Measured:
    N, T = len(run.agents), run.horizon
    nodes = 1 if problem.linearization.trivial else NODES
    if float(N) ** 2 * T * nodes > MOST_EVALUATIONS:
        return _estimated(problem, run)
    at = times.tolist()
    earned = np.cumsum(rewards(problem, run), axis=1)[:, times - 1]
    best = _comparator(cell.problem, folder, cell.problem.text(folder), T, N)
    lost = certified = None
    if best is not None:
        exact = best.kind == "exact"
        lost = regret(problem, run, at=at, comparator=None if exact else best).curve
    if problem.differentiable:
        certified = certificate(problem, run, nodes=NODES, at=at).curve
    gap = consensus_gaps(run)[:, times - 1]
    return _Measured(times, np.arange(N), earned, lost, certified, gap, best, False, N <= MOST_DRAWN)


def _estimated(problem: Problem, run: Trajectory) -> _Measured:
    """A run of very many agents and rounds: its end alone, on a sample. Its best fixed point is not searched for."""
    T = run.horizon
    best = problem.comparator(T, run.agents)
    certified = certificate(problem, run, sample=SAMPLE) if problem.differentiable else None
    lost = regret(problem, run, sample=SAMPLE) if best is not None else None
    nodes = certified.agents if certified is not None else np.zeros(0, np.int64)
    earned = certified.rewards[:, None] if certified is not None else None
    return _Measured(
        np.array([T]), nodes, earned, None if lost is None else lost.total[:, None],
        None if certified is None else certified.bound[:, None], consensus_gaps(run)[:, -1:], best, True, False,
    )  # fmt: skip


@lru_cache(maxsize=8)
def _comparator(choice: Choice, folder: Path, text: str, horizon: int, agents: int) -> Comparator | None:
    """The best fixed point, searched for once for all methods that play the same problem; None where a search would need
    gradients and there are none. (`text` tells versions of a problem of one's own apart.)"""
    problem = problem_of(choice, folder)
    if not problem.differentiable:
        return problem.comparator(horizon, np.arange(agents))
    return best_fixed_point(problem, horizon, agents)


def _costs_at(run: Trajectory, agent: Algorithm, place: int, times: NDArray[np.int64]) -> dict[str, Numbers]:
    """What the average agent had spent by these times. Exchanges and queries are exact; the rest is known at the some twenty
    times of `spending` and interpolated between them."""
    bill, spent = run.ledger, run.spending
    blocks = -(-times // (agent.block * agent.slot))
    slots, all_slots = -(-times // agent.slot), -(-run.horizon // agent.slot)
    asked = float(np.mean(bill.gradient_queries[place] + bill.value_queries[place]))

    def curve(name: str) -> Numbers:
        known = spent.counts[name][place].mean(axis=-1)
        return np.interp(times, np.append(0, spent.rounds), np.append(0.0, known))

    messages = curve("messages")
    size = float(np.mean(bill.bytes[place])) / max(float(np.mean(bill.messages[place])), 1.0)
    return {
        "exchanges": np.asarray(blocks * agent.exchanges, np.float64),
        "bytes": messages * size,
        **{name: curve(name) for name in COUNTED},
        "queries": np.asarray(asked * slots / all_slots, np.float64),
    }


def _about(cell: Cell, problem: Problem, network: Network, agent: Algorithm) -> Row:
    linearization = problem.linearization.for_set(problem.set)
    options = dict(cell.algorithm.options)
    theta = options.get("theta", 0.5 if cell.algorithm.name in ("droculo", "droculo-published") else None)
    promised = _promise(cell, linearization.case, problem, agent, theta)
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
        "block": agent.block,
        "slot": agent.slot,
        "promised_exponent": promised[0],
        "promised_by": promised[1],
        "links": np.unique(links, axis=0).ravel().tolist() if few else None,
    }


def _promise(
    cell: Cell, case: str, problem: Problem, agent: Algorithm, theta: float | None
) -> tuple[float, str] | tuple[None, None]:
    """The power of T that a theorem promises for the regret of this method, and which one."""
    if isinstance(agent, Droculo) and theta is not None:
        row = look_up(problem.linearization, agent.feedback, theta)
        return row.regret_exponent(float(theta)), row.source
    entry = catalogue.ALGORITHMS.get(cell.algorithm.name)
    shortened = dict(cell.algorithm.options).get("inner") is not None  # fewer steps than DMFW's theorem asks for
    if entry is None or entry.promise is None or case != "A2" or shortened:
        return None, None
    return entry.promise


def _provenance(cell: Cell) -> Row:
    device = jax.devices()[0]
    return {
        "spec": json.dumps(cell.described(), sort_keys=True),
        "droculo": version("droculo"),
        "results_version": RESULTS_VERSION,
        "jax": version("jax"),
        "numpy": version("numpy"),
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "device": f"{device.platform}: {device.device_kind}",
        "played_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
