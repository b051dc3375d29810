"""From a story to a run, a picture and a page."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from droculo.algorithms import Droculo
from droculo.engine import History, Trajectory
from droculo.gallery.story import Story
from droculo.measure import Certificate, Sample, best_fixed_point, certificate, count_infeasible, fixed_rewards, rewards
from droculo.problems import Comparator, Problem
from droculo.simulator import simulate


@dataclass(frozen=True)
class Result:
    """What came of a story's run, in rewards a round (network averages)."""

    problem: Problem
    run: Trajectory
    earned: np.ndarray  # (rounds, agents)
    best: Comparator
    best_earned: np.ndarray  # (rounds,): of the best fixed point
    start_earned: np.ndarray  # (rounds,): of staying where the agents began
    certified: Certificate
    outside: str  # how many actions left the set
    seconds: float


def play(story: Story, *, key: int = 0) -> Result:
    """Run the story and measure it."""
    began = time.perf_counter()
    problem = story.problem()
    agent = Droculo.design(
        problem.setting, story.feedback(), horizon=story.horizon, theta=story.theta, scales=story.scales
    )
    run = simulate(problem, agent, story.network(), key=key)
    best = best_fixed_point(problem, run.horizon, run.agents)
    return Result(
        problem=problem,
        run=run,
        earned=rewards(problem, run),
        best=best,
        best_earned=fixed_rewards(problem, run, best.point),
        start_earned=fixed_rewards(problem, run, np.asarray(run.actions[0, 0], np.float64)),
        certified=certificate(problem, run, sample=Sample(agents=3, functions=32, rounds=128)),
        outside=_outside(problem, run),
        seconds=time.perf_counter() - began,
    )


def picture(story: Story, result: Result, path: Path) -> None:
    """Two panels: rewards over time, and the story's own drawing."""
    figure = _figure_class()(figsize=(12, 4.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    window = story.window or max(1, len(result.best_earned) // 60)
    rounds = (np.arange(len(result.best_earned) // window) + 1) * window
    each = _means(result.earned, window)
    left.plot(rounds, _means(result.best_earned, window), "k--", label=f"best fixed point ({result.best.kind})")
    left.plot(rounds, each.mean(axis=1), color="tab:blue", label="the agents")
    left.fill_between(
        rounds, each.min(axis=1), each.max(axis=1), color="tab:blue", alpha=0.2, label="from worst to best agent"
    )
    left.plot(rounds, _means(result.start_earned, window), color="tab:gray", label="staying at the start")
    left.set(xlabel="round", ylabel=story.unit, title=f"Reward a round, in means of {window} rounds")
    left.legend(fontsize="small")
    story.draw(right, result.problem, result.run)
    figure.suptitle(story.title)
    figure.savefig(path, dpi=90, metadata={"Software": None})


def page(story: Story, result: Result, name: str) -> str:
    """The story's page, in Markdown."""
    run, problem = result.run, result.problem
    linearization = problem.linearization.for_set(problem.set)
    T = run.horizon
    tail = max(1, T // 10)
    ledger = run.ledger.mean()
    asked = ledger["gradient_queries"] + ledger["value_queries"]
    what = "gradients" if ledger["gradient_queries"] else "values"
    gap = "" if result.best.kind != "certified" else f", proven to within {result.best.gap / T:.3g}"
    alpha = float(linearization.alpha) if linearization.alpha is not None else float("nan")
    return f"""# {story.title}

*Made by `python -m droculo.gallery {name}`.*

![{story.caption}]({name}.png)

*Right: {story.caption}*

- **What is decided.** {story.decided}
- **Who the agents are.** {story.agents}
- **What a round is.** {story.round}
- **The set.** {story.set}
- **The case.** {story.case}
- **Sources.** {story.source}

## The run

{len(run.agents)} agents, {problem.set.dim} coordinates, {T} rounds, {story.feedback().kind} feedback, case {linearization.case} \
(alpha = {alpha:.3g}), theta = {story.theta:g}.

| {story.unit} | |
|---|---|
| staying at the start | {result.start_earned.mean():.4g} |
| the agents, over all rounds | {result.earned.mean():.4g} |
| the agents, in the last tenth | {result.earned[-tail:].mean():.4g} |
| the best fixed point ({result.best.kind}{gap}), over all rounds | {result.best.total / T:.4g} |
| the same, in the last tenth | {result.best_earned[-tail:].mean():.4g} |
| certificate: an upper bound on alpha-regret, estimated on a sample (± standard error) | \
{result.certified.bound.mean() / T:.4g} ± {result.certified.error.max() / T:.2g} |

Each agent exchanged {ledger["exchanges"]:.0f} times with its neighbours, called the linear oracle \
{ledger["loo_calls"]:.1f} times and asked for {asked:.0f} {what}. {result.outside}
"""


def _outside(problem: Problem, run: Trajectory) -> str:
    """All actions are looked at, or a few where membership is a search."""
    actions = run.actions.reshape(-1, problem.set.dim)
    if not problem.set.has_fast_contains:
        actions = actions[:: max(1, len(actions) // 40)]
    number = count_infeasible(problem.set, History.of(actions[:, None]), tolerance=1e-6)
    return f"Of {len(actions)} actions that were looked at, {number} left the set."


def write(story: Story, name: str, folder: Path) -> Result:
    """Run the story; leave its page and its picture in `folder`."""
    _figure_class()  # say that it is missing before the run, not after
    result = play(story)
    folder.mkdir(parents=True, exist_ok=True)
    picture(story, result, folder / f"{name}.png")
    (folder / f"{name}.md").write_text(page(story, result, name))
    return result


def index(stories: dict[str, Story]) -> str:
    """A page that shows all of them."""
    rows = "\n".join(
        f"| [{story.title}]({name}.md) | [![{story.caption}]({name}.png)]({name}.md) |"
        for name, story in stories.items()
    )
    return f"""# Applications

*Made by `make gallery`, which runs all of them in about three minutes.*

Left in each picture: what the agents earn a round, against the best fixed point and against staying where they began.
Right: what they ended up doing.

| | |
|---|---|
{rows}
"""


def _means(values: np.ndarray, window: int) -> np.ndarray:
    """Over windows of rounds, one after another."""
    whole = len(values) // window * window
    return values[:whole].reshape(-1, window, *values.shape[1:]).mean(axis=1)


def _figure_class() -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError('pictures need matplotlib: pip install "droculo[plots]"') from error
    return Figure
