"""Dynamic pricing, posed in quantities: how much of each product to offer, at the prices that clear the market."""

import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from droculo.linearizations import Bounds
from droculo.linearizations.cases import of_case
from droculo.problems.adversaries import Adversary, PeriodicWeights
from droculo.problems.base import Posed
from droculo.sets import Knapsack, Set
from droculo.sets.geometry import Vector


class Pricing(Posed):
    """Revenue of substitutes: f = q.D^-1 (A - q), with the quantities q = x * largest. DR-submodular, not monotone.

    A store's demand at prices p is A - D p: an own-price effect on the diagonal of D, and off it -D_jk, what product j
    gains when k gets dearer. Offering q makes the prices p = D^-1 (A - q). D is an M-matrix (diagonally dominant, no
    positive entry off the diagonal), so D^-1 >= 0 and the Hessian -(D^-1 + D^-T) has no positive entry: diminishing
    returns. (In prices the same revenue is supermodular: Ito and Fujimaki, NeurIPS 2016.) It is concave too if D + D^T
    is positive semidefinite, as for a symmetric D: then case "concave" promises more. It is not where all products
    follow one leader, as in `random`.

    Market sizes A_{t,i} are an adversary's weights: one row for each store, one entry for each product. They must leave
    every price non-negative at the largest quantities, so that f >= 0 on the whole box.

    >>> Pricing.random(stores=3, products=5, seed=0).set.dim
    5
    """

    markets: Adversary  # A: (stores, products)
    effects: Vector  # D: (stores, products, products)
    inverse: Vector  # D^-1
    largest: Vector  # the quantity of each product at x = 1

    def __init__(self, markets: Adversary, effects: ArrayLike, largest: ArrayLike, domain: Set, *, case: str = "A4"):
        self.markets, self.agents, self.set = markets, markets.agents, domain
        self.linearization = of_case(case, "A3", "A4", "concave")
        self.effects, self.largest = np.asarray(effects, np.float64), np.asarray(largest, np.float64)
        _check_effects(self.effects, self.largest, markets.highest.shape, domain.dim)
        curved = float(np.linalg.eigvalsh(self.effects + self.effects.transpose(0, 2, 1)).min())
        if case == "concave" and curved < -1e-9:
            raise ValueError(
                f"revenue is concave only if D + D^T has no negative eigenvalue; got {curved:g}. Use case A3 or A4."
            )
        self.inverse = np.asarray(np.linalg.inv(self.effects), np.float64)
        lowest_prices = np.einsum("ijk,ik->ij", self.inverse, markets.lowest - self.largest)
        if np.any(lowest_prices < 0):
            store, product = np.unravel_index(np.argmin(lowest_prices), lowest_prices.shape)
            raise ValueError(
                f"the price D^-1 (A - q) of product {product} in store {store} falls to {lowest_prices.min():g} when "
                "every product is offered at its largest quantity; it must not be negative, for f >= 0 on the whole "
                "box. Lower `largest`, or raise the market sizes."
            )
        # Per unit of x, with P = D^-1: D^-1 >= 0 keeps p in [P(A_low - largest), P A_high], and the gradient
        # largest * (p - P^T q) falls in x, so its size is that at 0 with A_high or at 1 with A_low.
        top_prices = np.einsum("ijk,ik->ij", self.inverse, markets.highest)
        first = self.largest * top_prices
        last = self.largest * (lowest_prices - np.einsum("ikj,k->ij", self.inverse, self.largest))
        scaled = self.largest[:, None] * (self.inverse + self.inverse.transpose(0, 2, 1)) * self.largest
        self.bounds = Bounds(
            gradient=float(np.linalg.norm(np.maximum(np.abs(first), np.abs(last)), axis=1).max()),
            value=float(first.sum(axis=1).max()),  # q.p at the largest quantities and the highest prices
            smoothness=float(np.linalg.norm(scaled, 2, axis=(1, 2)).max()),
        )

    @classmethod
    def random(
        cls, *, stores: int, products: int, seed: int, capacity: float = 0.4, follow: float = 0.8, case: str = "A4"
    ) -> "Pricing":
        """All products follow the price of product 0, the leading brand; seasons move every market at its own pace.

        Each demand loses 1 to 3 units per unit of its own price and gains the share `follow` of that from the leader's
        price, a twentieth from all others together. The plan must fit on trucks that carry the share `capacity` of the
        volume of everything at its largest.
        """
        rng = np.random.default_rng(seed)
        own = rng.uniform(1.0, 3.0, (stores, products))
        effects = -0.05 * own[:, :, None] * rng.dirichlet(np.ones(products), (stores, products))
        effects[:, 1:, 0] -= follow * own[:, 1:]
        np.einsum("ijj->ij", effects)[:] = own
        largest = rng.uniform(5.0, 15.0, products)
        waves = PeriodicWeights.random(stores, products, low=1.0, high=1.4, swing=0.6, seed=seed)
        markets = PeriodicWeights(waves.base * largest, waves.height * largest, waves.speed / 10, waves.phase)
        volumes = largest * rng.uniform(0.5, 2.0, products)
        return cls(markets, effects, largest, Knapsack(volumes, capacity * volumes.sum()), case=case)

    def prices(self, agent: Array, t: Array, x: Array) -> Array:
        """What each product then costs in this store: D^-1 (A - q)."""
        return jnp.asarray(self.inverse)[agent] @ (self.markets.at(agent, t) - jnp.asarray(self.largest) * x)

    def value(self, agent: Array, t: Array, x: Array) -> Array:
        return jnp.dot(jnp.asarray(self.largest) * x, self.prices(agent, t, x))

    def gradient(self, agent: Array, t: Array, x: Array) -> Array:
        largest = jnp.asarray(self.largest)
        fall = (largest * x) @ jnp.asarray(self.inverse)[agent]  # what one more unit takes off all prices, times q
        return largest * (self.prices(agent, t, x) - fall)


def _check_effects(effects: Vector, largest: Vector, shape: tuple[int, ...], dim: int) -> None:
    stores, products = shape
    if effects.shape != (stores, products, products) or largest.shape != (products,) or dim != products:
        raise ValueError(
            f"market sizes for {stores} stores and {products} products go with effects ({stores}, {products}, "
            f"{products}), {products} largest quantities and a set of {products} coordinates; got {effects.shape}, "
            f"{largest.shape} and {dim}."
        )
    diagonal = np.einsum("ijj->ij", effects)
    others = effects - diagonal[:, :, None] * np.eye(products)
    if not (np.all(others <= 0) and np.all(diagonal + others.sum(axis=2) > 0)):
        raise ValueError(
            "the price effects D must make an M-matrix: no positive entry off the diagonal (products are substitutes), "
            "and every diagonal entry larger than the sum of the others' sizes in its row. Some store's D is not."
        )
    if not np.all(largest > 0):
        raise ValueError(f"the largest quantities must be positive; got {largest.min():g}.")
