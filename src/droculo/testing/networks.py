"""The check of a network: `check_network`, for custom networks and for those of droculo."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from droculo.networks import Failing, Fixed, Network
from droculo.precision import double
from droculo.testing.points import need

Values = NDArray[Any]

#: up to this many agents the mixing matrix is looked at entry by entry; above, through random values
DENSE_UP_TO = 200

#: repeated mixing is followed down to this share of the first disagreement, for at most this many exchanges
SMALL, PATIENCE = 1e-3, 20_000


def check_network(network: Network, *, exchanges: int = 20, seed: int = 0) -> None:
    """Raise an AssertionError that says which part of the contract of `Network` does not hold.

    >>> from droculo.networks import from_graph, ring
    >>> check_network(from_graph(ring(5)))
    """
    if exchanges < 1:
        raise ValueError(f"check_network looks at one exchange at least; got exchanges={exchanges}. Try 20.")
    rng = np.random.default_rng(seed)
    key = jax.random.key(seed)
    rate = network.mixing_rate if isinstance(network, Fixed) else 1.0
    with double():
        for exchange in range(exchanges):
            up = _check_up(network, key, exchange)
            x, z = rng.normal(size=(2, network.n_agents, 3))
            same = np.broadcast_to(rng.normal(size=(1, 3)), x.shape)
            small = network.n_agents <= DENSE_UP_TO
            identity = np.eye(network.n_agents) if small else np.zeros((network.n_agents, 0))
            # All at once, side by side, so that one compilation serves every exchange.
            values = np.concatenate([x, z, same, identity], axis=1)
            mixed, sent = (np.asarray(out) for out in _exchange(network, jnp.asarray(values), exchange, up))
            message = f"mixing in exchange {exchange} must keep the shape {values.shape}; got {mixed.shape}."
            need(mixed.shape == values.shape, message)
            if small:
                _check_matrix(network, exchange, np.asarray(up), mixed[:, 9:], sent)
            _check_probe(exchange, rate, x, z, same, mixed)
            _check_messages(network, exchange, sent)
        _check_down(network, values, exchanges, key)
        _check_batch(network, values, key)
        _check_convergence(network, key, rng)
    _check_precision(network, key)


_exchange = jax.jit(lambda network, values, k, up: (network.mix(values, k, up), network.messages(k, up)))
_up = jax.jit(lambda network, key, exchange: network.links_up(key, exchange))


def _check_up(network: Network, key: Array, exchange: int) -> Array:
    up, again = np.asarray(_up(network, key, exchange)), np.asarray(_up(network, key, exchange))
    where = f"links_up of exchange {exchange} must be"
    whole = up.shape == (network.n_links,) and np.all((up == 0) | (up == 1))
    need(whole, f"{where} {network.n_links} zeros and ones, one for each link; got {up}.")
    need(up == again, f"{where} the same for the same key; got two different draws.")
    return jnp.asarray(up)


def _check_matrix(network: Network, exchange: int, up: Values, A: Values, sent: Values) -> None:
    where = f"the matrix of exchange {exchange}, found by mixing the identity,"
    full = network.to_matrix(exchange)
    # This is also where both ends of a failing link must agree that it is down.
    need(abs(A - A.T) <= 1e-12, f"{where} must be symmetric; entries differ by {abs(A - A.T).max()}.")
    need(abs(A.sum(axis=1) - 1) <= 1e-12, f"{where} must have rows that sum to 1; got {A.sum(axis=1)}.")
    need(A >= -1e-12, f"{where} must have no negative entry; got {A.min()}.")
    off = ~np.eye(network.n_agents, dtype=bool)
    need((A[off] == 0) | (full[off] > 0), f"{where} must be zero where the graph has no link; it is not.")
    whole = np.isclose(A[off], full[off], rtol=1e-12, atol=0) | (A[off] == 0)
    need(whole, f"{where} must have a link's full weight or none of it; got a value in between.")
    if np.all(up == 1):
        need(abs(A - full) <= 1e-12, f"{where} must be to_matrix({exchange}) when every link is up; it is not.")
    used = ((A != 0) & off).sum(axis=1)
    need(sent == used, f"messages of exchange {exchange} must count the links that are up, {used}; got {sent}.")


def _check_probe(exchange: int, rate: float, x: Values, z: Values, same: Values, mixed: Values) -> None:
    where = f"mixing in exchange {exchange}"
    y, Az, kept = mixed[:, :3], mixed[:, 3:6], mixed[:, 6:9]
    need(abs(y.mean(0) - x.mean(0)) <= 1e-12, f"{where} must keep the average; it moved by {y.mean(0) - x.mean(0)}.")
    gap = abs((y * z).sum() - (x * Az).sum())
    need(gap <= 1e-10 * len(x), f"{where} must be symmetric, <Ax, z> = <x, Az>; they differ by {gap}.")
    ranged = (y <= x.max(0) + 1e-12) & (y >= x.min(0) - 1e-12)
    need(ranged, f"{where} must give weighted averages, with weights of at least zero; a value left the inputs' range.")
    need(kept == same, f"{where} must keep identical values bit for bit; it changed them by {abs(kept - same).max()}.")
    before, after = _disagreement(x), _disagreement(y)
    message = f"{where} must shrink disagreement by the factor {rate}; it went from {before} to {after}."
    need(after <= (rate + 1e-8) * before, message)


def _check_messages(network: Network, exchange: int, sent: Values) -> None:
    part = network.cycle[exchange % len(network.cycle)]
    most = np.bincount(part.ends.ravel(), minlength=network.n_agents)
    whole = sent.shape == most.shape and np.issubdtype(sent.dtype, np.integer)
    where = f"messages of exchange {exchange} must"
    few = whole and np.all((sent >= 0) & (sent <= most))
    need(few, f"{where} be whole numbers, at most one per link and agent; got {sent}.")
    need(sent.sum() % 2 == 0, f"{where} count every link at both ends; got {sent}.")


def _check_down(network: Network, values: Values, exchanges: int, key: Array) -> None:
    """No link up: nothing is sent and nothing moves. Failing links fail about as often as they say."""
    mixed, sent = _exchange(network, jnp.asarray(values), 0, jnp.zeros(network.n_links))
    need(np.asarray(sent) == 0, "messages must be zero when every link is down; they are not.")
    need(np.asarray(mixed) == values, "mixing must change nothing when every link is down; it does.")
    if isinstance(network, Failing) and network.n_links:
        p = float(network.probability)
        ups = np.asarray(jax.vmap(_up, in_axes=(None, None, 0))(network, key, np.arange(max(exchanges, 200))))
        margin, down = 6 * np.sqrt(p * (1 - p) / ups.size), 1 - ups.mean()
        message = f"links must be down with probability {p}; they were down in {down:.4f} of the draws."
        need(abs(down - p) <= margin + 1e-7, message)


@jax.jit
def _mix_until(network: Network, key: Array, x: Array, goal: Array) -> Array:
    """Mix until the disagreement is at most `goal`, or patience ends."""

    def unfinished(state: tuple[Array, Array]) -> Array:
        return (state[1] < PATIENCE) & (jnp.linalg.norm(state[0] - x.mean()) > goal)

    def step(state: tuple[Array, Array]) -> tuple[Array, Array]:
        y, k = state
        return network.mix(y, k, network.links_up(key, k)), k + 1

    mixed, _ = jax.lax.while_loop(unfinished, step, (x, jnp.asarray(0)))
    return mixed


def _check_convergence(network: Network, key: Array, rng: np.random.Generator) -> None:
    x = rng.normal(size=network.n_agents)
    goal = SMALL * _disagreement(x) + 1e-12
    left = float(np.linalg.norm(_mix_until(network, key, jnp.asarray(x), jnp.asarray(goal)) - x.mean()))
    message = f"mixing again and again must lead to the average; after {PATIENCE} exchanges they disagree by {left}."
    need(left <= 1.01 * goal, message)


def _check_batch(network: Network, values: Values, key: Array) -> None:
    batch, ups = np.stack([values, values[::-1]]), np.stack([_up(network, key, k) for k in (0, 1)])
    many = jax.vmap(_exchange, in_axes=(None, 0, 0, 0))(network, batch, np.arange(2), ups)
    for k in range(2):
        mixed, sent = _exchange(network, jnp.asarray(batch[k]), k, jnp.asarray(ups[k]))
        close = abs(many[0][k] - mixed) <= 1e-12
        need(close, "mix must give the same values for one batch entry as for many under vmap; it does not.")
        same = many[1][k] == sent
        need(same, "messages must be the same for one batch entry as for many under vmap; they are not.")


def _check_precision(network: Network, key: Array) -> None:
    """Types only, so nothing is compiled but the draws."""

    def mixed_as(dtype: Any) -> Any:
        values = np.zeros((network.n_agents, 2), dtype)
        return jax.eval_shape(lambda v: network.mix(v, 0, network.links_up(key, 0)), values).dtype

    need((got := mixed_as(np.float32)) == np.float32, f"mix must keep float32 values in float32; it gave {got}.")
    up = np.asarray(_up(network, key, 0))
    with double():
        for dtype in (np.float32, np.float64):
            got = mixed_as(dtype)
            need(got == dtype, f"mix must keep {np.dtype(dtype)} values in double mode too; it gave {got}.")
        same = np.asarray(_up(network, key, 0)) == up
    need(same, "links_up must fail the same links in single and in double mode; it does not.")


def _disagreement(x: Values) -> float:
    return float(np.linalg.norm(x - x.mean(axis=0)))
