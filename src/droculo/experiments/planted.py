"""Planted problems for studies: with independent rewards in every round, on which the exponents of Table 1 can be measured, and one that switches."""

from __future__ import annotations

import numpy as np

from droculo.problems import IIDWeights, PlantedCut, Switching, TopB, WeakQuadratic


def _weights(agents: int, entries: int, floor: float, seed: int) -> IIDWeights:
    """Independent weights from floor to 3 floor. A third of the entries has a larger mean, which each agent alone sees
    less clearly. (With near ties, an exponent would show at astronomic horizons only: docs/design.md.)"""
    own = np.random.default_rng(0).uniform(size=(agents, entries))
    common = np.arange(entries) < max(1, entries // 3)
    low = floor * (1 + (common + own) / 2)
    return IIDWeights(low, low + floor, seed=seed)


def top_b(agents: int = 8, dim: int = 10, seed: int = 0, face: bool = False) -> TopB:
    """Monotone, with the top-b entries of the mean as its best point; i.i.d. weights of at least d - 1."""
    return TopB(_weights(agents, dim, dim - 1.0, seed), max(1, dim // 3), face=face)


def local_top_b(agents: int = 16, dim: int = 10, seed: int = 0) -> TopB:
    """Each of the top-b entries is known to one or two agents only, so that the network matters."""
    floor = dim - 1.0
    best = np.arange(dim) < max(1, dim // 3)
    knows = np.arange(agents)[:, None] % dim == np.arange(dim)
    low = floor * (1 + dim * (best & knows))
    return TopB(IIDWeights(low, low + floor, seed=seed), max(1, dim // 3))


def switching_top_b(
    agents: int = 8, dim: int = 10, every: int = 512, phases: int = 6, seed: int = 0, face: bool = False
) -> TopB:
    """Another top-b in every phase: weights from d to 1.4 d are drawn again every so many rounds, `phases` of them in turn."""
    rng = np.random.default_rng(seed)
    common, own = rng.uniform(0.08, 0.32, (phases, 1, dim)), rng.uniform(-0.08, 0.08, (phases, agents, dim))
    return TopB(Switching(dim * (1 + common + own), every=every), max(1, dim // 3), face=face)


def cut(agents: int = 8, dim: int = 10, seed: int = 0) -> PlantedCut:
    """Non-monotone, with i.i.d. weights on the edges of a planted cut."""
    shape = PlantedCut.random(agents=agents, left=dim // 3, right=dim - dim // 3, seed=0)
    weights = _weights(agents, len(shape.ends), 0.5, seed)
    return PlantedCut(weights, shape.ends, np.flatnonzero(shape.planted), dim)


def weak(agents: int = 8, dim: int = 10, seed: int = 0, face: bool = False) -> WeakQuadratic:
    """gamma = 2/3: monotone and convex, with i.i.d. weights."""
    factors = np.random.default_rng(0).uniform(size=(4, dim, 2))
    matrices = factors @ factors.transpose(0, 2, 1) / dim
    return WeakQuadratic(_weights(agents, 4, 0.5, seed), matrices, 1.0, max(1, dim // 3), face=face)
