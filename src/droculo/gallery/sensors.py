"""Where eight teams put four sensors that all of them share."""

from __future__ import annotations

from typing import Any

import numpy as np

from droculo.engine import Trajectory
from droculo.gallery.page import Story, cell
from droculo.problems.adversaries import PeriodicWeights
from droculo.problems.applications.sensors import MutualInformation, random_fields
from droculo.problems.multilinear import all_masks
from droculo.problems.rounding import pipage

TEAMS, SENSORS = 8, 4


def mutual_information() -> MutualInformation:
    # Fields that reach far: only then do some sites tell much of the others.
    positions, covariances = random_fields(TEAMS, 12, seed=2, lengths=(0.3, 0.6))
    weights = PeriodicWeights.random(TEAMS, 3, low=0.1, high=0.5, swing=1.0, seed=2)
    return MutualInformation(weights, covariances, SENSORS, noise=0.2, positions=positions)


def draw(ax: Any, problem: Any, run: Trajectory) -> None:
    """The sites: how much of a sensor each ended up with, and the four that pipage rounding makes of it."""
    x = np.asarray(run.decisions[-1]).mean(axis=0)
    extension = problem.mean(run.horizon, run.agents)
    chosen = pipage(extension, problem.set, x)
    masks = all_masks(extension.n)
    most = float(extension.table[masks.sum(axis=1) <= SENSORS].max())
    alone = [extension.of(mask) for mask in np.eye(extension.n, dtype=bool)]
    across, up = problem.positions.T
    spots = ax.scatter(across, up, s=20 + 500 * x, c=alone, cmap="viridis", edgecolors="none", alpha=0.9)
    ax.figure.colorbar(spots, ax=ax, label="information of this site alone (nats a day)")
    ax.scatter(across[chosen], up[chosen], s=750, facecolors="none", edgecolors="crimson", linewidths=2)
    frame = {"xlim": (-0.05, 1.05), "ylim": (-0.05, 1.05), "aspect": "equal"}
    ax.set(xlabel="east (share of the map)", ylabel="north (share of the map)", **frame)
    earned = extension.of(chosen)
    ax.set_title(f"rounded to {chosen.sum()} sensors: {earned:.2f} nats, of {most:.2f} at best", fontsize=10)


STORY = Story(
    title="Sensor placement",
    decided="$x_j$ is the share of the day for which the sensor at site $j$ of 16 is switched on; a sensor that is on "
    "half of the time measures with twice the variance.",
    agents="Eight teams on a ring. Each watches a field of its own (a pollutant, say), which varies most in its own "
    "place and is alike over its own length scale.",
    round="A day. Calm, west wind and south wind stretch a field's correlations differently, and their shares drift "
    "from day to day. The reward is the information that the day's measurements give a team about its field.",
    set="At most four sensors in all, $\\{0 \\le x \\le 1, \\sum_j x_j \\le 4\\}$; the oracle takes the four largest "
    "positive entries.",
    case="A2, monotone on a set with the origin: $\\frac12 \\log\\det(I + \\mathrm{diag}(x)\\,C/s^2)$ has slopes "
    "$\\ge 0$ and second derivatives $-\\frac12 (b_j^\\top A^{-1} b_k)^2 \\le 0$. It is concave as well, so that "
    "$\\alpha = 1$ could be claimed too (`concave=True`).",
    source="Synthetic Gaussian fields around two sources. The criterion: Krause, Singh and Guestrin (JMLR 2008); its "
    "extension to fractions: Gillenwater, Kulesza and Taskar (NIPS 2012).",
    unit="information (nats a day)",
    cell=cell("sensors", "full-information", 2000, theta=0.5),
    draw=draw,
    caption="Size: the share $x_j$ that the agents agreed on. Colour: what the site is worth alone. Circles: four actual "
    "sensors, from pipage rounding. Neighbours tell nearly the same, so the best sensors are not simply the best sites. "
    "A whole set earns less than the best shares: many sensors, each on for a part of the day, see more.",
)

MUTUAL = Story(
    title="Sensor placement by mutual information",
    decided="$x_j$ is the probability with which site $j$ of 12 gets a sensor, each by its own coin.",
    agents="Eight teams on a ring, each with a field of its own that reaches far over the map.",
    round="A day, with drifting shares of calm, west wind and south wind. The reward is how much the sites with a sensor "
    "tell a team about the sites without one.",
    set="At most four sensors, $\\{0 \\le x \\le 1, \\sum_j x_j \\le 4\\}$, a down-closed set; the oracle takes the four "
    "largest positive entries.",
    case="A4, not monotone on a down-closed set: $H(S) + H(V \\setminus S) - H(V)$ is submodular and zero both for no "
    "sites and for all of them. Its multilinear extension, from a table of all 4096 sets, is DR-submodular.",
    source="Synthetic Gaussian fields around two sources. The criterion: Krause, Singh and Guestrin (JMLR 2008).",
    unit="mutual information (nats a day)",
    cell=cell("droculo.gallery.sensors:mutual_information", "full-information", 2000, theta=0.5),
    draw=draw,
    caption="Size: the decision $x_j$; circles: four actual sensors, from pipage rounding of $x$. The agents play "
    "$1 - e^{-x}$, at most 63 % of a sensor per site, as case A4 asks: their rewards stay below the best set's, though "
    "far above the guaranteed share $1/e$. Rounding wins most of the difference back.",
)
