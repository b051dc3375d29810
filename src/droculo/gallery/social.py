"""Two problems on social networks: at which events to advertise, and who gets a free sample."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np

from droculo.engine import Trajectory
from droculo.gallery.page import Story, cell
from droculo.problems import Influence, Problem, Revenue


def _draw_influence(ax: Any, problem: Problem, run: Trajectory) -> None:
    """Spending by event in the last round, next to the best fixed choice."""
    assert isinstance(problem, Influence)
    spending = run.actions[-1]
    events = np.arange(spending.shape[1])
    best = problem.comparator(run.horizon, run.agents)
    ax.bar(events - 0.2, best.point, width=0.4, color="0.8", label="best fixed choice")
    ax.bar(events + 0.2, spending.mean(axis=0), width=0.4, color="C0", label="learned")
    ax.set_xticks(events, [f"E{event + 1}" for event in events], fontsize="small")
    ax.set(xlabel="event", ylabel="share of full spending")
    ax.legend(fontsize="small")


INFLUENCE = Story(
    title="Advertising budget on a social network",
    decided="How much to spend on advertising at each of 14 events, as a share of full spending.",
    agents="Six shops with three customers each. A customer spends four fifths of her money at her own shop and the "
    "rest evenly at all six. A shop sees its own sales only.",
    round="A week. What every customer spends drifts, at a pace of her own.",
    set="A budget of three fully advertised events: {0 <= x <= 1, sum x <= 3}. Its oracle takes the three with "
    "the largest signal.",
    case="A2: monotone with diminishing returns on a set with the origin, alpha = 1 - 1/e. A customer is reached "
    "unless every event fails to reach her, 1 - prod(1 - p x): more spending never hurts, and helps less the "
    "more is spent. The sum is linear in every coordinate, so three whole events are best; all 364 choices "
    "are looked at, and the comparator is exact.",
    source="The Davis graph of 18 women and the 14 events they attended (NetworkX), with random chances of being "
    "reached. The model is that of Alon, Gamzu and Tennenholtz (2012).",
    unit="sales per shop and week",
    cell=cell("influence", "two-point", 2000, theta=0.6),
    draw=_draw_influence,
    caption="Spending by event at the end, next to the best three events in hindsight. The shops compare their sales "
    "under two plans a week; no gradient is ever asked for.",
)


def _draw_revenue(ax: Any, problem: Problem, run: Trajectory) -> None:
    """The club, coloured by the samples that its members get in the last round; rings mark the best fixed choice."""
    assert isinstance(problem, Revenue)
    club = nx.Graph([(int(i), int(j)) for i, j in problem.arcs])
    members = sorted(club)
    place = nx.kamada_kawai_layout(club)
    best = problem.comparator(run.horizon, run.agents)
    chosen = np.zeros(len(members), bool) if best is None else best.point[members] > 0.5
    nx.draw_networkx_edges(club, place, ax=ax, alpha=0.3)
    shown = nx.draw_networkx_nodes(
        club, place, nodelist=members, ax=ax, node_size=220, cmap="Blues", vmin=0.0, vmax=1.0,
        node_color=run.actions[-1].mean(axis=0), linewidths=np.where(chosen, 2.5, 0.5),
        edgecolors=np.where(chosen, "tab:red", "gray"),
    )  # fmt: skip
    nx.draw_networkx_labels(club, place, ax=ax, font_size=7)
    ax.figure.colorbar(shown, ax=ax, label="share of a sample")
    ax.set_xlabel("members of the karate club; red rings: the best fixed choice")


REVENUE = Story(
    title="Revenue on a social network",
    decided="Who gets a free sample: x_i is the share of one that member i of the club receives.",
    agents="Six shops that sell to the same club. Each values the ties between members in its own way: w_ij is what "
    "j buys in that shop on i's word, unless j has the sample already.",
    round="A week. What each tie is worth drifts, at a pace of its own.",
    set="At most four samples: {0 <= x <= 1, sum x <= 4}. Its oracle takes the four members with the largest signal.",
    case="A4: non-monotone with diminishing returns on a down-closed set, alpha = 1/e. The revenue sum of w_ij x_i "
    "(1 - x_j) is never negative and its second derivatives are -(w_ij + w_ji) or 0. It is not monotone: a "
    "sample turns a buyer into an owner. A4 plays 1 - exp(-x), at most 0.63 of a sample for anyone, so the "
    "best choice of four whole samples lies out of its reach. That best choice is known exactly here, by "
    "looking at all 52,956 choices of at most four.",
    source="Zachary's karate club (34 members, 78 weighted ties), from NetworkX. The model is influence-and-exploit "
    "of Hartline, Mirrokni and Sundararajan (2008) with linear influence.",
    unit="revenue per shop and week",
    cell=cell("revenue", "full-information", 1500, theta=0.6),
    draw=_draw_revenue,
    caption="The club after learning: samples go to the two leaders of its factions and a few well-connected members.",
)
