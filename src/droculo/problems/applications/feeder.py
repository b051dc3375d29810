"""Power network reconfiguration: which lines of a distribution feeder carry current, for least loss in its wires."""

from itertools import product

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from droculo.later import networkx as nx
from droculo.linearizations import Bounds, Concave, MonotoneGeneral, MonotoneOrigin
from droculo.problems.applications.feeder_data import BARAN_WU, Feeder, Loads
from droculo.problems.base import Posed
from droculo.sets import SpanningTrees, budget
from droculo.sets.geometry import Vector

#: with more tie lines, the 2^ties corners that bound the gradient are not listed
MOST_TIES = 12


class Drops(eqx.Module):
    """Voltage drops u across some lines in a reference state, and v once their conductances have changed by `change`.

    v = B L^-1 p solves (I + R diag(change)) v = u with R = B L_reference^-1 B^T, so buses need not be carried along.
    Units are such that conductance (1/ohm) times squared drop is kW.
    """

    coupling: Vector  # R, (lines, lines)
    forecast: Vector  # u, (rounds, lines, 2): by active and by reactive power
    own: Vector  # u of an area's own largest deviation, times sqrt(N), (rounds, areas, lines, 2)
    waves: Vector  # (areas, 2): period and phase

    def __init__(self, feeder: Feeder, loads: Loads, lines: NDArray[np.int64], weights: Vector):
        if loads.active.shape[1] != len(feeder.active):
            raise ValueError(
                f"the feeder has loads at {len(feeder.active)} buses, the table at {loads.active.shape[1]}. "
                "Give one column for each bus but the first."
            )
        B = feeder.incidence
        potentials = np.linalg.solve(B.T @ (B * (weights / feeder.resistance)[:, None]), B[lines].T)
        # kW/kV is ampere, ampere^2 ohm is watt: the root of 1000 makes it kW.
        drawn = np.stack([loads.active, loads.reactive], axis=-1) / (feeder.kilovolts * np.sqrt(1000))
        areas = len(loads.swing)
        share = np.sqrt(areas) * loads.swing[:, None] * (loads.area == np.arange(areas)[:, None])
        self.coupling = B[lines] @ potentials
        self.forecast = np.einsum("bl,tbk->tlk", potentials, drawn)
        self.own = np.einsum("bl,ab,tbk->talk", potentials, share, drawn)
        self.waves = np.stack([loads.period, loads.phase], axis=1)

    def before(self, agent: Array, t: Array) -> Array:
        """u of this agent and round, (lines, 2)."""
        period, phase = jnp.asarray(self.waves)[agent]
        now = t % self.forecast.shape[0]
        wave = jnp.sin(2 * jnp.pi * t / period + phase)
        return jnp.asarray(self.forecast)[now] + wave * jnp.asarray(self.own)[now, agent]

    def after(self, u: Array, change: Array) -> Array:
        """v for a change of conductances."""
        return jnp.linalg.solve(jnp.eye(len(change), dtype=u.dtype) + self.coupling * change, u)

    def extremes(self, change: Vector) -> Vector:
        """v of every round and area at both ends of its wave, (2, rounds, areas, lines, 2); all others lie between."""
        u = self.forecast[:, None] + np.stack([self.own, -self.own])
        return np.asarray(np.linalg.inv(np.eye(len(change)) + self.coupling * change) @ u, np.float64)


class Switched(Posed):
    """What a feeder saves by its switches: f(x) = E(reference) - E(x), in kW of loss in the wires.

    Lossless DistFlow (Baran and Wu 1989): line e has conductance c_e w_e(x), c_e = 1/r_e, w_e = low + (1 - low) x_e;
    L(x) = sum_e c_e w_e b_e b_e^T without bus 1; E(x) = p.L^-1 p + q.L^-1 q for active and reactive loads p and q. E is
    convex and falls in every x_e, so f is concave and monotone: up-concave, yet not DR-submodular. With drops u in the
    reference state and v at x, summed over p and q,

        f(x) = sum_e c_e (w_e(x) - w_e(reference)) u_e v_e,    df/dx_e = (1 - low) c_e v_e^2.

    Agents are areas. An area knows the forecast of all loads, and of what comes on top only its own part: f_{t,i} is
    the saving if area i alone strayed from the forecast, by sqrt(N) times as much. E is quadratic, so where the areas'
    deviations are uncorrelated, the mean over agents and many rounds is that of the saving under the true loads.
    """

    drops: Drops
    conductance: Vector  # c, (d,)
    low: Vector
    reference: Vector  # w in the reference state, (d,)

    def _change(self, x: Array) -> Array:
        return (x * (1 - self.low) + self.low - self.reference) * self.conductance

    def value(self, agent: Array, t: Array, x: Array) -> Array:
        change, u = self._change(x), self.drops.before(agent, t)
        return jnp.sum(change[:, None] * u * self.drops.after(u, change))

    def gradient(self, agent: Array, t: Array, x: Array) -> Array:
        v = self.drops.after(self.drops.before(agent, t), self._change(x))
        return jnp.sum(v**2, axis=1) * ((1 - self.low) * self.conductance)


class TieLines(Switched):
    """How far to close each tie line, 0 open and 1 closed, on {sum x <= b}: case A2, f(0) = 0.

    All other lines stay as built. Values in between are soft open points: power electronics in place of a switch.

    >>> TieLines().set.dim, TieLines().agents
    (5, 6)
    """

    def __init__(self, loads: Loads | None = None, *, feeder: Feeder = BARAN_WU, budget_size: float = 2.0):
        ties = np.flatnonzero(~feeder.closed)
        number = len(ties)
        if not 1 <= number <= MOST_TIES:
            raise ValueError(f"TieLines needs 1 to {MOST_TIES} tie lines; the feeder has {number}. Fix some as closed.")
        if not 0 < budget_size <= number:
            raise ValueError(f"the budget for {number} tie lines lies between 0 and {number}; got {budget_size}.")
        self.drops = Drops(feeder, loads or Loads.daily(), ties, feeder.closed.astype(np.float64))
        self.agents = len(self.drops.waves)
        self.conductance = 1 / feeder.resistance[ties]
        self.low, self.reference = np.zeros(()), np.zeros(number)
        self.set, self.linearization = budget(number, budget_size), MonotoneOrigin()
        # In one x_j alone v_e is a + b x_j/(1 + k x_j), hence monotone, so |v_e| is largest at a corner of the box.
        corners = [np.abs(self.drops.extremes(self.conductance * np.array(x))) for x in product((0, 1), repeat=number)]
        steepest = self.conductance * np.sum(np.max(corners, axis=(0, 1)) ** 2, axis=-1)  # (rounds, areas, ties)
        # f rises to f(1) = u.D v(1); |Hessian| = 2 |diag(v) D R(x) D diag(v)| <= 2 max(slope) |D^1/2 R(0) D^1/2|.
        u, v = self.drops.extremes(0 * self.conductance), self.drops.extremes(self.conductance)
        root = np.sqrt(self.conductance)
        self.bounds = Bounds(
            gradient=float(np.max(np.linalg.norm(steepest, axis=-1))),
            value=float(np.max(np.sum(self.conductance[:, None] * u * v, axis=(-2, -1)))),
            smoothness=2 * float(steepest.max()) * float(np.linalg.norm(root[:, None] * self.drops.coupling * root, 2)),
        )


class Reconfiguration(Switched):
    """Which lines to close so that the feeder is a tree, over the hull of its spanning trees.

    f is concave, and declared so: alpha = 1. It counts from the feeder as built. With `from_open=True` it counts from
    all switches open, which makes it non-negative on the box: then it is of case A1, but large and nearly constant on
    the set, so that alpha = 1/2 of the optimum says nothing. The gradient is the same. An open line keeps the share
    `low` of its conductance. Coordinate k is line number `lines[k]`, counted from 1 as published.

    >>> Reconfiguration().set.dim
    37
    """

    lines: NDArray[np.int64]

    def __init__(
        self, loads: Loads | None = None, *, feeder: Feeder = BARAN_WU, low: float = 0.05, from_open: bool = False
    ):
        if not 0 < low < 1:
            raise ValueError(f"an open line keeps a share of its conductance, 0 < low < 1; got low={low}.")
        trees = SpanningTrees(nx.Graph(feeder.lines.tolist()))
        number = {frozenset(line): i for i, line in enumerate(feeder.lines.tolist())}
        order = np.array([number[frozenset(edge)] for edge in trees.edges])  # NetworkX orders the edges differently
        self.set, self.lines = trees, order + 1
        self.linearization = MonotoneGeneral() if from_open else Concave()
        self.low = np.asarray(low, np.float64)
        weights = np.where(feeder.closed & (not from_open), 1.0, low)
        self.reference, self.conductance = weights[order], 1 / feeder.resistance[order]
        self.drops = Drops(feeder, loads or Loads.daily(), order, weights)
        self.agents = len(self.drops.waves)
        closed = self.drops.extremes(self.conductance * (1 - self.reference))
        # On all of the box E(x) <= E(0) = E(1)/low, where E(1) = sum_e c_e v_e^2.
        most = float(np.max(np.sum(self.conductance[:, None] * closed**2, axis=(-2, -1)))) / low
        self.bounds = Bounds(
            gradient=most / low,  # |.|_2 <= |.|_1 <= sum_e c_e w_e v_e^2/low = E(x)/low
            value=most,  # E(reference) and E(x) lie between 0 and E(0)
            smoothness=2 * most / low**2,  # as for tie lines, where D^1/2 R(x) D^1/2 <= (a projection)/low
        )
