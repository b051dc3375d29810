"""`native.c`, compiled on this machine and called from compiled programs (XLA's foreign function interface).

The library is built the first time that it is needed, with the C compiler of the machine, and kept in the folder for
caches. Where there is no compiler, or with `DROCULO_NATIVE=0`, the same is done in JAX alone, some ten times slower.
"""

from __future__ import annotations

import ctypes
import getpass
import hashlib
import logging
import os
import platform
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax import Array

from droculo.cache import usual_folder

if TYPE_CHECKING:
    from droculo.oracles.corrective import Search, Task

SOURCE = Path(__file__).with_name("native.c")
FLAGS = ("-O3", "-std=c11", "-ffp-contract=fast", "-fPIC", "-shared", "-fopenmp-simd")
REALS = {np.dtype(np.float64): "double", np.dtype(np.float32): "float"}
logger = logging.getLogger(__name__)


def available() -> bool:
    """Whether compiled programs can call `native.c` here."""
    wanted = os.environ.get("DROCULO_NATIVE", "1") != "0" and jax.default_backend() == "cpu"
    return wanted and _library(np.dtype(np.float64)) is not None


def step(task: Task, s: Search, answers: Array) -> Search:
    """For a batch of agents: judge what was answered, if anything was asked, then walk (`_judge` and `_walk` of corrective.py)."""
    state, structure = jax.tree.flatten(s)
    after: Search = jax.tree.unflatten(structure, _call("step", state, *task, answers))
    return after


def once(value: Array) -> Array:
    """The same; but the compiler, which cannot see that, works `value` out once and not again in every use."""
    if not (available() and value.dtype in REALS):
        return value
    return _call("once", [value])[0]


def _call(function: str, state: list[Array], *more: Array) -> list[Array]:
    """A function of `native.c`, which writes over `state`."""
    shapes = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in state]  # type: ignore[no-untyped-call]
    call: Any = jax.ffi.ffi_call(
        f"droculo_{function}_{_library(np.dtype(state[0].dtype))}", shapes, vmap_method="broadcast_all",
        input_output_aliases={i: i for i in range(len(state))},
    )  # fmt: skip
    return list(call(*state, *more))


@cache
def _library(real: np.dtype[Any]) -> str | None:
    """The name under which XLA knows `native.c` for this type of number, or None where it cannot be compiled.

    It names the source: a program that was kept on disk finds the code that it was made for, or none. It does not name the
    machine: a checkpoint is told apart by its program, and may be finished elsewhere.
    """
    name = hashlib.sha256(SOURCE.read_bytes() + REALS[real].encode()).hexdigest()[:16]
    try:
        library = ctypes.cdll.LoadLibrary(str(_built(real)))
    except (OSError, subprocess.SubprocessError) as problem:
        logger.info("the corrective oracle runs in JAX alone, which is slower: %s", problem)
        return None
    for function in ("step", "once"):
        capsule = jax.ffi.pycapsule(getattr(library, f"droculo_{function}"))  # type: ignore[no-untyped-call]
        jax.ffi.register_ffi_target(f"droculo_{function}_{name}", capsule, platform="cpu")
    return name


def _key(real: np.dtype[Any], compiler: str) -> str:
    """Of everything that goes into a library, the processor included: a folder for caches may be shared between machines."""
    seen = hashlib.sha256(SOURCE.read_bytes())
    made = (REALS[real], FLAGS, compiler, jax.__version__, platform.system(), platform.machine())
    seen.update(repr(made).encode())
    described = Path("/proc/cpuinfo")
    if described.exists():
        lines = described.read_text().splitlines()
        seen.update(next((line for line in lines if line.startswith(("flags", "Features"))), "").encode())
    return seen.hexdigest()[:16]


def _built(real: np.dtype[Any]) -> Path:
    found = (shutil.which(name) for name in (os.environ.get("CC", "cc"), "cc", "gcc", "clang"))
    compiler = next((path for path in found if path is not None), None)
    if compiler is None:
        raise OSError("no C compiler was found")
    key = _key(real, compiler)
    for folder in (usual_folder(), Path(tempfile.gettempdir()) / f"droculo-{getpass.getuser()}"):
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            library = folder / f"native-{key}.so"
            if not library.exists():
                _compile(real, compiler, library)
            return library
        except PermissionError:
            continue
    raise OSError("there is no folder to keep a compiled library in")


def _compile(real: np.dtype[Any], compiler: str, library: Path) -> None:
    with tempfile.TemporaryDirectory(dir=library.parent) as scratch:
        made = Path(scratch) / "native.so"
        command = [
            compiler,
            *FLAGS,
            f"-DREAL={REALS[real]}",
            f"-I{jax.ffi.include_dir()}",
            str(SOURCE),
            "-o",
            str(made),
            "-lm",
        ]
        try:
            subprocess.run([*command, "-march=native"], check=True, capture_output=True, timeout=120)
        except subprocess.CalledProcessError:
            subprocess.run(command, check=True, capture_output=True, timeout=120)
        os.replace(made, library)  # whole or not at all, whoever else is at it
