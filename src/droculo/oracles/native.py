"""`native.c`, compiled on this machine and called from compiled programs (XLA's foreign function interface).

The library is built with the machine's C compiler when it is first needed, and kept in the cache folder. Without a
compiler, or with `DROCULO_NATIVE=0`, the same steps run in JAX alone, about ten times slower.
"""

from __future__ import annotations

import ctypes
import hashlib
import logging
import os
import platform
import shutil
import subprocess
import tempfile
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax import Array

from droculo.folders import cache_folder

if TYPE_CHECKING:
    from droculo.oracles.active_set import Search, Task

SOURCE = Path(__file__).with_name("native.c")
FLAGS = ("-O3", "-std=c11", "-ffp-contract=fast", "-fPIC", "-shared", "-fopenmp-simd")
REALS = {np.dtype(np.float64): "double", np.dtype(np.float32): "float"}
logger = logging.getLogger(__name__)


def available(number: Any = np.float64) -> bool:
    """True if compiled programs can call `native.c` here, for numbers of this type."""
    wanted = os.environ.get("DROCULO_NATIVE", "1") != "0" and jax.default_backend() == "cpu"
    return wanted and np.dtype(number) in REALS and _library(np.dtype(number)) is not None


def step(task: Task, s: Search, answers: Array) -> Search:
    """For a batch of agents: use the linear oracle's answer, if there was a question, then move x.

    These are `_judge` and `_walk` of active_set.py.
    """
    _check(task, s, answers)
    state, structure = jax.tree.flatten(s)
    after: Search = jax.tree.unflatten(structure, _call("step", state, *task, answers))
    return after


@jax.custom_jvp
def once(value: Array) -> Array:
    """The identity, opaque to XLA: it keeps XLA from computing `value` again at every use (an optimization barrier)."""
    return _call("once", [value])[0] if available(value.dtype) else value


@once.defjvp
def _once_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    return once(*primals), tangents[0]


def _check(task: Task, s: Search, answers: Array) -> None:
    """Check all shapes and types: C reads the arrays without any check."""
    *lead, m, d = s.atoms.points.shape
    number, atoms = s.atoms.points.dtype, s.atoms
    vectors = {"x": s.x, "y": s.y, "direction": s.direction, "the linear oracle's answer": answers}
    numbers = {"lost": s.lost, "height": s.height, "low": s.low} | task._asdict()
    expected: list[tuple[str, Array, tuple[int, ...], Any]]
    expected = [("the memory's points", atoms.points, (m, d), number), ("used", atoms.used, (m,), bool)]
    expected += [("age", atoms.age, (m,), np.int32), ("calls", s.calls, (), np.int32), ("done", s.done, (), bool)]
    expected += [("gram", atoms.gram, (m, m), number), ("inverse", atoms.corral.inverse, (m, m), number)]
    expected += [("weights", atoms.corral.weights, (m,), number)]
    expected += [(name, array, (d,), number) for name, array in vectors.items()]
    expected += [(name, array, (), number) for name, array in numbers.items()]
    for name, array, shape, kind in expected:
        if array.shape != (*lead, *shape) or array.dtype != kind:
            raise TypeError(
                f"{name}: expected {np.dtype(kind)} of shape {(*lead, *shape)}, as the oracle's memory has it; got {array.dtype} of "
                f"shape {array.shape}. Is the memory of another set, or of another precision?"
            )


def _call(function: str, state: list[Array], *more: Array) -> list[Array]:
    """Call a function of `native.c`, which overwrites `state`."""
    shapes = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in state]  # type: ignore[no-untyped-call]
    call: Any = jax.ffi.ffi_call(
        f"droculo_{function}_{_library(np.dtype(state[0].dtype))}", shapes, vmap_method="broadcast_all",
        input_output_aliases={i: i for i in range(len(state))},
    )  # fmt: skip
    return list(call(*state, *more))


@cache
def _library(real: np.dtype[Any]) -> str | None:
    """The name under which XLA knows `native.c` for this type of number, or None where it cannot be compiled.

    The name is a digest of the source, so that a program kept on disk finds the code that it was compiled with, or none.
    It does not depend on the machine: a checkpoint records its program, and may be continued elsewhere.
    """
    try:
        name = hashlib.sha256(SOURCE.read_bytes() + REALS[real].encode()).hexdigest()[:16]
        for function, address in _functions(real).items():
            capsule = jax.ffi.pycapsule(address)  # type: ignore[no-untyped-call]
            jax.ffi.register_ffi_target(f"droculo_{function}_{name}", capsule, platform="cpu")
        return name
    except Exception as problem:  # whatever the cause, JAX alone can do the same
        said = getattr(problem, "stderr", None) or b""
        logger.info(
            "the active-set oracle runs in JAX alone, which is slower: %s %s", problem, said.decode(errors="replace")
        )
        return None


def _functions(real: np.dtype[Any]) -> dict[str, Any]:
    """The functions of the library, from the cache folder if it is there, else compiled now."""
    found = (shutil.which(name) for name in (os.environ.get("CC", "cc"), "cc", "gcc", "clang"))
    compiler = next((path for path in found if path is not None), None)
    if compiler is None:
        raise OSError("no C compiler was found")
    kept = cache_folder() / f"native-{_key(real, compiler)}.so"
    try:
        kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if _is_ours(kept.parent) and kept.exists():
            return _loaded(kept)
    except (OSError, AttributeError):
        pass  # damaged, or of another system: compile it again
    try:
        if _is_ours(kept.parent):
            _compile(real, compiler, kept)
            return _loaded(kept)
    except OSError:
        pass  # the folder cannot be written
    alone = Path(_scratch().name) / kept.name
    _compile(real, compiler, alone)
    return _loaded(alone)


def _loaded(library: Path) -> dict[str, Any]:
    functions = ctypes.cdll.LoadLibrary(str(library))
    return {name: getattr(functions, f"droculo_{name}") for name in ("step", "once")}


def _is_ours(folder: Path) -> bool:
    """True if only the current user can write here: code from this folder is loaded."""
    if not hasattr(os, "getuid"):
        return True
    found = folder.stat()
    return found.st_uid == os.getuid() and not found.st_mode & 0o022


@cache
def _scratch() -> tempfile.TemporaryDirectory[str]:
    """A temporary folder of this process, used if the cache folder cannot be."""
    return tempfile.TemporaryDirectory(prefix="droculo-", ignore_cleanup_errors=True)


def _key(real: np.dtype[Any], compiler: str) -> str:
    """A digest of all that a library depends on, including the processor: machines may share a cache folder."""
    seen = hashlib.sha256(SOURCE.read_bytes())
    tool = os.stat(compiler)
    versions = (version("jaxlib"), platform.system(), platform.machine(), platform.processor())
    seen.update(repr((REALS[real], FLAGS, compiler, tool.st_size, tool.st_mtime, *versions)).encode())
    described = Path("/proc/cpuinfo")
    if described.exists():
        lines = described.read_text().splitlines()
        seen.update(next((line for line in lines if line.startswith(("flags", "Features"))), "").encode())
    return seen.hexdigest()[:16]


def _compile(real: np.dtype[Any], compiler: str, library: Path) -> None:
    with tempfile.TemporaryDirectory(dir=library.parent) as scratch:
        made = Path(scratch) / "native.so"
        headers = f"-I{jax.ffi.include_dir()}"
        command = [compiler, *FLAGS, f"-DREAL={REALS[real]}", headers, str(SOURCE), "-o", str(made), "-lm"]
        try:
            subprocess.run([*command, "-march=native"], check=True, capture_output=True, timeout=120)
        except subprocess.CalledProcessError:
            subprocess.run(command, check=True, capture_output=True, timeout=120)
        os.replace(made, library)  # atomic, also if another process does the same
