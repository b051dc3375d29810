"""The studies behind the docs: table1, theory, compare, crossover. Each runs the spec of a study and writes its page."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from droculo.cli.screen import Given, progress, report_problems

if TYPE_CHECKING:
    from droculo.experiments import Spec

Out = Annotated[Path, typer.Option("--out", help="The folder to write to: pages, and rows below data.")]
Processes = Annotated[int, typer.Option(min=1, help="Cells to run side by side.")]
_Size = StrEnum("_Size", ["quick", "full"])


def table1(
    context: typer.Context,
    size: Annotated[_Size, typer.Option(help="A few minutes, or an hour.")] = _Size.quick,
    out: Out = Path("results"),
    processes: Processes = 1,
) -> int:
    """Measure every row of the paper's Table 1.

    Run it over growing horizons, fit its exponents and write table1.md with its figures. Finished cells are kept: the same command resumes.
    """
    return _study(context.obj, "table1", f"table1-{size}", out, processes=processes, asked={"size": str(size)})


def theory(
    context: typer.Context,
    size: Annotated[_Size, typer.Option(help="A few minutes, or half an hour.")] = _Size.quick,
    out: Out = Path("results"),
    processes: Processes = 1,
) -> int:
    """Compare the theorems' bounds with runs of the published algorithm.

    Evaluate the bound of every pair of Table 1 in numbers, play DROCULO as published on planted problems, and write theory.md. Finished cells are kept: the same command resumes.
    """
    return _study(context.obj, "theory", f"theory-{size}", out, processes=processes, asked={"size": str(size)})


def compare(
    context: typer.Context,
    problem: Annotated[str, typer.Option(help="top-b, coverage, cut, water-filling or weak.")] = "top-b",
    network: Annotated[str, typer.Option(help="ring, complete, star, grid or erdos-renyi.")] = "ring",
    agents: Annotated[int, typer.Option(min=1, help="How many agents.")] = 8,
    dim: Annotated[int, typer.Option(min=3, help="How many coordinates.")] = 10,
    horizon: Annotated[int, typer.Option(min=1, help="How many rounds.")] = 4096,
    seeds: Annotated[int, typer.Option(min=1, help="How many runs of each method.")] = 3,
    out: Out = Path("results"),
) -> int:
    """Compare all methods on one planted problem.

    The same seeds, the same adversary; writes compare.md with its figures: reward and regret against rounds, exchanges, bytes, LOO calls, queries and seconds. A few minutes.
    """
    asked = {"problem": problem, "network": network, "agents": agents, "dim": dim, "horizon": horizon, "seeds": seeds}
    return _study(context.obj, "compare", "compare", out, asked)


def crossover(
    context: typer.Context,
    quick: Annotated[bool, typer.Option("--quick", help="Two small dimensions, a few rounds: two minutes.")] = False,
    out: Out = Path("results"),
) -> int:
    """Compare the run time of projections and linear oracles.

    Time DOBGA, which projects, against DROCULO, which asks a linear oracle, over growing dimensions; write crossover.md. Ten minutes; finished dimensions are kept: the same command resumes.
    """
    return _study(context.obj, "crossover", "crossover-quick" if quick else "crossover", out, {"quick": quick})


def _study(given: Given, name: str, folder: str, out: Path, asked: dict[str, Any], **options: Any) -> int:
    from droculo.experiments import study

    return run_study(given, study(name, **asked), out / "data" / folder, out, given.command, **options)


def run_study(given: Given, spec: Spec, data: Path, pages: Path, command: str | None, **options: Any) -> int:
    """Run the cells of a study that `data` lacks, write its page to `pages` and print it."""
    from droculo import experiments
    from droculo.report import STUDY_PAGES

    assert spec.study is not None
    name = spec.study["study"]
    run = experiments.sweep_in_turns if name == "crossover" else experiments.sweep
    if name == "crossover" and spec.study.get("quick"):
        options["turns"] = 1
    given.keeps = True
    with progress("cells") as tell:
        found = run(spec, data, progress=tell, command=command, **options)
    print(STUDY_PAGES[name](found, pages, found.command or given.command))
    return report_problems(found)
