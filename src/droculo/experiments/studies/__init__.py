"""Studies: sets of cells that are made by code rather than by a grid. A spec names one: `study = "table1"`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from droculo.experiments.cell import Cell
from droculo.experiments.studies import compare, crossover, table1, theory


@dataclass(frozen=True)
class Study:
    """The title of a study and its cells, which depend on its options."""

    title: str
    cells: Callable[..., Sequence[Cell]]
    partial: bool = False  # True if some cells may be impossible, and are left out with the reason


STUDIES: dict[str, Study] = {
    "table1": Study("Table 1, measured", table1.cells),
    "compare": Study("Methods head to head", compare.cells, partial=True),
    "crossover": Study("When a projection pays", crossover.cells),
    "theory": Study("The theorems, checked", theory.cells),
}
