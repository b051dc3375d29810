"""Inventory with demand as it was observed: fill mixed supplies before the demand is known."""

import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from droculo.linearizations import Bounds
from droculo.linearizations.cases import check_unit_box, of_case
from droculo.problems.base import Posed
from droculo.sets import Set, budget
from droculo.sets.geometry import Vector


class Inventory(Posed):
    """Sales less cost: f = sum_j price_j E min(D_j, s_j) - cost.s, with the stock s = S x. Not monotone.

    x_k is the fill level of supply k, and S_jk >= 0 the units of product j in a full supply k: supplies are mixed, so
    one serves several products, and a product comes from several supplies. Demand D is an observed sample, one for each
    agent (warehouse) and season; round t is of season t mod seasons. For a smooth f every observation is spread evenly
    over an interval of length 2 width around it, moved up to start at 0 where it would start below. With a its start,

        E min(D, s) = min(s, a) + u - u^2/(4 width),  u = clip(s - a, 0, 2 width),

    averaged over the sample. E min is concave in s, and S >= 0. So f is concave, the default case, with alpha = 1; and
    it has diminishing returns: A3 or A4, and A2 where nothing costs anything and f is monotone. A3 and A4 need f >= 0
    on the whole box: there cost.S 1 is added to f. That empties their alpha-regret: to stock nothing earns all of it.

    >>> Inventory.random(agents=2, products=4, supplies=3, seed=0).demands.shape
    (2, 4, 30, 4)
    """

    demands: Vector  # (agents, seasons, sample, products)
    mix: Vector  # S: (products, supplies)
    prices: Vector
    costs: Vector
    width: Vector
    lift: Vector  # added to f: cost.S 1 in cases A3 and A4

    def __init__(
        self,
        demands: ArrayLike,
        mix: ArrayLike,
        *,
        prices: ArrayLike,
        costs: ArrayLike,
        width: float,
        domain: Set,
        case: str = "concave",
    ):
        self.demands, self.mix = np.asarray(demands, np.float64), np.asarray(mix, np.float64)
        self.agents = len(self.demands)
        _check_tables(self.demands, self.mix, domain.dim)
        self.prices, self.costs = _per_product("prices", prices, self.mix), _per_product("costs", costs, self.mix)
        self.width, self.set = np.asarray(width, np.float64), domain
        check_unit_box(domain, "Inventory")
        self.linearization = of_case(case, "concave", "A2", "A3", "A4")
        if not 0 < width < np.inf:
            raise ValueError(f"Inventory spreads observations over a positive, finite width; got {width}.")
        if case == "A2" and np.any(self.costs > 0):
            raise ValueError("with costs f is not monotone, so it is not of case A2: use concave, A3 or A4.")
        # -cost <= df/ds_j = price P(D_j > s_j) - cost <= price - cost, and the density of D_j is at most 1/(2 width).
        steepest = np.maximum(self.costs, np.abs(self.prices - self.costs)) @ self.mix
        bent = (self.mix.T * self.prices) @ self.mix / (2 * self.width)
        full = self.mix.sum(axis=1)
        # E min(D, s) is at most s and at most E D, the middle of the intervals.
        usual = np.maximum(self.demands - self.width, 0).mean(axis=2) + self.width
        self.lift = np.asarray(self.costs @ full if case in ("A3", "A4") else 0.0)
        earned, spent = float(np.max(np.minimum(usual, full) @ self.prices)), float(self.costs @ full)
        self.bounds = Bounds(
            gradient=float(np.linalg.norm(steepest)),
            value=max(earned + float(self.lift), spent),
            smoothness=float(np.linalg.norm(bent, 2)),
        )

    @classmethod
    def from_demands(
        cls,
        history: ArrayLike,
        mix: ArrayLike,
        *,
        seasons: int,
        prices: ArrayLike,
        costs: ArrayLike,
        width: float,
        domain: Set,
        case: str = "concave",
    ) -> "Inventory":
        """Your own records: `history` (agents, rounds, products), round t being of season t mod `seasons`.

        Every season's sample is what was observed in its rounds. Rounds of an unfinished cycle at the end are left out.

        >>> from droculo.sets import budget
        >>> sold = np.arange(48.0).reshape(1, 24, 2)
        >>> Inventory.from_demands(
        ...     sold, np.eye(2) * 40, seasons=12, prices=3.0, costs=1.0, width=2.0, domain=budget(2, 1.5)
        ... ).demands.shape
        (1, 12, 2, 2)
        """
        table = np.asarray(history, np.float64)
        if table.ndim != 3 or not 1 <= seasons <= table.shape[1]:
            raise ValueError(
                f"from_demands needs a history (agents, rounds, products) of at least one whole cycle of {seasons} "
                f"seasons; got shape {table.shape}."
            )
        cycles = table.shape[1] // seasons
        cut = table[:, : cycles * seasons].reshape(len(table), cycles, seasons, table.shape[2])
        return cls(cut.transpose(0, 2, 1, 3), mix, prices=prices, costs=costs, width=width, domain=domain, case=case)

    @classmethod
    def random(
        cls,
        *,
        agents: int,
        products: int,
        supplies: int,
        seed: int,
        seasons: int = 4,
        sample: int = 30,
        share: float = 0.4,
        case: str = "concave",
    ) -> "Inventory":
        """Poisson demand around a mean of 5 to 40 for each warehouse, season and product; three products to a supply.

        At most the share `share` of all supplies can be carried in: {sum x <= share * supplies}.
        """
        rng = np.random.default_rng(seed)
        popular = rng.uniform(10.0, 25.0, products) * rng.uniform(0.5, 1.6, (agents, seasons, 1, products))
        demands = rng.poisson(popular, (agents, seasons, sample, products))
        mix = np.zeros((products, supplies))
        for supply in range(supplies):
            mix[rng.permutation(products)[:3], supply] = rng.uniform(5.0, 25.0, min(3, products))
        prices = rng.uniform(2.0, 8.0, products)
        costs = prices * rng.uniform(0.2, 0.7, products)
        domain = budget(supplies, share * supplies)
        return cls(demands, mix, prices=prices, costs=costs, width=2.0, domain=domain, case=case)

    def _excess(self, agent: Array, t: Array, stock: Array) -> tuple[Array, Array]:
        """Where each observation's interval begins, and how far the stock reaches into it."""
        observed = jnp.asarray(self.demands)[agent, t % self.demands.shape[1]]
        start = jnp.maximum(observed - self.width, 0)
        return start, jnp.clip(stock - start, 0, 2 * self.width)

    def sold(self, agent: Array, t: Array, x: Array) -> Array:
        """E min(D, s): the units of each product that find a buyer."""
        stock = jnp.asarray(self.mix) @ x
        start, inside = self._excess(agent, t, stock)
        return jnp.mean(jnp.minimum(stock, start) + inside - inside**2 / (4 * self.width), axis=0)

    def value(self, agent: Array, t: Array, x: Array) -> Array:
        return jnp.dot(self.prices, self.sold(agent, t, x)) - jnp.dot(self.costs @ self.mix, x) + self.lift

    def gradient(self, agent: Array, t: Array, x: Array) -> Array:
        """A product is worth its price as often as it runs out. (Automatic derivatives err where pieces meet.)"""
        _, inside = self._excess(agent, t, jnp.asarray(self.mix) @ x)
        runs_out = jnp.mean(1 - inside / (2 * self.width), axis=0)
        return (jnp.asarray(self.prices) * runs_out - self.costs) @ jnp.asarray(self.mix)


def _check_tables(demands: Vector, mix: Vector, dim: int) -> None:
    if demands.ndim != 4 or demands.size == 0 or mix.shape != (demands.shape[3], dim):
        raise ValueError(
            f"Inventory on a set of {dim} coordinates needs demands (agents, seasons, sample, products) and a mix "
            f"(products, {dim}); got {demands.shape} and {mix.shape}."
        )
    if not np.all(np.isfinite(demands) & (demands >= 0)) or not np.all(np.isfinite(mix) & (mix >= 0)):
        raise ValueError(
            "demands and the mix of the supplies are finite and at least 0; some entry is not. Leave out rounds "
            "without a record."
        )


def _per_product(name: str, numbers: ArrayLike, mix: Vector) -> Vector:
    given = np.asarray(numbers, np.float64)
    if given.shape not in ((), mix.shape[:1]) or not np.all(np.isfinite(given) & (given >= 0)):
        raise ValueError(
            f"{name} are one number, or one for each of the {len(mix)} products, finite and at least 0; "
            f"got {numbers!r}."
        )
    return np.broadcast_to(given, mix.shape[:1]).copy()
