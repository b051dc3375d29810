"""The rows of the paper's Table 1, and those beyond it, as data: the cells that measure each, and its promised exponents."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from droculo import feedback
from droculo.experiments.catalogue import ALGORITHMS, FEEDBACKS, Entry
from droculo.experiments.cell import Cell, Choice
from droculo.feedback import TABLE_1


@dataclass(frozen=True)
class Size:
    """The size of the study."""

    agents: int
    dim: int
    seeds: int
    horizons: Sequence[int]
    short_horizons: Sequence[int]  # for methods with more than one exchange a round
    thetas: Sequence[float]
    graphs: Sequence[str]
    most_calls: float  # the paper's oracle is not run beyond T^(2 theta) = this
    paper: bool  # True if it is run in every row, False if in the sweep of theta alone


#: powers of 4, so that at theta = 1/2 blocks and slots divide the horizon
SIZES = {
    "quick": Size(
        agents=4, dim=5, seeds=2, horizons=(16, 256), short_horizons=(4, 8), thetas=(0.5, 1.0), graphs=("ring", "complete"),
        most_calls=2.0**16, paper=False,
    ),
    "full": Size(
        agents=8, dim=10, seeds=4, horizons=(2**8, 2**10, 2**12, 2**14, 2**16), short_horizons=(16, 32, 64, 128, 256),
        thetas=(0.25, 0.5, 0.75, 1.0), graphs=("ring", "grid", "star", "complete", "erdos-renyi"), most_calls=2.0**14,
        paper=True,
    ),
}  # fmt: skip
THETA = 0.5


@dataclass(frozen=True)
class TableRow:
    """A method on a class of problems: what theorems promise, and the cells that measure it."""

    functions: str
    domain: str
    method: str
    source: str
    regret: float  # the promised exponents
    exchanges: float
    loo_calls: float | None  # None: no linear oracle
    cells: Sequence[Cell]
    paper: Sequence[Cell] = ()  # the same with the paper's oracle, if it is another


@dataclass(frozen=True)
class Setting:
    """One value of a parameter that is swept, with its cells."""

    name: str
    theta: float
    cells: Sequence[Cell]
    paper: Sequence[Cell] = ()


@dataclass(frozen=True)
class Layout:
    """All parts of the study."""

    size: Size
    rows: Sequence[TableRow]  # in the paper's order
    extra_rows: Sequence[TableRow]  # gamma < 1, which the table has no row for, and later methods
    thetas: Sequence[Setting]
    networks: Sequence[Setting]


def layout(size: str = "quick") -> Layout:
    """The rows of the study and the cells of each."""
    if size not in SIZES:
        raise ValueError(f"there is no size {size!r}; there are {', '.join(SIZES)}.")
    chosen = SIZES[size]
    rivals = [
        (entry.promise.in_table_1, _rival(chosen, name, entry)) for name, entry in ALGORITHMS.items() if entry.promise
    ]
    ours = [
        _row(chosen, functions, domain, case, model, problem, **options)
        for functions, domain, case, problem, options, models in _CLASSES
        for model in models
    ]
    known = [row for row in ours if "gamma" not in row.functions]
    return Layout(
        size=chosen,
        rows=[*(row for listed, row in rivals if listed), *known],
        extra_rows=[*(row for row in ours if row not in known), *(row for listed, row in rivals if not listed)],
        thetas=[_of_theta(chosen, theta) for theta in chosen.thetas],
        networks=[_of_network(chosen, graph) for graph in chosen.graphs],
    )


def cells(size: str = "quick") -> list[Cell]:
    """All cells of the study; some belong to several of its parts."""
    made = layout(size)
    groups: list[TableRow | Setting] = [*made.rows, *made.extra_rows, *made.thetas, *made.networks]
    return list(dict.fromkeys(cell for group in groups for cell in (*group.cells, *group.paper)))


_ALL, _PLAYED = ("full-information", "semi-bandit", "zeroth-order", "bandit"), ("semi-bandit", "bandit")
#: functions, domain, case, problem with its options, and the feedbacks that the table has rows for
_CLASSES: tuple[tuple[str, str, str, str, dict[str, Any], Sequence[str]], ...] = (
    ("monotone", "0 in K", "A2", "top-b", {}, _ALL),
    ("monotone", "general", "A1", "top-b", {"face": True}, _PLAYED),
    ("non-monotone", "general", "A3", "cut", {}, _ALL),
    ("monotone, gamma < 1", "0 in K", "A2", "weak", {}, ("full-information",)),
    ("monotone, gamma < 1", "general", "A1", "weak", {"face": True}, ("semi-bandit",)),
)


def _cells(
    size: Size, problem: str, algorithm: Choice, horizons: Sequence[int], network: Choice | None = None, **options: Any
) -> list[Cell]:
    """A cell for each horizon and seed; the adversary of a run has the seed of its agents."""
    ring, options = Choice.of("network", "ring"), {"agents": size.agents, "dim": size.dim, **options}
    return [
        Cell(Choice.of("problem", problem, **options, seed=seed), network or ring, algorithm, T, (seed,), 2)
        for T in horizons
        for seed in range(size.seeds)
    ]


def _rival(size: Size, name: str, entry: Entry) -> TableRow:
    promise = entry.promise
    assert promise is not None
    horizons = size.short_horizons if promise.exchanges > 1 else size.horizons
    found = _cells(size, "top-b", Choice.of("algorithm", name), horizons)
    return TableRow(
        "monotone", "0 in K", entry.title, promise.source, promise.regret, promise.exchanges, promise.loo_calls, found,
    )  # fmt: skip


def _row(size: Size, functions: str, domain: str, case: str, model: str, problem: str, **options: Any) -> TableRow:
    known = TABLE_1[case, FEEDBACKS[model]().kind]
    assert isinstance(known, feedback.table.Row)
    found = _cells(size, problem, _droculo(model), size.horizons, **options)
    paper = _cells(size, problem, _droculo(model, oracle="paper"), _affordable(size, THETA), **options)
    return TableRow(
        functions, domain, "DROCULO", known.source, known.regret_exponent(THETA), THETA, 2 * THETA, found,
        paper if size.paper else (),
    )  # fmt: skip


def _droculo(model: str = "full-information", theta: float = THETA, **options: Any) -> Choice:
    return Choice.of("algorithm", "droculo", feedback=model, theta=theta, **options)


def _of_theta(size: Size, theta: float) -> Setting:
    found = _cells(size, "top-b", _droculo(theta=theta), size.horizons)
    paper = _cells(size, "top-b", _droculo(theta=theta, oracle="paper"), _affordable(size, theta))
    return Setting(f"theta = {theta:g}", theta, found, paper)


def _of_network(size: Size, graph: str) -> Setting:
    """Twice as many agents, so that the ring is long."""
    network = Choice.of("network", graph, **({"p": 0.4, "seed": 0} if graph == "erdos-renyi" else {}))
    horizon = size.horizons[len(size.horizons) // 2]
    return Setting(graph, THETA, _cells(size, "local-top-b", _droculo(), [horizon], network, agents=2 * size.agents))


def _affordable(size: Size, theta: float) -> list[int]:
    """Horizons for the paper's oracle, whose calls grow like T^(2 theta); five short ones if the usual ones are too long."""
    short = [T for T in size.horizons if T ** (2 * theta) <= size.most_calls]
    if len(short) >= min(3, len(size.horizons)):
        return short
    top = int(math.log2(size.most_calls) / (2 * theta))
    return [2**k for k in range(top - 4, top + 1)]
