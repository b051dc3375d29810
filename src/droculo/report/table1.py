"""The page of Table 1: promised exponents, measured ones, and a plain statement where the two differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from droculo.engine.costs import COUNTED, LABELS
from droculo.experiments import Sweep
from droculo.experiments.studies import table1 as study
from droculo.measure import Rate
from droculo.report.figure import Figure, Panel, Series
from droculo.report.page import Page, Picture, made_by
from droculo.report.summary import Row, RunRows, by_seed, growth, mean, queries
from droculo.report.table import Table, number

#: exponents are read to two digits
ROUNDING = 0.005


@dataclass(frozen=True)
class _Measured:
    """A row of the table with the rows of its runs: with the default oracle and, if it has one, with the paper's."""

    row: study.TableRow
    runs: Sequence[Row]
    paper: Sequence[Row]

    @property
    def feedback(self) -> str:
        return str(self.runs[0]["feedback"])

    @property
    def name(self) -> str:
        return f"{self.row.functions}, {self.row.domain}, {self.feedback}, {self.row.method}"

    def verdict(self) -> str:
        return verdict(growth(self.runs, "certified"), self.row.regret)


@dataclass(frozen=True)
class _Swept:
    """A value of theta, or a network, with the rows of its runs."""

    name: str
    theta: float
    runs: Sequence[Row]
    paper: Sequence[Row]

    @property
    def gap(self) -> float:
        return 1 - float(self.runs[0]["mixing_rate"])

    def mean(self, column: str) -> float:
        found = mean(self.runs, column)
        assert found is not None
        return found


def write_table1(sweep: Sweep, out: Path, command: str) -> str:
    """Write table1.md and its figures; return the page. `command`: the command that made them."""
    assert sweep.spec.study is not None
    rows, made = RunRows(sweep), study.layout(sweep.spec.study.get("size", "quick"))

    def measured(listed: Sequence[study.TableRow]) -> list[_Measured]:
        found = [_Measured(row, rows.of(row.cells), rows.of(row.paper)) for row in listed]
        return [m for m in found if m.runs]

    def swept(settings: Sequence[study.Setting]) -> list[_Swept]:
        found = [_Swept(s.name, s.theta, rows.of(s.cells), rows.of(s.paper)) for s in settings]
        return [s for s in found if s.runs]

    every = [*measured(made.rows), *measured(made.extra_rows)]
    parts = [made_by(command, rows.all), *_table(every, made.size)]
    parts += _dial(swept(made.thetas)) + _networks(swept(made.networks), made.size)
    return Page("Table 1, measured", parts).write(out, "table1")


def verdict(measured: Rate | None, promised: float) -> str:
    """A measured exponent against the promised one, in plain words."""
    if measured is None:
        return "nothing to fit"
    if measured.low <= promised + ROUNDING:
        return "below the theorem's" if measured.high < promised - ROUNDING else "consistent with the theorem's"
    local = measured.local
    if local[-1] <= promised + 0.01:
        why = f"likely a transient, the last local slope is {local[-1]:.3f}"
    elif len(local) > 1 and local[-1] < local[-2] - 0.005:
        why = f"likely a transient, local slopes still fall, to {local[-1]:.3f} at last"
    else:
        why = f"not by a transient alone, local slopes stay near {local[-1]:.3f}; likely constants that these horizons do not outgrow"
    return f"**above the theorem's**; {why}"


def _table(every: Sequence[_Measured], size: study.Size) -> list[str | Table | Picture]:
    above = [m for m in every if m.verdict().startswith("**above")]
    noisy = [m for m in every if m.feedback in ("zeroth order", "bandit") and m not in above]
    panels = [_panel(m) for m in every]
    figure = Figure(panels, "Certified regret against the horizon", columns=5, width=3.2)
    return [
        f"Every row of the paper's Table 1: {size.agents} agents on a ring, {size.dim} coordinates, theta = 1/2 where there is "
        f"a choice, horizons {_list(size.horizons)} (DMFW, whose costs grow like T^2.5: "
        f"{_list(size.short_horizons)}{_paper_horizons(every)}), {size.seeds} seeds: one instance, and for each seed other "
        "rewards and other random numbers of the agents. Rewards are drawn again in every round, so that no method can follow "
        "them. Monotone functions are top-b quadratics on {sum x <= b} or {sum x = b}, non-monotone ones planted cuts on "
        "{sum x = b}, gamma = 2/3 is a convex quadratic; all have a best point known in closed form or by enumeration.",
        "**What is fitted.** The certificate: an upper bound on alpha-regret that is computed from all that was played (up to a "
        "quadrature in Z). It is what the theorems bound; alpha-regret itself is mostly negative, since methods beat their "
        "worst case. For DMFW and Mono-DMFW the theorem speaks of alpha-regret alone, and the certificate lies above it. "
        'Brackets: 95 % intervals (over seeds, or of the fit over horizons, whichever is wider). "Consistent" means that '
        "the interval holds the theorem's exponent, no more.",
        "**One rule for constants**, in all rows and for all methods (`droculo.Scales`): for gradients the step is "
        "10 * 9^(1 - theta) times the theorem's, which is 30 times at theta = 1/2 (for rivals 10 times our reconstruction's), "
        "and 3 times with the paper's oracle, DPOBGA's too; 300 times for single values; the tolerance a hundredth of it (a "
        "tenth with the paper's oracle), delta half the inner radius. Nothing is tuned by row.",
        _exponents(every),
        *_above(above),
        *_slopes(noisy),
        Picture("table1.svg", figure, "Certified regret against the horizon"),
        "## What it is worth and what it costs",
        "At the longest horizon of each row, means over agents and seeds. Regrets are per round; ratio: reward over the best "
        "fixed point's. A negative alpha-regret beats the guarantee.",
        _costs(every),
    ]


def _exponents(every: Sequence[_Measured]) -> Table:
    head = ["F", "set", "feedback", "method", "alpha", "regret: theorem", "measured", "exchanges: theorem", "measured",
            "LOO calls: theorem", "paper's oracle (rivals: own)", "default oracle", "regret's exponent is"]  # fmt: skip
    rows = []
    for m in every:
        row, own = m.row, m.row.method != "DROCULO"
        loo = _interval(growth(m.runs, "loo_calls"))
        rows.append([
            row.functions, row.domain, m.feedback, f"{row.method} ({row.source})", m.runs[0]["alpha"], row.regret,
            _interval(growth(m.runs, "certified")), row.exchanges, _slope(growth(m.runs, "exchanges")), row.loo_calls,
            loo if own else _interval(growth(m.paper, "loo_calls")), None if own else loo, m.verdict(),
        ])  # fmt: skip
    return Table(head, rows, words=4)


def _above(above: Sequence[_Measured]) -> list[str]:
    if not above:
        return ["No row's exponent is above its theorem's."]
    lines = []
    for m in above:
        found = growth(m.runs, "certified")
        assert found is not None
        lines.append(
            f"- {m.name}: {found.slope:.3f} against {m.row.regret:g}. Local slopes {_list(found.local)}: "
            f"{m.verdict().split('; ')[1]}."
        )
    return ["Above the theorem's exponent at these horizons:", "\n".join(lines)]


def _slopes(rows: Sequence[_Measured]) -> list[str]:
    found = [(m, growth(m.runs, "certified")) for m in rows]
    lines = [f"- {m.name}: {_list(rate.local)} (theorem {m.row.regret:g})" for m, rate in found if rate]
    return ["Zeroth-order and bandit rows, slope by slope:", "\n".join(lines)] if lines else []


def _costs(every: Sequence[_Measured]) -> Table:
    costs = {
        "exchanges": "exchanges",
        "bytes": "bytes",
        **{name: label for name, label in LABELS.items() if name in COUNTED},
    }
    del costs["messages"]
    rows: list[list[Any]] = []
    for m in every:
        T = max(r["horizon"] for r in m.runs)
        last = [r for r in m.runs if r["horizon"] == T]
        regrets = [value if value is None else value / T for value in (mean(last, "certified"), mean(last, "regret"))]
        ratio = float(np.mean([r["reward"] / r["best"] for r in last]))
        spent = [mean(last, name) or None for name in costs]
        rows.append([m.name, T, *regrets, ratio, *spent, float(np.mean([queries(r) for r in last]))])
    return Table(
        ["row", "T", "certified regret", "alpha-regret", "ratio", *costs.values(), "queries"], rows
    ).without_empty()


def _panel(m: _Measured) -> Panel:
    horizons, values = by_seed(m.runs, "certified")
    center = values.mean(axis=0)
    line = center[-1] * (np.array(horizons) / horizons[-1]) ** m.row.regret
    series = [
        Series("certificate", horizons, center, values.min(axis=0), values.max(axis=0)),
        Series(f"theorem: T^{m.row.regret:g}", horizons, line, style="--", colour="#444444"),
    ]
    return Panel(f"{m.row.method}: {m.row.functions}, {m.row.domain},\n{m.feedback}", "T", "certified regret", series)


def _dial(thetas: Sequence[_Swept]) -> list[str | Table | Picture]:
    head = ["theta", "regret: theorem", "measured", "exchanges: theorem", "measured", "LOO calls: theorem",
            "paper's oracle", "its horizons", "default oracle", "regret's exponent is"]  # fmt: skip
    rows = []
    for s in thetas:
        certified, promised = growth(s.runs, "certified"), 1 - s.theta / 2
        rows.append([
            s.theta, promised, _interval(certified), s.theta, _slope(growth(s.runs, "exchanges")), 2 * s.theta,
            _interval(growth(s.paper, "loo_calls")), _span(s.paper), _interval(growth(s.runs, "loo_calls")),
            verdict(certified, promised),
        ])  # fmt: skip
    title = "The dial theta: measured exponents over the theorem's lines"
    return [
        "## The dial theta",
        "Monotone functions, 0 in K, full information. Regret 1 - theta/2 against communication theta and LOO calls 2 theta. "
        "The paper's oracle was run at the horizons of its own column, since long ones take too many calls; an oracle that "
        "short runs never need is fitted from where they do.",
        Table(head, rows),
        Picture("theta.svg", Figure(_dial_panels(thetas), title), "Measured exponents over the theorem's lines"),
    ]


def _dial_panels(thetas: Sequence[_Swept]) -> list[Panel]:
    places = [s.theta for s in thetas]
    shown: list[tuple[str, list[float], dict[str, list[Rate | None]]]] = [
        ("regret", [1 - t / 2 for t in places], {"measured": [growth(s.runs, "certified") for s in thetas]}),
        ("exchanges", places, {"measured": [growth(s.runs, "exchanges") for s in thetas]}),
        ("LOO calls", [2 * t for t in places], {
            "the paper's oracle": [growth(s.paper, "loo_calls") for s in thetas],
            "default oracle": [growth(s.runs, "loo_calls") for s in thetas],
        }),
    ]  # fmt: skip
    panels = []
    for what, line, curves in shown:
        series = [Series("theorem", places, line, style="--", colour="#444444")]
        for name, rates in curves.items():
            known = [(t, rate) for t, rate in zip(places, rates, strict=True) if rate is not None]
            slopes, low, high = ([getattr(rate, part) for _, rate in known] for part in ("slope", "low", "high"))
            series.append(Series(name, [t for t, _ in known], slopes, low, high))
        panels.append(Panel(what, "theta", "exponent of T", series, logarithmic=(False, False)))
    return panels


def _networks(networks: Sequence[_Swept], size: study.Size) -> list[str | Table | Picture]:
    T = networks[0].runs[0]["horizon"]
    ordered = sorted(networks, key=lambda s: s.gap)
    rows = [[s.name, s.gap, s.mean("certified") / T, s.mean("consensus_gap_mean"), s.mean("messages")] for s in ordered]
    gaps = [s.gap for s in ordered]
    regret, apart = ([row[place] for row in rows] for place in (2, 3))
    names = ", ".join(f"{s.name} {s.gap:.2g}" for s in ordered)
    panels = [
        Panel(names, "spectral gap", "certified regret a round", [Series("measured", gaps, regret, style="o")]),
        Panel("how far agents are apart", "spectral gap", "distance to the mean",
              [Series("measured", gaps, apart, style="o")], logarithmic=(True, False)),
    ]  # fmt: skip
    return [
        "## The network",
        f"{2 * size.agents} agents; what makes a coordinate good is known to one or two of them only. T = {T}, theta = 1/2. "
        f"The theorem's bound grows like 1/gap.{_disorder(networks)}",
        Table(
            ["network", "spectral gap", "certified regret a round", "farthest agent from the mean", "messages"], rows
        ),
        Picture("topology.svg", Figure(panels, "The network's spectral gap", columns=2), "The spectral gap's effect"),
    ]


def _paper_horizons(every: Sequence[_Measured]) -> str:
    spans = {_span(m.paper) for m in every if m.paper}
    return f"; with the paper's oracle {' and '.join(sorted(map(str, spans)))}" if spans else ""


def _span(rows: Sequence[Row]) -> str | None:
    horizons = sorted({r["horizon"] for r in rows})
    return f"{horizons[0]} to {horizons[-1]}" if horizons else None


def _disorder(networks: Sequence[_Swept]) -> str:
    """Networks that do worse than another with a smaller gap: a bound is not an order."""
    worse = [
        f"{s.name} (than {other.name})"
        for s in networks
        for other in networks
        if other.gap < s.gap and other.mean("certified") < s.mean("certified")
    ]
    return f" It is a bound, not an order: worse than its gap tells is {', '.join(worse)}." if worse else ""


def _interval(found: Rate | None) -> str | None:
    return None if found is None else f"{found.slope:.3f} [{found.low:.3f}, {found.high:.3f}]"


def _slope(found: Rate | None) -> str | None:
    return None if found is None else f"{found.slope:.3f}"


def _list(values: Any) -> str:
    return ", ".join(number(v) for v in values)
