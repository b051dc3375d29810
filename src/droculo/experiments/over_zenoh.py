"""A run whose agents are processes connected by Zenoh, on one machine or several."""

from __future__ import annotations

import math
import socket
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from droculo.experiments.cell import Cell, build
from droculo.experiments.processes import folder_of, keep_cell, read_run, write_meter
from droculo.experiments.spec import Spec, SpecError
from droculo.experiments.store import Store, write_whole
from droculo.experiments.sweeps import Progress, Sweep, begin, collect
from droculo.runtime import TLS, ZenohTransport, assign_agents, partition, run_process
from droculo.runtime.transports.endpoints import check_endpoint


@dataclass(frozen=True)
class Deployment:
    """The endpoints of all processes of a run, and their timeouts. Read from a TOML file by `Deployment.load`."""

    endpoints: dict[int, str]
    tls: TLS | None = None
    patience: float = 30.0
    gathering: float = 120.0
    pace: float = 0.0
    config: Path | None = None

    @classmethod
    def load(cls, path: Path) -> Deployment:
        """Read a deployment: endpoints of all processes, certificates, timeouts."""
        try:
            given = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise SpecError(f"{path} cannot be read as a field: {error}.") from None
        known = [each.name for each in fields(cls)]
        for key in given:
            if key not in known:
                raise SpecError(f"{path}: a field has no {key!r}; it has {', '.join(known)}.")
        endpoints = given.pop("endpoints", None)
        named = endpoints if isinstance(endpoints, dict) else {}
        if not named or set(named) != set(map(str, range(len(named)))):
            raise SpecError(
                f"{path}: endpoints is a table that gives each process 0, 1, ... its endpoint, such as "
                f'0 = "tcp/10.0.0.1:7447"; got {endpoints!r}.'
            )
        for key in ("patience", "gathering", "pace"):
            value = given.get(key, 1.0)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
                raise SpecError(f"{path}: {key} is a number of seconds; got {value!r}.")
            if key != "pace" and value == 0:
                raise SpecError(f"{path}: {key} is above zero; got {value!r}.")
        try:
            tls = _tls(given.pop("tls", None), path.parent)
            for endpoint in named.values():
                check_endpoint(endpoint, tls is not None)
        except (TypeError, ValueError) as error:
            raise SpecError(f"{path}: {error}") from None
        if len(set(named.values())) < len(named):
            raise SpecError(f"{path}: two processes have the same endpoint; give each its own.")
        if "config" in given:
            if not isinstance(given["config"], str):
                raise SpecError(f"{path}: config is the name of a file; got {given['config']!r}.")
            given["config"] = path.parent / given["config"]
        return cls({int(name): endpoint for name, endpoint in named.items()}, tls, **given)

    @classmethod
    def loopback(cls, processes: int, **options: Any) -> Deployment:
        """All processes on this machine, at ports that are free now."""
        sockets = [socket.socket() for _ in range(processes)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        endpoints = {me: f"tcp/127.0.0.1:{each.getsockname()[1]}" for me, each in enumerate(sockets)}
        for each in sockets:
            each.close()
        return cls(endpoints, **options)

    def written(self) -> str:
        """As TOML, without certificates and Zenoh's own configuration."""
        lines = [f"{key} = {getattr(self, key)}" for key in ("patience", "gathering", "pace")]
        return "\n".join([*lines, "[endpoints]", *(f'{me} = "{where}"' for me, where in self.endpoints.items())]) + "\n"


def _tls(given: Any, folder: Path) -> TLS | None:
    if given is None:
        return None
    if not isinstance(given, dict):
        raise ValueError(f"tls is a table with authority, certificate and key, three files; got {given!r}.")
    files: dict[str, Any] = {name: folder / value if isinstance(value, str) else value for name, value in given.items()}
    return TLS(**files)


def agent_over_zenoh(
    spec: Spec, out: Path, field: Deployment, me: int, *, cell: int = 0, seed: int | None = None
) -> None:
    """Be process `me` of one run of a spec, and write its journal under `out`; started again, it resumes and rejoins."""
    last = len(spec.cells) - 1
    if not 0 <= cell <= last:
        raise SpecError(f"the spec has the cells 0 to {last} (droculo show lists them); got --cell {cell}.")
    chosen = spec.cells[cell]
    seed = chosen.seeds[0] if seed is None else seed
    if seed not in chosen.seeds:
        raise SpecError(f"the spec has the seeds {', '.join(map(str, chosen.seeds))}; got --seed {seed}.")
    if me not in field.endpoints:
        raise SpecError(f"there are processes 0 to {len(field.endpoints) - 1} in the field; got --me {me}.")
    problem, network, algorithm = build(chosen, spec.folder)
    place = partition(network, assign_agents(network.n_agents, len(field.endpoints)), me)
    key = chosen.key(spec.folder)
    folder = folder_of(out, key, seed, me)
    transport = ZenohTransport(
        me, field.endpoints, place.neighbours, run=f"{key}/{seed}", tls=field.tls, patience=field.patience,
        gathering=field.gathering, config=field.config,
    )  # fmt: skip
    part = run_process(problem, algorithm, network, place, transport, key=seed, folder=folder, pace=field.pace)
    write_meter(folder, part)


def sweep_over_zenoh(
    spec: Spec, file: Path, out: Path, processes: int, *, progress: Progress | None = None, command: str | None = None
) -> Sweep:
    """Run the cells that `out` lacks with `processes` processes of this machine, one run after the other."""
    begin(spec, out, command)
    store = Store(out)
    tell = progress or (lambda done, total, label: None)
    tell(0, len(spec.cells), "")
    for number, cell in enumerate(spec.cells):
        key = cell.key(spec.folder)
        if not store.finished(key):
            for seed in cell.seeds:
                _launch(file, out, number, seed, processes, folder_of(out, key, seed))
            gather_cell(spec, out, cell, processes)
        tell(number + 1, len(spec.cells), cell.label)
    return collect(out)


def gather_cell(spec: Spec, out: Path, cell: Cell, processes: int) -> None:
    """Make the rows of a cell from what its processes wrote."""
    runs = [read_run(out, spec, cell, seed, processes) for seed in cell.seeds]
    keep_cell(Store(out), spec, cell, "zenoh", processes, runs)


def _launch(file: Path, out: Path, cell: int, seed: int, processes: int, folder: Path) -> None:
    """One run: start its processes and wait for all of them."""
    field = folder / "field.toml"
    write_whole(field, Deployment.loopback(processes).written())
    children = []
    try:
        for me in range(processes):
            words = [str(file), "--over", "zenoh", "--field", str(field), "--me", str(me), "--out", str(out)]
            words = [sys.executable, "-m", "droculo", "agent", *words, "--cell", str(cell), "--seed", str(seed)]
            with (folder / f"process-{me:05d}.log").open("wb") as log:
                children.append(subprocess.Popen(words, stdout=log, stderr=log))
        failed: list[int] = []
        while not failed and any(child.poll() is None for child in children):  # a failure ends all of them at once
            time.sleep(0.05)
            failed = [me for me, child in enumerate(children) if child.poll() not in (None, 0)]
    finally:
        for child in children:
            child.kill()
            child.wait()
    if failed:
        last = (folder / f"process-{failed[0]:05d}.log").read_text(errors="replace").strip().splitlines()
        said = last[-1] if last else "nothing"
        why = f"processes {failed} ended with an error. Process {failed[0]} said: {said} (its output is in {folder})"
        raise RuntimeError(why)
