"""TOML with line numbers: which line of the file a value stands on, so that an error can name it."""

from __future__ import annotations

import re
from typing import Any

Path = tuple[str | int, ...]

_HEADER = re.compile(r"^\s*(\[\[?)\s*([A-Za-z0-9_.\-\"' ]+?)\s*\]\]?\s*(#.*)?$")
_KEY = re.compile(r"^\s*(?:\"([^\"]+)\"|'([^']+)'|([A-Za-z0-9_\-]+))\s*=")


class Lines:
    """Where tables and keys of a TOML text begin.

    >>> lines = Lines('seeds = [0]\\n[[algorithms]]\\nname = "dobga"\\n[[algorithms]]\\nname = "dmfw"')
    >>> lines.of(("algorithms", 1, "name")), lines.of(("algorithms", 0)), lines.of(("seeds",))
    (5, 2, 1)
    """

    def __init__(self, text: str):
        self._found: dict[Path, int] = {}
        here: Path = ()
        quoted = False
        counts: dict[str, int] = {}
        for number, line in enumerate(text.splitlines(), start=1):
            opens = sum(line.count(quotes) for quotes in ('"""', "'''"))
            if quoted:
                quoted = opens % 2 == 0
                continue
            quoted = opens % 2 == 1
            header, key = _HEADER.match(line), _KEY.match(line)
            if header:
                names = tuple(part.strip(" \"'") for part in header[2].split("."))
                if header[1] == "[[":
                    counts[header[2]] = counts.get(header[2], -1) + 1
                    here = (*names, counts[header[2]])
                else:
                    here = names
                self._found.setdefault(here, number)
            elif key:
                self._found.setdefault((*here, next(part for part in key.groups() if part)), number)

    def of(self, path: Path) -> int:
        """The line of a value, or of the nearest thing around it that has a line of its own."""
        if len(path) > 1 and isinstance(path[1], int) and path[:2] not in self._found:
            path = (path[0], *path[2:])  # a plain table stands for the first and only one of a list
        while path and path not in self._found:
            path = path[:-1]
        return self._found.get(path, 1)


def plain(value: Any) -> Any:
    """The value with tuples for lists, so that it can be compared and hashed.

    >>> plain([1, [2, 3]])
    (1, (2, 3))
    """
    return tuple(plain(each) for each in value) if isinstance(value, list | tuple) else value
