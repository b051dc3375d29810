"""The 33-bus distribution feeder of Baran and Wu, and what its areas draw in the course of a day."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from droculo.later import networkx as nx
from droculo.sets.geometry import Vector

#: from bus, to bus, resistance and reactance in ohm; the last five are the tie lines, open as built
_LINES = (
    (1, 2, 0.0922, 0.0470), (2, 3, 0.4930, 0.2511), (3, 4, 0.3660, 0.1864), (4, 5, 0.3811, 0.1941),
    (5, 6, 0.8190, 0.7070), (6, 7, 0.1872, 0.6188), (7, 8, 0.7114, 0.2351), (8, 9, 1.0300, 0.7400),
    (9, 10, 1.0440, 0.7400), (10, 11, 0.1966, 0.0650), (11, 12, 0.3744, 0.1238), (12, 13, 1.4680, 1.1550),
    (13, 14, 0.5416, 0.7129), (14, 15, 0.5910, 0.5260), (15, 16, 0.7463, 0.5450), (16, 17, 1.2890, 1.7210),
    (17, 18, 0.7320, 0.5740), (2, 19, 0.1640, 0.1565), (19, 20, 1.5042, 1.3554), (20, 21, 0.4095, 0.4784),
    (21, 22, 0.7089, 0.9373), (3, 23, 0.4512, 0.3083), (23, 24, 0.8980, 0.7091), (24, 25, 0.8960, 0.7011),
    (6, 26, 0.2030, 0.1034), (26, 27, 0.2842, 0.1447), (27, 28, 1.0590, 0.9337), (28, 29, 0.8042, 0.7006),
    (29, 30, 0.5075, 0.2585), (30, 31, 0.9744, 0.9630), (31, 32, 0.3105, 0.3619), (32, 33, 0.3410, 0.5302),
    (21, 8, 2.0, 2.0), (9, 15, 2.0, 2.0), (12, 22, 2.0, 2.0), (18, 33, 0.5, 0.5), (25, 29, 0.5, 0.5),
)  # fmt: skip
#: kW and kvar drawn at the buses 2, 3, ..., 33
_ACTIVE = (
    100, 90, 120, 60, 60, 200, 200, 60, 60, 45, 60, 60, 120, 60, 60, 60,
    90, 90, 90, 90, 90, 90, 420, 420, 60, 60, 60, 120, 200, 150, 210, 60,
)  # fmt: skip
_REACTIVE = (
    60, 40, 80, 30, 20, 100, 100, 20, 20, 30, 35, 35, 80, 10, 20, 20,
    40, 40, 40, 40, 40, 50, 200, 200, 25, 25, 20, 70, 600, 70, 100, 40,
)  # fmt: skip
#: the areas by their buses: name, first and last bus, what stands there, its solar power as a share of its load
_AREAS = (
    ("trunk", 2, 6, "shops", 0.0),
    ("middle", 7, 12, "homes", 0.3),
    ("far end", 13, 18, "homes", 1.5),
    ("short lateral", 19, 22, "shops", 0.0),
    ("works", 23, 25, "industry", 0.0),
    ("long lateral", 26, 33, "homes", 0.6),
)
#: rounds of a day: quarter hours
QUARTER_HOURS = 96


@dataclass(frozen=True, eq=False)
class Feeder:
    """A distribution network: buses 1, 2, ..., fed at bus 1; lines in ohm; loads in kW and kvar at the buses 2, 3, ...

    `closed` tells which lines carry current as built. They must form a tree, the rest are tie lines.

    >>> BARAN_WU.lines.shape, int(BARAN_WU.closed.sum()), float(BARAN_WU.active.sum()), float(BARAN_WU.reactive.sum())
    ((37, 2), 32, 3715.0, 2300.0)
    """

    lines: NDArray[np.int64]  # (lines, 2): from bus, to bus
    resistance: Vector
    reactance: Vector
    closed: NDArray[np.bool_]
    active: Vector  # (buses - 1,)
    reactive: Vector
    kilovolts: float

    def __post_init__(self) -> None:
        buses = len(self.active) + 1
        fits = int(self.closed.sum()) == buses - 1 and self.lines.min() >= 1 and self.lines.max() <= buses
        # The incidences of a tree, without one bus, have the determinant 1 or -1; those of other graphs have 0.
        if not fits or round(abs(np.linalg.det(self.incidence[self.closed]))) != 1:
            raise ValueError(
                f"the closed lines of a feeder must form a tree on its buses 1 to {buses}; got {int(self.closed.sum())} "
                "of them that do not. Leave open whatever closes a loop."
            )
        if not np.all(self.resistance > 0):
            raise ValueError(
                f"every line needs a positive resistance; got {self.resistance.min():g}. Merge buses that none divides."
            )
        if len({frozenset(line) for line in self.lines.tolist()}) < len(self.lines):
            raise ValueError("two lines join the same two buses. Merge them into one.")

    @property
    def incidence(self) -> Vector:
        """(lines, buses - 1): +1 where a line begins, -1 where it ends, without a column for bus 1."""
        table = np.zeros((len(self.lines), len(self.active) + 1))
        every = np.arange(len(self.lines))
        table[every, self.lines[:, 0] - 1], table[every, self.lines[:, 1] - 1] = 1.0, -1.0
        return table[:, 1:]


#: M. E. Baran and F. F. Wu, Network reconfiguration in distribution systems for loss reduction and load balancing,
#: IEEE Transactions on Power Delivery 4(2), 1401-1407, 1989
BARAN_WU = Feeder(
    lines=np.array([line[:2] for line in _LINES]),
    resistance=np.array([line[2] for line in _LINES]),
    reactance=np.array([line[3] for line in _LINES]),
    closed=np.arange(len(_LINES)) < 32,
    active=np.array(_ACTIVE, np.float64),
    reactive=np.array(_REACTIVE, np.float64),
    kilovolts=12.66,
)
AREA_NAMES = tuple(area[0] for area in _AREAS)


@dataclass(frozen=True, eq=False)
class Loads:
    """What the buses draw: a forecast that repeats, and for every area a wave by which it strays from it.

    In round t area i draws its forecast times 1 + swing_i sin(2 pi t/period_i + phase_i). `active` and `reactive` are
    (rounds, buses - 1) in kW and kvar, negative where a bus feeds in; `area` numbers the area of every bus.
    """

    active: Vector
    reactive: Vector
    area: NDArray[np.int64]  # (buses - 1,)
    swing: Vector  # (areas,)
    period: Vector  # (areas,), in rounds
    phase: Vector  # (areas,)

    def __post_init__(self) -> None:
        buses = self.area.shape
        if not (self.active.ndim == 2 and self.active.shape == self.reactive.shape and self.active.shape[1:] == buses):
            raise ValueError(
                "loads are two tables (rounds, buses), with one area for every bus; got the shapes "
                f"{self.active.shape}, {self.reactive.shape} and {buses}. Leave bus 1 out."
            )
        if not self.swing.shape == self.period.shape == self.phase.shape == (int(self.area.max()) + 1,):
            raise ValueError(
                f"every area needs its swing, period and phase; got {len(self.swing)}, {len(self.period)} and "
                f"{len(self.phase)} for {int(self.area.max()) + 1} areas."
            )

    @classmethod
    def daily(cls, *, seed: int = 0, swing: float = 0.2) -> Loads:
        """Six areas of the 33-bus feeder in quarter hours; each strays by up to `swing`, in waves of 4 to 10 hours."""
        rng = np.random.default_rng(seed)
        hours = np.arange(QUARTER_HOURS) / 4
        area = np.concatenate([np.full(last - first + 1, i) for i, (_, first, last, _, _) in enumerate(_AREAS)])
        drawn = np.stack([_shape(kind, hours) for _, _, _, kind, _ in _AREAS], axis=1)
        sun = _peak(hours, 12.5, 6.0)[:, None] * np.array([solar for *_, solar in _AREAS])
        return cls(
            active=BARAN_WU.active * (drawn - sun)[:, area],
            reactive=BARAN_WU.reactive * drawn[:, area],
            area=area,
            swing=np.full(len(_AREAS), float(swing)),
            period=rng.uniform(16, 40, len(_AREAS)),
            phase=rng.uniform(0, 2 * np.pi, len(_AREAS)),
        )


def area_graph(feeder: Feeder = BARAN_WU, area: ArrayLike | None = None) -> nx.Graph:
    """Areas joined by a line, tie lines included: their controllers can talk along it.

    >>> sorted(area_graph().edges)
    [(0, 1), (0, 3), (0, 4), (0, 5), (1, 2), (1, 3), (2, 5), (4, 5)]
    """
    of = np.asarray(Loads.daily().area if area is None else area)
    graph = nx.empty_graph(int(of.max()) + 1)
    ends = [(int(of[a - 2]), int(of[b - 2])) for a, b in feeder.lines if min(a, b) > 1]
    graph.add_edges_from((a, b) for a, b in ends if a != b)
    return graph


def _peak(hours: Vector, at: float, sharpness: float) -> Vector:
    """1 at the hour `at`, falling off smoothly on both sides, around the clock."""
    return np.exp(sharpness * (np.cos(2 * np.pi * (hours - at) / 24) - 1))


def _shape(kind: str, hours: Vector) -> Vector:
    """The share of the published load that is drawn at these hours."""
    if kind == "homes":
        return 0.35 + 0.3 * _peak(hours, 7.5, 8.0) + 0.65 * _peak(hours, 19.5, 6.0)
    if kind == "shops":
        return 0.25 + 0.75 * _peak(hours, 13.0, 3.0)
    return 0.6 + 0.4 * _peak(hours, 11.0, 2.0)
