"""All agents at once, in NumPy: a Python loop over rounds, and within a round one over the steps of the corrective oracle.

Who has nothing left to do is left out of the steps that follow. (Steps that carry everybody along under masks take a
quarter longer for 20 agents.)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from droculo import Droculo, networks, problems

from . import Floats, Job

Whole = NDArray[np.int64]

#: projections after which all inverses are made anew, before rounding adds up
RENEW = 64
#: no loop needs nearly so many, unless rounding keeps it from ending
MOST_STEPS = 10_000

if hasattr(np, "matvec"):
    matvec, vecmat = np.matvec, np.vecmat
else:  # NumPy before 2.2

    def matvec(matrices: Floats, vectors: Floats) -> Floats:  # type: ignore[misc]
        return (matrices @ vectors[..., None])[..., 0]

    def vecmat(vectors: Floats, matrices: Floats) -> Floats:  # type: ignore[misc]
        return (vectors[..., None, :] @ matrices)[..., 0, :]


def run(
    problem: problems.Problem,
    agent: Droculo,
    network: networks.Network,
    rounds: int,
    seed: int,
    draws: Floats | None = None,
) -> tuple[Floats, Whole]:
    """The decisions (rounds, N, d) in the first rounds of a design, and every agent's LOO calls.

    `draws`: the z of every round and agent, (rounds, N); made from `seed` unless given.
    """
    job = Job.of(problem, agent, network)
    z = job.draws(rounds, seed) if draws is None else draws
    middle, half, speed, phase = job.middle, job.half, job.speed, job.phase
    decisions = np.empty((rounds, job.agents, job.dim))
    x = y = np.tile(job.start, (job.agents, 1))
    memory = Memory(job)
    for first in range(0, rounds, job.block):
        last = min(first + job.block, rounds)
        decisions[first:last] = x
        gains = half * np.cos(speed * first + phase)
        for t in range(first + 1, last):
            gains += half * np.cos(speed * t + phase)
        gains += (last - first) * middle
        # The gradient at z x is w - z (sum x - x); x is the same in all rounds of a block.
        others = np.add.reduce(x, 1, keepdims=True) - x
        gradient = gains - np.add.reduce(z[first:last], 0)[:, None] * others
        # The oracle starts from what it remembers, so that x need not be mixed.
        x, y = memory.project(job.mixing @ y + job.step * gradient)
    return decisions, memory.calls


class Memory:
    """The corrective oracle of all agents: the points that they remember, their weights, and what Wolfe's method needs.

    With S the points that have weight: `rows` holds M, the inverse of <p_i, p_j> on changes of weights within S that sum to
    zero, and below it the weights at which S's affine hull comes nearest to y. Who joins or leaves S changes all of it by
    one outer product.
    """

    def __init__(self, job: Job):
        self.job = job
        n, m = job.agents, job.places
        # Every place holds the start; all but the first are the oldest, and so the first to be filled.
        self.points = np.tile(job.start, (n, m, 1))
        self.weights = np.zeros((n, m))
        self.weights[:, 0] = 1
        self.age = np.full((n, m), 2.0**31)
        self.rows = np.zeros((n, m + 1, m))
        self.near = np.tile(job.start, (n, 1))  # the point that the weights make up
        self.calls = np.zeros(n, np.int64)
        self.count = np.arange(n)
        self.may_be_full = m < job.dim + 2  # more than d + 1 points are never needed at once
        self.fresh = np.zeros(n, bool)  # whether M was made anew since the last LOO call
        self.projections = 0

    def project(self, y: Floats) -> tuple[Floats, Floats]:
        """x and y of every agent; what is given is overwritten."""
        job = self.job
        outside = np.minimum.reduce(y, 1) < 0
        outside |= np.maximum.reduce(y, 1) > 1
        outside |= np.add.reduce(y, 1) > job.budget
        who = outside.nonzero()[0]
        self.fresh[:] = False
        self.projections += 1
        if self.projections % RENEW:
            self._aim(who, y)
        else:
            self._renew(self.count, y)
        for _ in range(MOST_STEPS):
            if not who.size:
                break
            self._nearest(who, y)
            who = self._ask(who, y)
        else:
            raise RuntimeError("the oracle does not end: its tolerance is below rounding.")
        self.age += 1
        self.age[self.weights > 0] = 0
        x = np.where(outside[:, None], self.near, y)
        y /= np.maximum(1, np.sqrt(np.vecdot(y, y)) / job.radius)[:, None]
        return x, y

    def _aim(self, who: Whole, y: Floats) -> None:
        """Where the weights would go from here."""
        slope = matvec(self.points.take(who, 0), y.take(who, 0) - self.near.take(who, 0))
        self.rows[who, -1] = self.weights.take(who, 0) + vecmat(slope, self.rows[who, :-1])

    def _nearest(self, who: Whole, y: Floats) -> None:
        """The point nearest to y in the hull of what is remembered."""
        floor = self.job.floor
        for _ in range(MOST_STEPS):
            aim = self.rows[who, -1]
            blocked = np.minimum.reduce(aim, 1) < 0
            leavers = who[blocked]
            if leavers.size:
                self._leave(leavers, aim[blocked])
                if leavers.size == who.size:
                    continue
                free = ~blocked
                who, aim = who[free], aim[free]
            self.weights[who] = aim
            points = self.points.take(who, 0)
            near = vecmat(aim, points)
            self.near[who] = near
            rest = y.take(who, 0) - near
            gain = matvec(points, rest)
            gain -= np.vecdot(near, rest)[:, None]
            most = np.maximum.reduce(gain, 1)
            beyond = most > floor
            who = who[beyond]
            if who.size:
                who = self._join(who, gain.argmax(axis=1)[beyond], most[beyond], y)
                if leavers.size:
                    who = np.concatenate([leavers, who])
            elif leavers.size:
                who = leavers
            else:
                return
        raise RuntimeError("Wolfe's method does not end: the oracle's tolerance is below rounding.")

    def _ask(self, who: Whole, y: Floats) -> Whole:
        """One LOO call of everybody who is not near enough; returns those who remember its answer and go on."""
        job, dim, budget = self.job, self.job.dim, self.job.budget
        near = self.near.take(who, 0)
        rest = y.take(who, 0) - near
        height = np.vecdot(rest, rest)
        far = height > 3 * job.tolerance
        if not far.all():
            who, near, rest, height = who[far], near[far], rest[far], height[far]
        v = np.zeros(rest.shape)
        v[self.count[: who.size, None], rest.argpartition(dim - budget, axis=1)[:, dim - budget :]] = 1
        v *= rest > 0
        self.calls[who] += 1
        gap = np.vecdot(rest, v - near)
        beyond = gap > job.tolerance
        left = np.maximum(gap, 0) / height
        left[beyond] = 1
        y[who] = near + left[:, None] * rest  # onto the plane that nothing in K lies beyond
        who = who[beyond]
        if not who.size:
            return who
        weights = self.weights.take(who, 0)
        place = np.where(weights > 0, -weights, self.age.take(who, 0)).argmax(axis=1)
        self.fresh[who] = False
        full = self._merge(who, place, y) if self.may_be_full else None
        self.points[who, place] = v[beyond]
        self.age[who, place] = 0
        if full is None:
            return self._join(who, place, gap[beyond], y)
        # Whose points were merged is not at its aim any more; the newcomer will join in its turn.
        there = ~full
        return np.concatenate([who[full], self._join(who[there], place[there], gap[beyond][there], y)])

    def _leave(self, who: Whole, aim: Floats) -> None:
        """Towards the aim until the first weight is zero; whose it is leaves the support."""
        weights, rows, count = self.weights.take(who, 0), self.rows.take(who, 0), self.count[: who.size]
        step = aim - weights
        room = np.full(step.shape, np.inf)
        np.divide(weights, -step, out=room, where=aim < 0)
        place = room.argmin(axis=1)
        step *= room[count, place][:, None]
        weights += step
        np.maximum(weights, 0, out=weights)
        weights[count, place] = 0
        self.weights[who] = weights
        own = rows[count, place]
        own /= own[count, place][:, None]
        rows -= rows[count, :, place][:, :, None] * own[:, None, :]
        rows[count, place] = 0
        self.rows[who] = rows

    def _join(self, who: Whole, place: Whole, gain: Floats, y: Floats) -> Whole:
        """The point in this place, which lies beyond the plane by `gain`, joins the support."""
        points, rows, count = self.points.take(who, 0), self.rows.take(who, 0), self.count[: who.size]
        column = matvec(points, points[count, place] - y.take(who, 0))
        reach = np.empty((who.size, rows.shape[1]))
        q = reach[:, :-1]
        np.add(vecmat(column, rows[:, :-1]), rows[:, -1], out=q)
        known = q[count, place]
        if known.any():
            # Somebody of the support lies beyond the plane through x: rounding has worn M out.
            worn = who[(known != 0) & ~self.fresh[who]]
            self._renew(worn, y)
            new = known == 0
            return np.concatenate([worn, self._join(who[new], place[new], gain[new], y)])
        q[count, place] = -1
        reach[:, -1] = -gain
        height = np.maximum(gain - np.vecdot(q, column), self.job.ridge)
        rows += reach[:, :, None] * (q / height[:, None])[:, None, :]
        self.rows[who] = rows
        return who

    def _renew(self, who: Whole, y: Floats) -> None:
        """M from scratch, and weights that sum to one again."""
        points, weights = self.points[who], self.weights[who]
        self.weights[who] = weights / weights.sum(axis=1, keepdims=True)
        self.near[who] = vecmat(self.weights[who], points)
        both = (weights > 0)[:, :, None] & (weights > 0)[:, None, :]
        one = np.eye(self.job.places)
        gram = points @ points.transpose(0, 2, 1) + self.job.unit + self.job.ridge * one
        inverse = np.where(both, np.linalg.inv(np.where(both, gram, one)), 0)
        flat = inverse.sum(axis=2)
        self.rows[who, :-1] = inverse - flat[:, :, None] * (flat / flat.sum(axis=1, keepdims=True))[:, None, :]
        self._aim(who, y)
        self.fresh[who] = True

    def _merge(self, who: Whole, place: Whole, y: Floats) -> NDArray[np.bool_]:
        """Where all places have weight, the lightest point and the next become their mean, and a place is free again."""
        full = self.weights[who, place] > 0
        for i, lightest in zip(who[full], place[full], strict=True):
            weights, points = self.weights[i], self.points[i]
            heir = np.where(np.arange(weights.size) == lightest, np.inf, weights).argmin()
            both = weights[[lightest, heir]]
            points[heir] = both @ points[[lightest, heir]] / both.sum()
            weights[heir], weights[lightest] = both.sum(), 0
        self._renew(who[full], y)
        return full
