"""One cell of a grid: a problem, a network, an algorithm, a horizon, and the seeds that are run together."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import networkx

from droculo.algorithms import Algorithm
from droculo.engine.results_version import RESULTS_VERSION
from droculo.experiments import catalogue, user_modules
from droculo.networks import Edges, Network
from droculo.problems import Problem

_CATALOGUES = {"problem": catalogue.PROBLEMS, "network": catalogue.NETWORKS, "algorithm": catalogue.ALGORITHMS}
#: what a choice makes, and its public name
_WANTED: dict[str, tuple[type, str]] = {
    "problem": (Problem, "problems.Problem"),
    "network": (Network, "networks.Network"),
    "algorithm": (Algorithm, "algorithms.Algorithm"),
}
#: options that are names themselves
_NAMES: dict[str, Mapping[str, Any]] = {
    "feedback": catalogue.FEEDBACKS, "oracle": catalogue.ORACLES, "draws": catalogue.DRAWS,
}  # fmt: skip
#: what an experiment gives to an algorithm's design
_GIVEN = ("setting", "network", "horizon")


class NotPossibleError(ValueError):
    """A cell that cannot be run, with the reason; `kind` says which of its choices is refused."""

    def __init__(self, kind: str, reason: str):
        super().__init__(reason)
        self.kind = kind


@dataclass(frozen=True)
class Choice:
    """A name of the catalogue, or of the user's modules, and its options."""

    kind: str
    name: str
    options: tuple[tuple[str, Any], ...]

    @classmethod
    def of(cls, kind: str, name: str, **options: Any) -> Choice:
        """A choice with these options, in the order in which a spec would have them."""
        return cls(kind, name, tuple(sorted(options.items())))

    @property
    def label(self) -> str:
        """The name, and the options that were given: names bare, numbers with what they are."""
        given = (value if key == "feedback" else f"{key} = {_short(value)}" for key, value in self.options)
        return ", ".join([self.name, *given])

    def text(self, folder: Path) -> str:
        """A digest of the user's code behind it, if any."""
        return user_modules.digest(self.name, folder) if ":" in self.name else ""


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Cell:
    """One compiled call, whose results are kept in one pair of files."""

    problem: Choice
    network: Choice
    algorithm: Choice
    horizon: int
    seeds: tuple[int, ...]
    points: int
    timed: bool = False  # True if every seed runs alone, timed, after a run that compiles the program

    @property
    def label(self) -> str:
        """The name of the algorithm in tables; feedback and theta come first."""
        options = dict(self.algorithm.options)
        ordered = {k: options[k] for k in ("feedback", "theta") if k in options} | options
        return Choice("algorithm", self.algorithm.name, tuple(ordered.items())).label

    def described(self) -> dict[str, Any]:
        """The cell as plain data."""
        parts = {kind: {"name": c.name, **dict(c.options)} for kind, c in self.choices().items()}
        timed = {"timed": True} if self.timed else {}
        return {**parts, "horizon": self.horizon, "seeds": list(self.seeds), "points": self.points, **timed}

    @property
    def asked(self) -> str:
        """All that was asked for, as JSON: the column `spec` of its rows."""
        return json.dumps(self.described(), sort_keys=True)

    def choices(self) -> dict[str, Choice]:
        return {"problem": self.problem, "network": self.network, "algorithm": self.algorithm}

    def key(self, folder: Path) -> str:
        """The name of its files: a digest of what was asked for, of droculo's version and `RESULTS_VERSION`, and of the text
        of user-defined modules. It holds no computed number, so every machine finds the same key."""
        texts = {c.name: c.text(folder) for c in self.choices().values() if ":" in c.name}
        identity = {**self.described(), "droculo": version("droculo"), "results": RESULTS_VERSION, "own": texts}
        return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:20]


def resolve(kind: str, name: Any, folder: Path) -> Callable[..., Any]:
    """The function behind a name: of the catalogue, or the user's `module:object`."""
    known = _CATALOGUES[kind]
    if not isinstance(name, str):
        raise ValueError(f"the name of a {kind} is text in quotes; got {name!r}.")
    if ":" in name:
        return _user(kind, name, folder)
    if name not in known:
        near = catalogue.nearest(name, known)
        raise ValueError(f"there is no {kind} called {name!r}; {near} To use your own, write 'module:object'.")
    return known[name].make


def _user(kind: str, name: str, folder: Path) -> Callable[..., Any]:
    found = user_modules.named(name, folder)
    made = {"problem": Problem, "network": Network | Edges | networkx.Graph, "algorithm": ()}[kind]
    if made and isinstance(found, made):
        return lambda: found
    if kind == "algorithm" and isinstance(found, type) and hasattr(found, "design"):
        found = found.design
    if not callable(found):
        raise ValueError(f"{name!r} is a {type(found).__name__}, and neither a {kind} nor something that makes one.")
    return found


def known_options(kind: str, make: Callable[..., Any]) -> dict[str, Any] | None:
    """Option -> its default (None where there is none); None where any option is taken."""
    parameters = inspect.signature(make).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return None
    given = _GIVEN if kind == "algorithm" else ()
    known = {n: None if p.default is p.empty else p.default for n, p in parameters.items() if n not in given}
    return known | (catalogue.NETWORK_OPTIONS if kind == "network" else {})


def problem_of(choice: Choice, folder: Path) -> Problem:
    """The problem of a cell; kept, since a sweep asks for the same one many times."""
    return _problem(choice, folder, choice.text(folder))


@lru_cache(maxsize=8)
def _problem(choice: Choice, folder: Path, text: str) -> Problem:
    made: Problem = _made(choice, folder, lambda make, options: make(**options))
    return made


def _made(choice: Choice, folder: Path, call: Callable[[Callable[..., Any], dict[str, Any]], Any]) -> Any:
    """Call what the choice names; an exception becomes the reason why the cell is skipped."""
    options = dict(choice.options)
    for name, known in _NAMES.items():
        if choice.name in catalogue.ALGORITHMS and name in options and options[name] not in known:
            near = catalogue.nearest(options[name], known)
            raise NotPossibleError(choice.kind, f"there is no {name} called {options[name]!r}; {near}")
    # Any exception of a user's code counts; of ours, only those that it raises on purpose.
    reasons = (Exception,) if ":" in choice.name else (ValueError, TypeError, ImportError, ArithmeticError)
    try:
        with user_modules.importing(folder):
            made = call(resolve(choice.kind, choice.name, folder), options)
    except reasons as error:
        said = str(error) if isinstance(error, ValueError | ImportError) else f"{type(error).__name__}: {error}"
        raise NotPossibleError(choice.kind, f"{choice.label} is not possible: {said}") from error
    wanted, public = _WANTED[choice.kind]
    if not isinstance(made, wanted):
        why = f"{choice.name!r} makes a {type(made).__name__}, and not a droculo.{public}."
        raise NotPossibleError(choice.kind, why)
    return made


def network_of(choice: Choice, agents: int | None, folder: Path) -> Network:
    """The network of a cell, with this number of agents unless its options give another."""

    def call(make: Callable[..., Any], options: dict[str, Any]) -> Network:
        return catalogue.network(make, agents if options.get("agents") is None else options["agents"], options)

    made: Network = _made(choice, folder, call)
    return made


def build(cell: Cell, folder: Path) -> tuple[Problem, Network, Algorithm]:
    """The three parts of a run; a `NotPossibleError` says why there are none."""
    problem = problem_of(cell.problem, folder)
    network = network_of(cell.network, problem.agents, folder)
    if problem.agents is not None and network.n_agents != problem.agents:
        agents = f"{cell.network.label} has {network.n_agents} agents"
        raise NotPossibleError("network", f"{agents}, and {cell.problem.label} is posed for {problem.agents}.")

    def design(make: Callable[..., Any], options: dict[str, Any]) -> Any:
        extra = {"network": network} if "network" in inspect.signature(make).parameters else {}
        return make(problem.setting, horizon=cell.horizon, **extra, **options)

    agent: Algorithm = _made(cell.algorithm, folder, design)
    if agent.horizon != cell.horizon:
        why = f"{cell.label} was told to play {cell.horizon} rounds, and what it made has the horizon {agent.horizon}"
        raise NotPossibleError("algorithm", f"{why}: pass the horizon on to its design.")
    if agent.feedback.order == 1 and not problem.differentiable:
        why = f"{cell.label} asks for gradients, and {cell.problem.label} answers with values only"
        raise NotPossibleError("algorithm", f"{why}: use bandit or zeroth-order feedback.")
    return problem, network, agent
