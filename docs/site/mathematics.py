"""Formulas become MathML while the site is built, so that a page needs no script and nothing from elsewhere."""

import html
import re
from typing import Any

from latex2mathml.converter import convert

#: what pymdownx.arithmatex leaves behind
FORMULA = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)
#: the sign of a set difference, which few fonts have, as a plain operator
DIFFERENCE = "<mi>&#x029F5;</mi>", "<mo>&#x2216;</mo>"


def on_page_content(content: str, **_: Any) -> str:
    """Called by MkDocs for every page."""
    return FORMULA.sub(lambda found: convert(html.unescape(found[1])).replace(*DIFFERENCE), content)
