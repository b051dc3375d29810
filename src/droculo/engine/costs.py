"""What a run costs: one table, from which ledgers, journals, stored rows, tables and the page take names and meanings.

To add a cost that an update counts, add a field to `droculo.algorithms.contract.OracleCalls`; all that is below follows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from droculo.algorithms import Algorithm
from droculo.algorithms.contract import OracleCalls, message_bytes
from droculo.engine.breaches import BREACHES, NEVER
from droculo.plotting import tidy_frame

if TYPE_CHECKING:
    import pandas

#: what is counted block by block as a run goes: messages and answers by the driver, the rest by the update of an algorithm
SPENT: dict[str, str] = {
    "messages": "messages it sent, one for every neighbour reached",
    **{field.name: str(field.metadata["about"]) for field in fields(OracleCalls)},
}
#: the same, and the answers that broke what the problem declares
COUNTED: dict[str, str] = {**SPENT, **BREACHES}
#: all costs of an agent, and what each one is; those that are not counted follow from the schedule
COSTS: dict[str, str] = {
    "exchanges": "times it talked to its neighbours",
    "messages": COUNTED["messages"],
    "bytes": "bytes it sent",
    **{name: about for name, about in COUNTED.items() if name != "messages"},
    "gradient_queries": "gradients it asked for",
    "value_queries": "values it asked for",
}
#: the names of all costs in tables and figures
LABELS: dict[str, str] = {
    **{name: name.replace("_", " ") for name in COSTS},
    **{field.name: str(field.metadata["label"]) for field in fields(OracleCalls)},
}


class _Counts:
    """Costs by name: every entry of `counts` can be read as an attribute."""

    counts: Mapping[str, NDArray[np.int64]]

    def __getattr__(self, name: str) -> NDArray[np.int64]:
        counts = self.__dict__.get("counts", {})
        if name not in counts:
            raise AttributeError(f"{type(self).__name__} has no cost called {name!r}; it has {', '.join(counts)}.")
        return counts[name]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.counts]


@dataclass(frozen=True)
class Ledger(_Counts):
    """What every agent spent: an array for each of `COSTS`, one entry per agent (for a batch of seeds, seeds come first).

    `ledger.loo_calls` is `ledger.counts["loo_calls"]`. `seconds` is the whole run's, compilation included: in the
    simulator agents share one clock. `first`: for each of `BREACHES`, in which round an agent was first given such an answer,
    or -1.
    """

    counts: Mapping[str, NDArray[np.int64]]
    seconds: float
    first: Mapping[str, NDArray[np.int64]]

    @classmethod
    def of(
        cls,
        algorithm: Algorithm,
        counted: Mapping[str, NDArray],
        first: NDArray,
        blocks: Any,
        asked: Any,
        dtype: Any,
        seconds: float,
    ) -> Ledger:
        """From what was counted, the first breaches (..., kinds, agents), and from how many blocks were played and how many
        questions were asked."""
        exact = blocks * algorithm.exchanges * np.ones_like(counted["messages"])
        queries = asked * np.ones_like(counted["messages"])
        known = {
            **counted,
            "exchanges": exact,
            "bytes": counted["messages"] * message_bytes(algorithm, dtype),
            "gradient_queries": queries * (algorithm.feedback.order == 1),
            "value_queries": queries * (algorithm.feedback.order == 0),
        }
        rounds = np.where(first == NEVER, -1, first).astype(np.int64)
        when = {name: rounds[..., kind, :] for kind, name in enumerate(BREACHES)}
        return cls({name: known[name] for name in COSTS}, seconds, when)

    def mean(self) -> dict[str, float]:
        """What the average agent spent."""
        return {**{name: float(np.mean(cost)) for name, cost in self.counts.items()}, "seconds": float(self.seconds)}

    def frame(self) -> pandas.DataFrame:
        """A DataFrame: one row for each seed and agent, by their places; a column for each cost."""
        costs = {name: np.atleast_2d(cost) for name, cost in self.counts.items()}
        seeds, agents = costs["exchanges"].shape
        return tidy_frame(costs, {"seed": np.arange(seeds), "agent": np.arange(agents)})


@dataclass(frozen=True)
class CostCurve(_Counts):
    """What had been spent at about 20 times of a run, evenly spaced: an array (..., k, agents) for each of `COUNTED`.

    Exchanges and queries grow evenly and need no curve.
    """

    rounds: NDArray[np.int64]  # (k,): after so many rounds
    counts: Mapping[str, NDArray[np.int64]]
