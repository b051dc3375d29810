"""The non-convex quadratic: the usual benchmark, over a polytope whose oracle is a linear program."""

from __future__ import annotations

from typing import Any

from droculo.engine import Trajectory
from droculo.gallery.story import Story, cell
from droculo.problems import Problem


def draw(ax: Any, problem: Problem, run: Trajectory) -> None:
    """The network's mean action over time, one row for each coordinate."""
    mean = run.actions.mean(axis=1).T
    picture = ax.imshow(
        mean, aspect="auto", origin="lower", cmap="viridis", extent=(0, run.horizon, -0.5, len(mean) - 0.5)
    )
    ax.figure.colorbar(picture, ax=ax, label="mean action")
    ax.set_xlabel("round")
    ax.set_ylabel("coordinate")


STORY = Story(
    title="Non-convex quadratic (NQP)",
    decided="A vector x of 25 activity levels between 0 and 1. There is no story behind the numbers: this is the "
    "benchmark on which methods for diminishing returns are usually compared.",
    agents="Six agents with quadratics of their own.",
    round="Each agent goes through four quadratics x.Hx/2 + h.x in turn.",
    set="{Ax <= 1, 0 <= x <= 1} with 15 random rows. Its oracle is a linear program, solved by HiGHS outside of "
    "the compiled program.",
    case="A2: monotone with diminishing returns on a set with the origin, alpha = 1 - 1/e. No entry of H is "
    "positive, so the gradient h + Hx falls as x grows, and h = -H 1 keeps it from falling below 0. The "
    "authors' own version has h = -0.1 H 1 (`NQP.random`, case A4 or A3). It is not monotone and needs a "
    "constant of about 1570 to be non-negative, of which learning could gain less than 20: a reward curve "
    "shows nothing, so this one is shown.",
    source="H = -10 times a symmetrised uniform matrix and A uniform, 25 coordinates and 15 constraints: an earlier "
    "benchmark of the paper's authors. The family is that of Bian et al. (2017).",
    unit="reward per round",
    cell=cell(
        "nqp-monotone", "ring", "full-information", 500, theta=0.7, step=0.3, tolerance=1e-3, dim=25, constraints=15
    ),
    draw=draw,
    caption="The network's mean action: from the middle of the polytope to the few coordinates that pay.",
)
