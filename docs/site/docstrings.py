"""Docstrings are plain prose; here they become Markdown that shows the same characters.

`<g, x>` is an inner product and no tag, an example that starts with >>> is no quotation, and an indented table is code.
"""

import html
import re
from typing import Any

import griffe

CODE = re.compile(r"(`[^`]+`)")


class Prose(griffe.Extension):
    """Runs on every docstring that the API pages show."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = to_markdown(obj.docstring.value)


def to_markdown(prose: str) -> str:
    parts: list[str] = []
    for paragraph in re.split(r"\n[ ]*\n", prose):
        if paragraph.lstrip().startswith(">>>"):
            parts.append(f"```pycon\n{paragraph}\n```")
        elif all(line.startswith("    ") for line in paragraph.splitlines()):
            parts.append(paragraph)  # indented: a table or a formula
        else:
            parts.append(_escaped(paragraph))
    return "\n\n".join(parts)


def _escaped(paragraph: str) -> str:
    pieces = CODE.split(paragraph)  # every other one is code, which shows what it is
    return "".join(piece if k % 2 else _plain(piece) for k, piece in enumerate(pieces))


def _plain(piece: str) -> str:
    return re.sub(r"([\\*_\[\]{}])", r"\\\1", html.escape(piece, quote=False))
