"""Sweeps: run, resume, report, show."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from droculo.cli.screen import Given, console, progress, report_problems
from droculo.cli.studies import run_study

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

    Results go to a folder, each as soon as it is finished: the same command resumes an interrupted sweep.
    """
    from droculo.experiments import load, parse

    if spec is None:
        text = files("droculo.experiments.studies").joinpath("showcase.toml").read_text(encoding="utf-8")
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
    """Resume an interrupted sweep.

    Finished cells are not run again.
    """
    from droculo.experiments.sweeps import spec_of

    spec = spec_of(folder)
    if spec.study is not None:
        return run_study(context.obj, spec, folder, folder, None)
    return _play(context.obj, spec, folder, processes, engine)


def report(
    folder: Annotated[Path, typer.Argument(help="A folder of results.")],
    out: Annotated[Path | None, typer.Option("--out", help="Where to write (default: the folder itself).")] = None,
) -> int:
    """Write a folder's page, figures and tables again.

    Nothing is run. Of a study (table1, compare, crossover) its own page is written.
    """
    from droculo.experiments import collect
    from droculo.report import STUDY_PAGES

    found = collect(folder)
    if found.spec.study is None:
        return shown(found, out)
    print(STUDY_PAGES[found.spec.study["study"]](found, out or folder, found.command or f"droculo report {folder}"))
    return report_problems(found)


def show(spec: Annotated[Path, typer.Argument(help="A spec, or a folder of results.")]) -> int:
    """List what a spec would run.

    And which cells of its grid are impossible, and why.
    """
    from droculo.algorithms.contract import message_bytes
    from droculo.experiments import load
    from droculo.experiments.cell import build
    from droculo.experiments.sweeps import spec_of
    from droculo.report.table import Table

    found = spec_of(spec) if spec.is_dir() else load(spec)
    groups: dict[str, list[list[str]]] = {}
    for cell in found.cells:
        _, network, agent = build(cell, found.folder)
        blocks = agent.timetable.until(cell.horizon).complete.sum()
        exchanges = blocks * agent.exchanges
        numbers = (cell.horizon, blocks, exchanges, exchanges * message_bytes(agent))
        where = f"{cell.problem.label} on {cell.network.label}: {network.n_agents} agents, {len(cell.seeds)} seeds"
        groups.setdefault(where, []).append([cell.label, *map(str, numbers)])
    head = ["method", "T", "blocks", "exchanges", "bytes to a neighbour"]
    screen = console()
    screen.print(f"{found.title}: {len(found.cells)} cells", markup=False)
    for where, rows in groups.items():
        screen.print(Table(head, rows, where).terminal())
    if found.left_out:
        screen.print(f"{len(found.left_out)} cells of the grid are impossible:")
        for reason in dict.fromkeys(reason for _, reason in found.left_out):
            screen.print(f"  - {reason}", soft_wrap=True, markup=False)
    return 0


def _play(given: Given, spec: Spec, out: Path, processes: int | None, engine: str, command: str | None = None) -> int:
    from droculo.expect import extra
    from droculo.experiments import sweep
    from droculo.experiments.engines import ENGINES

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


def shown(found: Sweep, out: Path | None = None) -> int:
    """Write the page and its companions, print a table, and return the exit code."""
    from droculo.report import write_exports, write_page

    page = write_page(found, out or found.out)
    write_exports(found, out or found.out)
    screen = console()
    for made in _tables(found):
        screen.print(made)
    screen.print("Regret and certificate are per round, means over agents and seeds; costs are per agent.")
    for line in _processes(found):
        screen.print(line, soft_wrap=True)
    code = report_problems(found)
    screen.print(f"\nThe page: {page}", soft_wrap=True, markup=False)
    return code


def _processes(found: Sweep) -> list[str]:
    """For results of real processes, what went wrong."""
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


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{share:.1%}"


def _tables(found: Sweep) -> list[Any]:
    """The longest horizon of every problem and network."""
    from rich.text import Text

    from droculo.report.charts import notes
    from droculo.report.data import COLUMNS, RARE, instances
    from droculo.report.summary import MARK
    from droculo.report.table import Table

    shown = ("regret", "certified", "exchanges", "bytes", "loo_calls", *RARE, "queries")
    made = []
    for instance in instances(found):
        T = instance.horizons[-1]
        last = [(c, row) for c, row in zip(instance.curves, instance.table, strict=True) if c.horizon == T]
        columns = [name for name in shown if name not in RARE or any(row[name] for _, row in last)]
        rows = [
            [c.label if c.learned else f"{c.label} {MARK}", *(_percent(row[name]) for name in ("share", "share_last"))]
            + [row[name] for name in columns]
            for c, row in last
        ]
        where = f"{instance.problem} (case {instance.case}) on {instance.network}"
        about = f"{where}: N = {instance.agents}, d = {instance.dim}, T = {T}"
        head = [
            "method",
            "of best",
            "last quarter",
            *(name if name in ("regret", "certified") else COLUMNS[name] for name in columns),
        ]
        made.append(Table(head, rows, about).terminal())
        made += [Text(note) for note in notes(instance)]
    return made
