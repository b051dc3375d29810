"""Interrupt a run and continue it later, with a bit-identical result."""

from __future__ import annotations

import os
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from droculo.engine.fingerprint import Fingerprint


@dataclass(frozen=True)
class Checkpoint:
    """A folder in which a run is saved after every piece; the same call with the same folder continues from there.

    The folder belongs to one run: another problem, algorithm, network, key or record is refused. Going on is bit-identical on
    the same machine with the same versions; another processor or another JAX may round differently from there on.
    """

    folder: str | os.PathLike[str]

    def load(self, identity: Fingerprint, pieces: int) -> list[dict[str, np.ndarray]]:
        """The arrays of all pieces saved so far, at most `pieces` of them."""
        path = Path(self.folder)
        if path.exists() and not path.is_dir():
            raise ValueError(f"a checkpoint is a folder, and {path} is a file. Pass the name of a new folder.")
        path.mkdir(parents=True, exist_ok=True)
        owner = path / "run.json"
        if not owner.exists() and any(file.suffix != ".part" for file in path.iterdir()):
            raise ValueError(f"the checkpoint folder {path} holds other files; pass an empty or a new folder.")
        if not identity.owns(owner):
            raise ValueError(
                f"the checkpoint folder {path} belongs to a run with another problem, algorithm, network, key, record, rounds, "
                "agents or dtype, or to a version of droculo with other results. Pass the same ones to continue, "
                "or another folder to begin a new run."
            )
        saved = []
        for number in range(pieces):
            try:
                with self._file(number).open("rb") as opened, np.load(opened) as arrays:
                    saved.append(dict(arrays))
            except (OSError, ValueError, zipfile.BadZipFile):
                break  # not there, or damaged: play it, and all after it, again
        return saved

    def save(self, number: int, arrays: dict[str, np.ndarray]) -> None:
        """Write one piece completely, or not at all."""
        half = self._file(number).with_suffix(".part")
        with half.open("wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
        half.replace(self._file(number))

    def _file(self, number: int) -> Path:
        return Path(self.folder) / f"piece-{number:05d}.npz"
