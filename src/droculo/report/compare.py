"""The page of a comparison: regret and costs of every method on one problem."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from droculo.engine.costs import LABELS
from droculo.experiments import Sweep
from droculo.report.figure import COLOURS, Figure, Panel, Series
from droculo.report.page import Page, Part, Picture, made_by
from droculo.report.summary import MARKED, WORTH, Row, RunRows, learned, marked, method, without_learning, worth
from droculo.report.table import Table, number

#: the costs that regret is drawn against
AGAINST = ("exchanges", "bytes", "loo_calls", "queries")


class _Method(NamedTuple):
    """One method: its runs, and the recorded times of all of them, seed by seed."""

    name: str
    runs: Sequence[Row]
    points: Sequence[Row]

    def curve(self, column: str) -> np.ndarray:
        """The mean over seeds at every time."""
        values = np.array([point[column] for point in self.points], np.float64)
        return np.mean(values.reshape(len(self.runs), -1), axis=0)

    @property
    def seconds(self) -> float:
        return float(np.mean([seconds for row in self.runs for seconds in row["timings"]]))


def write_compare(sweep: Sweep, out: Path, command: str) -> str:
    """Write compare.md and its figures; return the page. `command`: the command that made them."""
    rows = RunRows(sweep)
    points: dict[str, list[Row]] = {}
    for point in sweep.results.points.to_pylist():
        points.setdefault(point["run"], []).append(point)
    groups = [runs for runs in (rows.of([cell]) for cell in sweep.spec.cells) if runs]
    found = [_Method(method(runs[0]), runs, points[runs[0]["run"]]) for runs in groups]
    regrets = Figure(_panels(found, "regret", "alpha-regret a round"), "alpha-regret a round", one_legend=True)
    rewards = Figure(_panels(found, "reward", "reward a round"), "Reward a round", one_legend=True)
    head = ["method", *WORTH, "seconds"]
    about, reasons = rows.all[0], [f"- {reason}" for _, reason in sweep.spec.left_out]
    parts: list[Part] = [
        made_by(command, rows.all),
        f"{about['problem']} on {about['domain']} (case {about['case']}, alpha = {about['alpha']:.3g}): {about['agents']} "
        f"agents, {about['dim']} coordinates, {about['horizon']} rounds; a network of {len(about['links']) // 2} links with "
        f"mixing rate {about['mixing_rate']:.3g}. All methods meet the same adversary and have the same seeds "
        f"({', '.join(str(row['seed']) for row in found[0].runs)}). The best fixed point earns "
        f"{number(about['best'] / about['horizon'])} a round.",
        without_learning(rows.all),
        Table(head, [[marked(m.name, m.runs), *worth(m.runs), m.seconds] for m in found]).without_empty(),
        "" if all(learned(m.runs) for m in found) else MARKED,
        "Means over agents and seeds. The certified regret is an upper bound on alpha-regret that needs no optimum; a negative "
        "alpha-regret means more than alpha times the best. Exchanges, bytes, calls and queries are those of an agent, over all "
        "rounds; seconds are those of the whole run, all agents in one process with every round recorded, after a first run "
        "that compiled it and is not counted.",
        "\n".join(["Not applicable:\n", *reasons]) if reasons else "All methods are applicable.",
        Picture("compare.svg", regrets, "alpha-regret a round"),
        Picture("compare-reward.svg", rewards, "Reward a round"),
        "The point of a curve at t is the mean over the first t rounds. Costs are those of the average agent until then; seconds "
        "are taken as the total times t/T. Curves begin with the first whole unit, and methods without any cost of a kind are "
        "left out of its panel.",
    ]
    return Page("Methods head to head", parts).write(out, "compare")


def _panels(found: Sequence[_Method], column: str, up: str) -> list[Panel]:
    """Against the rounds and against each cost. Every method looks the same in all of them."""

    def series(place: int, m: _Method, cost: np.ndarray, least: float) -> Series:
        colour, line = COLOURS[place % len(COLOURS)], "-" if place < len(COLOURS) else "--"
        begun = cost >= least  # half an exchange is none
        return Series(m.name, cost[begun], (m.curve(column) / m.curve("round"))[begun], style=line, colour=colour)

    def panel(across: str, costs: Sequence[np.ndarray], least: float = 1.0) -> Panel:
        pairs = enumerate(zip(found, costs, strict=True))
        shown = [series(place, m, cost, least) for place, (m, cost) in pairs if np.any(cost >= least)]
        return Panel(f"against {across}", across, up, shown, logarithmic=(True, False))

    return [
        panel("rounds", [m.curve("round") for m in found]),
        *(panel(LABELS.get(name, name), [m.curve(name) for m in found]) for name in AGAINST),
        panel("seconds", [m.seconds * m.curve("round") / m.runs[0]["horizon"] for m in found], 0.0),
    ]
