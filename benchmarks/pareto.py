"""The Pareto plane of oracles: LOO calls against certified regret, over theta, step and tolerance, for the paper's and ours.

.venv/bin/python benchmarks/pareto.py --out docs/results    # about half an hour on two cores

The setting of benchmarks/oracle_calls.py with T = 1024, less where a call takes long. Every point has played against two
adversaries, since nobody knows beforehand which it will be: the quadratics of oracle_calls.py, where noise is a small part of the
gradients and long steps win, and noisy linear functions, where they lose. Both are drawn twice (functions, the LP polytope, the graph
of the trees). The default is the step that adapts itself; all other points have a prescribed one. A point's regret is the geometric mean over these
games, its calls are the mean.
"""

from __future__ import annotations

import argparse
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from oracle_calls import ON_HOST, OURS, PAPER, RING_SETS, Point, linear, rough, run
from targets import Part, Target, on_all_cores, table

#: not the 0 of oracle_calls.py
SEEDS = (100, 101)
GAMES = {
    (adversary, seed): partial(problem, seed=seed)
    for adversary, problem in (("quadratics", rough), ("linear", linear))
    for seed in SEEDS
}
THETAS, STEPS = (0.5, 1.0), (1.0, 3.0, 10.0, 30.0, 100.0)
TOLERANCES = (1.0, 0.1, 0.01)
#: of the paper's oracle, which pays for small tolerances and long steps dearly; where a solver answers, the first step and two
#: tolerances
PAPER_STEPS, PAPER_TOLERANCES = (3.0, 1.0, 10.0), {0.5: (1.0, 0.1, 0.01), 1.0: (1.0, 0.3)}

#: where a call takes longest: fewer rounds
SHORTER = {"LP polytope": 512}

#: what a run cost and won, in each game
Games = dict[tuple[str, int], Point]
#: (oracle, theta, step, tolerance; None and None for the default) -> its games
Plane = dict[tuple[str, float, float | None, float | None], Games]


def plane(quick: bool, name: str) -> Plane:
    horizon = 128 if quick else SHORTER.get(name, 1024)
    slow = name in ON_HOST
    points: Plane = {}
    for theta in THETAS:
        ours = ((("ours", OURS), None, None), *product((("ours", OURS),), STEPS, TOLERANCES))
        steps, tolerances = PAPER_STEPS[: 1 if slow else None], PAPER_TOLERANCES[theta][: 2 if slow else None]
        for (who, oracle), step, tolerance in (*ours, *product((("paper", PAPER),), steps, tolerances)):
            points[who, theta, step, tolerance] = {
                game: run(name, oracle, horizon, theta, step, tolerance, timed=False, adversary=problem)
                for game, problem in GAMES.items()
            }
    return points


def calls_of(games: Games) -> float:
    return float(np.mean([point.total_calls for point in games.values()]))


def regret_of(games: Games) -> float:
    regrets = [point.regret for point in games.values()]
    assert min(regrets) > 0, f"a certificate below zero has no place on a logarithmic plane: {regrets}"
    return float(np.exp(np.mean(np.log(regrets))))


def dominance(points: Plane, mine: Games, only: str | None = None) -> float:
    """How much lower the regret of the best run is that needs no more LOO calls than `mine` (against one adversary `only`): 1 if
    none."""

    def chosen(games: Games) -> Games:
        return {game: point for game, point in games.items() if only in (None, game[0])}

    cheap = [chosen(games) for games in points.values() if calls_of(chosen(games)) <= calls_of(chosen(mine))]
    return regret_of(chosen(mine)) / min(map(regret_of, cheap))


def draw(planes: dict[str, Plane], path: Path) -> None:
    matplotlib.use("agg")
    figure, axes = plt.subplots(2, 4, figsize=(14, 6.5), constrained_layout=True)
    for axis, (name, points) in zip(axes.flat, planes.items(), strict=False):
        for who, colour in (("paper", "tab:red"), ("ours", "tab:blue")):
            for theta, marker in zip(THETAS, "os", strict=True):
                its = [p for (w, t, *_), p in points.items() if (w, t) == (who, theta)]
                axis.scatter(
                    [max(calls_of(p), 0.5) for p in its], [regret_of(p) for p in its], s=22, c=colour, marker=marker, alpha=0.7,
                    label=f"{'the paper' if who == 'paper' else 'corrective'}, theta = {theta:g}",
                )  # fmt: skip
        for theta in THETAS:
            mine = points["ours", theta, None, None]
            axis.scatter(
                [max(calls_of(mine), 0.5)], [regret_of(mine)], s=130, facecolors="none", edgecolors="k", label=None
            )
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
    for name, points in zip(names, on_all_cores(partial(plane, quick), names), strict=True):
        planes[name] = points
        for theta in THETAS:
            mine = points["ours", theta, None, None]
            worth = dominance(points, mine)
            cheapest = min(
                (
                    calls_of(p)
                    for (who, *_), p in points.items()
                    if who == "paper" and regret_of(p) <= 1.02 * regret_of(mine)
                ),
                default=None,
            )
            row: list[Any] = [name, theta, calls_of(mine), regret_of(mine), worth]
            row += [dominance(points, mine, adversary) for adversary in ("quadratics", "linear")]
            rows.append([*row, "none tried" if cheapest is None else cheapest])
            print(*rows[-1], flush=True)
            if not quick:
                what = f"default regret against the best at no more LOO calls ({name}, theta = {theta:g})"
                targets.append(Target(what, worth, at_most=1.02))
    text = table(
        ["set", "theta", "LOO calls of the default", "its certified regret a round", "against the best at no more calls",
         "the same, quadratics alone", "the same, linear alone",
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
