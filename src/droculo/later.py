"""Modules that are slow to import, imported when something of them is first used: `import droculo` stays quick.

SciPy does this by itself: write `import scipy` and `scipy.optimize.linprog(...)`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any


class Later:
    """Stands for the module `name`.

    >>> Later("math").sqrt(4.0)
    2.0
    """

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)


if TYPE_CHECKING:
    import networkx as networkx
else:
    networkx = Later("networkx")
