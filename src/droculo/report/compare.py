"""The page of a comparison: what every method was worth and what it cost."""

from __future__ import annotations

import platform
from importlib.metadata import version
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from droculo.experiments.compare import Comparison, Outcome
from droculo.report.figures import COLOURS, Panel, Series, draw
from droculo.report.markdown import number, table

#: what a reading calls it -> what the page calls it
COSTS = {
    "exchanges": "exchanges",
    "bytes": "bytes",
    "loo_calls": "LOO calls",
    "queries": "queries",
    "seconds": "seconds",
}


def write_compare(found: Comparison, out: Path, command: str) -> str:
    """Write compare.md, which names the command that made it, compare.svg and compare-reward.svg; return the page."""
    out.mkdir(parents=True, exist_ok=True)
    page = _page(found, command)
    (out / "compare.md").write_text(page)
    regret, reward = {o.name: o.regret for o in found.outcomes}, {o.name: o.reward for o in found.outcomes}
    draw(out / "compare.svg", "alpha-regret a round", _panels(found, regret, "alpha-regret a round"), one_legend=True)
    draw(out / "compare-reward.svg", "Reward a round", _panels(found, reward, "reward a round"), one_legend=True)
    return page


def made_by(command: str) -> str:
    """The line under a page's title.

    >>> made_by("droculo compare").split(" (")[0]
    'Made by `droculo compare`'
    """
    return (
        f"Made by `{command}` (droculo {version('droculo')}, JAX {version('jax')}, Python {platform.python_version()})."
    )


def _page(found: Comparison, command: str) -> str:
    T = found.horizon
    return f"""# Methods head to head

{made_by(command)}

{found.problem} on {found.domain} (case {found.case}, alpha = {found.alpha:.3g}): {found.agents} agents, {found.dim} \
coordinates, {T} rounds; a network of {found.links} links with mixing rate {found.mixing_rate:.3g}. All methods meet the same \
adversary and have the same seeds ({", ".join(map(str, found.seeds))}). The best fixed point earns {number(found.best)} a round.

{_table(found)}

Means over agents and seeds. The certified regret is an upper bound on alpha-regret that needs no optimum; a negative \
alpha-regret means more than alpha times the best. Exchanges, bytes, calls and queries are an agent's, over all rounds; seconds \
are the whole run's, all agents in one process with every round recorded, after a first run that compiled it and is not counted.

{_left_out(found)}

![alpha-regret a round](compare.svg)

![Reward a round](compare-reward.svg)

A curve's point at t is the mean over the first t of T = {T} rounds. Its cost is taken as the total times t/T: for exchanges, bytes and \
queries that is exact up to a block, for LOO calls and seconds it is an average. Curves begin with the first whole unit, and who spends nothing of a kind is left \
out of that panel.
"""


def _table(found: Comparison) -> str:
    head = [
        "method", "certified regret a round", "alpha-regret a round", "reward over the best", "exchanges", "bytes", "LOO calls",
        "projections", "separations", "queries", "seconds",
    ]  # fmt: skip
    rows = [
        [
            o.name, o.mean("certified") / found.horizon, o.mean("regret") / found.horizon, o.mean("ratio"), o.mean("exchanges"),
            o.mean("bytes"), *(o.mean(what) or None for what in ("loo_calls", "projections", "separations")),
            o.mean("queries"), o.mean("seconds"),
        ]
        for o in found.outcomes
    ]  # fmt: skip
    return table(head, rows)


def _left_out(found: Comparison) -> str:
    if not found.left_out:
        return "All methods are applicable."
    return "Not applicable:\n\n" + "\n".join(f"- {name}: {reason}" for name, reason in found.left_out.items())


def _panels(found: Comparison, curves: dict[str, NDArray[np.float64]], up: str) -> list[Panel]:
    """Against the rounds and against each cost. Every method looks the same in all of them."""

    def series(number: int, outcome: Outcome, total: float, least: float) -> Series:
        colour, line = COLOURS[number % len(COLOURS)], "-" if number < len(COLOURS) else "--"
        cost, height = total * found.times / found.horizon, curves[outcome.name] / found.times
        begun = cost >= least  # half an exchange is none
        return Series(outcome.name, cost[begun], height[begun], style=line, colour=colour)

    def panel(across: str, totals: list[float]) -> Panel:
        least = 0 if across == "seconds" else 1
        pairs = enumerate(zip(found.outcomes, totals, strict=True))
        shown = [series(n, outcome, total, least) for n, (outcome, total) in pairs if total >= least]
        return Panel(f"against {across}", across, up, shown, logarithmic=(True, False))

    rounds = panel("rounds", [found.horizon for _ in found.outcomes])
    return [rounds, *(panel(name, [o.mean(what) for o in found.outcomes]) for what, name in COSTS.items())]
