"""The rows of the paper's Table 1, and those beyond it, as data: who plays what, and which exponents are promised."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from droculo import feedback
from droculo.algorithms import DMFW, DOBGA, Algorithm, DecBFTRL, Droculo, MonoDMFW, dpobga
from droculo.feedback import TABLE_1, Feedback
from droculo.linearizations import Setting
from droculo.oracles import PaperFrankWolfe
from droculo.problems import IIDWeights, PlantedCut, Problem, TopB, WeakQuadratic


@dataclass(frozen=True)
class Size:
    """How large an experiment is."""

    name: str
    agents: int
    dim: int
    seeds: int
    horizons: Sequence[int]
    dmfw_horizons: Sequence[int]  # T^(5/2) exchanges and LOO calls: short ones
    thetas: Sequence[float]
    graphs: Sequence[str]
    most_calls: float  # the paper's oracle is not run beyond T^(2 theta) = this
    paper: bool  # whether it is run in every row, or in the sweep of theta alone


#: powers of 4, so that at theta = 1/2 blocks and slots divide the horizon
QUICK = Size(
    name="quick", agents=4, dim=5, seeds=2, horizons=(16, 256), dmfw_horizons=(4, 8), thetas=(0.5, 1.0),
    graphs=("ring", "complete"), most_calls=2.0**16, paper=False,
)  # fmt: skip
FULL = Size(
    name="full", agents=8, dim=10, seeds=4, horizons=(2**8, 2**10, 2**12, 2**14, 2**16),
    dmfw_horizons=(16, 32, 64, 128, 256), thetas=(0.25, 0.5, 0.75, 1.0),
    graphs=("ring", "grid", "star", "complete", "erdos-renyi"), most_calls=2.0**14, paper=True,
)  # fmt: skip


@dataclass(frozen=True)
class Row:
    """A method on a class of problems with one kind of feedback."""

    functions: str
    domain: str
    model: str  # of feedback
    method: str
    source: str
    problem: Callable[[Size, int], Problem]  # for a seed of its adversary
    design: Callable[[Setting, int], Algorithm]  # for a horizon
    regret: float  # the promised exponents
    exchanges: float
    loo_calls: float | None  # None: no LOO
    paper: Callable[[Setting, int], Algorithm] | None = None  # the same with the paper's oracle

    @property
    def name(self) -> str:
        return f"{self.functions}, {self.domain}, {self.model}, {self.method}"

    @property
    def slug(self) -> str:
        """A file's name."""
        return "".join(c if c.isalnum() else "-" for c in self.name.lower().replace("<", "below"))

    def horizons(self, size: Size) -> Sequence[int]:
        return size.dmfw_horizons if self.method == "DMFW" else size.horizons


THETA = 0.5


def _weights(size: Size, entries: int, floor: float, seed: int) -> IIDWeights:
    """Every round anew, floor to 3 floor. A third of the entries stands out in the mean, which is less clear to each
    agent alone. (With near ties, horizons would have to be astronomic before an exponent shows: docs/design.md.)"""
    own = np.random.default_rng(0).uniform(size=(size.agents, entries))
    common = np.arange(entries) < max(1, entries // 3)
    low = floor * (1 + (common + own) / 2)
    return IIDWeights(low, low + floor, seed=seed)


def top_b(size: Size, seed: int, *, face: bool = False) -> TopB:
    """Monotone, with the top-b entries of the mean as its best point; i.i.d. weights of at least d - 1."""
    return TopB(_weights(size, size.dim, size.dim - 1.0, seed), max(1, size.dim // 3), face=face)


def cut(size: Size, seed: int) -> PlantedCut:
    """Non-monotone, with i.i.d. weights on the edges of a planted cut."""
    shape = PlantedCut.random(agents=size.agents, left=size.dim // 3, right=size.dim - size.dim // 3, seed=0)
    weights = _weights(size, len(shape.ends), 0.5, seed)
    return PlantedCut(weights, shape.ends, np.flatnonzero(shape.planted), size.dim)


def weak(size: Size, seed: int, *, face: bool = False) -> WeakQuadratic:
    """gamma = 2/3: monotone and convex, with i.i.d. weights."""
    factors = np.random.default_rng(0).uniform(size=(4, size.dim, 2))
    matrices = factors @ factors.transpose(0, 2, 1) / size.dim
    return WeakQuadratic(_weights(size, 4, 0.5, seed), matrices, 1.0, max(1, size.dim // 3), face=face)


def on_a_face(make: Callable[..., Problem]) -> Callable[[Size, int], Problem]:
    return lambda size, seed: make(size, seed, face=True)


def droculo(model: Feedback, theta: float = THETA, **options: Any) -> Callable[[Setting, int], Algorithm]:
    return lambda setting, T: Droculo.design(setting, model, horizon=T, theta=theta, **options)


def _row(functions: str, domain: str, case: str, model: Feedback, make: Callable[[Size, int], Problem]) -> Row:
    known = TABLE_1[case, model.kind]
    assert isinstance(known, feedback.Row)
    return Row(
        functions, domain, model.kind, "DROCULO", known.source, make, droculo(model), known.regret_exponent(THETA), THETA,
        2 * THETA, droculo(model, oracle=PaperFrankWolfe()),
    )  # fmt: skip


_FULL, _SEMI, _ZEROTH, _BANDIT = (
    feedback.full_information(), feedback.semi_bandit(), feedback.zeroth_order(), feedback.bandit(),
)  # fmt: skip
_MONO = ("monotone", "0 in K")

#: in the paper's order
ROWS: tuple[Row, ...] = (
    Row(*_MONO, "full information", "DMFW", "Zhu et al. 2021", top_b, lambda s, T: DMFW.design(s, horizon=T), 0.5, 2.5, 2.5),
    Row(
        *_MONO, "full information", "Mono-DMFW", "Zhang et al. 2023", top_b, lambda s, T: MonoDMFW.design(s, horizon=T),
        0.8, 1.0, 1.0,
    ),
    Row(*_MONO, "full information", "DOBGA", "Zhang et al. 2023", top_b, lambda s, T: DOBGA.design(s, horizon=T), 0.5, 1.0, None),
    Row(*_MONO, "full information", "DPOBGA", "Liao et al. 2023", top_b, lambda s, T: dpobga(s, horizon=T), 0.75, 0.5, 1.0),
    _row(*_MONO, "A2", _FULL, top_b),
    _row(*_MONO, "A2", _SEMI, top_b),
    _row(*_MONO, "A2", _ZEROTH, top_b),
    _row(*_MONO, "A2", _BANDIT, top_b),
    _row("monotone", "general", "A1", _SEMI, on_a_face(top_b)),
    _row("monotone", "general", "A1", _BANDIT, on_a_face(top_b)),
    _row("non-monotone", "general", "A3", _FULL, cut),
    _row("non-monotone", "general", "A3", _SEMI, cut),
    _row("non-monotone", "general", "A3", _ZEROTH, cut),
    _row("non-monotone", "general", "A3", _BANDIT, cut),
)  # fmt: skip

#: what the table speaks of but has no row for: gamma < 1; and a rival that came later
EXTRA_ROWS: tuple[Row, ...] = (
    _row("monotone, gamma < 1", "0 in K", "A2", _FULL, weak),
    _row("monotone, gamma < 1", "general", "A1", _SEMI, on_a_face(weak)),
)


def dec_bftrl(mixing_rate: float) -> Row:
    """Dec-BFTRL needs to know its network."""
    return Row(
        *_MONO, "full information", "Dec-BFTRL", "arXiv 2608.30271", top_b,
        lambda s, T: DecBFTRL.design(s, horizon=T, mixing_rate=mixing_rate), 0.5, 1.0, None,
    )  # fmt: skip
