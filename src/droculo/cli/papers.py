"""The experiments behind the docs: table1, compare, crossover."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

Out = Annotated[Path, typer.Option("--out", help="The folder to write to.")]


class _Size(StrEnum):
    quick = "quick"
    full = "full"


def table1(
    context: typer.Context,
    size: Annotated[_Size, typer.Option(help="A few minutes, or an hour.")] = _Size.quick,
    out: Out = Path("results"),
    processes: Annotated[int, typer.Option(min=1, help="Curves to run side by side.")] = 1,
) -> None:
    """Measure every row of the paper's Table 1.

    Run it over growing horizons, fit its exponents and write table1.md with its figures. What is finished is kept: the same command goes on where it stopped.
    """
    from droculo.experiments import FULL, QUICK, measure_table_1
    from droculo.report import write_table_1

    context.obj.keeps = True
    found = measure_table_1(FULL if size is _Size.full else QUICK, out, processes=processes)
    print(write_table_1(found, out, context.obj.command))


def compare(
    context: typer.Context,
    problem: Annotated[str, typer.Option(help="top-b, coverage, cut, water-filling or weak.")] = "top-b",
    network: Annotated[str, typer.Option(help="ring, complete, star, grid or erdos-renyi.")] = "ring",
    agents: Annotated[int, typer.Option(min=1, help="How many agents.")] = 8,
    dim: Annotated[int, typer.Option(min=3, help="How many coordinates.")] = 10,
    horizon: Annotated[int, typer.Option(min=1, help="How many rounds.")] = 4096,
    seeds: Annotated[int, typer.Option(min=1, help="How many runs of each method.")] = 3,
    out: Out = Path("results"),
) -> None:
    """All methods head to head on one planted problem.

    The same seeds, the same adversary; writes compare.md with its figures: reward and regret against rounds, exchanges, bytes, LOO calls, queries and seconds. A few minutes.
    """
    from droculo import experiments
    from droculo.report import write_compare

    played, graph = experiments.problem_of(problem, agents, dim), experiments.network_of(network, agents)
    out.mkdir(parents=True, exist_ok=True)  # where that cannot be, it is said before the runs
    found = experiments.compare(played, graph, horizon, range(seeds))
    print(write_compare(found, out, context.obj.command))


def crossover(
    context: typer.Context,
    quick: Annotated[bool, typer.Option("--quick", help="Two small dimensions, a few rounds: two minutes.")] = False,
    out: Out = Path("results"),
) -> None:
    """Who is faster, projection or linear oracle.

    Time DOBGA, which projects, against DROCULO, which asks a linear oracle, over growing dimensions; write crossover.md. Ten minutes; what is finished is kept: the same command goes on where it stopped.
    """
    from droculo.experiments import measure_crossover
    from droculo.report import write_crossover

    context.obj.keeps = True
    out.mkdir(parents=True, exist_ok=True)
    found = measure_crossover(quick=quick, folder=out)
    print(write_crossover(found, out, context.obj.command))
