"""Inventory: warehouses fill mixed supplies before they know the demand."""

from __future__ import annotations

from typing import Any

import numpy as np

from droculo.engine import Trajectory
from droculo.gallery.story import Story, cell
from droculo.problems import Problem
from droculo.problems.applications.inventory import Inventory


def draw(ax: Any, problem: Problem, run: Trajectory) -> None:
    """The learned stock of every product over the observed demand."""
    assert isinstance(problem, Inventory)
    demands = problem.demands[run.agents].reshape(-1, problem.demands.shape[-1])
    products = np.arange(demands.shape[1])
    ax.boxplot(demands, positions=products, widths=0.5, showfliers=False, medianprops={"color": "0.5"})
    ax.plot(products, problem.mix @ run.actions[0].mean(axis=0), "x", color="0.4", label="stock at the start")
    ax.plot(products, problem.mix @ run.actions[-1].mean(axis=0), "o", color="C0", label="stock at the end")
    margin = 1 - problem.costs / problem.prices
    ax.set_xticks(products, [f"{product}\n{share:.0%}" for product, share in zip(products, margin, strict=True)])
    ax.set_xlabel("product, and the share of its price that is margin")
    ax.set_ylabel("units per week")
    ax.set_ylim(bottom=0)
    ax.legend(fontsize="small")


STORY = Story(
    title="Inventory with observed demand",
    decided="How far to fill each of ten mixed supplies (pallets with three products each), from 0 to 1. The stock of "
    "a product is what all supplies bring of it.",
    agents="Warehouses. Each has records of the demand of its own region, and all order by one plan.",
    round="A week, of one of four seasons; each season has its own sample of observed demand in each warehouse.",
    set="At most four full supplies: {0 <= x <= 1, sum x <= 4}. Its oracle fills the four with the largest signal.",
    case="Concave, alpha = 1: what is sold of a product, E min(demand, stock), is concave in the stock, the stock "
    "is linear in the fill levels, and so is the cost. It also has diminishing returns and is not monotone, "
    'so A3 and A4 hold as well (`case="A4"`), but they promise less: they need a profit that is never '
    "negative, and the large constant which makes it so is earned by doing nothing. An alpha-regret with "
    "alpha < 1 would say nothing. The gradient only needs how often each product runs out at the stock that "
    "was played: semi-bandit feedback.",
    source="Poisson samples stand in for records; `Inventory.from_demands` takes your own. Every observation is "
    "spread evenly over an interval of four units, which makes the profit smooth.",
    unit="profit per warehouse and week",
    cell=cell("inventory", "ring", "semi-bandit", 1000, theta=0.6, step=1.5, tolerance=0.05),
    draw=draw,
    caption="Observed weekly demand over all warehouses and seasons (boxes: the middle half), and the stock before "
    "and after learning. The stock moves towards the demand as far as mixed pallets, and four of them, allow; "
    "where the margin is thin, running out is cheaper than stock that stays.",
)
