"""The page of a sweep: one HTML file with its data, scripts and plotting library, which needs no network."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import Any

from droculo.expect import extra
from droculo.experiments import Cell, Sweep
from droculo.experiments.store import write_whole
from droculo.report.charts import CHARTS, notes, totals
from droculo.report.data import COLUMNS, COSTS, QUANTITIES, RARE, SUMMED, groups, instances
from droculo.report.figure import DARK, DASHES, LIGHT, MARKS

#: the page may run its own scripts and nothing else. Plotly sets styles, and draws pictures to be saved.
POLICY = (
    "default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; img-src data: blob:; "
    "base-uri 'none'; form-action 'none'"
)


def write_page(sweep: Sweep, out: Path) -> Path:
    """Write `out`/report.html, whole or not at all."""
    page = out / "report.html"
    write_whole(page, render(page_data(sweep)))
    return page


def page_data(sweep: Sweep) -> dict[str, Any]:
    """Everything the page needs, as plain data for JSON."""
    spec, rows, found = sweep.spec, sweep.results.runs.to_pylist(), instances(sweep)
    made_with = ("droculo", "jax", "numpy", "python", "platform", "device")
    tables = [totals(instance) for instance in found]
    copies = [{"copies": {"Markdown": table.markdown(), "LaTeX": table.latex()}} for table in tables]
    out = sweep.out.as_posix() if not sweep.out.is_absolute() else sweep.out.name  # do not publish absolute paths

    def label(cell: Cell) -> str:
        return f"{cell.label} ({cell.problem.label}; {cell.network.label}; T = {cell.horizon})"

    return {
        "title": spec.title,
        "spec": spec.text,
        "quantities": {name: label for name, (label, _) in QUANTITIES.items()},
        "about": {name: about for name, (_, about) in QUANTITIES.items()},
        "summed": SUMMED,
        "costs": COSTS,
        "columns": COLUMNS,
        "rare": RARE,
        "groups": groups(found),
        "instances": [
            asdict(instance) | {"notes": notes(instance)} | copy for instance, copy in zip(found, copies, strict=True)
        ],
        "left_out": [{"label": label(cell), "reason": reason} for cell, reason in spec.left_out],
        "failures": [{"label": f"{cell.label}, T = {cell.horizon}", "reason": why} for cell, why in sweep.failures],
        "missing": [f"{cell.label}, T = {cell.horizon}" for cell in sweep.missing],
        "made_with": {name: rows[0][name] for name in made_with} if rows else {},
        "played_at": max((row["played_at"] for row in rows), default=None),
        "charts": [asdict(chart) for chart in CHARTS],
        "command": sweep.command or "droculo run spec.toml",
        "folder": out or ".",
        "look": {"light": LIGHT, "dark": DARK, "dashes": DASHES, "marks": [mark for _, mark in MARKS]},
    }


def render(data: Mapping[str, Any]) -> str:
    """The page from its data."""
    plotly = extra("plotly.offline", "pages", "plots").get_plotlyjs().replace("\r\n", "\n")
    # The page's own code: its files, one after another, in one scope.
    own = "\n".join(_asset(f"{name}.js") for name in ("base", "charts", "network", "words", "start"))
    script = f'(function () {{\n"use strict";\n{own}\n}})();\n'
    scripts = {"theme": _asset("theme.js"), "plotly": plotly, "script": script}
    for name, text in scripts.items():
        if "</script" in text.lower():
            raise ValueError(f"the script {name!r} holds a closing script tag, and would end early within a page.")
    parts = {
        "title": html.escape(str(data["title"])),
        "policy": POLICY.format(scripts=" ".join(_digest(text) for text in scripts.values())),
        "style": _asset("page.css"),
        "data": _json(data),
        **scripts,
    }
    # All at once: placeholders within one part are not replaced by another part.
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], _asset("page.html"))


def _asset(name: str) -> str:
    return (files("droculo.report") / "assets" / name).read_text(encoding="utf-8")


def _digest(script: str) -> str:
    """How a policy names a script that may run.

    >>> _digest("")
    "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
    """
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def _json(data: Any) -> str:
    """JSON that can stand within HTML: no tag can begin in it.

    >>> _json({"a": [float("nan"), 1 / 3, "</script>"]})
    '{"a":[null,0.333333,"\\\\u003c/script>"]}'
    """
    return json.dumps(_short(data), allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def _short(value: Any) -> Any:
    """Six digits of every number, more than a screen can show, at a third of the size. Values that are not finite become null."""
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _short(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_short(each) for each in value]
    return value
