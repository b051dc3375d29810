"""What a run leaves behind: the recorded rounds, the final states and the costs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from droculo.engine.breaches import sentences
from droculo.engine.costs import CostCurve, Ledger
from droculo.plotting import axes, band, tidy_frame

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Record:
    """What to keep: every `every`-th round's actions and decisions, and the query points if asked for.

    `Record(every=0)` keeps no rounds at all, only the final states and the ledger. What is recorded is also checked:
    an action or query outside the set ends the run with an error (where the set can tell membership quickly).
    """

    every: int = 1
    queries: bool = False

    def __post_init__(self) -> None:
        if not (isinstance(self.every, int | np.integer) and self.every >= 0):
            raise ValueError(
                f"a record keeps every n-th round, n >= 1, or nothing (every=0); got every={self.every!r}."
            )


@dataclass(frozen=True, kw_only=True)
class History:
    """What agents played, which is all that regret and certificate need. With a batch of seeds, `actions`, `decisions` and
    `queries` have the seeds as their first axis.

    >>> History.of([[[0.5, 0.5]], [[0.0, 1.0]]]).horizon  # two rounds, one agent, two coordinates
    2
    """

    horizon: int
    rounds: NDArray[np.int64]  # the recorded rounds, counted from 0
    actions: NDArray[np.floating]  # (recorded, agents, d)
    decisions: NDArray[np.floating]  # (recorded, agents, d): the x behind the action h(x)
    agents: NDArray[np.int64]  # which function (and random stream) each node had
    queries: NDArray[np.floating] | None = None  # (recorded, agents, questions, d): asked in that round's slot

    @classmethod
    def of(cls, actions: ArrayLike, decisions: ArrayLike | None = None, *, agents: ArrayLike | None = None) -> History:
        """What a custom method played in all rounds, (rounds, agents, d), for the measures.

        `decisions`: points x of K behind the actions, for a certificate; by default the actions themselves. `agents`:
        which function each node had; 0, 1, ... by default. A batch of seeds has one more axis, in front.
        """
        played = np.asarray(actions, np.float64)
        behind = played if decisions is None else np.asarray(decisions, np.float64)
        whole = played.ndim in (3, 4) and played.size > 0 and behind.shape == played.shape
        if not (whole and np.all(np.isfinite(played)) and np.all(np.isfinite(behind))):
            raise ValueError(
                f"actions and decisions are finite arrays (rounds, agents, d) of the same shape; got {played.shape} and "
                f"{behind.shape}."
            )
        rounds, nodes, _ = played.shape[-3:]
        named = np.arange(nodes) if agents is None else np.asarray(agents, np.int64)
        if named.shape != (nodes,):
            raise ValueError(f"agents must name one function for each of the {nodes} nodes; got shape {named.shape}.")
        return History(horizon=rounds, rounds=np.arange(rounds), actions=played, decisions=behind, agents=named)

    def frame(self) -> pandas.DataFrame:
        """A DataFrame: one row for each seed (by its place), recorded round and agent; a column for each coordinate.

        >>> list(History.of([[[0.5, 0.5]], [[0.0, 1.0]]]).frame().columns)
        ['seed', 'round', 'agent', 'action_0', 'action_1', 'decision_0', 'decision_1']
        """
        shape = (-1, *self.actions.shape[-3:])
        parts = {"action": self.actions.reshape(shape), "decision": self.decisions.reshape(shape)}
        columns = {f"{name}_{k}": part[..., k] for name, part in parts.items() for k in range(part.shape[-1])}
        seeds = np.arange(len(parts["action"]))
        return tidy_frame(columns, {"seed": seeds, "round": self.rounds, "agent": self.agents})

    def plot(self, ax: Any = None) -> Any:
        """The coordinates of the decision over time: the mean over agents and seeds, and the range. Returns the axes."""
        ax = axes(ax)
        decisions = self.decisions.reshape(-1, *self.decisions.shape[-3:])
        for k in range(decisions.shape[-1]):
            curves = np.swapaxes(decisions[..., k], 1, 2).reshape(-1, len(self.rounds))
            band(ax, self.rounds, np.asarray(curves, np.float64), f"coordinate {k}")
        ax.set(xlabel="round", ylabel="decision")
        ax.legend(fontsize="small")
        return ax


@dataclass(frozen=True, kw_only=True)
class Trajectory(History):
    """A finished run. With a batch of seeds, every array but `rounds` and `agents` has the seeds as its first axis."""

    states: Any  # of all agents, after the last block
    ledger: Ledger
    spending: CostCurve
    key: NDArray | None = None  # the data of the random key (or keys); None where processes played
    record: Record = field(default_factory=Record)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the answers of the problem broke of what it declares, in sentences; empty if nothing."""
        return sentences(self.ledger.counts, self.ledger.first, self.agents)
