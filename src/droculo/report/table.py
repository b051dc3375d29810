"""One table, for every place where it is read: Markdown, LaTeX, CSV and the terminal."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


def number(value: Any) -> str:
    """A cell with three digits; whole numbers stay whole, None is a dash, and text is left as it is.

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


@dataclass(frozen=True)
class Table:
    """A head and rows of numbers, words and None; the first `words` columns are text, and set flush left.

    >>> table = Table(["set", "d", "seconds"], [["box", 8, 0.5], ["a_b", 16, 1.5e-7]])
    >>> print(table.markdown())
    | set | d | seconds |
    |---|---|---|
    | box | 8 | 0.5 |
    | a_b | 16 | 1.5e-07 |
    >>> table.latex().splitlines()[5]
    'a\\\\_b & 16 & $1.5 \\\\times 10^{-7}$ \\\\\\\\'
    """

    head: Sequence[str]
    rows: Sequence[Sequence[Any]]
    title: str = ""
    words: int = 1

    def without_empty(self) -> Table:
        """Without the columns that have no value in any row."""
        kept = [place for place in range(len(self.head)) if any(row[place] is not None for row in self.rows)]
        rows = [[row[place] for place in kept] for row in self.rows]
        return Table([self.head[place] for place in kept], rows, self.title, sum(place < self.words for place in kept))

    def markdown(self) -> str:
        """Without the title."""
        cells = [[number(cell).replace("|", "\\|") for cell in row] for row in self.rows]
        lines = ["|" + "|".join(f" {cell} " if cell else " " for cell in line) + "|" for line in (self.head, *cells)]
        return "\n".join([lines[0], "|" + "---|" * len(self.head), *lines[1:]])

    def latex(self) -> str:
        """A tabular; it needs the package booktabs."""
        lines = [
            f"\\begin{{tabular}}{{{'l' * self.words}{'r' * (len(self.head) - self.words)}}}",
            "\\toprule",
            " & ".join(_tex(name) for name in self.head) + r" \\",
            "\\midrule",
            *(" & ".join(_tex(cell) for cell in row) + r" \\" for row in self.rows),
            "\\bottomrule",
            "\\end{tabular}",
        ]
        return "\n".join(lines)

    def csv(self) -> str:
        """With all digits, for programs."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerows([self.head, *(["" if cell is None else cell for cell in row] for row in self.rows)])
        return text.getvalue()

    def terminal(self) -> Any:
        """A table of the package rich."""
        from rich import box
        from rich.table import Table as Grid

        made = Grid(title=self.title, box=box.SIMPLE_HEAD, title_justify="left", title_style="bold", pad_edge=False)
        for place, name in enumerate(self.head):
            made.add_column(name, justify="left" if place < self.words else "right", overflow="fold")
        for row in self.rows:
            made.add_row(*map(number, row))
        return made


_SPECIAL = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    **{sign: "\\" + sign for sign in "&%$#_{}"},
}  # fmt: skip


def _tex(cell: Any) -> str:
    """A cell in LaTeX: numbers in mathematics, special characters of words escaped.

    >>> _tex("own:a_b & 5%"), _tex(-0.5), _tex(None), _tex("1 to -2"), _tex("1/3")
    ('own:a\\\\_b \\\\& 5\\\\%', '$-0.5$', '--', '1 to $-2$', '1/3')
    """
    if cell is None:
        return "--"
    if not isinstance(cell, str):
        return _tex_number(number(cell))
    if re.fullmatch(r"\S+ to \S+", cell):  # a range of numbers
        low, _, high = cell.split(" ")
        return f"{_tex_number(low)} to {_tex_number(high)}"
    words = "".join(_SPECIAL.get(sign, sign) for sign in cell)
    return {"theta": r"$\theta$", "T": "$T$"}.get(words, words.replace("alpha-", r"$\alpha$-"))


def _tex_number(text: str) -> str:
    mantissa, _, power = text.partition("e")
    if power:
        return f"${mantissa} \\times 10^{{{int(power)}}}$"
    return f"${text}$" if text.startswith("-") and len(text) > 1 else text
