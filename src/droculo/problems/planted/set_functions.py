"""Submodular set functions, extended to fractional points and weighted by an adversary: the best set is known."""

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from droculo.linearizations import Bounds
from droculo.linearizations.cases import of_case
from droculo.problems.adversaries import Adversary, PeriodicWeights, need_nonnegative
from droculo.problems.base import Planted
from droculo.problems.multilinear import MultilinearExtension, SetFunction, all_masks, contract, members_of, slopes
from droculo.problems.rounding import whole_partition
from droculo.sets import Set
from droculo.sets import budget as at_most
from droculo.sets import fixed_budget as exactly
from droculo.sets.geometry import Vector

#: rounding errors that a property of a table may be off by, relative to the largest value
SLACK = 1e-9


class SetFunctions(Planted):
    """A few submodular set functions f_k >= 0, with new weights in every round: f_{t,i}(x) = sum_k w_{t,i,k} F_k(x), w >= 0.

    F_k is the multilinear extension, so f is DR-submodular. K is a budget or partition matroid with whole capacities;
    the case is A2 (at most) or A1 (bases) where every f_k is monotone, else A4 or A3. The mean over rounds and agents
    is such an extension again, and it is largest at a set: the best one is found by looking at all of them.

    `functions` are functions of a boolean mask, or `MultilinearExtension`s. `monotone` is read off their tables; True
    insists on it, False does without.

    >>> problem = SetFunctions.random(agents=3, dim=5, budget=2, seed=0)
    >>> problem.linearization.case, problem.tables.shape
    ('A2', (3, 32))
    """

    tables: Vector  # (kinds, 2^n)
    feasible: NDArray[np.int64]  # the subsets in K, by their place in the table

    def __init__(self, weights: Adversary, functions: Sequence[SetFunction], set: Set, *, monotone: bool | None = None):
        matroid = whole_partition(set, "SetFunctions")
        n = matroid.dim
        kinds = weights.highest.shape[1]
        if len(functions) != kinds:
            raise ValueError(f"there must be one weight for each set function; got {kinds} and {len(functions)}.")
        need_nonnegative(weights)
        made = [f if isinstance(f, MultilinearExtension) else MultilinearExtension(f, n) for f in functions]
        if any(extension.n != n for extension in made):
            raise ValueError(f"the set has {n} coordinates; got set functions of {[e.n for e in made]} members.")
        self.weights, self.set = weights, set
        self.tables = np.stack([extension.table for extension in made])
        steep, bends, rising = zip(*(_differences(k, table) for k, table in enumerate(self.tables)), strict=True)
        if monotone and not all(rising):
            raise ValueError(
                f"set function {rising.index(False)} is declared monotone, and falls when some member is added. Leave "
                "monotone out: cases A3 and A4 do without."
            )
        rises = all(rising) if monotone is None else monotone
        names = ("A1", "A2") if rises else ("A3", "A4")
        self.linearization = of_case(names[0] if matroid.bases else names[1], *names)
        counts = all_masks(n) @ np.eye(len(matroid.capacities), dtype=int)[matroid.groups]
        fits = counts == matroid.capacities if matroid.bases else counts <= matroid.capacities
        self.feasible = np.flatnonzero(fits.all(axis=1))
        # F is a mean of f, its slopes of marginals, its mixed second derivatives of second differences (the rest are 0).
        highest = weights.highest
        self.bounds = Bounds(
            gradient=float(np.max(np.linalg.norm(highest @ np.stack(steep), axis=1))),
            value=float(np.max(highest @ np.abs(self.tables).max(axis=1))),
            smoothness=float(np.max(np.linalg.norm(np.tensordot(highest, np.stack(bends), 1), 2, axis=(1, 2)))),
        )

    @classmethod
    def random(
        cls, *, agents: int, dim: int, budget: int, seed: int, kinds: int = 3, monotone: bool = True, face: bool = False
    ) -> "SetFunctions":
        """A few random facility-location functions (monotone), or cuts of random directed graphs (not)."""
        rng = np.random.default_rng(seed)
        worth = rng.uniform(size=(kinds, 2 * dim, dim)) ** 3
        arcs = rng.uniform(size=(kinds, dim, dim)) ** 3
        functions = [_facilities(w) for w in worth] if monotone else [_leaving(a) for a in arcs]
        weights = PeriodicWeights.random(agents, kinds, low=0.2, high=1.0, swing=1.0, seed=seed)
        return cls(weights, functions, (exactly if face else at_most)(dim, budget))

    def reward(self, weights: Array, x: Array) -> Array:
        return contract(jnp.dot(weights, jnp.asarray(self.tables)), x)

    def gradient(self, agent: Array, t: Array, x: Array) -> Array:
        return jnp.concatenate(slopes(jnp.dot(self.weights.at(agent, t), jnp.asarray(self.tables)), x))

    def best(self, weights: Vector) -> Vector:
        best = self.feasible[np.argmax((weights @ self.tables)[self.feasible])]
        return all_masks(self.set.dim)[best].astype(np.float64)

    def mean(self, horizon: int, agents: NDArray[np.int64]) -> MultilinearExtension:
        """The average of f over the first rounds and these agents: what a final point is rounded with."""
        return MultilinearExtension.from_table(self.weights.totals([horizon], agents)[0] / horizon @ self.tables)


def _differences(kind: int, table: Vector) -> tuple[Vector, Vector, bool]:
    """The largest marginals and second differences in size, and True if f never falls; refuses what is not submodular."""
    if table.min() < 0:
        where = members_of(all_masks(table.size.bit_length() - 1)[np.argmin(table)])
        raise ValueError(
            f"set function {kind} must be non-negative; f({where}) is {table.min():g}. Add a constant, but note that a "
            "large one empties the guarantee."
        )
    n = table.size.bit_length() - 1
    slack = SLACK * max(1.0, float(table.max()))
    places, cube = np.arange(table.size).reshape((2,) * n), table.reshape((2,) * n)
    steep, bends, rising = np.zeros(n), np.zeros((n, n)), True
    for i in range(n):
        gain = np.take(cube, 1, i) - np.take(cube, 0, i)  # of adding i, over all sets of the others
        steep[i], rising = np.abs(gain).max(), rising and bool(gain.min() >= -slack)
        for j in range(i):
            change = np.take(gain, 1, j) - np.take(gain, 0, j)  # of that gain, by having j
            bends[i, j] = bends[j, i] = np.abs(change).max()
            if change.max() > slack:
                sets = np.take(np.take(places, 0, i), 0, j)
                start = int(sets.flat[np.argmax(change)])
                has_j = start + (1 << (n - 1 - j))
                gains = [table[s + (1 << (n - 1 - i))] - table[s] for s in (start, has_j)]
                small, large = (members_of(all_masks(n)[s]) for s in (start, has_j))
                raise ValueError(
                    f"set function {kind} is not submodular: adding {i} to {small} gains {gains[0]:g}, and to the larger "
                    f"{large} it gains {gains[1]:g}. Returns must diminish."
                )
    return steep, bends, rising


def _facilities(worth: Vector) -> SetFunction:
    return lambda chosen: worth[:, chosen].max(axis=1, initial=0).sum()


def _leaving(arcs: Vector) -> SetFunction:
    return lambda chosen: arcs[chosen][:, ~chosen].sum()
