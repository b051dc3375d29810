"""Table 1, measured: every row over growing horizons, theta and the network swept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from droculo import feedback, networks
from droculo.algorithms import Algorithm
from droculo.experiments.engines import side_by_side
from droculo.experiments.readings import Reading, Shelf, read
from droculo.experiments.rows import EXTRA_ROWS, ROWS, Row, Size, dec_bftrl, droculo, top_b
from droculo.linearizations import Setting
from droculo.measure import Rate, fit_exponent
from droculo.networks import Network, from_graph
from droculo.oracles import PaperFrankWolfe
from droculo.problems import IIDWeights, Problem, TopB


@dataclass(frozen=True)
class Measured:
    """One row's readings: with the library's oracle and, where it has one, with the paper's."""

    row: Row
    readings: Sequence[Reading]
    paper: Sequence[Reading]

    def exponent(self, what: str, *, paper: bool = False) -> Rate | None:
        """The growth of a field of `Reading`; None as in `growth`."""
        return growth(self.paper if paper else self.readings, what)


@dataclass(frozen=True)
class Swept:
    """A setting of a sweep: its place (theta, or the network's name and spectral gap), and what came of it."""

    name: str
    place: float
    readings: Sequence[Reading]
    paper: Sequence[Reading] = ()


@dataclass(frozen=True)
class Table1:
    """Everything that `droculo table1` measures."""

    size: Size
    rows: Sequence[Measured]
    beyond: Sequence[Measured]
    thetas: Sequence[Swept]
    topologies: Sequence[Swept]
    made_with: str  # versions


def by_seed(readings: Sequence[Reading], what: str) -> tuple[list[int], np.ndarray]:
    """The horizons, and the field as (seeds, horizons)."""
    horizons, seeds = sorted({r.horizon for r in readings}), sorted({r.seed for r in readings})
    found = {(r.seed, r.horizon): getattr(r, what) for r in readings}
    return horizons, np.array([[found[s, T] for T in horizons] for s in seeds], float)


def growth(readings: Sequence[Reading], what: str) -> Rate | None:
    """The growth of a field with the horizon; None where it was not measured or is zero.

    An oracle that short runs never needed costs nothing there: costs are fitted from where all seeds have some.
    """
    if not readings:
        return None
    horizons, values = by_seed(readings, what)
    if what == "loo_calls":
        first = next((k for k in range(len(horizons)) if np.all(values[:, k:] > 0)), len(horizons))
        horizons, values = horizons[first:], values[:, first:]
    if len(horizons) < 2 or not np.all(values > 0):
        return None
    return fit_exponent(horizons, values)


def measure_table_1(size: Size, out: Path, *, processes: int = 1) -> Table1:
    """Run every row. What is finished is kept in the folder and not run again."""
    ring = from_graph(networks.ring(size.agents))
    names = [name for name, _, _ in _jobs(size, ring)]
    found: dict[str, list[Reading]] = {}
    with tqdm(total=len(names), unit=" curves", disable=None) as bar:
        for name, readings in side_by_side(_finish, [(size, out, k) for k in range(len(names))], processes):
            found[name] = readings
            bar.set_postfix_str(name[:60])
            bar.update()

    def of(rows: Sequence[Row]) -> list[Measured]:
        return [Measured(row, found[row.slug], found.get(f"{row.slug}-paper", [])) for row in rows]

    return Table1(
        size=size,
        rows=of(ROWS),
        beyond=of((*EXTRA_ROWS, dec_bftrl(ring.mixing_rate))),
        thetas=[
            Swept(f"theta = {theta:g}", theta, found[_theta(theta)], found[f"{_theta(theta)}-paper"])
            for theta in size.thetas
        ],
        topologies=[
            Swept(name, network.spectral_gap, found[f"network-{name}"]) for name, network in _topologies(size).items()
        ],
        made_with=_shelf(size, out).made_with(),
    )


def _finish(task: tuple[Size, Path, int]) -> tuple[str, list[Reading]]:
    """The name and the readings of one curve, from the shelf or new."""
    size, out, number = task
    name, identity, work = list(_jobs(size, from_graph(networks.ring(size.agents))))[number]
    return name, _shelf(size, out).recall(name, identity, work)


def _shelf(size: Size, out: Path) -> Shelf:
    return Shelf(out / f"table1-{size.name}")


Job = tuple[str, dict[str, Any], Callable[[], list[Reading]]]


def _jobs(size: Size, ring: Network) -> Iterator[Job]:
    for row in (*ROWS, *EXTRA_ROWS, dec_bftrl(ring.mixing_rate)):
        horizons = row.horizons(size)
        yield _curve(row.slug, size, row.problem, row.design, "ring", ring, horizons)
        if row.paper is not None and size.paper:
            affordable = _affordable(size, row.exchanges)
            yield _curve(f"{row.slug}-paper", size, row.problem, row.paper, "ring", ring, affordable)
    model = feedback.full_information()
    for theta in size.thetas:
        yield _curve(_theta(theta), size, top_b, droculo(model, theta), "ring", ring, size.horizons)
        paper = droculo(model, theta, oracle=PaperFrankWolfe())
        yield _curve(f"{_theta(theta)}-paper", size, top_b, paper, "ring", ring, _affordable(size, theta))
    for name, network in _topologies(size).items():
        horizon = [size.horizons[len(size.horizons) // 2]]
        yield _curve(f"network-{name}", size, _unlike, droculo(model), name, network, horizon)


def _curve(
    name: str,
    size: Size,
    problem: Callable[[Size, int], Problem],
    design: Callable[[Setting, int], Algorithm],
    graph: str,
    network: Network,
    horizons: Sequence[int],
) -> Job:
    """The readings of all horizons and seeds; every seed has an adversary of its own.

    The identity names what was asked for and holds no computed number: another processor rounds these differently.
    """

    def work() -> list[Reading]:
        found = []
        for T in horizons:
            for seed in range(size.seeds):
                posed = problem(size, seed)
                found.append(read(posed, design(posed.setting, T), network, seed))
        return found

    identity = {
        "agents": network.n_agents, "dim": size.dim, "seeds": size.seeds, "horizons": list(horizons),
        "network": graph,
    }  # fmt: skip
    return name, identity, work


def _affordable(size: Size, theta: float) -> list[int]:
    """Horizons for the paper's oracle, whose calls grow like T^(2 theta); five short ones where the usual are too long."""
    short = [T for T in size.horizons if T ** (2 * theta) <= size.most_calls]
    if len(short) >= min(3, len(size.horizons)):
        return short
    top = int(np.log2(size.most_calls) / (2 * theta))
    return [2**k for k in range(top - 4, top + 1)]


def _theta(theta: float) -> str:
    return f"theta-{theta:g}"


def _topologies(size: Size) -> dict[str, Network]:
    """Of twice as many agents, so that the ring is a long one."""
    n = 2 * size.agents
    graphs = {
        "ring": networks.ring(n),
        "grid": networks.grid(2, n // 2) if n < 16 else networks.grid(4, n // 4),
        "star": networks.star(n),
        "complete": networks.complete(n),
        "erdos-renyi": networks.erdos_renyi(n, 0.4, seed=0),
    }
    return {name: from_graph(graphs[name]) for name in size.graphs}


def _unlike(size: Size, seed: int) -> TopB:
    """What makes an entry stand out is known to one or two agents only, so that the network matters."""
    n, d, floor = 2 * size.agents, size.dim, size.dim - 1.0
    stands_out = np.arange(d) < max(1, d // 3)
    knows = np.arange(n)[:, None] % d == np.arange(d)
    low = floor * (1 + d * (stands_out & knows))
    return TopB(IIDWeights(low, low + floor, seed=seed), max(1, d // 3))
