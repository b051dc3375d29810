"""Tests compile hundreds of small programs and run each once: compile them quickly rather than for speed."""

import os
from importlib.metadata import version

import pytest

QUICK = ["--xla_backend_optimization_level=0"]
if version("jaxlib").startswith(("0.8.", "0.9.", "0.10.", "0.11.")):  # an unknown flag would end the process
    QUICK.append("--xla_cpu_use_fusion_emitters=false")
os.environ.setdefault("XLA_FLAGS", " ".join(QUICK))
os.environ.setdefault("JAX_PLATFORMS", "cpu")


@pytest.fixture(autouse=True)
def _room_for_programs():
    from droculo.simulator.room import make_room  # JAX reads the flags when it is first used

    yield
    make_room()
