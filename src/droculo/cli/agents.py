"""Real processes: launch, agent, gather."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import subprocess
import sys
import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated, TextIO

import typer

from droculo.cli.screen import complain, progress
from droculo.cli.sweeps import Out, shown

#: what carries the messages
Over = StrEnum("Over", ["mpi", "zenoh"])
Spec = Annotated[Path, typer.Argument(help="A spec.")]
Carried = Annotated[Over, typer.Option("--over", help="mpi: a cluster's; zenoh: peer to peer, survives its processes.")]
Processes = Annotated[
    int, typer.Option("-n", "--processes", min=1, help="Processes; each holds an agent or a block of them.")
]


def launch(context: typer.Context, spec: Spec, processes: Processes, over: Carried = Over.mpi, out: Out = None) -> int:
    """Run a spec with processes of their own, on this machine.

    The same files and the same page as droculo run. On several hosts: mpiexec ... droculo agent SPEC, or droculo agent SPEC
    --over zenoh on each.
    """
    from droculo.experiments import load
    from droculo.experiments.cell import build
    from droculo.runtime import assign_agents

    found = load(spec)
    for cell in found.cells:  # too many processes are an error before any is started
        assign_agents(build(cell, found.folder)[1].n_agents, processes)
    folder = out or Path("results") / f"{spec.stem}-{over}"
    context.obj.keeps = True
    if over is Over.mpi:
        command = [_mpiexec(), "-n", str(processes), sys.executable, "-m", "droculo", "agent", str(spec)]
        return subprocess.run([*command, "--out", str(folder)], check=False).returncode
    from droculo.experiments.over_zenoh import sweep_over_zenoh

    with progress("cells") as tell:
        return shown(sweep_over_zenoh(found, spec, folder, processes, progress=tell, command=context.obj.command))


def agent(
    context: typer.Context,
    spec: Spec,
    over: Carried = Over.mpi,
    out: Out = None,
    field: Annotated[
        Path | None, typer.Option("--field", help="Zenoh: a TOML file with the endpoints of all processes.")
    ] = None,
    me: Annotated[int | None, typer.Option("--me", min=0, help="Zenoh: which of them this is.")] = None,
    cell: Annotated[int, typer.Option("--cell", min=0, help="Zenoh: which cell of the spec, counted from 0.")] = 0,
    seed: Annotated[int | None, typer.Option("--seed", help="Zenoh: which seed (default: the first).")] = None,
) -> int:
    """Be one process of a run.

    Under mpiexec, a rank; over Zenoh, the process that --me names in the --field. Started again, it goes on where it was.
    """
    logging.basicConfig(format="%(asctime)s %(message)s", level=logging.INFO)
    for noisy in ("jax", "zenoh"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    folder = out or Path("results") / f"{spec.stem}-{over}"
    context.obj.keeps = True
    if over is Over.mpi:
        return _rank(context.obj.command, spec, folder)
    if field is None or me is None:
        needed = "--field FILE (the endpoints of all) and --me NUMBER (which it is)"
        raise ValueError(f"over Zenoh a process needs {needed}.")
    from droculo.experiments import load
    from droculo.experiments.over_zenoh import Deployment, agent_over_zenoh

    agent_over_zenoh(load(spec), folder, Deployment.load(field), me, cell=cell, seed=seed)
    return 0


def gather(context: typer.Context, spec: Spec, processes: Processes, out: Out = None) -> int:
    """Results and page from what processes wrote.

    For processes over Zenoh. Bring the folders `processes` of all hosts together in one folder of results first. What was gathered before is
    gathered again.
    """
    from droculo.experiments import collect, load
    from droculo.experiments.over_zenoh import gather_cell
    from droculo.experiments.sweeps import begin

    found, folder = load(spec), out or Path("results") / f"{spec.stem}-zenoh"
    begin(found, folder, context.obj.command)
    there = [cell for cell in found.cells if (folder / "processes" / cell.key(found.folder)).is_dir()]
    if not there:
        raise ValueError(f"{folder / 'processes'} holds nothing that a process wrote for this spec with this code.")
    for cell in there:
        gather_cell(found, folder, cell, processes)
    return shown(collect(folder))


def _rank(command: str, spec: Path, folder: Path) -> int:
    """Run a rank: only rank 0 prints; an error in any rank ends the job."""
    from droculo.experiments import load
    from droculo.experiments.over_mpi import sweep_over_mpi
    from droculo.runtime.transports.mpi import mpi

    world = mpi().COMM_WORLD
    try:
        with progress("cells") as tell:
            found = sweep_over_mpi(load(spec), folder, progress=tell, command=command)
        return 0 if found is None else shown(found)
    except Exception as error:
        complain(f"rank {world.Get_rank()}: {error}")
        if world.Get_size() > 1:
            _wait_until_read(sys.stderr)
            world.Abort(2)
        return 2


def _wait_until_read(stream: TextIO, *, at_most: float = 10.0) -> None:
    """Wait until the launcher has read what was written: it ends the job at an abort and drops what it has not read yet."""
    stream.flush()
    end = time.monotonic() + at_most
    while time.monotonic() < end:
        time.sleep(0.1)
        with contextlib.suppress(ImportError, OSError, ValueError):  # not a pipe, or not Unix: nothing to wait for
            import fcntl
            import termios

            unread = fcntl.ioctl(stream.fileno(), termios.FIONREAD, bytes(4))
            if int.from_bytes(unread, sys.byteorder):
                continue
        return


def _mpiexec() -> str:
    """The launcher of the MPI that is installed: beside this Python, or on the path."""
    beside = Path(sys.executable).parent / "mpiexec"
    found = str(beside) if beside.exists() else shutil.which("mpiexec", path=os.environ.get("PATH"))
    if found is None:
        raise ValueError('there is no mpiexec: pip install "droculo[mpi]", or use that of your MPI.')
    return found
