"""Dynamic pricing: a chain of stores decides how much of each product to offer."""

from __future__ import annotations

from typing import Any

import numpy as np

from droculo.engine import Trajectory
from droculo.gallery.story import Story, cell
from droculo.problems import Problem
from droculo.problems.applications.pricing import Pricing


def draw(ax: Any, problem: Problem, run: Trajectory) -> None:
    """Quantities as bars; as dots, the price of each product in every store in the last round."""
    assert isinstance(problem, Pricing)
    first, plan = run.actions[0].mean(axis=0), run.actions[-1].mean(axis=0)
    products = np.arange(len(plan))
    ax.bar(products - 0.2, first * problem.largest, width=0.4, color="0.8", label="offered at the start")
    ax.bar(products + 0.2, plan * problem.largest, width=0.4, color="C0", label="offered at the end")
    ax.set_xlabel("product (0 is the leading brand)")
    ax.set_ylabel("quantity")
    right = ax.twinx()
    for store in run.agents:
        prices = np.asarray(problem.prices(store, run.rounds[-1], plan))
        label = "price in a store" if store == run.agents[0] else None
        right.plot(products, prices, ".", color="C3", alpha=0.6, label=label)
    ax.set_ylim(top=1.3 * ax.get_ylim()[1])  # room for the legend
    right.set_ylim(0, 1.3 * right.get_ylim()[1])
    right.set_ylabel("price")
    handles = [*ax.get_legend_handles_labels()[0], *right.get_legend_handles_labels()[0]]
    ax.legend(handles=handles, loc="upper right", fontsize="small")


STORY = Story(
    title="Dynamic pricing, in quantities",
    decided="How much of each product every store offers this week, as a share of the largest quantity. The market "
    "then makes the prices: all that is offered is sold, and the more is offered, the lower the prices.",
    agents="The stores of a chain. Each has its own customers, who react to prices in their own way; all follow one "
    "plan.",
    round="A week. Markets grow and shrink with the seasons, each product in each store at its own pace.",
    set="What fits on the trucks: {0 <= x <= 1, volumes.x <= capacity}, a knapsack. Its oracle loads the products "
    "with the most signal per volume first.",
    case="A4: non-monotone with diminishing returns on a down-closed set, alpha = 1/e. Revenue is q.D^-1 (A - q). "
    "Products are substitutes, so D is an M-matrix and D^-1 has no negative entry: every second derivative is "
    "at most 0. It is not concave here, because all demand follows the price of one leading brand; with a "
    "symmetric D it would be. Even the largest quantities leave no price below 0, so neither is "
    "revenue. A4 plays 1 - exp(-x), at most 0.63 in every coordinate: the best plan lies partly out of its "
    "reach.",
    source="Linear demand of substitutes with random coefficients. In prices instead of quantities the same revenue "
    "is supermodular, and none of the cases would hold.",
    unit="revenue per store and week",
    cell=cell("pricing", "ring", "full-information", 1500, theta=0.6, step=2.0, tolerance=0.05),
    draw=draw,
    caption="What the stores offer at the start and at the end, and the prices that follow. The leading brand is held "
    "back altogether: every unit of it would lower the prices of all other products.",
)
