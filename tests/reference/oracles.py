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


def nearest(points, weights, y, floor):
    """Wolfe's method: weights of the point of the hull nearest to y, from those given."""
    w, low = np.array(weights), np.inf
    support = [k for k in range(len(w)) if w[k] > 0]
    while True:
        # the nearest point of the support's affine hull, by the equations of a constrained least-squares problem
        Q, n = points[support], len(support)
        system = np.block([[Q @ Q.T, np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
        aim = np.linalg.lstsq(system, np.append(Q @ y, 1.0), rcond=None)[0][:n]
        if np.any(aim < 0):
            now = w[support]
            room = np.where(aim < 0, now / np.where(aim < 0, now - aim, 1), np.inf)
            k = int(np.argmin(room))
            w[support] = np.maximum(now + room[k] * (aim - now), 0)
            w[support[k]] = 0
            w /= w.sum()
            support.pop(k)
            continue
        w[:] = 0
        w[support] = aim
        x = w @ points
        height = (x - y) @ (x - y)
        gains = (points - x) @ (y - x)
        gains[support] = -np.inf
        newcomer = int(np.argmax(np.floor(gains / floor)))
        if not (gains[newcomer] > floor and height < low):
            return w
        low = height
        support = sorted([*support, newcomer])


def corrective(argmax, foot, inside, R, y0, eps, memory, size):
    """With a memory, a list of [point, weight, age] that is changed in place. Returns x, y, calls."""
    x, y, calls, low = None, y0, 0, np.inf
    if inside(foot(y)):
        x = y = foot(y)
    while x is None:
        points = np.array([atom[0] for atom in memory])
        weights = nearest(points, [atom[1] for atom in memory], y, max(0.01 * eps, 64 * np.finfo(float).eps * R**2))
        for atom, weight in zip(memory, weights, strict=True):
            atom[1] = weight
        near = weights @ points
        height = (near - y) @ (near - y)
        if height <= 3 * eps:
            x = near
            break
        unit = np.abs(y - near).max() * 2**-26 / 16
        direction = np.floor((y - near) / unit + 0.5) * unit
        v = argmax(direction)
        gap = direction @ (v - near) + 2 * R * np.linalg.norm(y - near - direction)
        calls += 1
        if gap <= eps or not height < low:
            if gap > eps:
                memory[:] = [[near, 1.0, 0]]
            x, y = near, near + np.clip(gap, 0, height) / height * (y - near)
            break
        low = height
        if len(memory) < size:
            memory.append([v, 0.0, 0])
        else:  # who went without weight for longest makes room (this transcription never needs to merge)
            idle = [(-atom[2], k) for k, atom in enumerate(memory) if atom[1] == 0]
            memory[min(idle)[1]] = [v, 0.0, 0]
    for atom in memory:
        atom[2] = 0 if atom[1] > 0 else atom[2] + 1
    return x, y / max(1.0, np.linalg.norm(y) / R), calls
