"""Tests compile hundreds of small programs and run each once: compile them quickly rather than for speed."""

import gc
import os
import re
import sys
import tempfile
from importlib.metadata import version

import pytest
from xdist.scheduler import LoadScopeScheduling

QUICK = ["--xla_backend_optimization_level=0"]
if version("jaxlib").startswith(("0.8.", "0.9.", "0.10.", "0.11.")):  # an unknown flag would end the process
    # Each worker has one processor, so that it gains nothing by splitting a program to compile its parts side by side.
    QUICK += ["--xla_cpu_use_fusion_emitters=false", "--xla_cpu_parallel_codegen_split_count=1"]
# Flags given from outside are kept, and where they say something else, they win.
_given = os.environ.get("XLA_FLAGS", "").split()
_named = {flag.split("=")[0] for flag in _given}
os.environ["XLA_FLAGS"] = " ".join([*_given, *(flag for flag in QUICK if flag.split("=")[0] not in _named)])
os.environ.setdefault("JAX_PLATFORMS", "cpu")
if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
    # What one worker or child process has compiled, the next one need not: they inherit this.
    _programs = tempfile.TemporaryDirectory(prefix="droculo-tests-")
    os.environ["JAX_COMPILATION_CACHE_DIR"] = _programs.name
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"
if sys.dont_write_bytecode:
    # Where Python is told to keep nothing of what it compiles, each of a hundred child processes would compile JAX's sources
    # again, which takes longer than importing them: it is kept in a folder of these tests instead.
    _bytecode = tempfile.TemporaryDirectory(prefix="droculo-tests-")
    sys.dont_write_bytecode, sys.pycache_prefix = False, _bytecode.name
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = _bytecode.name


# Tracing makes a great many objects that live for long: collecting as often as by default takes a tenth of the time.
gc.set_threshold(1_000_000, 100, 1000)


@pytest.fixture(autouse=True)
def _room_for_programs():
    from droculo.engine.memory_maps import clear_caches_if_needed  # JAX reads the flags when it is first used

    yield
    clear_caches_if_needed()


#: file -> the file whose runs it looks at too
SAME_RUNS = {"tests/test_results.py": "tests/runtime/test_equal.py"}


class ByProgram(LoadScopeScheduling):
    """A file's tests go to one worker, and so do tests of several files that play the same (case, feedback) design, or the same
    runs: what is compiled or played for one of them serves the others. (xdist's own groups are silently ignored with pytest 9.2.)"""

    def _split_scope(self, nodeid):
        pair = re.search(r"\[((concave|A[1-4])-[a-z_]+)(-paper)?\]$", nodeid)
        file = nodeid.split("::")[0]
        return pair[1] if pair else SAME_RUNS.get(file, file)


def pytest_xdist_make_scheduler(config, log):
    config.option.loadscopereorder = (
        False  # else a long file of few tests comes last, and one worker waits for the other
    )
    return ByProgram(config, log)


#: files that take a minute or more, and folders of such; they come first
LONG = (
    "experiments/test_compare",
    "runtime",
    "experiments",
    "gallery",
    "docs",
    "reference",
    "test_house",
    "simulator",
    "algorithms",
)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    def place(item):
        name = item.nodeid.removeprefix("tests/")
        return next((k for k, start in enumerate(LONG) if name.startswith(start)), len(LONG))

    items.sort(key=place)
