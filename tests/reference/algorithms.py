"""The paper's Algorithms 1 to 5 in plain NumPy: one loop per line of pseudo-code, corrections applied.

Every function takes the problem's f or its gradient, the weight matrix A, and the random numbers of each agent and
slot: `draw(i, t)` returns (z, share, v), where z is the linearization's random number, v a direction on the unit
sphere of L0 and the query round of a slot of L rounds is its floor(share L)-th. Rounds and agents count from 0.
Each returns the actions (T, N, d), the query points of every slot, and the LOO calls of every agent.
"""

import math

import numpy as np


class Log:
    def __init__(self, T, N, d):
        self.actions = np.full((T, N, d), np.nan)
        self.queries = {}  # (agent, first round of the slot) -> the points asked at
        self.calls = np.zeros(N, int)


def _end_of_block(log, A, x, y, eta_o, project):
    """Lines 9-11 of Algorithm 1 for all agents: exchange, step, infeasible projection.

    `project` gets the agent's own x, the mixed x and the moved y; the lean exchange starts from its own.
    """
    new_x, new_y = x.copy(), y.copy()
    for i in range(len(A)):
        mixed_x = sum(A[i, j] * x[j] for j in range(len(A)))
        mixed_y = sum(A[i, j] * y[j] for j in range(len(A)))
        new_x[i], new_y[i], calls = project(x[i], mixed_x, mixed_y + eta_o[i])
        log.calls[i] += calls
    return new_x, new_y


def algorithm_1(gradient, h, query, pull, draw, project, A, c, T, K, eta):
    """DROCULO: gradients at any point."""
    N, d = len(A), len(c)
    log = Log(T, N, d)
    x, y = np.tile(c, (N, 1)), np.tile(c, (N, 1))
    for m in range(math.ceil(T / K)):
        o = np.zeros((N, d))
        for i in range(N):
            for t in range(m * K, min((m + 1) * K, T)):
                log.actions[t, i] = h(x[i])
                z, _, _ = draw(i, t)
                w = query(x[i], z)
                log.queries[i, t] = [w]
                o[i] += pull(x[i], z, gradient(i, t, w))
        x, y = _end_of_block(log, A, x, y, eta * o, project)
    return log


def algorithm_2(value, draw, project, A, c, T, K, eta, delta, k, control):
    """Bandit feedback with trivial queries: play and ask at x + delta v."""
    N, d = len(A), len(c)
    log = Log(T, N, d)
    x, y = np.tile(c, (N, 1)), np.tile(c, (N, 1))
    seen = [[] for _ in range(N)]
    for m in range(math.ceil(T / K)):
        o = np.zeros((N, d))
        for i in range(N):
            block = []
            for t in range(m * K, min((m + 1) * K, T)):
                _, _, v = draw(i, t)
                log.actions[t, i] = x[i] + delta * v
                log.queries[i, t] = [log.actions[t, i]]
                block.append((value(i, t, log.actions[t, i]), v))
            o[i] = one_point(block, seen[i], delta, k, control)
        x, y = _end_of_block(log, A, x, y, eta * o, project)
    return log


def algorithm_3(gradient, h, query, pull, draw, project, A, c, T, K, L, eta):
    """Semi-bandit feedback with separate queries: one random round of every slot plays the query."""
    N, d = len(A), len(c)
    log = Log(T, N, d)
    x, y = np.tile(c, (N, 1)), np.tile(c, (N, 1))
    slots = math.ceil(T / L)
    for m in range(math.ceil(slots / K)):
        o = np.zeros((N, d))
        for i in range(N):
            for q in range(m * K, min((m + 1) * K, slots)):
                rounds = range(q * L, min((q + 1) * L, T))
                z, share, _ = draw(i, q * L)
                w = query(x[i], z)
                chosen = rounds[int(share * len(rounds))]
                for t in rounds:
                    if t == chosen:
                        log.actions[t, i] = w
                        log.queries[i, q * L] = [w]
                        o[i] += pull(x[i], z, gradient(i, t, w))
                    else:
                        log.actions[t, i] = h(x[i])
        x, y = _end_of_block(log, A, x, y, eta * o, project)
    return log


def algorithm_4(value, h, query, draw, project, A, c, T, K, eta, delta, k, control, two_point=False):
    """Zeroth-order full information: play h(x), ask for values around the query point (one, or two)."""
    N, d = len(A), len(c)
    log = Log(T, N, d)
    x, y = np.tile(c, (N, 1)), np.tile(c, (N, 1))
    seen = [[] for _ in range(N)]
    for m in range(math.ceil(T / K)):
        o = np.zeros((N, d))
        for i in range(N):
            block = []
            for t in range(m * K, min((m + 1) * K, T)):
                log.actions[t, i] = h(x[i])
                z, _, v = draw(i, t)
                w = query(x[i], z)
                log.queries[i, t] = [w + delta * v, w - delta * v] if two_point else [w + delta * v]
                if two_point:
                    o[i] += k / (2 * delta) * (value(i, t, w + delta * v) - value(i, t, w - delta * v)) * v
                else:
                    block.append((value(i, t, w + delta * v), v))
            if not two_point:
                o[i] = one_point(block, seen[i], delta, k, control)
        x, y = _end_of_block(log, A, x, y, eta * o, project)
    return log


def algorithm_5(value, h, query, draw, project, A, c, T, K, L, eta, delta, k, control):
    """Bandit feedback with separate queries: one random round of every slot plays the perturbed query."""
    N, d = len(A), len(c)
    log = Log(T, N, d)
    x, y = np.tile(c, (N, 1)), np.tile(c, (N, 1))
    seen = [[] for _ in range(N)]
    slots = math.ceil(T / L)
    for m in range(math.ceil(slots / K)):
        o = np.zeros((N, d))
        for i in range(N):
            block = []
            for q in range(m * K, min((m + 1) * K, slots)):
                rounds = range(q * L, min((q + 1) * L, T))
                z, share, v = draw(i, q * L)
                w = query(x[i], z) + delta * v
                chosen = rounds[int(share * len(rounds))]
                for t in rounds:
                    if t == chosen:
                        log.actions[t, i] = w
                        log.queries[i, q * L] = [w]
                        block.append((value(i, t, w), v))
                    else:
                        log.actions[t, i] = h(x[i])
            o[i] = one_point(block, seen[i], delta, k, control)
        x, y = _end_of_block(log, A, x, y, eta * o, project)
    return log


def one_point(block, seen, delta, k, control):
    """sum (k/delta) (o - b) v; with control, b is the mean of all other values up to the end of the block.

    control="alone": only the slot without a partner has a b (of an odd number of slots, the last).
    """
    before = list(seen)
    seen.extend(o for o, _ in block)
    total = 0.0
    for q, (o, v) in enumerate(block):
        others = seen[: len(before) + q] + seen[len(before) + q + 1 :]
        wanted = control is True or (control == "alone" and q % 2 == 0 and q + 1 == len(block))
        b = np.mean(others) if wanted and others else 0.0
        total = total + k / delta * (o - b) * v
    return total
