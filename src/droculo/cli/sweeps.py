"""Sweeps: run, resume, report, show."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from droculo.cli.screen import Given, complain, console, progress, table

if TYPE_CHECKING:
    from droculo.experiments import Spec, Sweep

Out = Annotated[Path | None, typer.Option("--out", help="The folder to write to (default: results/NAME OF THE SPEC).")]
Processes = Annotated[
    int | None, typer.Option("--processes", min=1, help="Cells to run side by side (default: one for each processor).")
]
Engine = Annotated[
    str, typer.Option("--engine", help="local, or ray: the cluster that RAY_ADDRESS names, or a new one here.")
]


def run(
    context: typer.Context,
    spec: Annotated[
        Path | None, typer.Argument(help="A spec; without one, the showcase is run.", show_default=False)
    ] = None,
    out: Out = None,
    processes: Processes = None,
    engine: Engine = "local",
) -> int:
    """Run a spec, or the showcase, and write report.html.

    Results go to a folder, each as soon as it is finished: an interrupted sweep goes on with the same command.
    """
    from droculo.experiments import load, parse

    if spec is None:
        text = files("droculo.experiments").joinpath("showcase.toml").read_text(encoding="utf-8")
        chosen, name = parse(text, name="showcase.toml"), "showcase"
    else:
        chosen, name = load(spec), spec.stem
    return _play(context.obj, chosen, out or Path("results") / name, processes, engine, context.obj.command)


def resume(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(help="A folder that droculo run has written to.")],
    processes: Processes = None,
    engine: Engine = "local",
) -> int:
    """Go on with an interrupted sweep.

    What is finished is not played again.
    """
    from droculo.experiments import spec_of

    return _play(context.obj, spec_of(folder), folder, processes, engine)


def report(folder: Annotated[Path, typer.Argument(help="A folder that droculo run has written to.")]) -> int:
    """Write a folder's page, figures and tables again.

    Nothing is played: they show what the folder holds.
    """
    from droculo.experiments import collect

    return shown(collect(folder))


def show(spec: Annotated[Path, typer.Argument(help="A spec, or a folder of results.")]) -> int:
    """What a spec would run.

    And which cells of its grid are impossible, and why.
    """
    from droculo.algorithms import message_bytes
    from droculo.experiments import build, load, spec_of

    found = spec_of(spec) if spec.is_dir() else load(spec)
    arenas: dict[str, list[list[str]]] = {}
    for cell in found.cells:
        _, network, agent = build(cell, found.folder)
        exchanges = -(-cell.horizon // (agent.block * agent.slot)) * agent.exchanges
        sent = exchanges * message_bytes(agent)
        numbers = (cell.horizon, agent.block, agent.slot, exchanges, sent)
        where = f"{cell.problem.label} on {cell.network.label}: {network.n_agents} agents, {len(cell.seeds)} seeds"
        arenas.setdefault(where, []).append([cell.label, *map(str, numbers)])
    names = ("T", "block", "slot", "exchanges", "bytes to a neighbour")
    head = [("method", "left"), *((name, "right") for name in names)]
    screen = console()
    screen.print(f"{found.title}: {len(found.cells)} cells", markup=False)
    for where, rows in arenas.items():
        screen.print(table(where, head, rows))
    if found.left_out:
        screen.print(f"{len(found.left_out)} cells of the grid are impossible:")
        for reason in dict.fromkeys(reason for _, reason in found.left_out):
            screen.print(f"  - {reason}", soft_wrap=True, markup=False)
    return 0


def _play(given: Given, spec: Spec, out: Path, processes: int | None, engine: str, command: str | None = None) -> int:
    from droculo.expect import extra
    from droculo.experiments import ENGINES, sweep

    if engine not in ENGINES:
        raise ValueError(f"--engine is one of {', '.join(ENGINES)}; got {engine!r}.")
    for module, what in (("pyarrow", "results on disk"), ("plotly", "the page"), ("matplotlib", "figures")):
        extra(module, what, "sweeps")  # before the runs, not after
    if engine == "ray":
        extra("ray", "sweeps on a cluster", "ray")
    given.keeps = True
    with progress("cells") as tell:
        found = sweep(spec, out, processes=processes, engine=engine, progress=tell, command=command)
    return shown(found)


def shown(found: Sweep) -> int:
    """The page and its companions in the folder, a table on the screen, and how it went."""
    from droculo.report import write_exports, write_page

    page = write_page(found, found.out)
    write_exports(found, found.out)
    screen = console()
    for made in _tables(found):
        screen.print(made)
    screen.print("Regret and certificate are per round, means over agents and seeds; costs are per agent.")
    for line in _processes(found):
        screen.print(line, soft_wrap=True)
    for cell, why in found.failures:
        complain(f"{cell.label}, T = {cell.horizon}, ended with an error: {why}")
    if found.aged:
        screen.print(
            f"{found.aged} cells were played with another version or other code: droculo resume {found.out} plays them anew.",
            soft_wrap=True,
        )
    if found.missing:
        screen.print(f"{len(found.missing)} cells were not played yet: droculo resume {found.out}", soft_wrap=True)
    screen.print(f"\nThe page: {page}", soft_wrap=True, markup=False)
    return 1 if found.failures else 0


def _processes(found: Sweep) -> list[str]:
    """What processes of their own have played, and what went wrong."""
    lines: dict[tuple[str, int], list[int]] = {}
    names = ["driver", "processes", "missed_rounds", "failed_links", "disagreements"]
    for driver, processes, *faults in (row.values() for row in found.results.runs.select(names).to_pylist()):
        if processes is not None:
            total = lines.setdefault((driver, processes), [0, 0, 0])
            lines[driver, processes] = [a + b for a, b in zip(total, faults, strict=True)]
    return [
        f"Played by {processes} processes over {driver}: {missed} rounds missed by agents, {failed} ends of links failed, "
        f"{apart} times two ends disagreed."
        for (driver, processes), (missed, failed, apart) in lines.items()
    ]


def _tables(found: Sweep) -> list[Any]:
    """For every problem and network, the longest horizon."""
    from droculo.report.markdown import number
    from droculo.report.sweep import arenas

    head = [
        ("method", "left"), ("of best", "right"), ("regret", "right"), ("certified", "right"), ("exchanges", "right"),
        ("bytes", "right"), ("LOO calls", "right"), ("projections", "right"), ("queries", "right"),
    ]  # fmt: skip
    made = []
    for arena in arenas(found):
        T = arena.horizons[-1]
        rows = []
        for curve in (curve for curve in arena.curves if curve.horizon == T):
            total = curve.totals
            best, reward = total["best"], total["reward"]
            share = "-" if best is None or reward is None or best <= 0 else f"{reward / best:.1%}"
            a_round = [None if total[name] is None else total[name] / T for name in ("regret", "certified")]  # type: ignore[operator]
            queries = (total["gradient_queries"] or 0) + (total["value_queries"] or 0)
            costs = [total[name] for name in ("exchanges", "bytes", "loo_calls", "projections")]
            rows.append([curve.label, share, *(number(value) for value in (*a_round, *costs, queries))])
        about = f"{arena.problem} (case {arena.case}) on {arena.network}: N = {arena.agents}, d = {arena.dim}, T = {T}"
        made.append(table(about, head, rows))
    return made
