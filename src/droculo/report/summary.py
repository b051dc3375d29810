"""Rows of a sweep, chosen and summed up: what the views have in common."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from droculo.engine.costs import LABELS, SPENT
from droculo.experiments import Cell, Sweep
from droculo.experiments.catalogue import title
from droculo.measure import Rate, fit_exponent

Row = dict[str, Any]


class RunRows:
    """The rows of a sweep's runs, by the cells that they belong to."""

    def __init__(self, sweep: Sweep):
        self.all: list[Row] = sweep.results.runs.to_pylist()
        self._by_cell: dict[str, list[Row]] = {}
        for row in self.all:
            self._by_cell.setdefault(row["spec"], []).append(row)

    def of(self, cells: Iterable[Cell]) -> list[Row]:
        """All rows of these cells, in their order; cells that were not run have none."""
        return [row for cell in cells for row in self._by_cell.get(cell.asked, ())]


def method(row: Row) -> str:
    """The name of a row's method in tables and figures."""
    return title(json.loads(row["spec"])["algorithm"])


def queries(row: Row) -> float:
    """Gradients and values together."""
    return float(row["gradient_queries"] + row["value_queries"])


def mean(rows: Sequence[Row], column: str) -> float | None:
    """The mean over rows; None if a value is missing."""
    values = [row[column] for row in rows]
    return None if any(value is None for value in values) else float(np.mean(values))


_COUNTED = [name for name in SPENT if name != "messages"]
_SPENT_ON = ("exchanges", "bytes", *(LABELS[name] for name in _COUNTED), "queries")

#: after the name of a method that does not beat standing still, and what it means
MARK = "\N{DAGGER}"
MARKED = f"{MARK} In the last quarter this method does not beat standing still."
#: the head of the columns that `worth` returns
WORTH = ("certified regret a round", "alpha-regret a round", "share of the best", "in the last quarter", *_SPENT_ON)


def worth(rows: Sequence[Row]) -> list[float | None]:
    """Certified regret and alpha-regret a round, the shares of the best fixed point's reward, and costs: means over runs of
    one horizon."""
    T = rows[0]["horizon"]
    regrets = [None if value is None else value / T for value in (mean(rows, "certified"), mean(rows, "regret"))]
    counted = [mean(rows, name) or None for name in _COUNTED]
    asked = float(np.mean([queries(row) for row in rows]))
    shares = [mean(rows, name) for name in ("share", "share_last")]
    return [*regrets, *shares, mean(rows, "exchanges"), mean(rows, "bytes"), *counted, asked]


def learned(rows: Sequence[Row]) -> bool:
    """False if standing still at the start earns at least as much in the last quarter, in the mean over these rows."""
    agents, still = mean(rows, "share_last"), mean(rows, "still_last")
    return agents is None or still is None or agents > still


def marked(name: str, rows: Sequence[Row]) -> str:
    """The name of a method, with a mark if it does not beat standing still."""
    return name if learned(rows) else f"{name} {MARK}"


def without_learning(rows: Sequence[Row]) -> str:
    """What is earned without learning, on one problem and at one horizon, in a sentence; empty where it is not known."""

    def said(column: str) -> str:
        known = {f"{row[column]:.1%}" for row in rows if row[column] is not None}
        return " to ".join(sorted({min(known, key=_percent), max(known, key=_percent)}, key=_percent)) if known else ""

    shares = [said(column) for column in ("still", "still_last", "luck", "luck_last")]
    if not all(shares):
        return ""
    still, still_last, luck, luck_last = shares
    return (
        f"Without learning: standing still at the start earns {still} of the best fixed point ({still_last} in the last "
        f"quarter), a constant chosen by luck, the mean over random vertices, {luck} ({luck_last})."
    )


def _percent(text: str) -> float:
    return float(text.rstrip("%"))


def by_seed(rows: Sequence[Row], column: str) -> tuple[list[int], np.ndarray]:
    """The horizons, and the column as (seeds, horizons)."""
    horizons, seeds = sorted({r["horizon"] for r in rows}), sorted({r["seed"] for r in rows})
    found = {(r["seed"], r["horizon"]): r[column] for r in rows}
    return horizons, np.array([[found[s, T] for T in horizons] for s in seeds], float)


def growth(rows: Sequence[Row], column: str) -> Rate | None:
    """The growth of a column with the horizon; None if it was not measured or is zero.

    LOO calls are fitted from the horizon on at which all seeds have some: an oracle that short runs never need costs nothing.
    """
    if not rows:
        return None
    horizons, values = by_seed(rows, column)
    if column == "loo_calls":
        first = next((k for k in range(len(horizons)) if np.all(values[:, k:] > 0)), len(horizons))
        horizons, values = horizons[first:], values[:, first:]
    if len(horizons) < 2 or not np.all(values > 0):
        return None
    return fit_exponent(horizons, values)
