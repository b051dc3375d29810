"""A page in Markdown: prose, tables and figures, one after another."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from droculo.engine.results_version import RESULTS_VERSION
from droculo.report.figure import Figure
from droculo.report.table import Table


@dataclass(frozen=True)
class Picture:
    """A figure with the name of its file, and the words that stand for it where it cannot be seen."""

    file: str
    figure: Figure
    words: str

    def markdown(self) -> str:
        """A link to the file."""
        return f"![{self.words}]({self.file})"


Part = str | Table | Picture


@dataclass(frozen=True)
class Page:
    """A title and parts: paragraphs or headings (text), tables and pictures. Empty text is left out.

    >>> print(Page("Times", ["## Of runs", Table(["d", "s"], [[8, 0.5]])]).markdown())
    # Times
    <BLANKLINE>
    ## Of runs
    <BLANKLINE>
    | d | s |
    |---|---|
    | 8 | 0.5 |
    <BLANKLINE>
    """

    title: str
    parts: Sequence[Part]

    def markdown(self) -> str:
        """The text; pictures are links to their files."""
        said = [part.markdown() if isinstance(part, Table | Picture) else part for part in self.parts if part]
        return "\n\n".join([f"# {self.title}", *said]) + "\n"

    def write(self, folder: Path, name: str) -> str:
        """Write `folder`/`name`.md and the files of its pictures; return the text."""
        folder.mkdir(parents=True, exist_ok=True)
        for part in self.parts:
            if isinstance(part, Picture):
                part.figure.draw(folder / part.file)
        text = self.markdown()
        (folder / f"{name}.md").write_text(text, encoding="utf-8", newline="\n")
        return text


def made_by(command: str, rows: Sequence[Mapping[str, Any]] = ()) -> str:
    """The line under a page's title: the command, and the versions that made the rows (or, without rows, those of now). It says
    so where the library's results have changed since.

    >>> row = {"droculo": "1", "jax": "2", "python": "3", "results_version": RESULTS_VERSION}
    >>> made_by("droculo compare", [row])
    'Made by `droculo compare` (droculo 1, JAX 2, Python 3).'
    """
    now = {"droculo": version("droculo"), "jax": version("jax"), "python": platform.python_version()}
    made = sorted({f"droculo {r['droculo']}, JAX {r['jax']}, Python {r['python']}" for r in (rows or [now])})
    changed = any(row["results_version"] != RESULTS_VERSION for row in rows)
    note = " *Measured before some of the library's results changed: to be measured again.*" if changed else ""
    return f"Made by `{command}` ({'; '.join(made)}).{note}"
