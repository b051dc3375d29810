"""Agent by agent, in NumPy: the algorithm as one reads it, a Python loop over rounds and over agents."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from droculo import Droculo, networks, problems

from . import Floats, Job


def run(
    problem: problems.Problem,
    agent: Droculo,
    network: networks.Network,
    rounds: int,
    seed: int,
    draws: Floats | None = None,
) -> tuple[Floats, NDArray[np.int64]]:
    """The decisions (rounds, N, d) in the first rounds of a design, and every agent's LOO calls.

    `draws`: the z of every round and agent, (rounds, N); made from `seed` unless given.
    """
    job = Job.of(problem, agent, network)
    z = job.draws(rounds, seed) if draws is None else draws
    mixing = csr_array(job.mixing)
    bounds = zip(mixing.indptr[:-1], mixing.indptr[1:], strict=True)
    neighbours = [(mixing.indices[a:b], mixing.data[a:b]) for a, b in bounds]  # itself among them
    decisions = np.empty((rounds, job.agents, job.dim))
    x = np.tile(job.start, (job.agents, 1))
    y = x.copy()
    memories = [Memory(job) for _ in range(job.agents)]
    for first in range(0, rounds, job.block):
        last = min(first + job.block, rounds)
        sent = y.copy()
        for i, memory in enumerate(memories):
            gradient = np.zeros(job.dim)
            for t in range(first, last):
                decisions[t, i] = x[i]
                query = z[t, i] * x[i]
                weights = job.middle[i] + job.half[i] * np.cos(job.speed[i] * t + job.phase[i])
                gradient += weights - (query.sum() - query)
            others, share = neighbours[i]
            # The oracle starts from what it remembers, so that x need not be mixed.
            x[i], y[i] = memory.project(share @ sent[others] + job.step * gradient)
    return decisions, np.array([memory.calls for memory in memories])


class Memory:
    """The corrective oracle of one agent: the points that it remembers, their weights, and since when they have none."""

    def __init__(self, job: Job):
        self.job = job
        self.points = job.start[None].copy()
        self.weights = np.ones(1)
        self.age = np.zeros(1, np.int64)
        self.calls = 0

    def project(self, y: Floats) -> tuple[Floats, Floats]:
        job = self.job
        if y.min() >= 0 and y.max() <= 1 and y.sum() <= job.budget:
            x = y
        else:
            x, y = self._search(y)
        self.age = np.where(self.weights > 0, 0, self.age + 1)
        return x, y / max(1.0, float(np.sqrt(y @ y)) / job.radius)

    def _search(self, y: Floats) -> tuple[Floats, Floats]:
        """The nearest point of the hull of what is remembered, more and more of it, until K has nothing beyond."""
        job, low = self.job, np.inf
        while True:
            x = self._nearest(y)
            rest = y - x
            height = float(rest @ rest)
            if height <= 3 * job.tolerance:
                return x, y
            v = self._ask(rest)
            gap = float(rest @ (v - x))
            if gap <= job.tolerance or not height < low:
                return x, x + max(gap, 0.0) / height * rest
            low = height
            self._remember(v)

    def _ask(self, direction: Floats) -> Floats:
        """The linear oracle: the largest entries, as far as they are positive."""
        self.calls += 1
        best = direction.argpartition(-self.job.budget)[-self.job.budget :]
        v = np.zeros(self.job.dim)
        v[best] = direction[best] > 0
        return v

    def _nearest(self, y: Floats) -> Floats:
        """Wolfe's method."""
        job, points, weights = self.job, self.points, self.weights
        gram = points @ points.T + job.unit
        gram.flat[:: len(points) + 1] += job.ridge
        sides = np.column_stack([points @ y, np.ones(len(points))])
        support = weights.nonzero()[0]
        low = np.inf
        while True:
            # The nearest point of the support's affine hull.
            free, flat = np.linalg.solve(gram[support[:, None], support], sides[support]).T
            aim = free + (1 - free.sum()) / flat.sum() * flat
            if aim.min() < 0:  # only so far that no weight gets negative; whose is zero then leaves
                now = weights[support]
                falling = aim < 0
                room = now[falling] / (now - aim)[falling]
                now = np.maximum(now + room.min() * (aim - now), 0)
                now[falling.nonzero()[0][room.argmin()]] = 0
                weights[support] = now / now.sum()
                support = support[now > 0]
                continue
            weights[:] = 0
            weights[support] = aim
            x = aim @ points[support]
            rest = y - x
            height = float(rest @ rest)
            gain = points @ rest - x @ rest
            gain[support] = 0
            newcomer = gain.argmax()
            if gain[newcomer] <= job.floor or not height < low:
                return x
            low = height
            support = np.append(support, newcomer)

    def _remember(self, v: Floats) -> None:
        """v in the place that is missed least."""
        if len(self.points) < self.job.places:
            self.points = np.vstack([self.points, v])
            self.weights = np.append(self.weights, 0)
            self.age = np.append(self.age, 0)
            return
        place = np.where(self.weights > 0, -self.weights, 1 + self.age).argmax()
        weight = self.weights[place]
        if weight > 0:  # no place is free: the two lightest become their mean
            heir = np.where(np.arange(len(self.points)) == place, np.inf, self.weights).argmin()
            together = weight + self.weights[heir]
            self.points[heir] = (weight * self.points[place] + self.weights[heir] * self.points[heir]) / together
            self.weights[heir] = together
        self.points[place], self.weights[place], self.age[place] = v, 0, 0
