"""How fast a network averages, or that it does not; everything here runs on the host, in NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
import scipy
from numpy.typing import NDArray

if TYPE_CHECKING:
    from droculo.networks.weights import Weights

Vector = NDArray[np.float64]

#: up to this many agents the rate comes from dense matrices, when the network is made; above, when asked for
DENSE_UP_TO = 2000


def need_averaging(weights: Weights) -> None:
    """Raise unless A^t tends to the averaging matrix: the links connect all agents and no eigenvalue is -1."""
    count = components(weights.n_agents, weights.ends)
    if count > 1:
        raise ValueError(
            f"the graph is not connected: it has {count} components, and no value passes between them. "
            "Add links, or use the largest component only."
        )
    need_no_swap(weights)


def need_no_swap(weights: Weights) -> None:
    """Raise if -1 is an eigenvalue: two groups would swap their values for ever.

    In the double cover (two copies of every agent, each link leading to the other copy) a component falls in two
    exactly when it is bipartite and no agent in it keeps a share of its own value, which is when it has the eigenvalue -1.
    """
    n, (i, j) = weights.n_agents, weights.ends.T
    keepers = np.flatnonzero(weights.self_weights > 1e-12)
    cover = np.stack([np.concatenate([i, j, keepers]), n + np.concatenate([j, i, keepers])], axis=1)
    if components(2 * n, cover) > components(n, weights.ends):
        raise ValueError(
            "the weights never average: max(|lambda_2|, |lambda_N|) is 1, because two groups of agents without "
            "self-weight only swap their values (eigenvalue -1). Use lazy(weights)."
        )


def components(n: int, ends: NDArray[np.int64]) -> int:
    """The number of connected components."""
    links = scipy.sparse.coo_array((np.ones(len(ends), np.int8), (ends[:, 0], ends[:, 1])), shape=(n, n))
    return int(scipy.sparse.csgraph.connected_components(links, directed=False, return_labels=False))


def union(cycle: Sequence[Weights]) -> NDArray[np.int64]:
    """The links that some exchange has, each once."""
    if len(cycle) == 1:
        return cycle[0].ends
    return np.unique(np.concatenate([part.ends for part in cycle]), axis=0)


def rate_if_small(cycle: Sequence[Weights], failure: float = 0.0) -> Vector | None:
    """The rate, or None for more than `DENSE_UP_TO` agents, where it is found when asked for."""
    if cycle[0].n_agents > DENSE_UP_TO:
        return None
    rate = cycle_rate(cycle, failure)
    if rate >= 1 - 1e-15:
        raise ValueError(
            "the weights never average: max(|lambda_2|, |lambda_N|) is 1 in double precision, because some weights "
            "are too close to 0. Give every link a weight that counts."
        )
    return np.asarray(rate, np.float64)


def cycle_rate(cycle: Sequence[Weights], failure: float = 0.0) -> float:
    """The contraction of disagreement per exchange.

    For a single matrix whose links never fail, max(|lambda_2|, |lambda_N|). For a cycle of K matrices, the K-th root
    of the largest singular value of their product off the averages. With failing links, the same in root mean square:
    the 2K-th root of the largest eigenvalue of E[W_1 ... W_K W_K ... W_1] off the averages.
    """
    n = cycle[0].n_agents
    if n == 1:
        return 0.0
    if len(cycle) == 1 and failure == 0:
        return _plain_rate(cycle[0])
    squared = _dense_square(cycle, failure) if n <= DENSE_UP_TO else _sparse_square(cycle, failure)
    return float(max(squared, 0.0) ** (0.5 / len(cycle)))


def _plain_rate(weights: Weights) -> float:
    n, A = weights.n_agents, weights.to_sparse()
    if n <= DENSE_UP_TO:
        return float(abs(np.linalg.eigvalsh(A.toarray() - 1 / n)).max())
    try:
        return _largest(lambda x: A @ x, n)
    except scipy.sparse.linalg.ArpackNoConvergence:
        last = scipy.sparse.linalg.eigsh(A, k=1, sigma=-1 - 1e-6, return_eigenvectors=False)[0]
        return max(_second(A), float(abs(last)))


def _dense_square(cycle: Sequence[Weights], failure: float) -> float:
    """Each link is an independent coin, which adds failure (1 - failure) w^2 (l'Sl) l l' for its l = e_i - e_j."""
    n = cycle[0].n_agents
    S = np.eye(n) - 1 / n
    for weights in reversed(cycle):
        i, j = weights.ends.T
        mean = (1 - failure) * weights.to_sparse() + failure * scipy.sparse.eye_array(n)
        spread = failure * (1 - failure) * weights.weight**2 * (S[i, i] + S[j, j] - S[i, j] - S[j, i])
        S = mean @ (mean @ S).T + laplacian(n, weights.ends, spread)
        S = np.asarray(S + S.T) / 2
    return float(np.linalg.eigvalsh(S)[-1])


def _sparse_square(cycle: Sequence[Weights], failure: float) -> float:
    n = cycle[0].n_agents
    if failure > 0 and len(cycle) > 1:
        raise ValueError(
            f"the mixing rate of failing, time-varying links is known up to {DENSE_UP_TO} agents only; got {n}. "
            "Measure it on a smaller network of the same kind."
        )
    means = [(1 - failure) * weights.to_sparse() + failure * scipy.sparse.eye_array(n) for weights in cycle]
    spread = laplacian(n, cycle[0].ends, 2 * failure * (1 - failure) * cycle[0].weight ** 2)

    def apply(x: Vector) -> Vector:
        y = x
        for mean in [*means, *reversed(means)]:
            y = mean @ y
        return y + spread @ x

    try:
        return _largest(apply, n)
    except scipy.sparse.linalg.ArpackNoConvergence:
        product = reduce(lambda left, right: left @ right, [*means, *reversed(means)])
        return _second(scipy.sparse.csr_array(product + spread))


def _second(A: scipy.sparse.csr_array) -> float:
    """lambda_2 by inversion close to 1: graphs with many eigenvalues there are thin and factorize cheaply."""
    columns = scipy.sparse.csc_array(A)
    return float(min(scipy.sparse.linalg.eigsh(columns, k=2, sigma=1 + 1e-6, return_eigenvectors=False)))


def laplacian(n: int, ends: NDArray[np.int64], strength: Vector) -> scipy.sparse.csr_array:
    """sum over the links of strength (e_i - e_j)(e_i - e_j)'."""
    i, j = ends.T
    places = np.concatenate([i, j, i, j]), np.concatenate([j, i, i, j])
    return scipy.sparse.csr_array((np.concatenate([-strength, -strength, strength, strength]), places), shape=(n, n))


def _largest(apply: Callable[[Vector], Vector], n: int) -> float:
    """The largest modulus of an eigenvalue off the averages; the same start every time, for the same answer."""

    def off_average(x: Vector) -> Vector:
        centred = x.ravel() - x.mean()
        y = apply(centred)
        return y - y.mean()

    operator = scipy.sparse.linalg.LinearOperator((n, n), matvec=off_average, dtype=np.float64)
    start = np.random.default_rng(0).normal(size=n)

    def found(tolerance: float) -> float:
        options = {"v0": start, "ncv": 40, "maxiter": 100, "tol": tolerance, "return_eigenvectors": False}
        return float(abs(scipy.sparse.linalg.eigsh(operator, k=1, which="LM", **options)[0]))

    # The error of an eigenvalue is far below its tolerance, unless many are crowded at 1, where it matters.
    rough = found(1e-5)
    return rough if rough < 0.99 else found(1e-10)
