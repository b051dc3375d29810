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
