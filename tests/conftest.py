"""Tests compile hundreds of small programs and run each once: compile them quickly rather than for speed."""

import os

os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
