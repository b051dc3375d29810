"""Weights that an adversary chooses: fixed, random, drifting, switching, and spread over agents as unevenly as you like.

Planted problems are affine in such weights, so their mean over rounds and agents is the same problem with mean weights.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike, NDArray

from droculo.precision import double
from droculo.sets.geometry import Vector

#: numbers of rounds
Rounds = Sequence[int] | NDArray[np.int64]
#: so many numbers, and at most so many rows, of a table of weights are computed at a time
MOST_NUMBERS, MOST_ROWS = 2**20, 1024


class Adversary(eqx.Module):
    """Weights w_{t,i}: a vector for every agent and round, as a pure function. Rounds count from 0."""

    #: (agents, entries): no weight ever leaves [lowest, highest]
    lowest: eqx.AbstractVar[Vector]
    highest: eqx.AbstractVar[Vector]

    @abstractmethod
    def at(self, agent: Array, t: Array) -> Array:
        """The weights of one agent in one round."""

    @property
    def agents(self) -> int:
        return int(self.highest.shape[0])

    def totals(self, horizons: Sequence[int], agents: NDArray[np.int64]) -> Vector:
        """(1/N) sum over these agents and the first T rounds, for each of the horizons T, in one pass."""
        return self.totals_between([0] * len(horizons), horizons, agents)

    def totals_between(self, starts: Rounds, ends: Rounds, agents: NDArray[np.int64]) -> Vector:
        """(1/N) sum over these agents and the rounds start <= t < end, for every window, in one pass over the rounds.

        Weights are added up between neighbouring starts and ends first: nothing is a difference of large sums, so that
        windows apart from each other have the same totals where they have the same weights, to the last bit.
        """
        first, last = np.asarray(starts, np.int64), np.asarray(ends, np.int64)
        edges = np.unique([first, last])
        parts = np.zeros((len(edges), self.highest.shape[1]))
        with double():
            named, step = jnp.asarray(agents), chunk(parts.shape[1])
            empty = jnp.zeros((step, parts.shape[1]))
            for begin in range(int(edges[0]), int(edges[-1]), step):
                rounds = np.arange(begin, min(begin + step, int(edges[-1])))
                means = np.asarray(_means(self, named, jnp.asarray(begin), jnp.asarray(len(rounds)), empty))
                np.add.at(parts, np.searchsorted(edges, rounds, side="right") - 1, means[: len(rounds)])
        found, order = np.zeros((len(first), parts.shape[1])), np.argsort(first, kind="stable")
        for same in np.split(order, np.flatnonzero(np.diff(first[order])) + 1):  # windows that begin together
            place, until = np.searchsorted(edges, first[same[0]]), np.searchsorted(edges, last[same])
            found[same] = np.cumsum(parts[place : until.max()], axis=0)[until - place - 1]
        return found


class Constant(Adversary):
    """The same weights in every round."""

    values: Vector  # (agents, entries)

    def __init__(self, values: ArrayLike):
        self.values = _table(values)

    @property
    def lowest(self) -> Vector:
        return self.values

    highest = lowest

    def at(self, agent: Array, t: Array) -> Array:
        return jnp.asarray(self.values)[agent]


class IIDWeights(Adversary):
    """New in every round: uniform between `lowest` and `highest`, independent over rounds, agents and entries.

    The draw is a function of (seed, agent, round), so that the same question has the same answer. Its 32 random bits do
    not depend on the precision of the run.
    """

    lowest: Vector  # (agents, entries)
    highest: Vector
    seed: NDArray[np.uint32]

    def __init__(self, lowest: ArrayLike, highest: ArrayLike, *, seed: int):
        self.lowest, self.highest = _table(lowest), _table(highest)
        if self.lowest.shape != self.highest.shape or np.any(self.lowest > self.highest):
            raise ValueError("IIDWeights needs lowest <= highest, two tables of the same shape (agents, entries).")
        if not 0 <= seed < 2**32:
            raise ValueError(f"a seed is a whole number from 0 to 2^32 - 1; got {seed}.")
        self.seed = np.asarray(seed, np.uint32)

    def at(self, agent: Array, t: Array) -> Array:
        low, high = jnp.asarray(self.lowest)[agent], jnp.asarray(self.highest)[agent]
        key = jax.random.fold_in(jax.random.fold_in(jax.random.key(self.seed), agent), t)
        bits = jax.random.bits(key, (max(20, low.shape[0]),), jnp.uint32)[: low.shape[0]]
        return low + (high - low) * (bits.astype(low.dtype) * 2.0**-32)


class PeriodicWeights(Adversary):
    """Weights that drift: w_{t,i} = base_i + height_i (1 + cos(speed_i t + phase_i))/2, entry by entry.

    In a float32 run the angle loses digits as t grows (1e-2 at t = 10^5): play longer horizons in float64.
    """

    base: Vector  # (agents, entries)
    height: Vector
    speed: Vector
    phase: Vector

    def __init__(self, base: ArrayLike, height: ArrayLike, speed: ArrayLike, phase: ArrayLike):
        self.base, self.height, self.speed, self.phase = (_table(part) for part in (base, height, speed, phase))
        if len({part.shape for part in (self.base, self.height, self.speed, self.phase)}) > 1:
            raise ValueError("the four tables of PeriodicWeights must have one shape (agents, entries).")

    @classmethod
    def random(cls, agents: int, entries: int, *, low: float, high: float, swing: float, seed: int) -> Self:
        """Base weights uniform on [low, high], each swinging by up to `swing` at its own pace."""
        rng = np.random.default_rng(seed)
        shape = (agents, entries)
        return cls(
            base=rng.uniform(low, high, shape),
            height=rng.uniform(0, swing, shape) if swing else np.zeros(shape),
            speed=rng.uniform(0.5, 2.5, shape),
            phase=rng.uniform(0, 2 * np.pi, shape),
        )

    @property
    def lowest(self) -> Vector:
        return self.base + np.minimum(self.height, 0)

    @property
    def highest(self) -> Vector:
        return self.base + np.maximum(self.height, 0)

    def at(self, agent: Array, t: Array) -> Array:
        base, height, speed, phase = (jnp.asarray(a)[agent] for a in (self.base, self.height, self.speed, self.phase))
        return base + height * (1 + jnp.cos(speed * t + phase)) / 2


class Switching(Adversary):
    """A few tables of weights in turn, each for `every` rounds; the first `opening` of them are not repeated.

    >>> import jax.numpy as jnp
    >>> hard = Switching.against_a_follower([[1.0, 0.0]], [[0.0, 1.0]], every=2)
    >>> [hard.at(jnp.array(0), jnp.array(t)).tolist()[0] for t in range(8)]
    [0.75, 0.75, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0]
    """

    values: Vector  # (phases, agents, entries)
    every: NDArray[np.int64]
    opening: int = eqx.field(static=True)

    def __init__(self, values: ArrayLike, *, every: int, opening: int = 0):
        self.values = np.asarray(values, np.float64)
        if self.values.ndim != 3 or self.values.size == 0 or not np.all(np.isfinite(self.values)):
            raise ValueError(f"Switching needs finite tables (phases, agents, entries); got shape {self.values.shape}.")
        if int(every) != every or every < 1 or not 0 <= opening < len(self.values):
            raise ValueError(
                f"Switching needs a whole number of rounds every >= 1, and fewer opening phases than phases; got "
                f"every={every}, opening={opening} of {len(self.values)}."
            )
        self.every, self.opening = np.asarray(every, np.int64), int(opening)

    @classmethod
    def against_a_follower(cls, first: ArrayLike, second: ArrayLike, *, every: int) -> Self:
        """Two tables in turn, opened by a phase that leans to the first by half as much: the leading table is always about to lose.

        At the end of every phase the table just played leads, both in sum (by half a phase) and in the last phase; then
        comes the other. So an agent that moves once in `every` rounds, to the leader of all rounds or of the last block,
        earns least in every phase. Set `every` to the algorithm's block.
        """
        one, other = _table(first), _table(second)
        return cls(np.stack([(3 * one + other) / 4, other, one]), every=every, opening=1)

    def starts(self, horizon: int) -> NDArray[np.int64]:
        """The rounds before the horizon in which a phase begins, round 0 among them."""
        return np.arange(0, horizon, int(self.every))

    @property
    def lowest(self) -> Vector:
        return self.values.min(axis=0)

    @property
    def highest(self) -> Vector:
        return self.values.max(axis=0)

    def at(self, agent: Array, t: Array) -> Array:
        phase, repeated = t // self.every, self.values.shape[0] - self.opening
        place = jnp.where(phase < self.opening, phase, self.opening + (phase - self.opening) % repeated)
        return jnp.asarray(self.values)[place, agent]


class Heterogeneous(Adversary):
    """Agent 0's weights of one common adversary, spread over all agents: from identical (`dial` 0) to disjoint (`dial` 1).

    Entry e belongs to agent e mod N. Agent i has floor + ((1 - dial) + dial N [e is its own]) (common - floor), so the
    network's mean, and with it the optimum, is the same for every dial: only the agents' views differ.
    """

    common: Adversary  # its agent 0 is what all share
    floor: Vector
    dial: Vector
    number: int = eqx.field(static=True)

    def __init__(self, common: Adversary, *, agents: int, dial: float, floor: ArrayLike = 0.0):
        if not 0 <= dial <= 1:
            raise ValueError(f"the dial of heterogeneity lies between 0 (identical) and 1 (disjoint); got {dial}.")
        entries = common.highest.shape[1]
        if entries < agents:
            raise ValueError(f"{agents} agents cannot own disjoint shares of {entries} entries: use at most {entries}.")
        self.common, self.number = common, int(agents)
        self.dial = np.asarray(dial, np.float64)
        self.floor = np.broadcast_to(np.asarray(floor, np.float64), (entries,)).copy()
        if not np.all(np.isfinite(self.floor)):
            raise ValueError("the floor of heterogeneous weights must be finite.")

    def _share(self, agent: Array) -> Array:
        own = jnp.arange(self.floor.shape[0]) % self.number == agent
        return jnp.where(own, (1 - self.dial) + self.dial * self.number, 1 - self.dial)

    def at(self, agent: Array, t: Array) -> Array:
        return jnp.asarray(self.floor) + self._share(agent) * (self.common.at(jnp.zeros_like(agent), t) - self.floor)

    def _spread(self, edge: Vector) -> Vector:
        own = np.arange(len(self.floor)) % self.number == np.arange(self.number)[:, None]
        return self.floor + ((1 - self.dial) + self.dial * self.number * own) * (edge[0] - self.floor)

    @property
    def lowest(self) -> Vector:
        return self._spread(self.common.lowest)

    @property
    def highest(self) -> Vector:
        return self._spread(self.common.highest)


@eqx.filter_jit  # type: ignore[untyped-decorator]
def _means(adversary: Adversary, agents: Array, start: Array, number: Array, empty: Array) -> Array:
    """The mean weights of these agents in so many rounds from `start` on, in the first rows of what is `empty`."""

    def one(k: Array, means: Array) -> Array:
        return means.at[k].set(jnp.mean(jax.vmap(adversary.at, (0, None))(agents, start + k), axis=0))

    return jax.lax.fori_loop(0, number, one, empty)


def chunk(entries: int) -> int:
    """How many rows of so many entries are computed at a time."""
    return max(1, min(MOST_ROWS, MOST_NUMBERS // entries))


def _table(values: ArrayLike) -> Vector:
    table = np.asarray(values, np.float64)
    if table.ndim != 2 or table.size == 0 or not np.all(np.isfinite(table)):
        raise ValueError(f"weights are a finite table (agents, entries); got shape {table.shape}.")
    return table


def need_nonnegative(weights: Adversary, what: str = "the weights must be") -> None:
    if np.any(weights.lowest < 0):
        raise ValueError(f"{what} non-negative; got {float(weights.lowest.min()):g}.")
