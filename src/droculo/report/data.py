"""A sweep's rows as curves, totals and slopes, for its page, its figures and its tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from droculo.engine.costs import LABELS, SPENT
from droculo.experiments import Sweep
from droculo.experiments.catalogue import fraction
from droculo.later import networkx as nx
from droculo.report.summary import MARK, Row, growth, learned, mean, without_learning

Numbers = NDArray[np.float64]

#: what a curve can show: name -> (label, what it is)
QUANTITIES = {
    "certified": ("certified regret", "The certificate is an upper bound on alpha-regret that needs no optimum, so it is what a method can prove; lower is better."),
    "regret": ("alpha-regret", "Alpha-regret is how much less a method earned than alpha times the best fixed point; lower is better."),
    "dynamic": ("dynamic alpha-regret", "How much less a method earned than alpha times a comparator that moves: the best fixed point of every stretch between two recorded times; lower is better."),
    "share": ("share of the best fixed point", "What a method earned so far, over what the best fixed point earned in the same rounds; higher is better."),
    "lately": ("share of the best point of late", "What a method earned since the recorded time before, over what the best fixed point of just these rounds earned: it falls where the world switches, and rises as a method catches up; higher is better."),
    "reward": ("reward", "What the average agent earned, as the mean of all agents' functions; higher is better."),
    "consensus_gap": ("consensus gap", "The largest distance of an agent's decision to the mean of all decisions; lower is closer to agreement."),
}  # fmt: skip
#: those that add up over rounds, and can be shown per round
SUMMED = ("certified", "regret", "dynamic", "reward")
#: what a curve can be drawn against: the costs of the average agent
COSTS = {"round": "rounds", **{name: LABELS[name] for name in ("exchanges", "bytes", *SPENT)}, "queries": "queries"}
#: costs that few methods have: a column of a table without any is left out
RARE = tuple(name for name in SPENT if name not in ("messages", "loo_calls"))
#: what the tables show, column by column; regrets are per round
COLUMNS = {
    "method": "method", "feedback": "feedback", "theta": "theta", "horizon": "T", "certified": "certified regret a round",
    "certified_low": "lowest seed", "certified_high": "highest seed", "regret": "alpha-regret a round",
    "share": "share of the best", "share_last": "in the last quarter", **{name: label for name, label in COSTS.items() if name not in ("round", "messages")},
}  # fmt: skip
#: methods that are shown unless more are asked for
MOST_SHOWN = 10


@dataclass(frozen=True)
class Band:
    """A mean over seeds and its range from the lowest to the highest seed; None where a run has no such number."""

    mean: list[float | None]
    low: list[float | None]
    high: list[float | None]


@dataclass(frozen=True)
class Curve:
    """One method at one horizon, at the recorded times. Costs are means over seeds."""

    label: str
    name: str  # the label as it is shown: theta as a fraction
    method: str  # the label without feedback and theta
    group: str  # algorithm and feedback: methods that share a colour
    feedback: str
    theta: float | None
    horizon: int
    seeds: int
    sampled: bool
    costs: dict[str, list[float]]  # by the names of COSTS
    quantities: dict[str, Band]  # by the names of QUANTITIES
    warnings: list[str]
    share_last: float | None  # of the best fixed point's reward, in the last quarter
    learned: bool  # False if standing still earns as much in the last quarter
    agents: dict[str, list[list[float]]] | None  # regret, certified, gap: (times, agents), means over seeds

    def known(self, name: str) -> bool:
        """True if this quantity was measured at any time."""
        return any(value is not None for value in self.quantities[name].mean)


@dataclass(frozen=True)
class Slope:
    """How certified regret grows with the horizon."""

    label: str
    slope: float | None  # None where a number is not positive, or there is one horizon
    low: float | None
    high: float | None
    promised: float | None
    source: str | None


@dataclass(frozen=True)
class Instance:
    """All methods on one problem and one network."""

    problem: str
    network: str
    case: str
    alpha: float | None
    domain: str
    agents: int
    dim: int
    mixing_rate: float
    seeds: list[int]
    best_kinds: list[str]
    horizons: list[int]
    curves: list[Curve]
    slopes: list[Slope]
    links: list[tuple[int, int]] | None
    places: list[tuple[float, float]] | None  # where the agents are drawn, within the unit square
    shown: list[str]  # labels of the methods to show first
    table: list[Row]  # by the names of COLUMNS
    baselines: str  # what is earned without learning, in a sentence
    warnings: list[str]  # what answers broke of what the problem declares, by method

    @property
    def title(self) -> str:
        return f"{self.problem} on {self.network}"


#: the facts of an instance that all its rows share
_SHARED = ("problem", "network", "case", "alpha", "domain", "agents", "dim", "mixing_rate")


def instances(sweep: Sweep) -> list[Instance]:
    """The rows of a sweep, in order."""
    rows = sweep.results.runs.to_pylist()
    points: dict[tuple[str, int], list[Row]] = {}
    for point in sweep.results.points.to_pylist():
        points.setdefault((point["run"], point["seed"]), []).append(point)
    found: dict[tuple[str, str], dict[str, list[Row]]] = {}
    for row in rows:
        found.setdefault((row["problem"], row["network"]), {}).setdefault(row["run"], []).append(row)
    return [_instance(list(runs.values()), points) for runs in found.values()]


def _instance(runs: Sequence[list[Row]], points: dict[tuple[str, int], list[Row]]) -> Instance:
    curves = [_curve(seeds, [points[row["run"], row["seed"]] for row in seeds]) for seeds in runs]
    first, rows = runs[0][0], [row for seeds in runs for row in seeds]
    links = first["links"]
    pairs = None if links is None else list(zip(links[::2], links[1::2], strict=True))
    return Instance(
        **{name: first[name] for name in _SHARED},
        seeds=sorted({row["seed"] for row in rows}),
        best_kinds=sorted({row["best_kind"] for row in rows if row["best_kind"]}),
        horizons=sorted({row["horizon"] for row in rows}),
        curves=curves,
        slopes=_slopes(runs),
        links=pairs,
        places=None if pairs is None else _places(first["agents"], pairs),
        shown=_shown(curves),
        table=[_totals(curve) for curve in curves],
        baselines=without_learning([row for row in rows if row["horizon"] == max(r["horizon"] for r in rows)]),
        warnings=[f"{curve.name}, T = {curve.horizon}: {said}" for curve in curves for said in curve.warnings],
    )


def _names(row: Row) -> tuple[str, str, str]:
    """A row's label as it is shown; the label without feedback and theta; algorithm and feedback alone."""
    kind = row["feedback"].replace(" ", "-")
    _, *options = row["label"].split(", ")
    told = kind in options  # the labels of methods with one feedback do not name it
    rest = [option for option in options if option != kind and not option.startswith("theta = ")]
    method = ", ".join([row["algorithm"], *rest])
    group = f"{row['algorithm']}, {row['feedback']}" if told else row["algorithm"]
    theta = [] if row["theta"] is None else [f"\N{GREEK SMALL LETTER THETA} = {fraction(row['theta'])}"]
    return ", ".join([group, *theta, *rest]), method, group


def _shown(curves: Sequence[Curve]) -> list[str]:
    """Of every algorithm and feedback the theta nearest 1/2 (of two, the one that talks more), and theta = 1 of full
    information."""

    def distance(curve: Curve) -> tuple[float, float]:
        theta = 0.5 if curve.theta is None else curve.theta
        return round(abs(theta - 0.5), 6), -theta

    named = dict.fromkeys(curve.group for curve in curves)
    nearest = [min((c for c in curves if c.group == group), key=distance).label for group in named]
    one = [c.label for c in curves if c.theta == 1 and c.feedback == "full information"]
    return list(dict.fromkeys(nearest + one))[:MOST_SHOWN]


def _totals(curve: Curve) -> Row:
    """A row of the tables: the end of a curve."""
    ends = {name: (band.mean[-1], band.low[-1], band.high[-1]) for name, band in curve.quantities.items()}

    def per_round(value: float | None) -> float | None:
        return None if value is None else value / curve.horizon

    found: Row = {
        "method": curve.method if curve.learned else f"{curve.method} {MARK}", "feedback": curve.feedback, "theta": curve.theta, "horizon": curve.horizon,
        "regret": per_round(ends["regret"][0]), "share": ends["share"][0], "share_last": curve.share_last,
        **dict(zip(("certified", "certified_low", "certified_high"), map(per_round, ends["certified"]), strict=True)),
        **{name: values[-1] for name, values in curve.costs.items()},
    }  # fmt: skip
    return {name: found[name] for name in COLUMNS}


def _curve(seeds: list[Row], points: list[list[Row]]) -> Curve:
    """`points`: (seeds, times)."""
    first = seeds[0]
    for point in (point for one in points for point in one):
        point["share"] = _share(point["reward"], point["regret"], first["alpha"])
    for one in points:
        _against_a_moving_point(one, first["alpha"])

    def column(name: str) -> list[list[Any]]:
        return [[point[name] for point in one] for one in points]

    def over_seeds(column: list[list[Any]]) -> Any:
        return np.mean(np.array(column, np.float64), axis=0).tolist()

    each = {name: column(f"agent_{name}") for name in ("regret", "certified", "gap")}
    kept = {name: over_seeds(values) for name, values in each.items() if all(None not in one for one in values)}
    name, method, group = _names(first)
    return Curve(
        **{name: first[name] for name in ("label", "feedback", "theta", "horizon", "sampled")},
        name=name,
        method=method,
        group=group,
        seeds=len(seeds),
        costs={name: over_seeds(column(name)) for name in COSTS},
        quantities={name: _band(column(name)) for name in QUANTITIES},
        share_last=mean(seeds, "share_last"),
        learned=learned(seeds),
        warnings=(first["warnings"] or "").splitlines(),
        agents=kept or None,
    )


def _share(reward: float | None, regret: float | None, alpha: float | None) -> float | None:
    """Reward over that of the best fixed point, which is what alpha-regret is measured against: (regret + reward) / alpha.

    >>> _share(6.0, 2.0, 0.5)  # half of the best is 8
    0.375
    """
    if reward is None or regret is None or alpha is None or regret + reward <= 0:
        return None
    return alpha * reward / (regret + reward)


def _against_a_moving_point(points: list[Row], alpha: float | None) -> None:
    """The columns `dynamic` and `lately` of one run's points, in order; None where no comparator that moves is known."""
    before = {"reward": 0.0, "moving": 0.0}
    for point in points:
        reward, moving = point["reward"], point.get("moving")
        point["dynamic"] = point["lately"] = None
        if reward is None or moving is None or alpha is None:
            continue
        point["dynamic"] = alpha * moving - reward
        if moving > before["moving"]:
            point["lately"] = (reward - before["reward"]) / (moving - before["moving"])
        before = point


def _band(values: Sequence[Sequence[float | None]]) -> Band:
    """Of (seeds, times); None at a time at which any number is missing."""
    columns = np.array(list(zip(*values, strict=True)), np.float64)
    known = [bool(np.all(np.isfinite(column))) for column in columns]

    def each(of: Any) -> list[float | None]:
        return [float(value) if whole else None for value, whole in zip(of(columns, axis=1), known, strict=True)]

    return Band(each(np.mean), each(np.min), each(np.max))


def _slopes(runs: Sequence[list[Row]]) -> list[Slope]:
    """The growth of every method, over the runs that differ in nothing but the horizon and the seed."""
    families: dict[str, list[Row]] = {}
    for seeds in runs:
        families.setdefault(seeds[0]["label"], []).extend(seeds)
    found = []
    for label, family in families.items():
        if any(row["certified"] is None for row in family):
            continue
        fitted, first = growth(family, "certified"), family[0]
        low, high = (None, None) if fitted is None or not np.isfinite(fitted.low) else (fitted.low, fitted.high)
        slope = None if fitted is None else fitted.slope
        found.append(Slope(label, slope, low, high, first["promised_exponent"], first["promised_by"]))
    return found


def _places(agents: int, links: list[tuple[int, int]]) -> list[tuple[float, float]]:
    """A drawing that shows the graph's shape; the same for the same graph."""
    graph = nx.empty_graph(agents)
    graph.add_edges_from(links)
    drawn = nx.kamada_kawai_layout(graph) if agents <= 80 and agents > 1 else nx.spring_layout(graph, seed=0)
    spots = np.array([drawn[node] for node in range(agents)])
    low, high = spots.min(axis=0), spots.max(axis=0)
    scaled = 0.5 + (spots - (low + high) / 2) / max(float(np.max(high - low)), 1e-9)  # one scale: a ring stays round
    return [(float(x), float(y)) for x, y in scaled]


def groups(found: Sequence[Instance]) -> list[str]:
    """Algorithms with their feedback, as they first appear: one colour each, the same in all instances."""
    return list(dict.fromkeys(curve.group for instance in found for curve in instance.curves))
