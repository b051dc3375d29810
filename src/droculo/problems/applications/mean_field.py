"""Mean-field inference: the product distribution nearest to a model of diverse sets that many sites own in parts."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike, NDArray

from droculo.linearizations import Bounds, Concave, NonMonotoneDownClosed, NonMonotoneGeneral
from droculo.precision import double
from droculo.problems.applications.ratings import made_up
from droculo.problems.applications.recommendation import Facility
from droculo.problems.base import Comparator, Posed
from droculo.sets import Box
from droculo.sets.geometry import Vector

#: for up to this many items all 2^n sets are gone through
MOST_ITEMS = 16
SWEEPS = 200


class MeanField(Posed):
    """Mean-field inference of a facility-location model p(S) ~ exp(F(S) + sum of the costs c_i of items not in S).

    x_i is the chance that item i is in S, all chances independent, and f the evidence lower bound
    ELBO(x) = F(x) + c.(1 - x) + sum_i H(x_i), F the multilinear extension (see `Facility`) and H the entropy of a
    coin. It is at most log Z, and log Z - ELBO is the distance (KL) to the model. Non-negative, DR-submodular, not
    monotone. Every site (agent) has users of its own, each round brings its next batch; the mean over both is the
    ELBO of the averaged model, whose approximate posterior all sites come to share.

    The slope of H is infinite at 0 and 1, so chances keep a margin m: the decision is s in [0, 1]^n with
    x = m + (1 - 2m) s. In s the function is smooth on the whole unit box, as the class demands, and the box contains
    0: it is down-closed, so case "A4" with alpha = 1/e applies, where [m, 1 - m]^n would only allow A3 with
    alpha = (1 - m)/4. Case "A3" (alpha = 1/4) learns from values too. The actions of A4 stay below 1 - 1/e and those
    of A3 below 1/2: they suit models of small sets. A weak model has a concave ELBO: case "concave", alpha = 1.
    (log Z contains the sum of all costs, so alpha log Z is a modest aim: look at the distance log Z - ELBO.)

    Bian, Buhmann, Krause: Optimal Continuous DR-Submodular Maximization and Applications to Provable Mean Field
    Inference, ICML 2019.

    >>> problem = MeanField.synthetic(agents=3, items=5)
    >>> chances, log_z = problem.posterior(100, np.arange(3))
    >>> best = problem.comparator(100, np.arange(3))
    >>> bool(best.total < 100 * log_z <= best.total + best.gap + 1e-6)
    True
    """

    facility: Facility
    costs: Vector
    margin: Vector

    def __init__(self, utilities: ArrayLike, *, costs: ArrayLike = 0.0, margin: float = 0.05, case: str = "A4"):
        """`utilities`: (agents, rounds, users, items), what a set with that item is worth to a user at least."""
        self.facility = Facility(utilities)
        self.agents, *_, items = self.facility.ratings.shape
        self.costs = np.broadcast_to(np.asarray(costs, np.float64), (items,)).copy()
        if not np.all(np.isfinite(self.costs) & (self.costs >= 0)):
            raise ValueError(f"the costs of items are finite and not negative; got {self.costs.tolist()}.")
        if not 0 < margin < 0.5:
            raise ValueError(f"chances stay in [margin, 1 - margin], with a margin between 0 and 1/2; got {margin}.")
        self.margin = np.asarray(margin, np.float64)
        self.set = Box(np.zeros(items), 1.0)
        cases = {"A4": NonMonotoneDownClosed(), "A3": NonMonotoneGeneral(), "concave": Concave()}
        if case not in cases:
            raise ValueError(f"mean-field inference has the cases {', '.join(cases)}; got {case!r}.")
        if case == "concave":
            _check_weak(self.facility, margin)
        self.linearization = cases[case]
        # dELBO/dx_i = dF/dx_i - c_i + log((1 - x_i)/x_i), where 0 <= dF/dx_i <= its value at 0; dx/ds = 1 - 2m.
        scale, end = 1 - 2 * margin, float(np.log((1 - margin) / margin))
        slope = np.maximum(self.costs, self.facility.steepest - self.costs) + end
        self.bounds = Bounds(
            gradient=scale * float(np.linalg.norm(slope, axis=2).max()),
            value=float(self.facility.highest.max() + (1 - margin) * self.costs.sum() + items * np.log(2)),
            smoothness=scale**2 * (self.facility.coupling + 1 / (margin * (1 - margin))),  # H'' = -1/(x(1 - x))
        )

    @classmethod
    def synthetic(
        cls,
        *,
        agents: int = 6,
        items: int = 10,
        strength: float = 20.0,
        cost: float = 5.0,
        margin: float = 0.05,
        case: str = "A4",
        seed: int = 0,
    ) -> "MeanField":
        """Ratings of our own making (see `made_up`) times `strength`, costs from 1/2 to 3/2 times `cost`."""
        users = made_up(agents=agents, users=60, items=items, seed=seed).reshape(agents, 12, 5, items)
        costs = cost * np.random.default_rng(seed).uniform(0.5, 1.5, items)
        return cls(strength * users, costs=costs, margin=margin, case=case)

    def marginals(self, s: Array) -> Array:
        """The chances x = m + (1 - 2m) s."""
        return s * (1 - 2 * self.margin) + self.margin

    def value(self, agent: Array, t: Array, x: Array) -> Array:
        chance = self.marginals(x)
        entropy = -jnp.sum(chance * jnp.log(chance) + (1 - chance) * jnp.log1p(-chance))
        return self.facility.value(agent, t, chance) + jnp.dot(self.costs, 1 - chance) + entropy

    def gradient(self, agent: Array, t: Array, x: Array) -> Array:
        chance = self.marginals(x)
        slope = self.facility.gradient(agent, t, chance) - self.costs + jnp.log1p(-chance) - jnp.log(chance)
        return slope * (1 - 2 * self.margin)

    def averaged(self, horizon: int, agents: NDArray[np.int64]) -> "MeanField":
        """The model of all users of these agents up to the horizon: one agent, one round."""
        users, weights = self.facility.average(horizon, agents)
        utilities = users * (weights * len(weights))[:, None]  # a batch counts its users equally
        return MeanField(utilities[None, None], costs=self.costs, margin=float(self.margin))

    def posterior(self, horizon: int, agents: NDArray[np.int64]) -> tuple[Vector, float]:
        """The exact marginals of the averaged model and its log Z, by going through all 2^n sets."""
        users, weights = self.facility.average(horizon, agents)
        items = users.shape[1]
        if items > MOST_ITEMS:
            raise ValueError(f"exact marginals go through all 2^n sets, for n up to {MOST_ITEMS}; got n={items}.")
        inside = (np.arange(2**items)[:, None] >> np.arange(items)) & 1
        worth = (1 - inside) @ self.costs
        for user, weight in zip(users, weights, strict=True):
            worth += weight * np.max(inside * user, axis=1)
        log_z = float(np.logaddexp.reduce(worth))
        return np.exp(worth - log_z) @ inside, log_z

    def comparator(self, horizon: int, agents: NDArray[np.int64]) -> Comparator:
        """The best of ten coordinate ascents on the averaged model.

        What it may lack is certified: by the tangent where f is concave, by log Z for few items.
        """
        items = self.set.dim
        starts = np.random.default_rng(0).uniform(size=(10, items))
        with double():
            found = _ascend(self.averaged(horizon, agents), jnp.asarray(starts))
        ends, rewards, slopes = (np.asarray(array) for array in found)
        best = int(np.argmax(rewards))
        point, reward, slope = ends[best], float(rewards[best]), slopes[best]
        if self.linearization.case == "concave":
            gap = float(np.maximum(slope * (1 - point), -slope * point).sum())
        elif items <= MOST_ITEMS:
            gap = self.posterior(horizon, agents)[1] - reward
        else:
            gap = np.inf
        return Comparator.searched(point, horizon * reward, horizon * gap)


@eqx.filter_jit  # type: ignore[untyped-decorator]
def _ascend(model: MeanField, starts: Array) -> tuple[Array, Array, Array]:
    """Coordinate ascent: with the other chances fixed, x_i = 1/(1 + exp(c_i - dF/dx_i)) is best, but for the margin.

    Where it ends, with value and gradient there.
    """
    zero, margin, items = jnp.asarray(0), model.margin, model.set.dim

    def step(number: Array, s: Array) -> Array:
        item = number % items
        gain = model.facility.gradient(zero, zero, model.marginals(s)) - model.costs
        best = jnp.clip(jax.nn.sigmoid(gain[item]), margin, 1 - margin)
        return s.at[item].set((best - margin) / (1 - 2 * margin))

    def one(s: Array) -> tuple[Array, Array, Array]:
        end = jax.lax.fori_loop(0, SWEEPS * items, step, s)
        return end, model.value(zero, zero, end), model.gradient(zero, zero, end)

    return jax.vmap(one)(starts)


def _check_weak(facility: Facility, margin: float) -> None:
    """Raise unless one of two bounds on the Hessian of F proves the ELBO concave; that of the entropies is diagonal.

    With c the coupling, F'' <= c I, and -1/(x(1 - x)) <= -4. And F'' <= diag(g_i/(1 - x_i)), g the gradient: for a
    user with falling ratings, F'' = sum_k (r_k - r_{k+1}) Q_k (diag(v_k)^2 - v_k v_k^T), where Q_k = prod_{l<=k}
    (1 - x_l) and v_k = 1/(1 - x) on the k best items, 0 elsewhere. So x_i g_i <= 1 for all i suffices.
    """
    coupling, steepest = facility.coupling, float(facility.steepest.max())
    if coupling > 4 and steepest * (1 - margin) > 1:
        raise ValueError(
            f"the ELBO is known to be concave for a coupling up to 4 or mean utilities up to {1 / (1 - margin):.3g}; got "
            f"{coupling:.3g} and {steepest:.3g}. Weaken the utilities, or use case A4 or A3."
        )
