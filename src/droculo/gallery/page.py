"""An application: what it tells a reader, and the cell that is run for it; then its run, its picture and its page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from droculo.engine import History, Trajectory
from droculo.expect import extra
from droculo.experiments import Cell
from droculo.experiments.cell import Choice
from droculo.experiments.measures import best_point
from droculo.experiments.run import play_cell, rows_of
from droculo.measure import Sample, count_infeasible, fixed_rewards, rewards
from droculo.measure._summary import luck, shares, standing_still
from droculo.problems import Problem
from droculo.report import Figure, Page, Table
from droculo.report.figure import Drawing
from droculo.report.page import Part, Picture
from droculo.sets.membership import sample

#: the certificates of the gallery are estimates, since some problems are slow to evaluate
SAMPLE = Sample(agents=3, functions=32, rounds=128)


@dataclass(frozen=True)
class Story:
    """One application: answers in plain sentences (Markdown), a run, and a drawing of what was learned.

    `draw` fills one panel of the picture with the final decisions, in the application's own terms; the other panel, rewards
    over time against the best fixed point, is the same for all.
    """

    title: str
    decided: str  # the meaning of a coordinate of x
    agents: str  # the meaning of an agent
    round: str  # the meaning of a round, and what changes from one to the next
    set: str  # the set and its oracle
    case: str  # the case, and why it holds
    source: str  # where numbers and model come from
    unit: str  # of the reward, for the axis
    cell: Cell
    draw: Callable[[Any, Problem, Trajectory], None]  # (Matplotlib axes, problem, run)
    caption: str  # of the drawing
    window: int | None = None  # rounds that are averaged for the curve of rewards; by default a sixtieth of all


def cell(
    problem: str,
    feedback: str,
    horizon: int,
    theta: float,
    network: str = "ring",
    **options: Any,
) -> Cell:
    """A run of DROCULO with seed 0; `options` are the problem's."""
    method = Choice.of("algorithm", "droculo", feedback=feedback, theta=theta)
    return Cell(Choice.of("problem", problem, **options), Choice.of("network", network), method, horizon, (0,), 2)


@dataclass(frozen=True)
class Result:
    """A story's run and its measures, in rewards a round (network averages)."""

    problem: Problem
    run: Trajectory
    row: Mapping[str, Any]  # the run's row, as a sweep would keep it
    earned: np.ndarray  # (rounds, agents)
    best_earned: np.ndarray  # (rounds,): of the best fixed point
    start_earned: np.ndarray  # (rounds,): of staying at the first decision
    luck_earned: np.ndarray  # (rounds,): of a random vertex, the mean over some
    outside: str  # how many actions left the set


def play(story: Story) -> Result:
    """Run the story and measure it."""
    cell, folder = story.cell, Path()
    found = play_cell(cell, folder)
    batch = found.played.run
    run = replace(batch, actions=batch.actions[0], decisions=batch.decisions[0])  # of the only seed
    best = best_point(cell.problem, folder, cell.problem.text(folder), run.horizon, len(run.agents))
    assert best is not None  # all problems of the gallery have gradients, or know their best point
    looked_at = sample(found.problem.set, run.actions)
    outside = count_infeasible(found.problem.set, History.of(looked_at[:, None]), tolerance=1e-6)
    return Result(
        problem=found.problem,
        run=run,
        row=rows_of(found, SAMPLE).runs[0],
        earned=rewards(found.problem, run),
        best_earned=fixed_rewards(found.problem, run, best.point),
        start_earned=standing_still(found.problem, run),
        luck_earned=luck(found.problem, run),
        outside=f"Of {len(looked_at)} actions that were looked at, {outside} left the set.",
    )


def picture(story: Story, result: Result) -> Figure:
    """Two panels: rewards over time, and the story's own drawing."""
    learned = Drawing(lambda ax: story.draw(ax, result.problem, result.run))
    panels = [Drawing(lambda ax: _rewards(ax, story, result)), learned]
    return Figure(panels, story.title, columns=2, width=6.0, height=4.1, dpi=90)


def _rewards(ax: Any, story: Story, result: Result) -> None:
    window = story.window or max(1, len(result.best_earned) // 60)
    rounds = (np.arange(len(result.best_earned) // window) + 1) * window
    each = _means(result.earned, window)
    ax.plot(rounds, _means(result.best_earned, window), "k--", label=f"best fixed point ({result.row['best_kind']})")
    ax.plot(rounds, each.mean(axis=1), color="tab:blue", label="the agents")
    look = {"color": "tab:blue", "alpha": 0.2, "label": "from worst to best agent"}
    ax.fill_between(rounds, each.min(axis=1), each.max(axis=1), **look)
    ax.plot(rounds, _means(result.start_earned, window), color="tab:gray", label="staying at the start")
    ax.set(xlabel="round", ylabel=story.unit, title=f"Reward a round, in means of {window} rounds")
    ax.legend(fontsize="small")


def page(story: Story, result: Result, name: str) -> Page:
    """The story's page."""
    row, T = result.row, result.run.horizon
    asked = "gradients" if row["gradient_queries"] else "values"
    queries = row["gradient_queries"] + row["value_queries"]
    gap = "" if row["best_kind"] != "certified" else f", proven to within {row['best_gap'] / T:.3g}"
    alpha = float("nan") if row["alpha"] is None else row["alpha"]
    answers = {
        "What is decided": story.decided, "Who the agents are": story.agents, "What a round is": story.round,
        "The set": story.set, "The case": story.case, "Sources": story.source,
    }  # fmt: skip
    curves = {
        "standing still at the start": result.start_earned,
        "a constant chosen by luck": result.luck_earned,
        "the agents": result.earned.mean(axis=1),
        f"the best fixed point ({row['best_kind']}{gap})": result.best_earned,
    }
    last = max(1, T // 4)
    head = [story.unit, "all rounds", "last quarter", "share of the best", "in the last quarter"]
    numbers = [
        [name, curve.mean(), curve[-last:].mean(), *(f"{share:.1%}" for share in shares(curve, result.best_earned))]
        for name, curve in curves.items()
    ]
    parts: list[Part] = [
        f"*Made by `python -m droculo.gallery {name}`.*",
        Picture(f"{name}.png", picture(story, result), story.caption),
        f"*Right: {story.caption}*",
        "\n".join(f"- **{question}.** {answer}" for question, answer in answers.items()),
        "## The run",
        f"{row['agents']} agents, {row['dim']} coordinates, {T} rounds, {row['feedback']} feedback, case {row['case']} "
        f"(alpha = {alpha:.3g}), theta = {row['theta']:g}.",
        Table(head, numbers),
        f"Certificate, an upper bound on alpha-regret, estimated on a sample (± standard error): {row['certified'] / T:.4g} ± "
        f"{row['certified_error'] / T:.2g} a round.",
        f"Each agent exchanged {row['exchanges']:.0f} times with its neighbours, called the linear oracle "
        f"{row['loo_calls']:.1f} times and asked for {queries:.0f} {asked}. {result.outside}",
    ]
    return Page(story.title, parts)


def write(story: Story, name: str, folder: Path) -> Result:
    """Run the story; write its page and its picture to `folder`."""
    extra("matplotlib.figure", "pictures", "plots")  # an error before the run, not after it
    result = play(story)
    page(story, result, name).write(folder, name)
    return result


def index(stories: Mapping[str, Story]) -> Page:
    """A page that shows all of them."""
    rows = [
        [f"[{story.title}]({name}.md)", f"[![{story.caption}]({name}.png)]({name}.md)"]
        for name, story in stories.items()
    ]
    parts: list[Part] = [
        "*Made by `make gallery`, which runs all of them in about three minutes.*",
        "Left in each picture: what the agents earn a round, against the best fixed point and against staying where they began.\n"
        "Right: what they ended up doing.",
        Table(["", ""], rows),
    ]
    return Page("Applications", parts)


def _means(values: np.ndarray, window: int) -> np.ndarray:
    """Over windows of rounds, one after another."""
    whole = len(values) // window * window
    return values[:whole].reshape(-1, window, *values.shape[1:]).mean(axis=1)
