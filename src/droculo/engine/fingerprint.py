"""What a stored run belongs to, as a digest."""

from __future__ import annotations

import hashlib
import re
from importlib.metadata import version
from typing import Any

import jax
import numpy as np


def fingerprint(*parts: Any, program: Any) -> str:
    """A digest of everything a run depends on: its numbers, and the traced program with the constants in it.

    The program stands for what Python functions do; their names and addresses do not count.
    """
    leaves, structure = jax.tree.flatten(parts)
    digest = hashlib.sha256(_nameless(f"{jax.__version__} {version('droculo')} {structure} {program.jaxpr}").encode())
    for leaf in [*leaves, *program.consts]:
        if isinstance(leaf, np.ndarray | np.generic | jax.Array):
            array = np.asarray(leaf)
            digest.update(f"{array.dtype}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        else:
            digest.update(_nameless(repr(leaf)).encode())
    return digest.hexdigest()


def _nameless(text: str) -> str:
    return re.sub(r" at 0x[0-9a-f]+", "", text)
