"""Line-by-line NumPy transcriptions of the infeasible projections, nested loops and all."""

import numpy as np


def paper(argmax, R, x0, y0, eps):
    """O_IP as printed in the notes to the paper; returns x, y and the number of LOO calls."""
    y = y0 / max(1, np.linalg.norm(y0) / R)
    if np.sum((x0 - y0) ** 2) <= 3 * eps:
        return x0, y, 0
    gamma = 2 * eps / np.sum((x0 - y0) ** 2)
    x, calls = x0, 0
    while True:
        while True:
            v = argmax(y - x)
            calls += 1
            gap = (y - x) @ (v - x)
            if gap <= eps or np.sum((x - y) ** 2) <= 3 * eps:
                break
            x = x + min(1, gap / np.sum((v - x) ** 2)) * (v - x)
        if np.sum((x - y) ** 2) <= 3 * eps:
            return x, y, calls
        y = y - gamma * (y - x)


def sharp(argmax, foot, contains, R, x0, y0, eps, relative=0.1):
    """Exact-margin pull, relative stop, membership shortcut for the foot of y on the affine hull."""
    y = y0 / max(1, np.linalg.norm(y0) / R)
    if contains(foot(y)):
        return foot(y), foot(y), 0
    x, calls = x0, 0
    while np.sum((x - y) ** 2) > 3 * eps:
        v = argmax(y - x)
        calls += 1
        gap = (y - x) @ (v - x)
        distance = np.sum((x - y) ** 2)
        if gap <= max(eps, relative * distance):
            y = x + max(gap, 0) / distance * (y - x)
        else:
            x = x + min(1, gap / np.sum((v - x) ** 2)) * (v - x)
    return x, y, calls


def corrective(argmax, foot, inside, R, y0, eps, memory, size):
    """Wolfe's method with a memory; `memory` is a list of [point, weight, age], changed in place. Returns x, y, calls."""
    y = y0 / max(1.0, np.linalg.norm(y0) / R)
    if inside(foot(y)):
        for atom in memory:
            atom[2] = 0 if atom[1] > 0 else atom[2] + 1
        return foot(y), foot(y), 0
    calls, low, asked_low = 0, np.inf, np.inf
    support = [k for k, atom in enumerate(memory) if atom[1] > 0]
    while True:
        P = np.array([atom[0] for atom in memory]) - y
        # the nearest point of the support's affine hull, by its normal equations
        Q = P[support]
        scale = (P**2).sum(axis=1).max()
        system = Q @ Q.T + scale + 4 * np.finfo(float).eps * scale * np.eye(len(support))
        aim = np.linalg.solve(system, np.ones(len(support)))
        aim /= aim.sum()
        w = np.array([memory[k][1] for k in support])
        if np.all(aim >= 0):
            w, dropped = aim, []
        else:
            room = np.where(aim < 0, w / np.where(aim < 0, w - aim, 1), np.inf)
            step = min(room.min(), 1.0)
            w = np.maximum(w + step * (aim - w), 0)
            dropped = [k for k, r in zip(support, room, strict=True) if r <= step]
        for atom in memory:
            atom[1] = 0.0
        for k, weight in zip(support, w / w.sum(), strict=True):
            memory[k][1] = 0.0 if k in dropped else weight
        total = sum(atom[1] for atom in memory)
        for atom in memory:
            atom[1] /= total
        if dropped:
            support = [k for k in support if k not in dropped]
            continue
        x = sum(atom[1] * atom[0] for atom in memory)
        height = (x - y) @ (x - y)
        gains = [(height - (x - y) @ (atom[0] - y), k) for k, atom in enumerate(memory) if k not in support]
        gain, newcomer = max(gains, default=(-np.inf, -1), key=lambda pair: (pair[0], -pair[1]))
        joins = gain > max(0.01 * eps, 64 * np.finfo(float).eps * (P**2).sum(axis=1).max()) and height < low
        low = height
        if joins:
            support.append(newcomer)
            continue
        if height <= 3 * eps:
            break
        v = argmax(y - x)
        gap = (y - x) @ (v - x)
        calls += 1
        if gap <= eps or not height < asked_low:
            y = x + np.clip(gap, 0, height) / height * (y - x)
            break
        asked_low = height
        if len(memory) < size:
            memory.append([v, 0.0, 0])
            place = len(memory) - 1
        else:  # who went without weight for longest makes room (this transcription never needs to merge)
            idle = [(-atom[2], k) for k, atom in enumerate(memory) if atom[1] == 0]
            place = min(idle)[1]
            memory[place] = [v, 0.0, 0]
        support = [k for k, atom in enumerate(memory) if atom[1] > 0] + [place]
    for atom in memory:
        atom[2] = 0 if atom[1] > 0 else atom[2] + 1
    return x, y, calls
