"""The agent that adapts itself, in plain NumPy: blocks that grow, one loop per line of the method, no horizon and no bounds.

Random numbers and oracles come from outside, as in `tests.reference.algorithms`.
"""

import numpy as np

from tests.reference.algorithms import Log, one_point


def growing(theta, power, T, first_slot=1.0):
    """The first round, the end and the slots' rounds of every block that T rounds touch.

    Block b ends in the first whole round at or after b^(1/theta), or where a whole number of its slots of `first_slot` b^power
    rounds ends near it. `theta` is a fraction, so that nothing is rounded.
    """
    blocks, last = [], 0
    while last < T:
        b = len(blocks) + 1
        end = next(t for t in range(1, 10 * T + 10) if t**theta.numerator >= b**theta.denominator)
        slot = round(first_slot * b ** float(power))
        if power:
            end = last + slot * max(1, round((end - last) / slot))
        blocks.append((last, end, slot))
        last = end
    return blocks


class Step:
    """R e^h / sqrt(V): V adds up the squares of all signals; h rises where what the boundary does not hold back of the signal
    agrees with where the agent and its neighbourhood have moved of late, and falls where neighbours sit elsewhere. Both are averaged over the neighbourhood first."""

    def __init__(self, c, R, flat, numbers):
        self.V, self.h, self.b = 0.0, 0.0, 0
        self.start = self.x = self.mixed = c
        self.R, self.flat, self.numbers = R, flat, numbers

    def move(self, o, x, own, mixed, V, h):
        """What y moves by, and the tolerance. V and h are the averages that the exchange gave."""
        n, R = self.numbers, self.R
        self.b += 1
        o = self.flat(o)
        self.V = V + o @ o
        gone = max(np.linalg.norm(mixed - self.start), 1e-6 * R)
        apart = np.linalg.norm(mixed - own) / gone
        free = o.copy()
        beyond, far = own - x, np.linalg.norm(own - x)
        if n["slack"] > 0 and apart < 1 and min(far, np.linalg.norm(x - self.x)) > 1e-6 * R:
            # Without what pushes against the boundary, as far as agents agree.
            free -= (1 - apart) * max(0.0, o @ beyond / far) * beyond / far
        agreement = (self.cosine(free, x - self.x) + self.cosine(free, mixed - self.mixed)) / 2
        late = min(1, n["settle"] / self.b)
        h = h + n["rise"] * late * (agreement - n["caution"] * min(1, (apart / n["apart"]) ** 2))
        self.h = min(max(h, n["least"]), n["most"])
        self.x, self.mixed = self.x + late * (x - self.x), self.mixed + late * (mixed - self.mixed)
        by = R * np.exp(self.h) * o / np.sqrt(self.V) if self.V > 0 else 0 * o
        return by, n["exactness"] * R**2 / self.b

    def cosine(self, o, last):
        lengths = np.linalg.norm(o) * np.linalg.norm(last)
        return o @ last / lengths if lengths > 0 and np.linalg.norm(last) > 1e-6 * self.R else 0.0

    def keep(self, target, x, y):
        """What lies outside K is kept, up to a share of R; where that share is zero, the oracle's own y."""
        if self.numbers["slack"] == 0:
            return y
        beyond = target - x
        far = np.linalg.norm(beyond)
        return x + beyond * min(1, self.numbers["slack"] * self.R / far) if far > 0 else x


def adaptive(ask, h, query, pull, draw, project, steps, A, c, T, blocks, *, played, values=None):
    """`ask(i, t, x)` is a gradient, or a value if `values` = (k, r, power) are given: the dimension of the set, the radius
    of its inner ball, and the power of b that the distance r/2 falls with. `played`: the query is played in a round of its slot.

    Returns the log, and in how many exchanges every agent took part.
    """
    N, d = len(A), len(c)
    log, exchanges = Log(T, N, d), 0
    x, y = np.tile(c, (N, 1)), np.tile(c, (N, 1))
    seen = [[] for _ in range(N)]
    for b, (first, end, slot) in enumerate(blocks, start=1):
        o = np.zeros((N, d))
        for i in range(N):
            block = []
            for start in range(first, min(end, T), slot):
                z, share, v = draw(i, start)
                w, chosen = query(x[i], z), start + int(share * slot)
                if values is not None:
                    k, r, power = values
                    delta = r / 2 * b**-power
                    w = w + delta / r * (c - w) + delta * v  # so far inward that the ball around it lies in K
                log.queries[i, start] = [w]
                for t in range(start, min(start + slot, T)):
                    log.actions[t, i] = w if played and t == chosen else h(x[i])
                if values is None:
                    o[i] += pull(x[i], z, ask(i, chosen, w))
                else:
                    block.append((ask(i, chosen, w), v))
            if values is not None:
                o[i] = one_point(block, seen[i], delta, k, "alone")
        if end > T:  # the run ends within the block
            break
        exchanges += 1
        told = [(x[j].copy(), y[j].copy(), steps[j].V, steps[j].h) for j in range(N)]
        for i in range(N):
            near_x, near_y, V, boldness = (sum(A[i, j] * told[j][part] for j in range(N)) for part in range(4))
            by, eps = steps[i].move(o[i], told[i][0], told[i][1], near_y, V, boldness)
            target = near_y + by
            x[i], near, calls = project(i, told[i][0], near_x, target, eps)
            y[i] = steps[i].keep(target, x[i], near)
            log.calls[i] += calls
    return log, exchanges
