"""What a benchmark part returns: numbers, the targets they are held to, and a section of the page."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tqdm import tqdm

from droculo.experiments.engines import cores, side_by_side


@dataclass(frozen=True)
class Target:
    """A number and the line it must not cross. `noise` is the share by which one run may miss the line by chance."""

    what: str
    value: float
    at_least: float | None = None
    at_most: float | None = None
    noise: float = 0.0

    @property
    def met(self) -> bool:
        low = self.at_least is None or self.value >= self.at_least * (1 - self.noise)
        high = self.at_most is None or self.value <= self.at_most * (1 + self.noise)
        return bool(low and high)

    @property
    def line(self) -> str:
        bound = f"at least {self.at_least:g}" if self.at_least is not None else f"at most {self.at_most:g}"
        slack = f", give or take {self.noise:.0%} for noise" if self.noise else ""
        return f"{'ok  ' if self.met else 'MISS'}  {self.what}: {self.value:.4g} ({bound}{slack})"


@dataclass(frozen=True)
class Part:
    """The result of one part."""

    title: str
    command: str
    text: str  # Markdown
    targets: list[Target] = field(default_factory=list)
    numbers: dict[str, Any] = field(default_factory=dict)


def table(head: list[str], rows: list[list[Any]]) -> str:
    """A Markdown table; numbers to three digits."""

    def shown(cell: Any) -> str:
        return f"{cell:.3g}" if isinstance(cell, float) else str(cell)

    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(map(shown, row)) + " |" for row in rows)])


def _numbered(work: Callable[[Any], Any], task: tuple[int, Any]) -> tuple[int, Any]:
    number, item = task
    return number, work(item)


def on_all_cores(work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """`work` of every item, in order; for what is counted and not timed. `work` is a function of a module."""
    found = dict(
        tqdm(side_by_side(partial(_numbered, work), list(enumerate(items)), cores()), total=len(items), disable=None)
    )
    return [found[number] for number in range(len(items))]


def run_alone(measure: Callable[[bool], Part], about: str | None, quick: str) -> None:
    """The main function of a script that measures one part; `quick` says what its option of that name leaves out."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help=quick)
    part = measure(parser.parse_args().quick)
    print(part.text, "", *(target.line for target in part.targets), sep="\n")
