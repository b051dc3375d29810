"""Interrupting a run and going on later, with a bit-identical result."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np


@dataclass(frozen=True)
class Checkpoint:
    """A folder in which a run saves itself after every piece; the same call with the same folder goes on from there.

    The folder belongs to one run: another problem, algorithm, network, key or record is refused.
    """

    folder: str | os.PathLike[str]

    def load(self, identity: str, pieces: int) -> list[dict[str, np.ndarray]]:
        """The arrays of all pieces saved so far, at most `pieces` of them."""
        path = Path(self.folder)
        if not path.exists():
            path.mkdir(parents=True)
        owner = path / "run.txt"
        if not owner.exists():
            if any(path.iterdir()):
                raise ValueError(f"the checkpoint folder {path} holds other files; pass an empty or a new folder.")
            owner.write_text(identity + "\n")
        elif owner.read_text().strip() != identity:
            raise ValueError(
                f"the checkpoint folder {path} belongs to a run with another problem, algorithm, network, key or "
                "record. "
                "Pass the same ones to go on with that run, or another folder to begin a new one."
            )
        saved = []
        for number in range(pieces):
            file = self._file(number)
            if not file.exists():
                break
            with np.load(file) as arrays:
                saved.append(dict(arrays))
        return saved

    def save(self, number: int, arrays: dict[str, np.ndarray]) -> None:
        """Write one piece, whole or not at all."""
        half = self._file(number).with_suffix(".part")
        with half.open("wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
        half.replace(self._file(number))

    def _file(self, number: int) -> Path:
        return Path(self.folder) / f"piece-{number:05d}.npz"


def fingerprint(*parts: Any) -> str:
    """A digest of everything a run depends on; memory addresses in the names of functions do not count."""
    leaves, structure = jax.tree.flatten(parts)
    digest = hashlib.sha256(re.sub(r" at 0x[0-9a-f]+", "", str(structure)).encode())
    for leaf in leaves:
        if isinstance(leaf, np.ndarray | np.generic | jax.Array):
            array = np.asarray(leaf)
            digest.update(f"{array.dtype}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        else:
            digest.update(re.sub(r" at 0x[0-9a-f]+", "", repr(leaf)).encode())
    return digest.hexdigest()
