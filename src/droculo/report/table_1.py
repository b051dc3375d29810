"""The page of Table 1: what theorems promise, what was measured, and in plain words where the two differ."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from droculo.experiments.readings import Reading
from droculo.experiments.rows import Size
from droculo.experiments.table_1 import Measured, Swept, Table1, by_seed, growth
from droculo.measure import Rate
from droculo.report.figures import Panel, Series, draw
from droculo.report.markdown import number, table

#: exponents are read to two digits
ROUNDING = 0.005


def write_table_1(found: Table1, out: Path, command: str) -> str:
    """Write table1.md and its three figures; return the page. `command`: what made them."""
    out.mkdir(parents=True, exist_ok=True)
    panels = [_panel(m) for m in (*found.rows, *found.beyond)]
    draw(out / "table1.svg", "Certified regret against the horizon", panels, columns=5, width=3.2)
    draw(
        out / "theta.svg",
        "The dial theta: measured exponents over the theorem's lines",
        _theta_panels(found),
        columns=3,
    )
    draw(out / "topology.svg", "The network's spectral gap", _topology_panels(found), columns=2)
    page = _page(found, command)
    (out / "table1.md").write_text(page)
    return page


def verdict(measured: Rate | None, promised: float) -> str:
    """What became of a promised exponent, in plain words."""
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


def _page(found: Table1, command: str) -> str:
    size = found.size
    every = [*found.rows, *found.beyond]
    above = [m for m in every if verdict(m.exponent("certified"), m.row.regret).startswith("**above")]
    zeroth = [m for m in every if m.row.model in ("zeroth order", "bandit") and m not in above]
    return f"""# Table 1, measured

Made by `{command}` ({found.made_with}).

Every row of the paper's Table 1: {size.agents} agents on a ring, {size.dim} coordinates, theta = 1/2 where there is a \
choice, horizons {_list(size.horizons)} (DMFW, whose costs grow like T^2.5: {_list(size.dmfw_horizons)}{_paper_horizons(found)}), \
{size.seeds} seeds: one instance, and for each seed other rewards and other random numbers of the agents. Rewards are drawn anew in \
every round, so that no method can follow them. Monotone functions are top-b quadratics on {{sum x <= b}} or {{sum x = b}}, non-monotone ones planted cuts on \
{{sum x = b}}, gamma = 2/3 is a convex quadratic; all have a best point known in closed form or by enumeration.

**What is fitted.** The certificate: an upper bound on alpha-regret that is computed from all that was played (up to a quadrature \
in Z). It is what the theorems bound; alpha-regret itself is mostly negative, since methods beat their worst case. For DMFW and Mono-DMFW the \
theorem speaks of alpha-regret alone, and the certificate lies above it. Brackets: 95 % intervals (over seeds, or of the \
fit over horizons, whichever is wider). "Consistent" means that the interval holds the theorem's exponent, no more.

**One rule for constants**, in all rows and for all methods (`droculo.Scales`): for gradients the step is 10 * 9^(1 - theta) times the \
theorem's, which is 30 times at theta = 1/2 (for rivals 10 times our reconstruction's), and 3 times with the paper's oracle, DPOBGA's too; 300 \
times for single values; the tolerance a hundredth of it (a tenth with the paper's oracle), delta half the inner radius. Nothing is tuned \
by row.

{_exponents(every, size)}

{_plainly(above)}
{_local("Zeroth-order and bandit rows, slope by slope", zeroth)}
![Certified regret against the horizon](table1.svg)

## What it is worth and what it costs

At the longest horizon of each row, means over agents and seeds. Regrets are per round; ratio: reward over the best fixed \
point's. A negative alpha-regret beats the guarantee.

{_costs(every)}

## The dial theta

Monotone functions, 0 in K, full information. Regret 1 - theta/2 against communication theta and LOO calls 2 theta. The \
paper's oracle was run at the horizons of its own column, since long ones take too many calls; an oracle that short runs \
never need is fitted from where they do.

{_theta_table(found.thetas)}

![Measured exponents over the theorem's lines](theta.svg)

## The network

{2 * size.agents} agents; what makes a coordinate good is known to one or two of them only. T = {found.topologies[0].readings[0].horizon}, \
theta = 1/2. The theorem's bound grows like 1/gap.{_disorder(found.topologies)}

{_topology_table(found.topologies)}

![The spectral gap's effect](topology.svg)
"""


def _exponents(every: Sequence[Measured], size: Size) -> str:
    head = ["F", "set", "feedback", "method", "alpha", "regret: theorem", "measured", "exchanges: theorem", "measured",
            "LOO calls: theorem", "paper's oracle (rivals: own)", "default oracle", "regret's exponent is"]  # fmt: skip
    rows = []
    for m in every:
        row, own = m.row, m.row.paper is None
        loo = _interval(m.exponent("loo_calls"))
        rows.append([
            row.functions, row.domain, row.model, f"{row.method} ({row.source})", _alpha(m, size), row.regret,
            _interval(m.exponent("certified")), row.exchanges, _slope(m.exponent("exchanges")), row.loo_calls,
            loo if own else _interval(m.exponent("loo_calls", paper=True)), None if own else loo,
            verdict(m.exponent("certified"), row.regret),
        ])  # fmt: skip
    return table(head, rows)


def _plainly(above: Sequence[Measured]) -> str:
    if not above:
        return "No row's exponent is above its theorem's.\n"
    lines = []
    for m in above:
        found = m.exponent("certified")
        assert found is not None
        lines.append(
            f"- {m.row.name}: {found.slope:.3f} against {m.row.regret:g}. Local slopes {_list(found.local)}: "
            f"{verdict(found, m.row.regret).split('; ')[1]}."
        )
    return "Above the theorem's exponent at these horizons:\n\n" + "\n".join(lines) + "\n"


def _local(title: str, rows: Sequence[Measured]) -> str:
    shown = [(m, m.exponent("certified")) for m in rows]
    lines = [f"- {m.row.name}: {_list(found.local)} (theorem {m.row.regret:g})" for m, found in shown if found]
    return f"{title}:\n\n" + "\n".join(lines) + "\n" if lines else ""


def _costs(every: Sequence[Measured]) -> str:
    head = ["row", "T", "certified regret", "alpha-regret", "ratio", "exchanges", "bytes", "LOO calls", "projections",
            "separations", "queries"]  # fmt: skip
    rows: list[list[Any]] = []
    for m in every:
        T = max(r.horizon for r in m.readings)
        last = [r for r in m.readings if r.horizon == T]
        of = {name: _mean(last, name) for name in ("certified", "regret", "ratio", "exchanges", "bytes", "loo_calls",
                                                   "projections", "separations", "queries")}  # fmt: skip
        rows.append([m.row.name, T, of.pop("certified") / T, of.pop("regret") / T, *(v or None for v in of.values())])
    return table(head, rows)


def _theta_table(thetas: Sequence[Swept]) -> str:
    head = ["theta", "regret: theorem", "measured", "exchanges: theorem", "measured", "LOO calls: theorem",
            "paper's oracle", "its horizons", "default oracle", "regret's exponent is"]  # fmt: skip
    return table(head, [
        [s.place, 1 - s.place / 2, _interval(growth(s.readings, "certified")), s.place,
         _slope(growth(s.readings, "exchanges")), 2 * s.place, _interval(growth(s.paper, "loo_calls")), _span(s.paper),
         _interval(growth(s.readings, "loo_calls")), verdict(growth(s.readings, "certified"), 1 - s.place / 2)]
        for s in thetas
    ])  # fmt: skip


def _topology_table(topologies: Sequence[Swept]) -> str:
    T = topologies[0].readings[0].horizon
    head = ["network", "spectral gap", "certified regret a round", "farthest agent from the mean", "messages"]
    ordered = sorted(topologies, key=lambda s: s.place)
    return table(head, [
        [s.name, s.place, _mean(s.readings, "certified") / T, _mean(s.readings, "consensus"), _mean(s.readings, "messages")]
        for s in ordered
    ])  # fmt: skip


def _panel(m: Measured) -> Panel:
    horizons, values = by_seed(m.readings, "certified")
    mean = values.mean(axis=0)
    line = mean[-1] * (np.array(horizons) / horizons[-1]) ** m.row.regret
    series = [
        Series("certificate", horizons, mean, values.min(axis=0), values.max(axis=0)),
        Series(f"theorem: T^{m.row.regret:g}", horizons, line, style="--", colour="#444444"),
    ]
    return Panel(f"{m.row.method}: {m.row.functions}, {m.row.domain},\n{m.row.model}", "T", "certified regret", series)


def _theta_panels(found: Table1) -> list[Panel]:
    thetas = [s.place for s in found.thetas]
    lines = {  # in theta
        "regret": [1 - t / 2 for t in thetas],
        "exchanges": thetas,
        "LOO calls": [2 * t for t in thetas],
    }
    curves: dict[str, list[tuple[str, list[Rate | None]]]] = {
        "regret": [("measured", [growth(s.readings, "certified") for s in found.thetas])],
        "exchanges": [("measured", [growth(s.readings, "exchanges") for s in found.thetas])],
        "LOO calls": [
            ("the paper's oracle", [growth(s.paper, "loo_calls") for s in found.thetas]),
            ("default oracle", [growth(s.readings, "loo_calls") for s in found.thetas]),
        ],
    }
    panels = []
    for what, line in lines.items():
        series = [Series("theorem", thetas, line, style="--", colour="#444444")]
        for name, rates in curves[what]:
            known = [(t, r) for t, r in zip(thetas, rates, strict=True) if r is not None]
            series.append(
                Series(name, [t for t, _ in known], [r.slope for _, r in known], [r.low for _, r in known],
                       [r.high for _, r in known])
            )  # fmt: skip
        panels.append(Panel(what, "theta", "exponent of T", series, logarithmic=(False, False)))
    return panels


def _topology_panels(found: Table1) -> list[Panel]:
    ordered = sorted(found.topologies, key=lambda s: s.place)
    gaps = [s.place for s in ordered]
    names = ", ".join(f"{s.name} {s.place:.2g}" for s in ordered)
    T = ordered[0].readings[0].horizon
    regret = [_mean(s.readings, "certified") / T for s in ordered]
    apart = [_mean(s.readings, "consensus") for s in ordered]
    return [
        Panel(names, "spectral gap", "certified regret a round", [Series("measured", gaps, regret, style="o")]),
        Panel("how far agents are apart", "spectral gap", "distance to the mean", [Series("measured", gaps, apart, style="o")],
              logarithmic=(True, False)),
    ]  # fmt: skip


def _paper_horizons(found: Table1) -> str:
    spans = {_span(m.paper) for m in (*found.rows, *found.beyond) if m.paper}
    return f"; with the paper's oracle {' and '.join(sorted(spans))}" if spans else ""


def _span(readings: Sequence[Reading]) -> str:
    horizons = sorted({r.horizon for r in readings})
    return f"{horizons[0]} to {horizons[-1]}" if horizons else "-"


def _disorder(topologies: Sequence[Swept]) -> str:
    """Networks that do worse than another with a smaller gap: a bound is not an order."""
    worse = [
        f"{s.name} (than {other.name})"
        for s in topologies
        for other in topologies
        if other.place < s.place and _mean(other.readings, "certified") < _mean(s.readings, "certified")
    ]
    return f" It is a bound, not an order: worse than its gap tells is {', '.join(worse)}." if worse else ""


def _alpha(m: Measured, size: Size) -> str:
    problem = m.row.problem(size, 0)
    linearization = problem.linearization.for_set(problem.set)
    return number(None if linearization.alpha is None else float(linearization.alpha))


def _interval(found: Rate | None) -> str | None:
    return None if found is None else f"{found.slope:.3f} [{found.low:.3f}, {found.high:.3f}]"


def _slope(found: Rate | None) -> str | None:
    return None if found is None else f"{found.slope:.3f}"


def _mean(readings: Sequence[Reading], what: str) -> float:
    return float(np.mean([getattr(r, what) for r in readings]))


def _list(values: Any) -> str:
    return ", ".join(number(v) for v in values)
