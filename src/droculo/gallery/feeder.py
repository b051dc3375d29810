"""Power network reconfiguration on the 33-bus feeder: tie lines half closed (A2), and trees (concave)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import numpy as np

from droculo.engine import Trajectory
from droculo.gallery.page import Story, cell
from droculo.precision import double
from droculo.problems import Problem
from droculo.problems.applications.feeder import Reconfiguration
from droculo.problems.applications.feeder_data import AREA_NAMES, BARAN_WU, QUARTER_HOURS


def _draw_ties(ax: Any, problem: Problem, run: Trajectory) -> None:
    """The five settings, day by day: the agents' mean, and the range over agents."""
    days = np.asarray(run.rounds) / QUARTER_HOURS
    numbers = np.flatnonzero(~BARAN_WU.closed)
    for k, line in enumerate(numbers):
        start, end = BARAN_WU.lines[line]
        settings = run.decisions[:, :, k]
        (drawn,) = ax.plot(days, settings.mean(axis=1), label=f"line {line + 1}: bus {start} to {end}")
        ax.fill_between(days, settings.min(axis=1), settings.max(axis=1), alpha=0.2, color=drawn.get_color())
    ax.set(xlabel="day", ylabel="how far closed", ylim=(-0.02, 1.02), title="Settings of the tie lines")
    ax.legend(fontsize="small")


#: where the buses of the laterals are drawn; the trunk, buses 1 to 18, lies on a line from left to right
_PLACES = {bus: (bus - 1.0, 0.0) for bus in range(1, 19)} | {
    **{19: (1.5, 1.0), 20: (4.0, 1.0), 21: (7.0, 1.0), 22: (11.0, 1.0)},
    **{23: (2.5, -2.0), 24: (4.5, -2.0), 25: (7.0, -2.0)},
    **{bus: (5.5 + 1.6 * (bus - 26), -1.0) for bus in range(26, 34)},
}


def _draw_trees(ax: Any, problem: Problem, run: Trajectory) -> None:
    """The feeder, every line as wide as it is closed; dotted and numbered where the nearest tree leaves it open."""
    assert isinstance(problem, Reconfiguration)
    share = run.decisions[-1].mean(axis=0)
    with double():
        tree = np.asarray(problem.set.argmax(jnp.asarray(share)))
    way = np.linspace(0, 1, 21)
    for line, part, kept in zip(problem.lines, share, tree > 0.5, strict=True):
        (x0, y0), (x1, y1) = (_PLACES[int(bus)] for bus in BARAN_WU.lines[line - 1])
        bend = 0.5 if abs(x1 - x0) > 1.5 and y0 == y1 == 0 else 0.0  # the tie line along the trunk
        across, up = x0 + (x1 - x0) * way, y0 + (y1 - y0) * way + bend * np.sin(np.pi * way)
        look = {"color": "tab:blue"} if kept else {"color": "tab:red", "linestyle": (0, (1, 1))}
        ax.plot(across, up, linewidth=0.3 + 4 * max(float(part), 0.0), solid_capstyle="butt", zorder=1, **look)
        if not kept:
            beside = 0.0 if y0 == y1 else 0.4
            ax.annotate(f"{line}", (across[10] + beside, up[10] - 0.22), color="tab:red", ha="center")
    places = np.array(list(_PLACES.values()))
    ax.scatter(places[:, 0], places[:, 1], s=12, color="black", zorder=2)
    ax.annotate("substation", _PLACES[1], xytext=(-0.5, 0.2), fontsize="small")
    ax.set(xlabel="along the trunk (buses)", ylabel="laterals", yticks=[], title="How far the lines are closed")


STORY = Story(
    title="Power network reconfiguration: closing tie lines",
    decided="How far each of the five tie lines is closed, from 0 (open) to 1 (a plain line), so that as little power "
    "as possible is lost in the wires. Settings in between are soft open points: converters in place of a switch.",
    agents=f"The controllers of the {len(AREA_NAMES)} areas of the feeder ({', '.join(AREA_NAMES)}). All know the lines "
    "and the forecast of the loads; how far the loads really stray from it, each knows for its own area alone. Its "
    "function is the loss saved if only its own area strayed, by sqrt(6) times as much: losses are quadratic in the "
    "loads, so with deviations that are uncorrelated between areas the network's average is, over many rounds, the "
    "saving under the true loads. Areas talk along the lines between them, tie lines included.",
    round="A quarter hour. Loads follow the time of day: homes peak in the morning and the evening, shops and industry "
    "by day, and around noon homes with solar panels feed power back. On top of that each area strays from the "
    "forecast by up to 20 % in waves of 4 to 10 hours.",
    set="{0 <= x <= 1, sum x <= 1}: converters worth one whole line. The oracle closes the line with the largest "
    "gradient.",
    case="A2, monotone on a set with the origin. The reward, loss with all ties open less loss at x, is 0 at x = 0; "
    "more copper never adds loss in this model; and the loss is a convex function of the conductances, so the reward "
    "is concave and up-concave. It is not DR-submodular: some pairs of ties save more together than one by one.",
    source="The 33-bus feeder of Baran and Wu (IEEE Transactions on Power Delivery 4, 1989) with its lossless DistFlow "
    "equations; the published loads are the peaks. The shapes of the day are made up. The model leaves out the loss's "
    "own effect on the flow: for the feeder as built it says 176.4 kW where the full AC equations say 202.7 kW.",
    unit="kW of loss saved",
    cell=cell("feeder", "full-information", 20 * QUARTER_HOURS, theta=0.75, network="feeder-areas"),
    draw=_draw_ties,
    window=QUARTER_HOURS,
    caption="How far each tie line is closed; the band spans the six controllers.",
)

TREES = replace(
    STORY,
    title="Power network reconfiguration: which tree",
    decided="Which of the 37 lines are closed. A feeder is run as a tree, so that every bus has one way to the "
    "substation. x is a mix of trees, and x_e how far line e is closed; to run one tree, take the one nearest to x, "
    "which is one more call of the oracle.",
    set="The hull of the spanning trees of the feeder with its tie lines (50,751 trees). The oracle is a maximum "
    "spanning tree.",
    case="Concave, for the same reason as with tie lines, so the guarantee is for the optimum itself (alpha = 1). An "
    "open line keeps 5 % of its conductance, so that the model has an answer everywhere in the box. Counted from all "
    "switches open the reward is also monotone and non-negative (A1), but then nearly constant over the trees, and "
    "half of it is no achievement.",
    unit="kW of loss saved against the feeder as built",
    cell=cell("feeder-trees", "semi-bandit", 10 * QUARTER_HOURS, theta=0.7, network="feeder-areas"),
    draw=_draw_trees,
    caption="The feeder after ten days: a line is drawn as wide as it is closed, dotted where the nearest tree leaves "
    "it open. For the published loads, all at their peak, the best tree is known to leave 7, 9, 14, 32 and 37 open.",
)
