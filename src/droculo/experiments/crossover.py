"""When a projection pays: DOBGA, which projects, against DROCULO, which asks a linear oracle, as the dimension grows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax
import numpy as np
from tqdm import tqdm

import droculo as library
from droculo import feedback, networks
from droculo.algorithms import DOBGA, Algorithm
from droculo.engine import Record, Trajectory
from droculo.engine.memory_maps import clear_caches_if_needed
from droculo.experiments.rows import FULL, droculo, top_b
from droculo.experiments.whole_files import write_whole
from droculo.linearizations import Setting
from droculo.measure import certificate
from droculo.networks import Network
from droculo.problems import NQP, Problem
from droculo.simulator import simulate

AGENTS = 8
#: every method is timed so often, in turns
TURNS = 9
#: but not again once its timed runs took so many seconds: noise is small beside them
LONG = 10.0
#: memory mappings before a dimension starts, so that no program is forgotten between the warm-up and what is timed
FEW_MAPS = 20_000

METHODS: dict[str, Callable[[Setting, int], Algorithm]] = {
    "DOBGA": lambda setting, T: DOBGA.design(setting, horizon=T),
    "DROCULO, theta = 1": droculo(feedback.full_information(), 1.0),
    "DROCULO, theta = 1/2": droculo(feedback.full_information(), 0.5),
}


@dataclass(frozen=True)
class Ground:
    """A kind of set, with a problem on it for every dimension."""

    name: str
    oracles: str  # how its projection and its linear oracle work
    problem: Callable[[int], Problem]
    dims: Sequence[int]
    horizon: int


def _budget(dim: int) -> Problem:
    return top_b(replace(FULL, agents=AGENTS, dim=dim), 0)


def _polytope(dim: int) -> Problem:
    return NQP.random(agents=AGENTS, dim=dim, constraints=dim // 2, seed=0)


GROUNDS: tuple[Ground, ...] = (
    Ground("budget", "closed forms for both", _budget, (8, 16, 32, 64, 128, 256), 1024),
    Ground("polytope", "a quadratic program against a linear one", _polytope, (8, 16, 32, 64, 128), 256),
)
QUICK_GROUNDS = tuple(replace(ground, dims=(8, 16), horizon=64) for ground in GROUNDS)


@dataclass(frozen=True)
class Pace:
    """One method in one dimension: how fast it is, and at what regret."""

    method: str
    dim: int
    microseconds: float  # per agent-round
    certified: float  # regret a round, from above
    loo_calls: float  # a round
    projections: float  # a round
    seconds: Sequence[float]  # of each timed run


@dataclass(frozen=True)
class Race:
    """All methods on one ground."""

    ground: Ground
    start: float  # seconds that a run takes besides its rounds
    paces: Sequence[Pace]
    sources: frozenset[str]  # digests of the code that was timed: one, unless some of it was kept from earlier

    def of(self, method: str, quantity: str) -> list[float]:
        """One number of one method, for each dimension."""
        return [float(getattr(pace, quantity)) for pace in self.paces if pace.method == method]


def race(ground: Ground, *, turns: int = TURNS, folder: Path | None = None) -> Race:
    """Run all methods in all dimensions of a ground. What is in `folder` is not measured again."""
    network = networks.from_graph(networks.ring(AGENTS))
    known = {
        "droculo": version("droculo"), "jax": version("jax"), "agents": AGENTS, "horizon": ground.horizon,
        "turns": turns, "methods": list(METHODS),
    }  # fmt: skip
    paces: list[Pace] = []
    sources = set()
    for dim in tqdm(ground.dims, desc=ground.name, leave=False, disable=None):
        file = None if folder is None else folder / f"{ground.name}-{dim}.json"
        kept = _recall(file, known, lambda dim=dim: _in_turns(ground, dim, network, turns))  # type: ignore[misc]
        paces += [Pace(**each) for each in kept["found"]]
        sources.add(kept["source"])
    file = None if folder is None else folder / f"{ground.name}-start.json"
    start = _recall(file, known, lambda: _start(ground, network))["found"]
    return Race(ground, start, paces, frozenset(sources))


def _in_turns(ground: Ground, dim: int, network: Network, turns: int) -> list[dict[str, Any]]:
    """The methods one after another, again and again, so that a slow moment of the computer meets all of them."""
    clear_caches_if_needed(FEW_MAPS)
    problem, T = ground.problem(dim), ground.horizon
    agents = {name: design(problem.setting, T) for name, design in METHODS.items()}
    spent: dict[str, list[float]] = {name: [] for name in agents}

    def go(name: str, record: Record | None = None) -> Trajectory:
        return simulate(problem, agents[name], network, key=0, record=record, progress=False, quick=False)

    for name in agents:
        go(name, Record(every=0))  # compiles
    for _ in range(turns):
        for name, times in spent.items():
            if sum(times) < LONG:
                times.append(go(name, Record(every=0)).ledger.seconds)
    found = []
    for name, times in spent.items():
        run = go(name)
        bill = run.ledger.mean()
        found.append(
            Pace(
                method=name,
                dim=dim,
                microseconds=float(np.median(times)) / AGENTS / T * 1e6,
                certified=float(np.mean(certificate(problem, run).bound)) / T,
                loo_calls=bill["loo_calls"] / T,
                projections=bill["projections"] / T,
                seconds=times,
            )
        )
    return [asdict(pace) for pace in found]


def _start(ground: Ground, network: Network) -> float:
    """What a run costs before and around its rounds, seen in a run of one round."""
    problem = ground.problem(ground.dims[0])
    agent = DOBGA.design(problem.setting, horizon=ground.horizon)
    runs = [
        simulate(problem, agent, network, key=0, rounds=1, record=Record(every=0), progress=False, quick=False)
        for _ in range(4)
    ]
    return float(np.median([run.ledger.seconds for run in runs[1:]]))


def _recall(file: Path | None, known: dict[str, Any], measure: Callable[[], Any]) -> dict[str, Any]:
    """What the file has, if it was measured in the same way; else it is measured, and written there."""
    identity = {**known, "device": jax.devices()[0].device_kind}
    if file is not None and file.exists():
        kept: dict[str, Any] = json.loads(file.read_text())
        if kept["identity"] == identity:
            return kept
    kept = {"identity": identity, "source": _source(), "found": measure()}
    if file is not None:
        write_whole(file, json.dumps(kept, indent=1) + "\n")
    return kept


@cache  # as it was when this process loaded it
def _source() -> str:
    """A digest of the library's code. A change that leaves all results alone can change how long they take."""
    files = sorted(Path(library.__file__).parent.rglob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


def measure_crossover(*, quick: bool = False, folder: Path | None = None) -> list[Race]:
    """Both grounds. In `folder` / crossover lies what was measured before, and is not measured again."""
    kept = None if folder is None else folder / "crossover"
    grounds = QUICK_GROUNDS if quick else GROUNDS
    return [race(ground, turns=1 if quick else TURNS, folder=kept) for ground in grounds]
