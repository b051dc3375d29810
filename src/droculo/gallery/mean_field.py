"""Mean-field inference, in the gallery: a strong model (case A4), and a weak one whose ELBO is concave."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import numpy as np

from droculo.engine import Trajectory
from droculo.gallery.story import Story, cell
from droculo.problems import Problem
from droculo.problems.applications.mean_field import MeanField


def _draw(ax: Any, problem: Problem, run: Trajectory) -> None:
    """For each item its chance as found, as best for the ELBO, and in the exact posterior."""
    assert isinstance(problem, MeanField)
    last = max(1, len(run.rounds) // 10)
    found = np.asarray(problem.marginals(jnp.asarray(run.actions[-last:].mean(axis=0))))
    best = problem.comparator(run.horizon, run.agents)
    exact, _ = problem.posterior(run.horizon, run.agents)
    order = np.argsort(-exact)
    rows = np.arange(len(order))
    ax.bar(rows, found.mean(axis=0)[order], color="lightsteelblue", label="found, mean of the sites")
    for number, site in enumerate(found):
        ax.plot(rows, site[order], "_", color="tab:blue", markersize=9, label=None if number else "found, each site")
    ax.plot(rows, np.asarray(problem.marginals(jnp.asarray(best.point)))[order], "kx", label="best mean field")
    ax.plot(rows, exact[order], "o", mfc="none", color="tab:red", label="exact posterior")
    ax.set_xticks(rows, [str(k) for k in order])
    ax.set_ylim(0, 1)
    ax.set_xlabel("item")
    ax.set_ylabel("chance of being in the set")
    ax.legend(fontsize=7)


STORY = Story(
    title="Mean-field inference",
    decided="The chances of 10 items to be in a random set S, all independent, such that their distribution comes close "
    "to a model $p(S) \\propto \\exp(F(S) + c(V \\setminus S))$: users like a set for the best item in it, and every item "
    "has its price. Coordinate $s_i$ gives the chance $x_i = 0.05 + 0.9\\, s_i$.",
    agents="Six sites, each with the utilities of 60 users of its own, which stay where they are.",
    round="The next 5 users of every site. Their utilities drift; after 12 rounds the same users return. A site knows "
    "its users' part of the model, so it can compute the gradient anywhere.",
    set="The unit box $[0, 1]^{10}$; its oracle takes the sign of every entry. The margin 0.05 keeps the slope of the "
    "entropy finite, and in $s$ the box contains the origin.",
    case="A4. The reward is the evidence lower bound (ELBO) $F(x) + c(1 - x) + \\sum_i H(x_i)$: facility location extended "
    "multilinearly, a linear term and entropies. It is non-negative, DR-submodular and not monotone, and the box is "
    "down-closed. $\\alpha = 1/e$.",
    source="Utilities of our own making; the model and its ELBO after Bian, Buhmann and Krause (ICML 2019).",
    unit="ELBO (nats)",
    cell=cell("mean-field", "ring", "full-information", 1500, theta=0.7, step=2.0, tolerance=0.05),
    draw=_draw,
    caption="The chances that the sites agree on, against the best product distribution (coordinate ascent from ten "
    "starts) and the exact posterior (all 1024 sets). Case A4 promises a share of the optimum, not the optimum: the sites "
    "drop the items that do not pay, and overrate those in between; their actions never exceed 0.62.",
)


WEAK = replace(
    STORY,
    title="Mean-field inference, weak model",
    case="Concave. Where utilities are small against the entropy the ELBO is concave: the Hessian of $F$ is at most 4 in "
    "norm, and the entropies bend down by at least 4. $\\alpha = 1$, and the action is the decision itself.",
    cell=cell(
        "mean-field",
        "ring",
        "full-information",
        1500,
        theta=0.7,
        step=2.0,
        tolerance=0.05,
        strength=1.4,
        cost=1.5,
        case="concave",
    ),
    caption="The chances that the sites agree on are those of the best product distribution, which for a weak model is "
    "close to the exact posterior.",
)
