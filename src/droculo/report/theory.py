"""The page of the theorems: every bound in numbers, and runs of the published algorithm below it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from droculo.experiments import Sweep
from droculo.experiments.catalogue import title
from droculo.experiments.studies import theory as study
from droculo.measure import Rate
from droculo.report.page import Page, Part, made_by
from droculo.report.summary import Row, RunRows, growth
from droculo.report.table import Table, number
from droculo.report.table1 import ROUNDING

FORMULA = """\
With the step eta, the tolerance eps, K slots of a block, and lambda the network's mixing rate:

```
A = 2 R^2 / eta + 18 eps T / (eta K) + 7 eta T K G^2 + 13 T G sqrt(3 eps)
B = (12 eps T / (eta K) + 9 eta T K G^2 + 12 T G sqrt(3 eps)) / (1 - lambda)
C = T (G + 2 L1 R) (sqrt(N) + 1) (3 sqrt(2 eps) + sqrt(3) (3 eta K G + 2 sqrt(3 eps)) / (1 - lambda))

expected alpha-regret of every agent <= beta (A + B + C)                                          gradients, anywhere
                                      + (3 + 4 R / r) delta M1 T                                  values: smoothed, on a smaller set
                                      times L, with T / L in the place of T, + 2 M1 R T / L       only where it played (A2, A3)
```

with eta = R / (G sqrt(K T / L)), eps = R^2 K L / T, K L = T^(1 - theta), and for values delta = (r / 2) T^(-theta / 4) and
G = (k / delta) B0, k the dimension of K. R is the radius of K, r its inner radius, M1 and L1 are the Lipschitz constants of f and of its
linearization's signal, G and B0 bound gradients and values. Each term has the same power of T or a smaller one. The paper prints C
without its factor T and without the sqrt(3) (docs/paper.md); A, B and C are evaluated as above by `measure.guarantee`."""


@dataclass(frozen=True)
class _Checked:
    """A theorem on a problem, and the runs that were played."""

    check: study.Check
    runs: Sequence[Row]

    def largest(self, column: str) -> float:
        """Over all horizons: the worst agent's, the mean over seeds, as a share of the bound."""
        return max(self.at(T, column) / self.check.bound(T).regret for T in self.horizons)

    def at(self, horizon: int, column: str) -> float:
        """The mean over seeds."""
        values = [row[column] for row in self.runs if row["horizon"] == horizon]
        return sum(values) / len(values)

    @cached_property
    def horizons(self) -> list[int]:
        return sorted({row["horizon"] for row in self.runs})

    @cached_property
    def certified(self) -> Rate | None:
        return growth(self.runs, "certified")

    @property
    def promised(self) -> float:
        return self.check.row.regret_exponent(study.THETA)

    @property
    def meets(self) -> str | None:
        """Where the certificate would meet the bound, growing on as measured; None if it grows no faster than the theorem says."""
        if self.certified is None or self.certified.slope <= self.promised + ROUNDING:
            return None
        T = self.horizons[-1]
        share = self.at(T, "certified_worst") / self.check.bound(T).regret
        return _power(round(math.log2(T) - math.log2(share) / (self.certified.slope - self.promised)))

    @property
    def pair(self) -> list[str]:
        return [self.check.case, self.check.feedback]


def write_theory(sweep: Sweep, out: Path, command: str) -> str:
    """Write theory.md; return the page. `command`: the command that made the runs."""
    assert sweep.spec.study is not None
    rows, made = RunRows(sweep), study.layout(sweep.spec.study.get("size", "quick"))

    def checked(checks: Sequence[study.Check]) -> list[_Checked]:
        found = [_Checked(check, rows.of(check.cells)) for check in checks]
        return [each for each in found if each.runs]

    published, bounds = checked(made.checks), ["## The bounds", FORMULA]
    parts = [_summary(published, made.size), *bounds, *_bounds(published), *_runs(published)] if published else bounds
    parts = [made_by(command, rows.all), *parts]
    return Page("The theorems, checked", parts).write(out, "theory")


def _summary(found: Sequence[_Checked], size: study.Size) -> str:
    broken = [
        f"{_name(c)} at T = {T}" for c in found for T in c.horizons if c.at(T, "regret_worst") > c.check.bound(T).regret
    ]
    verdict = f"**It is above in {len(broken)}: {'; '.join(broken)}.**" if broken else "It is below in all of them."
    number_of = sum(len(c.horizons) for c in found)
    return (
        "For every pair of Table 1 (class of functions and feedback): the bound of its theorem, as corrected, in numbers; and "
        "DROCULO exactly as published (`droculo-published`, theta = 1/2) on every planted problem of that class. "
        f"{size.agents} agents on a ring, about {size.dim} coordinates, {len(size.seeds)} seeds. The alpha-regret of the worst agent is "
        f"compared with the bound in {number_of} pairs of problem and horizon. {verdict} The certificate, which theorems bound too, reaches at "
        f"most {number(max(c.largest('certified_worst') for c in found))} of it."
    )


def _bounds(found: Sequence[_Checked]) -> list[Part]:
    """One problem of each pair: the first."""
    first = {tuple(c.pair): c for c in reversed(found)}
    rows = []
    for pair in dict.fromkeys(tuple(c.pair) for c in found):
        c = first[pair]
        T = c.check.cells[-1].horizon
        rows.append([
            *pair, c.check.row.source, c.check.problem, *c.check.constants.values(), c.promised, c.check.slope(8, 14),
            c.check.slope(32, 64), c.check.bound(T).regret / T / c.check.idle, _power(c.check.says_something_from),
        ])  # fmt: skip
    head = [
        "case", "feedback", "theorem", "problem", "alpha", "beta", "R", "r", "G", "exponent", "bound's own, 2^8 to 2^14",
        "2^32 to 2^64", "bound / idle", "says something from",
    ]  # fmt: skip
    return [
        f"One problem of each pair. G, and the bound as a share of *idle*, at T = {found[0].check.cells[-1].horizon}. The bound's own "
        "exponent differs from the theorem's because lengths of slots and blocks are rounded to whole rounds, and by terms with "
        "smaller powers of T. *Idle* is alpha B0 T, the alpha-regret of a method that never earns anything: no method has more. "
        "Until the horizon in the last column the bound is above that: its constants dominate, and no slope that is measured "
        "before can confirm or refute the power of T.",
        Table(head, rows, words=4),
    ]


def _runs(found: Sequence[_Checked]) -> list[Part]:
    rows = []
    for c in found:
        T = c.horizons[-1]
        rows.append([
            *c.pair, c.check.problem, T, c.at(T, "regret_worst"), c.at(T, "certified_worst"), c.check.bound(T).regret,
            c.largest("regret_worst"), c.largest("certified_worst"), c.promised, _slope(c.certified), c.meets,
        ])  # fmt: skip
    head = [
        "case", "feedback", "problem", "T", "alpha-regret", "certificate", "bound", "alpha-regret / bound, most", "certificate / bound, most",
        "exponent", "certificate's own", "meets the bound at",
    ]  # fmt: skip
    above = sum(c.meets is not None for c in found)
    values = [c.certified for c in found if c.check.row.delta and c.certified]
    return [
        "## Runs below their bounds",
        "Totals of the worst agent, mean over seeds, at the longest horizon; shares of the bound: the largest over all horizons "
        f"({', '.join(map(str, found[0].horizons))}). Negative alpha-regret beats the guarantee. Certificate's own: its fitted exponent; in "
        f"{above} of {len(found)} rows it is above the theorem's. *Meets the bound at*: the horizon at which the certificate, growing "
        "on as measured, would reach the bound. Before that horizon such an exponent contradicts nothing. With values the exponent is "
        f"0.95 or more in {sum(rate.slope >= 0.95 for rate in values)} of {len(values)} rows: there the published steps are so short that agents hardly "
        "leave their start, and a certificate that does not move grows like T.",
        Table(head, rows, words=3),
    ]


def _name(c: _Checked) -> str:
    return f"{title(c.check.cells[0].described()['algorithm'])}, {c.check.case}, {c.check.problem}"


def _power(exponent: int | None) -> str:
    return f"beyond 2^{study.LAST}" if exponent is None or exponent > study.LAST else f"2^{exponent}"


def _slope(found: Rate | None) -> str | None:
    return None if found is None else f"{found.slope:.3f} [{found.low:.3f}, {found.high:.3f}]"
