"""Numbers and tables in Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def number(value: Any) -> str:
    """Three digits are enough to read; whole numbers stay whole; None is a dash.

    >>> number(1234.5678), number(0.00123456), number(12.0), number(None), number("ring")
    ('1230', '0.00123', '12', '-', 'ring')
    """
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    if float(value).is_integer() and abs(value) < 1e7:
        return str(int(value))
    if 1e-3 <= abs(value) < 1e6:
        rounded = float(f"{value:.3g}")
        return str(int(rounded)) if rounded.is_integer() and abs(rounded) >= 100 else f"{rounded:g}"
    return f"{value:.3g}"


def table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A Markdown table.

    >>> print(table(["d", "seconds"], [[8, 0.5]]))
    | d | seconds |
    |---|---|
    | 8 | 0.5 |
    """
    lines = [head, ["---"] * len(head), *([number(cell) for cell in row] for row in rows)]
    text = ["| " + " | ".join(line) + " |" for line in lines]
    text[1] = text[1].replace(" ", "")
    return "\n".join(text)
