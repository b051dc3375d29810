"""The page on when a projection pays, with a verdict that follows from the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path

import numpy as np

from droculo.experiments import Sweep
from droculo.experiments.catalogue import title
from droculo.experiments.studies.crossover import AGENTS, METHODS, Ground, grounds
from droculo.experiments.sweeps import LONG, TURNS
from droculo.report.figure import Figure, Panel, Series
from droculo.report.page import Page, Part, Picture, made_by
from droculo.report.summary import Row, RunRows
from droculo.report.table import Table, number

#: titles of the method that projects, and of those that ask a linear oracle
ALL = [title({"name": method.name, **dict(method.options)}) for method in METHODS]
PROJECTING, *LINEAR = ALL
#: times that differ by less than this factor are called even: measured again, ratios of short times move by as much
EVEN = 1.2
#: how many times faster the literature says that projection-free methods are, at most
CLAIM = 6


@dataclass(frozen=True)
class _Measured:
    """One ground: a row for each method in each of the dimensions that were measured."""

    ground: Ground
    dims: Sequence[int]
    rows: dict[tuple[str, int], Row]
    start: float | None  # seconds that a run takes besides its rounds

    def of(self, method: str, column: str) -> list[float]:
        """A number of one method for each dimension: `microseconds` per agent-round, or a column per round."""
        found = [self.rows[method, dim] for dim in self.dims]
        if column == "microseconds":
            return [float(np.median(row["timings"])) / row["agents"] / row["horizon"] * 1e6 for row in found]
        return [float(row[column]) / row["horizon"] for row in found]


def write_crossover(sweep: Sweep, out: Path, command: str) -> str:
    """Write crossover.md and its figure; return the page. `command`: the command that made them."""
    assert sweep.spec.study is not None
    rows = RunRows(sweep)
    found = [_measured(ground, rows) for ground in grounds(sweep.spec.study.get("quick", False))]
    shown = [("microseconds", "microseconds per agent-round"), ("certified", "certified regret a round")]
    panels = []
    for (column, up), each in product(shown, found):
        curves = [Series(method, each.dims, each.of(method, column)) for method in ALL]
        panels.append(Panel(f"{each.ground.name}: {each.ground.oracles}", "d", up, curves))
    figure = Figure(panels, "Projection against linear oracle", columns=len(found), width=5, one_legend=True)
    versions = {(row["droculo"], row["results_version"], row["jax"], row["python"]) for row in rows.all}
    mixed = "**Not all of this was timed with the same versions.** Delete the results, and run the command again."
    parts: list[Part] = [
        made_by(command, rows.all),
        f"{PROJECTING} makes one Euclidean projection in every round; DROCULO calls a linear optimization oracle (LOO) instead, "
        "in every round (theta = 1) or once every sqrt(T) rounds (theta = 1/2, which also exchanges only then). "
        f"{AGENTS} agents on a ring, gradients, the default constants. Times are of compiled runs that record nothing, after a "
        f"run that compiled them; the methods take turns, and the median counts (of up to {TURNS}; a method that was timed for "
        f"{LONG:g} s is not timed again). Times within a factor of {EVEN:g} of each other are called even. The certified regret "
        "is an upper bound on alpha-regret, from a run that recorded every round.",
        claim(found),
        mixed if len(versions) > 1 else "",
        Picture("crossover.svg", figure, "Time and regret against the dimension"),
        *(part for each in found for part in _section(each)),
    ]
    return Page("When a projection pays", parts).write(out, "crossover")


def _measured(ground: Ground, rows: RunRows) -> _Measured:
    found = {
        (method, dim): row
        for dim in ground.dims
        for method, cell in zip(ALL, ground.cells(dim), strict=True)
        for row in rows.of([cell])
    }
    dims = [dim for dim in ground.dims if all((method, dim) in found for method in ALL)]
    start = [float(np.median(row["timings"])) for row in rows.of([ground.start])]
    return _Measured(ground, dims, found, start[0] if start else None)


def who_wins(name: str, dims: Sequence[int], projecting: Sequence[float], linear: Sequence[float]) -> str:
    """Which method is faster where, and where the lead changes, from the times of both.

    >>> who_wins("DROCULO", [8, 16, 32], [1.0, 2.0, 8.0], [2.0, 2.0, 4.0])
    'DOBGA is faster at d = 8 (2 times), DROCULO at d = 32 (2 times); they are even at d = 16. The crossover lies between d = 8 and d = 32, near d = 16.'
    >>> who_wins("DROCULO", [8, 16], [3.0, 3.0], [1.0, 2.0])
    'DROCULO is faster at every d from 8 to 16 (1.5 to 3 times). There is no crossover in this range.'
    """
    ratios = np.asarray(projecting, float) / np.asarray(linear, float)
    lead = np.where(ratios > EVEN, 1, np.where(ratios < 1 / EVEN, -1, 0))
    parts: list[str] = []
    for leads, faster_one, factors in ((lead == -1, PROJECTING, 1 / ratios), (lead == 1, name, ratios)):
        if np.any(leads):
            faster = "" if parts else " is faster"
            parts.append(f"{faster_one}{faster} at {_places(dims, leads)} ({_range(factors[leads])} times)")
    if not parts:
        return f"{PROJECTING} and {name} are even at {_places(dims, lead == 0)}."
    text = ", ".join(parts)
    if np.any(lead == 0):
        text += f"; they are even at {_places(dims, lead == 0)}"
    clear = np.flatnonzero(lead)
    changes = [(int(a), int(b)) for a, b in pairwise(clear) if lead[a] != lead[b]]
    if not changes:
        return f"{text}. There is no crossover in this range."
    if len(changes) > 1:
        return f"{text}. The lead changes {len(changes)} times: there is no clear crossover in this range."
    ((a, b),) = changes
    near = _root(np.log(dims[a : b + 1]), np.log(ratios[a : b + 1]))
    return f"{text}. The crossover lies between d = {dims[a]} and d = {dims[b]}, near d = {np.exp(near):.0f}."


def claim(found: Sequence[_Measured]) -> str:
    """What was measured, beside what the literature says of the speed of projection-free methods."""
    spans, most = [], 0.0
    for method in LINEAR:
        ratios = []
        for each in found:
            times = zip(each.of(PROJECTING, "microseconds"), each.of(method, "microseconds"), each.dims, strict=True)
            ratios += [(before / after, f"{each.ground.name}, d = {dim}") for before, after, dim in times]
        low, high = min(ratios), max(ratios)
        most = max(most, high[0])
        spans.append(f"{method} is {number(low[0])} ({low[1]}) to {number(high[0])} times ({high[1]}) as fast")
    text = (
        f"The literature speaks of projection-free methods that are up to {CLAIM} times faster than projecting ones. "
        f"Measured here against {PROJECTING}: {'; '.join(spans)}. "
    )
    if most >= CLAIM:
        return f"{text}So {CLAIM} times is reached."
    if most > EVEN:
        return f"{text}So it is faster in places, and {CLAIM} times was not seen."
    return f"{text}So it was nowhere faster."


def _section(found: _Measured) -> list[Part]:
    ground = found.ground
    times, regrets = ({m: found.of(m, column) for m in ALL} for column in ("microseconds", "certified"))
    short = [method.removeprefix("DROCULO, ") for method in LINEAR]
    names = ["d", PROJECTING, *short]
    ratios = [np.divide(times[PROJECTING], times[method]) for method in LINEAR]
    speed = [*zip(found.dims, *times.values(), *ratios, strict=True)]
    calls = [found.of(method, "loo_calls") for method in LINEAR]
    worth = [*zip(found.dims, *regrets.values(), *calls, strict=True)]
    verdicts = "\n".join(
        f"- At {name}: {who_wins('DROCULO', found.dims, times[PROJECTING], times[method])} "
        f"{_at_what(regrets[PROJECTING], regrets[method], ratio)}"
        for method, name, ratio in zip(LINEAR, short, ratios, strict=True)
    )
    return [
        f"## On the {ground.name}: {ground.oracles}",
        f"T = {ground.horizon}. Microseconds per agent-round, and how many times as fast as {PROJECTING} that is:",
        Table([*names, *(f"{name}: times as fast" for name in short)], speed),
        "Certified regret a round, and LOO calls a round:",
        Table([*names, *(f"{name}: LOO calls" for name in short)], worth),
        verdicts,
        _fixed(found),
    ]


def _fixed(found: _Measured) -> str:
    if found.start is None:
        return ""
    share = number(found.start / AGENTS / found.ground.horizon * 1e6)
    return (
        f"A run of a single round takes {1000 * found.start:.0f} ms. Spread over all rounds these are {share} of the microseconds "
        "above, in all columns: they do not change which method is faster, but draw the ratios of short times towards 1."
    )


def _at_what(projecting: Sequence[float], linear: Sequence[float], faster: np.ndarray) -> str:
    """Certified regret of the faster method, for fairness."""
    ratios = np.divide(linear, projecting)
    text = f"DROCULO's certified regret is {_range(ratios)} times {PROJECTING}'s"
    won = faster > EVEN
    if np.any(won) and not np.all(won):
        text += f", and {_range(ratios[won])} times where it is faster"
    return text + "."


def _places(dims: Sequence[int], where: np.ndarray) -> str:
    chosen = [d for d, yes in zip(dims, where, strict=True) if yes]
    if len(chosen) == len(dims) > 1:
        return f"every d from {dims[0]} to {dims[-1]}"
    return f"d = {', '.join(map(str, chosen))}"


def _range(values: np.ndarray) -> str:
    low, high = number(float(np.min(values))), number(float(np.max(values)))
    return low if low == high else f"{low} to {high}"


def _root(x: np.ndarray, y: np.ndarray) -> float:
    """The x at which y takes the sign of its end, by linear interpolation. The ends of y differ in sign."""
    after = int(np.flatnonzero(np.sign(y) != np.sign(y[-1]))[-1]) + 1
    x0, x1, y0, y1 = x[after - 1], x[after], y[after - 1], y[after]
    return float(x0 + (x1 - x0) * y0 / (y0 - y1))
