"""The rivals of Table 1 in plain NumPy: one loop per line of pseudo-code.

`gradient(i, t, x)` is the problem's, A the weight matrix, `argmax`, `project` and `separate` the set's oracles. Random
numbers come from outside: `noise(i, t)` (K, d) uniform numbers, `order(i, t)` a random order of the block, `draw(i, t)` the
Z of a round. Each returns the actions (T, N, d), the query points by agent and round, and the oracle calls of every agent.
"""

import numpy as np

from tests.reference.algorithms import Log


def _mix(A, values):
    return [sum(A[i, j] * values[j] for j in range(len(A))) for i in range(len(A))]


def _end_of_block(log, A, argmax, rho, width, noise, gradients, totals):
    """Gradients (N, K, d) -> the next paths, (N, K + 1, d)."""
    N, K, d = gradients.shape
    g, direction = np.zeros((N, d)), np.zeros((N, d))
    for k in range(K):
        new = (1 - rho[k]) * g + rho[k] * gradients[:, k]
        direction = np.array(_mix(A, direction)) + new - g
        g = new
        totals[:, k] += direction
    paths = np.zeros((N, K + 1, d))
    for k in range(K):
        mixed = _mix(A, paths[:, k])
        for i in range(N):
            v = argmax(totals[i, k] + width * noise(i)[k])
            log.calls[i] += 1
            paths[i, k + 1] = mixed[i] + v / K
    return paths


def dmfw(gradient, argmax, noise, A, c, T, K, width):
    N, d = len(A), len(c)
    log = Log(T, N, d)
    rho = [2 / (k + 3) ** (2 / 3) for k in range(1, K + 1)]
    paths = np.tile(np.arange(K + 1)[:, None] / K * c, (N, 1, 1))
    totals = np.zeros((N, K, d))
    for t in range(T):
        gradients = np.zeros((N, K, d))
        for i in range(N):
            log.actions[t, i] = paths[i, K]
            log.queries[i, t] = paths[i, :K].copy()
            for k in range(K):
                gradients[i, k] = gradient(i, t, paths[i, k])
        paths = _end_of_block(log, A, argmax, rho, width, lambda i, t=t: noise(i, t), gradients, totals)
    return log


def mono_dmfw(gradient, argmax, noise, order, A, c, T, K, width):
    N, d = len(A), len(c)
    log = Log(T, N, d)
    rho = [2 / (k + 3) ** (2 / 3) if k <= K / 2 + 1 else 1.5 / (K - k + 2) ** (2 / 3) for k in range(1, K + 1)]
    paths = np.tile(np.arange(K + 1)[:, None] / K * c, (N, 1, 1))
    totals = np.zeros((N, K, d))
    for first in range(0, T, K):
        gradients = np.zeros((N, K, d))
        for i in range(N):
            step_of_round = order(i, first)
            for q in range(min(K, T - first)):
                k, t = step_of_round[q], first + q
                log.actions[t, i] = paths[i, K]
                log.queries[i, t] = [paths[i, k].copy()]
                gradients[i, k] = gradient(i, t, paths[i, k])
        paths = _end_of_block(log, A, argmax, rho, width, lambda i, t=first: noise(i, t), gradients, totals)
    return log


def dobga(gradient, project, draw, A, c, T, eta):
    """Monotone, gamma = 1, 0 in K."""
    N, d = len(A), len(c)
    log = Log(T, N, d)
    x = np.tile(c, (N, 1))
    for t in range(T):
        o = np.zeros((N, d))
        for i in range(N):
            z = draw(i, t)
            log.actions[t, i] = x[i]
            log.queries[i, t] = [z * x[i]]
            o[i] = gradient(i, t, z * x[i])
        mixed = _mix(A, x)
        for i in range(N):
            x[i] = project(mixed[i] + eta * (1 - np.exp(-1)) * o[i])
            log.calls[i] += 1
    return log


def dec_bftrl(gradient, separate, draw, A, x0, r, R, T, mu):
    """Monotone, gamma = 1, 0 in K; `separate(x)` returns None inside, else a normal."""
    N, d = len(A), len(x0)
    log = Log(T, N, d)
    theta, u = np.zeros((N, d)), np.zeros((N, d))
    for t in range(T):
        losses = np.zeros((N, d))
        for i in range(N):
            S, s, calls = gauge(lambda x: separate(x0 + x), u[i], 1 / T, r)
            log.calls[i] += calls if t > 0 else 0  # u = 0 needs no question
            p = u[i] / (1 + S)
            w = x0 + p
            z = draw(i, t)
            log.actions[t, i] = w
            log.queries[i, t] = [z * w]
            loss = -gradient(i, t, z * w)
            losses[i] = loss - (loss @ p * s if loss @ u[i] < 0 else 0)
        theta = np.array(_mix(A, theta)) + losses
        for i in range(N):
            u[i] = -_root(np.linalg.norm(theta[i]), R, mu) * theta[i] / np.linalg.norm(theta[i])
    for i in range(N):
        log.calls[i] += gauge(lambda x: separate(x0 + x), u[i], 1 / T, r)[2]  # ready for a next round
    return log


def gauge(separate, u, precision, r):
    normal = separate(u)
    calls = 1
    if normal is None:
        return 0.0, np.zeros_like(u), calls
    a, b = 0.0, 1.0
    while b - a > r**2 * precision / (2 * u @ u):
        middle = (a + b) / 2
        cut = separate(middle * u)
        calls += 1
        if cut is None:
            a = middle
        else:
            b, normal = middle, cut
    return 1 / a - 1, normal / (b * normal @ u), calls


def _root(steepness, R, mu):
    """2 s/(R^2 - s^2) + mu s = steepness on [0, R): the middle root of a cubic."""
    roots = np.roots([-mu, steepness, mu * R**2 + 2, -steepness * R**2])
    roots = roots[np.abs(roots.imag) < 1e-9].real
    return roots[(roots >= 0) & (roots < R)][0]
