"""Tables and figures from what was measured. Nothing here runs an algorithm."""

from droculo.report.compare import write_compare
from droculo.report.crossover import who_wins, write_crossover
from droculo.report.exports import write_exports
from droculo.report.figures import Panel, Series, draw
from droculo.report.markdown import number, table
from droculo.report.page import write_page
from droculo.report.table_1 import verdict, write_table_1

__all__ = [
    "Panel",
    "Series",
    "draw",
    "number",
    "table",
    "verdict",
    "who_wins",
    "write_compare",
    "write_crossover",
    "write_exports",
    "write_page",
    "write_table_1",
]
