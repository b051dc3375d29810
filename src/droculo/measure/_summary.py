"""What a run is worth beside what costs nothing: staying where it started, and a constant chosen by luck."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from droculo.engine import History
from droculo.measure._regret import Numbers, fixed_rewards, rewards
from droculo.measure.comparator import best_fixed_point
from droculo.measure.sampling import check_inside
from droculo.precision import double
from droculo.problems import Comparator, Problem

#: random vertices whose mean stands for a constant that is chosen by luck, and the part of a run that counts as its end
VERTICES, END = 32, 0.25


def share(
    problem: Problem, plays: History, *, last: float = 1.0, comparator: Comparator | None = None
) -> NDArray[np.float64]:
    """What every agent earned, over what the best fixed point of the whole run earned in the same rounds: (..., agents).

    `last`: only the last rounds, as a share of all of them; `last=0.25` shows what was learned in the end. The best fixed
    point is the problem's own, or one that is searched for, or the one that you pass.

    >>> from droculo import History, problems
    >>> problem = problems.TopB.random(agents=3, dim=5, budget=2, seed=0)
    >>> still = History.of(np.broadcast_to(problem.set.center, (8, 3, 5)))
    >>> bool(np.all(share(problem, still) < 1))
    True
    """
    first = _first(problem, plays, last)
    best = _best_rewards(problem, plays, comparator or best_fixed_point(problem, plays.horizon, plays.agents), last)
    return rewards(problem, plays)[..., first:, :].sum(axis=-2) / best[first:].sum()


@dataclass(frozen=True)
class Summary:
    """Shares of what the best fixed point of the run earned, over all rounds and over the last quarter of them.

    Alpha-regret may be negative although nothing was learned, since alpha may be small. A method has learned something if it
    earns more than staying at its start does. Means over agents (and seeds).
    """

    share: float
    share_last: float
    still: float  # staying at the first decision
    still_last: float
    luck: float  # a vertex of K that is drawn at random: the mean over 32 of them
    luck_last: float
    best_kind: str  # what is known of the best fixed point

    @property
    def learned(self) -> bool:
        """True if the end of the run beats standing still."""
        return self.share_last > self.still_last

    def __str__(self) -> str:
        """A table for a terminal."""
        rows = {
            "the agents": (self.share, self.share_last),
            "standing still at the start": (self.still, self.still_last),
            "a constant chosen by luck": (self.luck, self.luck_last),
        }
        lines = [f"{'share of the best fixed point':30}{'all rounds':>12}{'last quarter':>14}"]
        lines += [f"{name:30}{whole:12.3f}{end:14.3f}" for name, (whole, end) in rows.items()]
        if not self.learned:
            lines.append("In the last quarter the agents do not beat standing still.")
        if self.share_last <= self.luck_last:
            lines.append("In the last quarter a constant chosen by luck earns as much as the agents, or more.")
        return "\n".join(lines)


def summary(problem: Problem, plays: History, *, comparator: Comparator | None = None, seed: int = 0) -> Summary:
    """What a run is worth, as shares of the best fixed point: print it. `seed`: of the random vertices.

    Every round must have been recorded. The best fixed point is chosen as in `share`.
    """
    _first(problem, plays, END)
    known = comparator or best_fixed_point(problem, plays.horizon, plays.agents)
    best = _best_rewards(problem, plays, known, END)
    agents = np.mean(rewards(problem, plays), axis=-1).reshape(-1, plays.horizon).mean(axis=0)
    curves = (agents, standing_still(problem, plays), luck(problem, plays, seed))
    found = (float(share) for earned in curves for share in shares(earned, best))
    return Summary(*found, known.kind)  # type: ignore[call-arg, arg-type]


def shares(earned: Numbers, best: Numbers) -> tuple[Numbers, Numbers]:
    """What was earned, (..., rounds), as a share of what the best fixed point earned: over all rounds, and over the last quarter."""
    first = _place(len(best), END)
    whole, end = (earned[..., k:].sum(axis=-1) / best[k:].sum() for k in (0, first))
    return whole, end


def standing_still(problem: Problem, plays: History) -> Numbers:
    """What is earned in every round by staying at the first decision."""
    linearization = problem.linearization.for_set(problem.set)
    with double():
        first_decision = plays.decisions[..., 0, 0, :].reshape(-1, problem.set.dim)[0]
        start = np.asarray(linearization.action(jnp.asarray(first_decision, jnp.float64)))
    return fixed_rewards(problem, plays, start)


def luck(problem: Problem, plays: History, seed: int = 0) -> Numbers:
    """What is earned in every round by a random vertex: the mean over `VERTICES`. It depends on the rounds, not on the plays."""
    ways = np.random.default_rng(seed).standard_normal((VERTICES, problem.set.dim))
    with double():
        vertices = np.asarray(jax.lax.map(problem.set.argmax, jnp.asarray(ways)))
    return np.mean([fixed_rewards(problem, plays, vertex) for vertex in vertices], axis=0)


def _first(problem: Problem, plays: History, last: float) -> int:
    """The place of the first round that counts."""
    if not 0 < last <= 1:
        raise ValueError(f"last is a share of the rounds, above 0 and at most 1; got {last}.")
    if len(plays.rounds) < plays.horizon:
        raise ValueError(
            f"a share is taken over all {plays.horizon} rounds, and {len(plays.rounds)} were recorded. Run with "
            "record=Record(every=1)."
        )
    check_inside(problem, plays)
    return _place(plays.horizon, last)


def _place(horizon: int, last: float) -> int:
    return horizon - max(1, round(last * horizon))


def best_rewards(problem: Problem, plays: History, best: Comparator) -> Numbers:
    """What the best fixed point earns in every round."""
    given = np.any(np.isnan(best.point))  # its reward is given, not where it is
    mean = np.full(plays.horizon, best.total / plays.horizon)
    return mean if given else fixed_rewards(problem, plays, best.point)


def _best_rewards(problem: Problem, plays: History, best: Comparator, part: float) -> Numbers:
    """The same, if a share of it means something over all rounds and over the last `part` of them."""
    earned = best_rewards(problem, plays, best)
    for first, where in ((0, ""), (_place(len(earned), part), " in the last rounds")):
        if (total := earned[first:].sum()) <= 0:
            raise ValueError(
                f"the best fixed point earns {total:g}{where}, and a share of that means nothing. Add a constant to f, or use "
                "measure.regret."
            )
    return earned
