"""The page on when a projection pays, with a verdict that is made of the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from droculo.experiments.crossover import AGENTS, LONG, METHODS, TURNS, Race
from droculo.report.compare import made_by
from droculo.report.figures import COLOURS, Panel, Series, draw
from droculo.report.markdown import number, table

PROJECTING, *LINEAR = METHODS
#: times that differ by less than this factor are called even: measured again, ratios of short times move by as much
EVEN = 1.2
#: how many times faster the literature says that projection-free methods are, at most
CLAIM = 6


def write_crossover(races: Sequence[Race], out: Path, command: str) -> str:
    """Write crossover.md, which names the command that made it, and crossover.svg; return the page."""
    out.mkdir(parents=True, exist_ok=True)
    page = _page(races, command)
    (out / "crossover.md").write_text(page)
    shown = [("microseconds", "microseconds per agent-round"), ("certified", "certified regret a round")]
    panels = [_panel(race, *what) for what in shown for race in races]
    draw(
        out / "crossover.svg", "Projection against linear oracle", panels, columns=len(races), width=5, one_legend=True
    )
    return page


def who_wins(name: str, dims: Sequence[int], projecting: Sequence[float], linear: Sequence[float]) -> str:
    """Who is faster where, and where the lead changes, from the times of both.

    >>> who_wins("DROCULO", [8, 16, 32], [1.0, 2.0, 8.0], [2.0, 2.0, 4.0])
    'DOBGA is faster at d = 8 (2 times), DROCULO at d = 32 (2 times); they are even at d = 16. The crossover lies between d = 8 and d = 32, near d = 16.'
    >>> who_wins("DROCULO", [8, 16], [3.0, 3.0], [1.0, 2.0])
    'DROCULO is faster at every d from 8 to 16 (1.5 to 3 times). There is no crossover in this range.'
    """
    ratios = np.asarray(projecting, float) / np.asarray(linear, float)
    lead = np.where(ratios > EVEN, 1, np.where(ratios < 1 / EVEN, -1, 0))
    parts: list[str] = []
    for side, who, factors in ((-1, PROJECTING, 1 / ratios), (1, name, ratios)):
        if np.any(lead == side):
            faster = "" if parts else " is faster"
            parts.append(f"{who}{faster} at {_places(dims, lead == side)} ({_range(factors[lead == side])} times)")
    if not parts:
        return f"{PROJECTING} and {name} are even at {_places(dims, lead == 0)}."
    text = ", ".join(parts)
    if np.any(lead == 0):
        text += f"; they are even at {_places(dims, lead == 0)}"
    clear = np.flatnonzero(lead)
    changes = [(a, b) for a, b in pairwise(clear) if lead[a] != lead[b]]
    if not changes:
        return f"{text}. There is no crossover in this range."
    if len(changes) > 1:
        return f"{text}. The lead changes {len(changes)} times: there is no clear crossover in this range."
    a, b = map(int, changes[0])
    near = _root(np.log(dims[a : b + 1]), np.log(ratios[a : b + 1]))
    return f"{text}. The crossover lies between d = {dims[a]} and d = {dims[b]}, near d = {np.exp(near):.0f}."


def claim(races: Sequence[Race]) -> str:
    """What was measured, beside what the literature says of the speed of projection-free methods."""
    spans, most = [], 0.0
    for method in LINEAR:
        found = [
            (before / after, f"{race.ground.name}, d = {dim}")
            for race in races
            for before, after, dim in zip(
                race.of(PROJECTING, "microseconds"), race.of(method, "microseconds"), race.ground.dims, strict=True
            )
        ]
        low, high = min(found), max(found)
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


def _page(races: Sequence[Race], command: str) -> str:
    sections = "\n\n".join(_section(race) for race in races)
    return f"""# When a projection pays

{made_by(command)}

{PROJECTING} makes one Euclidean projection in every round; DROCULO calls a linear optimization oracle (LOO) instead, in every round \
(theta = 1) or once every sqrt(T) rounds (theta = 1/2, which also talks only then). {AGENTS} agents on a ring, gradients, the default \
constants. Times are of compiled runs that record nothing, after a run that compiled them; the methods take turns, and the \
median counts (of up to {TURNS}; who was timed for {LONG:g} s is not timed again). Times within a factor of {EVEN:g} of each other \
are called even. The certified regret is an upper bound on alpha-regret, from a run that \
recorded every round.

{claim(races)}{_mixed(races)}

![Time and regret against the dimension](crossover.svg)

{sections}
"""


def _mixed(races: Sequence[Race]) -> str:
    if len(frozenset().union(*(race.sources for race in races))) <= 1:
        return ""
    return (
        "\n\n**Not all of this was timed with the same code.** Delete the folder crossover, and run the command again."
    )


def _section(race: Race) -> str:
    ground = race.ground
    times = {method: race.of(method, "microseconds") for method in METHODS}
    regrets = {method: race.of(method, "certified") for method in METHODS}
    calls = {method: race.of(method, "loo_calls") for method in LINEAR}
    short = [method.removeprefix("DROCULO, ") for method in LINEAR]
    names = ["d", PROJECTING, *short]
    ratios = [np.divide(times[PROJECTING], times[method]) for method in LINEAR]
    speed = zip(ground.dims, *times.values(), *ratios, strict=True)
    worth = zip(ground.dims, *regrets.values(), *calls.values(), strict=True)
    verdicts = "\n".join(
        f"- At {name}: {who_wins('DROCULO', ground.dims, times[PROJECTING], times[method])} "
        f"{_at_what(regrets[PROJECTING], regrets[method], ratio)}"
        for method, name, ratio in zip(LINEAR, short, ratios, strict=True)
    )
    fixed = race.start / AGENTS / ground.horizon * 1e6
    return f"""## On the {ground.name}: {ground.oracles}

T = {ground.horizon}. Microseconds per agent-round, and how many times as fast as {PROJECTING} that is:

{table([*names, *(f"{name}: times as fast" for name in short)], list(speed))}

Certified regret a round, and LOO calls a round:

{table([*names, *(f"{name}: LOO calls" for name in short)], list(worth))}

{verdicts}

A run of a single round takes {1000 * race.start:.0f} ms. Spread over all rounds these are {number(fixed)} of the microseconds above, in all \
columns: they do not change who is faster, but draw the ratios of short times towards 1."""


def _at_what(projecting: Sequence[float], linear: Sequence[float], faster: np.ndarray) -> str:
    """Speed is cheap where regret is large."""
    ratios = np.divide(linear, projecting)
    text = f"DROCULO's certified regret is {_range(ratios)} times {PROJECTING}'s"
    won = faster > EVEN
    if np.any(won) and not np.all(won):
        text += f", and {_range(ratios[won])} times where it is faster"
    return text + "."


def _panel(race: Race, what: str, up: str) -> Panel:
    series = [
        Series(method, race.ground.dims, race.of(method, what), colour=colour)
        for method, colour in zip(METHODS, COLOURS, strict=False)
    ]
    return Panel(f"{race.ground.name}: {race.ground.oracles}", "d", up, series)


def _places(dims: Sequence[int], where: np.ndarray) -> str:
    chosen = [d for d, yes in zip(dims, where, strict=True) if yes]
    if len(chosen) == len(dims) > 1:
        return f"every d from {dims[0]} to {dims[-1]}"
    return f"d = {', '.join(map(str, chosen))}"


def _range(values: np.ndarray) -> str:
    low, high = number(float(np.min(values))), number(float(np.max(values)))
    return low if low == high else f"{low} to {high}"


def _root(x: np.ndarray, y: np.ndarray) -> float:
    """Where y takes the sign of its end, by a straight line between neighbours. Its two ends differ in sign."""
    after = int(np.flatnonzero(np.sign(y) != np.sign(y[-1]))[-1]) + 1
    x0, x1, y0, y1 = x[after - 1], x[after], y[after - 1], y[after]
    return float(x0 + (x1 - x0) * y0 / (y0 - y1))
