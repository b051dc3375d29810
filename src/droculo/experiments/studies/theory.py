"""The theorems against runs: DROCULO as published, on every planted problem, with every feedback of Table 1."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from droculo.algorithms import Droculo
from droculo.algorithms.schedules import answer_bound
from droculo.experiments.catalogue import FEEDBACKS
from droculo.experiments.cell import Cell, Choice, build
from droculo.feedback.table import TABLE_1, Row
from droculo.linearizations import Setting
from droculo.measure import Guarantee, guarantee
from droculo.networks import Network


@dataclass(frozen=True)
class Size:
    """The size of the study."""

    agents: int
    dim: int
    seeds: Sequence[int]
    horizons: Sequence[int]


#: powers of 4, so that at theta = 1/2 blocks divide the horizon
SIZES = {
    "quick": Size(agents=4, dim=5, seeds=(0,), horizons=(2**6, 2**8)),
    "full": Size(agents=8, dim=8, seeds=(0, 1), horizons=(2**8, 2**10, 2**12, 2**14)),
}
THETA = 0.5
#: horizons beyond this power of two are not looked at
LAST = 400

_ALL, _PLAYED = ("full-information", "semi-bandit", "zeroth-order", "bandit"), ("semi-bandit", "bandit")
#: case -> the feedbacks of Table 1, and the planted problems of that case with their options
CASES: dict[str, tuple[Sequence[str], Sequence[tuple[str, dict[str, Any]]]]] = {
    "A1": (
        _PLAYED,
        [
            ("top-b", {"face": True}), ("weak", {"face": True}), ("coverage", {"face": True}),
            ("set-functions", {"face": True}), ("worst-case", {"case": "A1"}),
        ],
    ),
    "A2": (
        _ALL,
        [
            ("top-b", {}), ("local-top-b", {}), ("drifting-top-b", {}), ("weak", {}), ("coverage", {}),
            ("set-functions", {}), ("worst-case", {"case": "A2"}),
        ],
    ),
    "A3": (
        _ALL,
        [
            ("cut", {}), ("drifting-cut", {}), ("set-functions", {"monotone": False, "face": True}),
            ("sensors-mutual", {"face": True}), ("worst-case", {"case": "A3"}),
        ],
    ),
    "concave": (_PLAYED, [("water-filling", {})]),
}  # fmt: skip


@dataclass(frozen=True)
class Check:
    """A theorem on one problem, in numbers, and the runs that it is compared with: one cell for each horizon."""

    case: str
    feedback: str
    problem: str
    cells: Sequence[Cell]

    @property
    def row(self) -> Row:
        """The powers of T in Table 1."""
        known = TABLE_1[self.case, FEEDBACKS[self.feedback]().kind]
        assert isinstance(known, Row)
        return known

    @cached_property
    def parts(self) -> tuple[Setting, Network, Droculo]:
        """What the theorem speaks of, and the algorithm at the longest horizon."""
        problem, network, agent = build(self.cells[-1], Path())
        assert isinstance(agent, Droculo)
        return problem.setting, network, agent

    @cached_property
    def constants(self) -> dict[str, float]:
        """Those of the bound; G at the longest horizon."""
        setting, _, agent = self.parts
        linearization = setting.linearization.for_set(setting.set)
        assert linearization.alpha is not None
        return {
            "alpha": float(linearization.alpha),
            "beta": float(linearization.beta),
            "R": float(setting.set.radius),
            "r": float(setting.set.inner_radius),
            "G": answer_bound(setting, agent.feedback, self.bound(self.cells[-1].horizon).schedule.delta),
        }

    def bound(self, horizon: int) -> Guarantee:
        """The theorem for this horizon."""
        setting, network, _ = self.parts
        model = FEEDBACKS[self.feedback]()
        return guarantee(setting, model, horizon=horizon, theta=THETA, network=network)

    def slope(self, low: int, high: int) -> float:
        """The growth exponent of the bound between two powers of two."""
        return math.log2(self.bound(2**high).regret / self.bound(2**low).regret) / (high - low)

    @property
    def idle(self) -> float:
        """alpha B0: what a method that never earns anything loses a round. No method loses more, since f >= 0."""
        return self.constants["alpha"] * float(self.parts[0].bounds.value)

    @cached_property
    def says_something_from(self) -> int | None:
        """The power of two (a multiple of 4) from which on the bound is below what is lost by earning nothing."""
        powers = range(4, LAST, 4)
        told = [self.bound(2**k).regret < self.idle * 2**k for k in powers]
        return next((k for place, k in enumerate(powers) if all(told[place:])), None)


@dataclass(frozen=True)
class Layout:
    """The study."""

    size: Size
    checks: Sequence[Check]  # DROCULO as published


def layout(size: str = "quick") -> Layout:
    """All comparisons of a study of this size."""
    if size not in SIZES:
        raise ValueError(f"there is no size {size!r}; there are {', '.join(SIZES)}.")
    chosen = SIZES[size]
    checks = [
        _check(chosen, case, model, name, Choice.of("algorithm", "droculo-published", feedback=model, theta=THETA), options)
        for case, (models, problems) in CASES.items()
        for model in models
        for name, options in problems
    ]  # fmt: skip
    return Layout(chosen, checks)


def cells(size: str = "quick") -> list[Cell]:
    """All cells of the study."""
    made = layout(size)
    return list(dict.fromkeys(cell for check in made.checks for cell in check.cells))


def _check(size: Size, case: str, model: str, name: str, method: Choice, options: dict[str, Any]) -> Check:
    posed = Choice.of("problem", name, agents=size.agents, **_dimension(name, size.dim), seed=0, **options)
    ring = Choice.of("network", "ring")
    found = [Cell(posed, ring, method, T, tuple(size.seeds), 2) for T in size.horizons]
    return Check(case, model, name, found)


def _dimension(name: str, dim: int) -> dict[str, int]:
    """The options of a problem that make it this large."""
    if name == "worst-case":
        return {"pairs": dim // 2}
    if name == "drifting-cut":
        return {"left": dim // 3, "right": dim - dim // 3}
    size = {"sites" if name == "sensors-mutual" else "dim": dim}
    return size | (
        {"budget": max(1, dim // 3)} if name in ("drifting-top-b", "set-functions", "sensors-mutual") else {}
    )
