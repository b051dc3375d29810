"""What one run is worth and what it cost, in numbers that can be kept."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from droculo.algorithms import Algorithm
from droculo.engine import Trajectory
from droculo.experiments.whole_files import write_whole
from droculo.measure import certificate, consensus_gap, regret
from droculo.networks import Network
from droculo.problems import Problem
from droculo.simulator import simulate


@dataclass(frozen=True)
class Reading:
    """One run, averaged over its agents."""

    horizon: int
    seed: int
    certified: float  # the certificate: an upper bound on alpha-regret
    regret: float  # alpha-regret against the best fixed point
    ratio: float  # reward over the best fixed point's
    consensus: float  # how far the decisions are from their mean, averaged over rounds
    exchanges: float
    messages: float
    bytes: float
    loo_calls: float
    projections: float
    separations: float
    queries: float
    seconds: float


def read(problem: Problem, algorithm: Algorithm, network: Network, seed: int) -> Reading:
    """Play and measure."""
    return measured(problem, simulate(problem, algorithm, network, key=seed, progress=False), seed)


def measured(problem: Problem, run: Trajectory, seed: int) -> Reading:
    """The numbers of a run whose every round was recorded."""
    against = regret(problem, run)
    bill = run.ledger.mean()
    return Reading(
        horizon=run.horizon,
        seed=seed,
        certified=float(np.mean(certificate(problem, run).bound)),
        regret=float(np.mean(against.total)),
        ratio=float(np.mean(against.ratio)),
        consensus=float(np.mean(consensus_gap(run))),
        queries=bill["gradient_queries"] + bill["value_queries"],
        **{name: bill[name] for name in _COSTS},
    )


_COSTS = ("exchanges", "messages", "bytes", "loo_calls", "projections", "separations", "seconds")


@dataclass(frozen=True)
class Shelf:
    """A folder of readings: what was measured once, at the same size and with the same version, is not measured again.

    A change of the code or of a row between two versions is not seen: delete the folder then.
    """

    folder: Path | None = None

    def recall(self, name: str, identity: dict[str, Any], measure: Callable[[], Sequence[Reading]]) -> list[Reading]:
        """The readings kept under this name, or new ones."""
        identity = {"droculo": version("droculo"), **identity}
        file = None if self.folder is None else self.folder / f"{name}.json"
        if file is not None and file.exists():
            kept = json.loads(file.read_text())
            if kept["identity"] == json.loads(json.dumps(identity)):
                return [Reading(**each) for each in kept["readings"]]
        found = list(measure())
        if file is not None:
            kept = {"identity": identity, "made_with": _versions(), "readings": [asdict(r) for r in found]}
            write_whole(file, json.dumps(kept, indent=1) + "\n")
        return found

    def made_with(self) -> str:
        """The versions that made what is kept here."""
        files = sorted(self.folder.glob("*.json")) if self.folder is not None else []
        return "; ".join(sorted({json.loads(file.read_text())["made_with"] for file in files}))


def _versions() -> str:
    return f"droculo {version('droculo')}, JAX {version('jax')}, Python {platform.python_version()}"
