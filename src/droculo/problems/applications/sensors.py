"""Where to put sensors: information gain (monotone) and mutual information (not) of Gaussian fields."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy
from jax import Array
from numpy.typing import ArrayLike, NDArray

from droculo.linearizations import Bounds, Concave, MonotoneOrigin
from droculo.problems.adversaries import Adversary, PeriodicWeights, Rounds, need_nonnegative
from droculo.problems.base import Comparator, Posed
from droculo.problems.multilinear import MOST_MEMBERS, MultilinearExtension
from droculo.problems.planted.set_functions import SetFunctions
from droculo.sets import budget, fixed_budget
from droculo.sets.geometry import Vector


class LogDetSensors(Posed):
    """Information gained about Gaussian fields: f_{t,i}(x) = sum_k w_{t,i,k} 1/2 log det(I + diag(x) C_{i,k}/s^2).

    Team i watches a field at n sites, with covariance C_{i,k} in weather k; w_{t,i} says how much of each weather day t
    has. A sensor measures with variance s^2; x_j = 1/2 is one that is on for half of the time (variance 2 s^2), so f
    is the information of the measurements, exactly. At a set it is 1/2 log det(I + C_S/s^2).

    With C/s^2 = B B' and A = I + B' diag(x) B it is 1/2 log det A, with slopes 1/2 |A^(-1/2) b_j|^2 >= 0 and second
    derivatives -1/2 (b_j' A^-1 b_k)^2 <= 0: monotone, DR-submodular (case A2 on {sum x <= b}), and concave too, which
    `concave=True` declares instead, for alpha = 1. In general, log det(I + diag(x)(L - I)) is DR-submodular for any
    semidefinite L (the softmax extension of Gillenwater, Kulesza and Taskar, NIPS 2012; Bian et al., NIPS 2017), and
    monotone where L >= I; here L = I + C/s^2.

    >>> LogDetSensors.random(agents=3, sites=6, budget=2, seed=0).linearization.case
    'A2'
    """

    weights: Adversary  # (agents, weathers)
    factors: Vector  # (agents, weathers, n, n): B, with B B' = C/s^2
    positions: Vector  # (n, 2), for drawing

    def __init__(
        self,
        weights: Adversary,
        covariances: ArrayLike,
        budget_size: float,
        *,
        noise: float,
        positions: ArrayLike | None = None,
        concave: bool = False,
    ):
        ratios = _covariances(weights, covariances) / _variance(noise)
        self.weights, self.agents = weights, weights.agents
        n = ratios.shape[-1]
        spectrum, axes = np.linalg.eigh(ratios)
        self.factors = axes * np.sqrt(np.maximum(spectrum, 0))[..., None, :]
        self.positions = _positions(positions, n)
        self.set = budget(n, budget_size)
        self.linearization = Concave() if concave else MonotoneOrigin()
        # Slopes fall in x, so they are largest at 0: half the diagonal of C/s^2. f <= those slopes times x, and <= f(1).
        highest = weights.highest
        steepest = np.einsum("ak,akjj->aj", highest, ratios) / 2
        at_most = np.sort(steepest, axis=1)[:, ::-1] @ np.clip(budget_size - np.arange(n), 0, 1)
        everywhere = np.sum(highest * np.log1p(np.maximum(spectrum, 0)).sum(axis=2), axis=1) / 2
        # The Hessian is -(P o P)/2, P = B A^-1 B' <= B B' = C/s^2; Schur products keep that order.
        bend = np.einsum("ak,akij->aij", highest, ratios**2) / 2
        self.bounds = Bounds(
            gradient=float(np.max(np.linalg.norm(steepest, axis=1))),
            value=float(np.max(np.minimum(at_most, everywhere))),
            smoothness=float(np.max(np.linalg.norm(bend, 2, axis=(1, 2)))),
        )

    @classmethod
    def random(
        cls, *, agents: int, sites: int, budget: float, seed: int, noise: float = 0.5, concave: bool = False
    ) -> "LogDetSensors":
        """Sites in the unit square; fields of `random_fields` in three weathers, whose shares drift."""
        positions, covariances = random_fields(agents, sites, seed=seed)
        weights = PeriodicWeights.random(agents, covariances.shape[1], low=0.1, high=0.5, swing=1.0, seed=seed)
        return cls(weights, covariances, budget, noise=noise, positions=positions, concave=concave)

    def value(self, agent: Array, t: Array, x: Array) -> Array:
        return jnp.dot(self.weights.at(agent, t), jax.vmap(lambda B: _gain(B, x))(jnp.asarray(self.factors)[agent]))

    def gradient(self, agent: Array, t: Array, x: Array) -> Array:
        return self.weights.at(agent, t) @ jax.vmap(lambda B: _slopes(B, x))(jnp.asarray(self.factors)[agent])

    def mean(self, horizon: int, agents: NDArray[np.int64]) -> MultilinearExtension:
        """The multilinear extension of the gain of sets, averaged over rounds and agents (n at most 16).

        It agrees with f at sets and lies below it between them (Jensen): what `rounding.pipage` keeps.
        """
        if self.set.dim > MOST_MEMBERS:
            raise ValueError(f"a table of all subsets needs at most {MOST_MEMBERS} sites; got {self.set.dim}.")
        flat = self.factors.reshape(-1, *self.factors.shape[2:])
        tables = principal_log_dets(np.eye(self.set.dim) + flat @ flat.transpose(0, 2, 1)) / 2
        return MultilinearExtension.from_table(_Apart(self.weights).totals([horizon], agents)[0] / horizon @ tables)

    def comparators_between(self, starts: Rounds, ends: Rounds, agents: NDArray[np.int64]) -> list[Comparator | None]:
        """A concave function has one peak: found by SLSQP, and the gap to the maximum is that of Frank and Wolfe."""
        return [self._peak(shares) for shares in _Apart(self.weights).totals_between(starts, ends, agents)]

    def comparator(self, horizon: int, agents: NDArray[np.int64]) -> Comparator | None:
        return self.comparators([horizon], agents)[0]

    def _peak(self, shares: Vector) -> Comparator:
        """The best point for these total weights of every covariance in the network's mean."""
        B = self.factors.reshape(-1, *self.factors.shape[2:])
        capacity = float(self.set.capacities[0])
        scale = max(float(shares.sum()), 1e-300)

        def climb(x: Vector) -> tuple[float, Vector]:
            A = np.eye(B.shape[2]) + np.einsum("kji,j,kjl->kil", B, x, B)
            slopes = np.einsum("kji,kij->kj", B, np.linalg.solve(A, B.transpose(0, 2, 1))) / 2
            return float(shares @ np.linalg.slogdet(A)[1]) / 2, shares @ slopes

        found = scipy.optimize.minimize(
            lambda x: tuple(-part / scale for part in climb(np.clip(x, 0, 1))),
            np.full(self.set.dim, min(0.5, capacity / self.set.dim)),
            jac=True,
            method="SLSQP",
            bounds=[(0, 1)] * self.set.dim,
            constraints={"type": "ineq", "fun": lambda x: capacity - x.sum(), "jac": lambda x: -np.ones_like(x)},
            options={"ftol": 1e-15, "maxiter": 1000},
        )
        point = np.clip(found.x, 0, 1)
        point *= min(1.0, capacity / point.sum())
        total, slope = climb(point)
        corner = np.sort(slope)[::-1] @ np.clip(capacity - np.arange(len(slope)), 0, 1)
        return Comparator.searched(point, total, max(0.0, float(corner - slope @ point)))


class MutualInformation(SetFunctions):
    """Mutual information of chosen and other sites: f(S) = H(S) + H(V - S) - H(V), H the entropy of noisy measurements.

    = 1/2 (log det K_S + log det K_{V-S} - log det K) with K = C + s^2 I: submodular, non-negative, and zero for no
    sites and for all of them, so not monotone: case A4 on {sum x <= b}, A3 on {sum x = b} (`face=True`), as
    multilinear extension. (Krause, Singh and Guestrin, JMLR 2008.)

    >>> MutualInformation.random(agents=2, sites=5, budget=3, seed=0).linearization.case
    'A4'
    """

    positions: Vector  # (n, 2), for drawing

    def __init__(
        self,
        weights: Adversary,
        covariances: ArrayLike,
        budget_size: int,
        *,
        noise: float,
        positions: ArrayLike | None = None,
        face: bool = False,
    ):
        every = _covariances(weights, covariances)
        n = every.shape[-1]
        if n > MOST_MEMBERS:
            raise ValueError(f"a table of all subsets needs at most {MOST_MEMBERS} sites; got {n}.")
        dets = principal_log_dets(every.reshape(-1, n, n) + _variance(noise) * np.eye(n))
        shared = (dets + dets[:, ::-1] - dets[:, -1:]) / 2  # the complement of a set stands at its mirror place
        # For no sites and for all it is 0 up to rounding errors, which must not pass for a negative value.
        functions = [MultilinearExtension.from_table(np.maximum(table, 0)) for table in shared]
        domain = (fixed_budget if face else budget)(n, budget_size)
        super().__init__(_Apart(weights), functions, domain, monotone=False)
        self.positions = _positions(positions, n)

    @classmethod
    def random(  # type: ignore[override]
        cls, *, agents: int, sites: int, budget: int, seed: int, noise: float = 0.5, face: bool = False
    ) -> "MutualInformation":
        """Sites in the unit square; fields of `random_fields` in three weathers, whose shares drift."""
        positions, covariances = random_fields(agents, sites, seed=seed)
        weights = PeriodicWeights.random(agents, covariances.shape[1], low=0.1, high=0.5, swing=1.0, seed=seed)
        return cls(weights, covariances, budget, noise=noise, positions=positions, face=face)


def random_fields(
    agents: int, sites: int, *, seed: int, lengths: tuple[float, float] = (0.12, 0.25)
) -> tuple[Vector, Vector]:
    """Sites (n, 2) in the unit square and covariances (agents, 3, n, n): calm, west wind, south wind.

    Each team's field varies most near one of two sources, in its own place and on its own length scale (drawn from `lengths`); the wind
    stretches what is alike threefold along its direction.
    """
    rng = np.random.default_rng(seed)
    positions = np.empty((sites, 2))
    for j in range(sites):  # of 20 candidates, the one farthest from the sites so far
        candidates = rng.uniform(0.05, 0.95, (20, 2))
        far = np.linalg.norm(candidates[:, None] - positions[None, :j], axis=2).min(axis=1, initial=2.0)
        positions[j] = candidates[np.argmax(far)]
    sources = np.array([[0.25, 0.3], [0.75, 0.7]])
    places = sources[np.arange(agents) % 2] + rng.normal(0, 0.08, (agents, 2))
    distances = np.linalg.norm(positions - places[:, None], axis=2)
    deviations = 0.15 + 1.2 * np.exp(-((distances / 0.3) ** 2))
    own = rng.uniform(*lengths, agents)
    stretch = np.array([[1.0, 1.0], [3.0, 1.0], [1.0, 3.0]])
    steps = (positions[:, None] - positions)[None, None] / (own[:, None, None, None, None] * stretch[:, None, None])
    alike = np.exp(-np.sum(steps**2, axis=-1) / 2)
    return positions, alike * deviations[:, None, :, None] * deviations[:, None, None, :]


def principal_log_dets(matrices: Vector) -> Vector:
    """log det of all 2^n principal submatrices of each positive definite matrix, in the order of a table.

    Coordinates are taken in or left out one after the other: a Schur complement, or a row and a column less.
    """
    kinds, n, _ = matrices.shape
    left, found = matrices[:, None], np.zeros((kinds, 1))
    for _ in range(n):
        pivot, column, rest = left[..., 0, 0], left[..., 1:, 0], left[..., 1:, 1:]
        taken = rest - column[..., :, None] * (column / pivot[..., None])[..., None, :]
        found = np.stack([found, found + np.log(pivot)], axis=2).reshape(kinds, -1)
        left = np.stack([rest, taken], axis=2).reshape(kinds, found.shape[1], *rest.shape[-2:])
    return found


class _Apart(Adversary):
    """The weights of every agent in a place of their own, so that a mean over agents keeps them apart."""

    own: Adversary
    number: int = eqx.field(static=True)

    def __init__(self, own: Adversary):
        self.own, self.number = own, own.agents

    @property
    def lowest(self) -> Vector:
        return self._spread(self.own.lowest)

    @property
    def highest(self) -> Vector:
        return self._spread(self.own.highest)

    def _spread(self, edge: Vector) -> Vector:
        return np.einsum("ab,bk->abk", np.eye(len(edge)), edge).reshape(len(edge), -1)

    def at(self, agent: Array, t: Array) -> Array:
        weights = self.own.at(agent, t)
        return jnp.where(jnp.arange(self.number)[:, None] == agent, weights, 0).ravel()


def _root(B: Array, x: Array) -> Array:
    return jnp.linalg.cholesky(jnp.eye(B.shape[1], dtype=B.dtype) + (B.T * x) @ B)


def _gain(B: Array, x: Array) -> Array:
    return jnp.sum(jnp.log(jnp.diagonal(_root(B, x))))


def _slopes(B: Array, x: Array) -> Array:
    return jnp.sum(jax.scipy.linalg.solve_triangular(_root(B, x), B.T, lower=True) ** 2, axis=0) / 2


def _covariances(weights: Adversary, covariances: ArrayLike) -> Vector:
    C = np.asarray(covariances, np.float64)
    if C.ndim != 4 or C.shape[:2] != weights.highest.shape or C.shape[2] != C.shape[3]:
        raise ValueError(
            f"covariances have the shape (agents, weathers, sites, sites), and {weights.highest.shape} weights go with "
            f"them; got {C.shape}."
        )
    if not np.all(np.isfinite(C)) or np.abs(C - C.swapaxes(2, 3)).max() > 1e-9 * np.abs(C).max():
        raise ValueError("covariances are finite and symmetric; these are not.")
    least = float(np.linalg.eigvalsh(C).min())
    if least < -1e-9 * np.abs(C).max():
        raise ValueError(f"covariances have no negative eigenvalues; one of these has {least:g}.")
    need_nonnegative(weights)
    return C


def _variance(noise: float) -> float:
    if not 0 < noise < np.inf:
        raise ValueError(f"the noise of a sensor is a positive standard deviation; got {noise}.")
    return float(noise) ** 2


def _positions(positions: ArrayLike | None, n: int) -> Vector:
    """As given; on a circle by default."""
    angles = 2 * np.pi * np.arange(n) / n
    places = np.stack([np.cos(angles), np.sin(angles)], axis=1) if positions is None else np.asarray(positions, float)
    if places.shape != (n, 2):
        raise ValueError(f"positions are {n} points of the plane; got shape {places.shape}.")
    return places
