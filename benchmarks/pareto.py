"""The Pareto plane of oracles: LOO calls against certified regret, over theta, step and tolerance, for the paper's and ours.

.venv/bin/python benchmarks/pareto.py --out docs/results    # about fifteen minutes

The setting of benchmarks/oracle_calls.py with T = 1024, less where a call takes long.
"""

from __future__ import annotations

import argparse
from itertools import product
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
from oracle_calls import OURS, PAPER, RING_SETS, STEP, TOLERANCE, Point, run
from targets import Part, Target, table

THETAS, STEPS = (0.5, 1.0), (1.0, STEP, 10.0)
#: the paper's oracle pays for a small tolerance dearly at theta = 1, so its list ends earlier there
TOLERANCES = {("ours", 0.5): (1.0, 0.1, TOLERANCE), ("ours", 1.0): (1.0, 0.1, TOLERANCE)}
TOLERANCES |= {("paper", 0.5): (1.0, 0.1, TOLERANCE), ("paper", 1.0): (1.0, 0.3)}
DEFAULT = (STEP, TOLERANCE)

#: where a call takes long: fewer rounds, and the paper's oracle without its smallest tolerance
SHORTER = {"LP polytope": 256}

Plane = dict[tuple[str, float, float, float], Point]


def plane(name: str, quick: bool) -> Plane:
    """(oracle, theta, step, tolerance) -> what the run cost and won."""
    horizon = 128 if quick else SHORTER.get(name, 1024)
    return {
        (who, theta, step, tolerance): run(name, oracle, horizon, theta, step, tolerance, timed=False)
        for who, oracle in (("ours", OURS), ("paper", PAPER))
        for theta, step in product(THETAS, STEPS)
        for tolerance in TOLERANCES[who, theta]
        if not (who == "paper" and name in SHORTER and tolerance < 0.1)
    }


def dominance(points: Plane, theta: float) -> float:
    """How much lower the regret of the best run is that needs no more LOO calls than the default of this theta: 1 if none."""
    mine = points["ours", theta, *DEFAULT]
    rivals = [p.regret for p in points.values() if p.total_calls <= mine.total_calls]
    return mine.regret / min(rivals)


def draw(planes: dict[str, Plane], path: Path) -> None:
    matplotlib.use("agg")
    figure, axes = plt.subplots(2, 4, figsize=(14, 6.5), constrained_layout=True)
    for axis, (name, points) in zip(axes.flat, planes.items(), strict=False):
        for who, colour in (("paper", "tab:red"), ("ours", "tab:blue")):
            for theta, marker in zip(THETAS, "os", strict=True):
                its = [p for (w, t, *_), p in points.items() if (w, t) == (who, theta)]
                axis.scatter(
                    [max(p.total_calls, 0.5) for p in its], [p.regret for p in its], s=22, c=colour, marker=marker, alpha=0.7,
                    label=f"{'the paper' if who == 'paper' else 'corrective'}, theta = {theta:g}",
                )  # fmt: skip
        for theta in THETAS:
            best = points["ours", theta, *DEFAULT]
            axis.scatter([best.total_calls], [best.regret], s=130, facecolors="none", edgecolors="k", label=None)
        axis.set(
            xscale="log", yscale="log", title=name, xlabel="LOO calls of an agent", ylabel="certified regret a round"
        )
    axes.flat[-1].axis("off")
    handles, labels = axes.flat[0].get_legend_handles_labels()
    axes.flat[-1].legend(handles, labels, loc="center", title="circled: the defaults")
    figure.savefig(path, metadata={"Date": None, "Creator": None})
    plt.close(figure)


def measure_pareto(quick: bool = False, out: Path | None = None) -> Part:
    names = ("budget", "simplex") if quick else tuple(RING_SETS)
    planes, rows, targets = {}, [], []
    for name in names:
        planes[name] = points = plane(name, quick)
        for theta in THETAS:
            mine, worth = points["ours", theta, *DEFAULT], dominance(points, theta)
            cheapest = min(
                (p.total_calls for (who, *_), p in points.items() if who == "paper" and p.regret <= 1.02 * mine.regret),
                default=None,
            )
            row: list[Any] = [name, theta, mine.total_calls, mine.regret, worth]
            rows.append([*row, "none tried" if cheapest is None else cheapest])
            print(*rows[-1], flush=True)
            if not quick:
                what = f"default regret against the best at no more LOO calls ({name}, theta = {theta:g})"
                targets.append(Target(what, worth, at_most=1.02))
    text = table(
        ["set", "theta", "LOO calls of the default", "its certified regret a round", "against the best at no more calls",
         "LOO calls of the paper's cheapest at that regret"],
        rows,
    )  # fmt: skip
    if out is not None:
        draw(planes, out / "pareto.svg")
        text = "![LOO calls against certified regret](pareto.svg)\n\n" + text
    return Part("The Pareto plane", ".venv/bin/python benchmarks/pareto.py --out docs/results", text, targets)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    part = measure_pareto(given.quick, given.out)
    print(part.text, *(target.line for target in part.targets), sep="\n")


if __name__ == "__main__":
    main()
