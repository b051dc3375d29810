"""Tables and figures from what was measured. Nothing here runs an algorithm."""

from droculo.report.figures import Panel, Series, draw
from droculo.report.markdown import number, table

__all__ = ["Panel", "Series", "draw", "number", "table"]
