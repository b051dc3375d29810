"""Two problems of the literature without data: non-convex quadratics over a polytope, and mean-field inference."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import numpy as np

from droculo.engine import Trajectory
from droculo.gallery.page import Story, cell
from droculo.problems import MeanField, Problem


def _draw_mean(ax: Any, problem: Problem, run: Trajectory) -> None:
    """The network's mean action over time, one row for each coordinate."""
    mean = run.actions.mean(axis=1).T
    extent = (0, run.horizon, -0.5, len(mean) - 0.5)
    picture = ax.imshow(mean, aspect="auto", origin="lower", cmap="viridis", extent=extent)
    ax.figure.colorbar(picture, ax=ax, label="mean action")
    ax.set(xlabel="round", ylabel="coordinate")


QUADRATIC = Story(
    title="Non-convex quadratic (NQP)",
    decided="A vector x of 25 activity levels between 0 and 1. There is no story behind the numbers: this is the "
    "benchmark on which methods for diminishing returns are usually compared.",
    agents="Six agents with quadratics of their own.",
    round="Each agent goes through four quadratics x.Hx/2 + h.x in turn.",
    set="{Ax <= 1, 0 <= x <= 1} with 15 random rows. Its oracle is a linear program, solved by HiGHS outside of "
    "the compiled program.",
    case="A2: monotone with diminishing returns on a set with the origin, alpha = 1 - 1/e. No entry of H is positive, "
    "so the gradient h + Hx falls as x grows, and h = -H 1 keeps it from falling below 0. The authors' own version has "
    "h = -0.1 H 1 (`NQP.random`, case A4 or A3). It is not monotone and needs a constant of about 1570 to be "
    "non-negative, of which learning could gain less than 20: a reward curve shows nothing, so this one is shown.",
    source="H = -10 times a symmetrised uniform matrix and A uniform, 25 coordinates and 15 constraints: an earlier "
    "benchmark of the paper's authors. The family is that of Bian et al. (2017).",
    unit="reward per round",
    cell=cell("nqp-monotone", "full-information", 500, theta=0.7, dim=25, constraints=15),
    draw=_draw_mean,
    caption="The network's mean action: from the middle of the polytope to the few coordinates that pay.",
)


def _draw_chances(ax: Any, problem: Problem, run: Trajectory) -> None:
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
    ax.set(ylim=(0, 1), xlabel="item", ylabel="chance of being in the set")
    ax.legend(fontsize=7)


MEAN_FIELD = Story(
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
    cell=cell("mean-field", "full-information", 1500, theta=0.7),
    draw=_draw_chances,
    caption="The chances that the sites agree on, against the best product distribution (coordinate ascent from ten "
    "starts) and the exact posterior (all 1024 sets). Case A4 promises a share of the optimum, not the optimum: the sites "
    "drop the items that do not pay, and overrate those in between; their actions never exceed 0.62.",
)


MEAN_FIELD_WEAK = replace(
    MEAN_FIELD,
    title="Mean-field inference, weak model",
    case="Concave. Where utilities are small against the entropy the ELBO is concave: the Hessian of $F$ is at most 4 in "
    "norm, and the entropies bend down by at least 4. $\\alpha = 1$, and the action is the decision itself.",
    cell=cell("mean-field", "full-information", 1500, theta=0.7, strength=1.4, cost=1.5, case="concave"),
    caption="The chances that the sites agree on are those of the best product distribution, which for a weak model is "
    "close to the exact posterior.",
)
