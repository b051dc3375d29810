"""What DMFW and Mono-DMFW share: K Frank-Wolfe steps through the network, each guided by a perturbed leader."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from droculo.algorithms.base import Ports
from droculo.algorithms.schedules import Scales
from droculo.expect import expect
from droculo.feedback import full_information
from droculo.linearizations import Linearization, Setting
from droculo.sets import Set
from droculo.sets.geometry import Vector


class Heard(eqx.Module):
    """The sum of a block's shares: the gradient of every inner step, and the random bits for the perturbations."""

    gradients: Array  # (K, d)
    bits: Array  # a random key's


class Leaders(eqx.Module):
    """The path of an agent, x^1 .. x^(K+1), and what its K online linear maximisers have heard so far."""

    path: Array  # (K + 1, d)
    totals: Array  # (K, d)


def begin(domain: Set, inner: int) -> Leaders:
    """Nothing is known: every v^k is the center, the same for all agents, so that nobody needs to be asked."""
    center = jnp.asarray(domain.center)
    steps = jnp.arange(inner + 1, dtype=center.dtype) / inner
    return Leaders(steps[:, None] * center, jnp.zeros((inner, domain.dim), center.dtype))


def end_of_block(ports: Ports, domain: Set, width: Array, rho: Array, state: Leaders, heard: Heard) -> Leaders:
    """Feed d^1 .. d^K to the maximisers, and walk the path of the next block. 2 K exchanges, K calls of the LOO."""
    inner = rho.shape[0]
    steps = jnp.arange(inner)
    nothing = jnp.zeros(domain.dim, state.path.dtype)

    def track(carry: tuple[Array, Array], step: tuple[Array, Array, Array]) -> tuple[tuple[Array, Array], Array]:
        g, d = carry
        k, rho_k, gradient = step
        new = (1 - rho_k) * g + rho_k * gradient
        d = ports.mix(d, k) + new - g
        return (new, d), d

    _, feeds = jax.lax.scan(track, (nothing, nothing), (steps, rho, heard.gradients))
    totals = state.totals + feeds
    key = jax.random.wrap_key_data(heard.bits.astype(jnp.uint32), impl="threefry2x32")  # a sum over slots is wider
    noise = width * jax.random.uniform(key, totals.shape, totals.dtype)

    def walk(x: Array, step: tuple[Array, Array]) -> tuple[Array, Array]:
        k, leader = step
        x = ports.mix(x, inner + k) + domain.argmax(leader) / inner
        return x, x

    _, path = jax.lax.scan(walk, nothing, (steps, totals + noise))
    return Leaders(jnp.concatenate([nothing[None], path]), totals)


def perturbation(setting: Setting, feeds: float, scales: Scales | None) -> Vector:
    """The width of the perturbations: G sqrt(number of feeds), over the scale of the step: a longer step is a smaller
    perturbation. (Our choice: Kalai and Vempala's, with its l1 diameter and l1 bound replaced by sqrt(d) times the
    Euclidean ones, which cancel.)
    """
    step = (scales or Scales()).step_for(full_information(), setting.linearization)
    return np.asarray(float(setting.bounds.gradient) * np.sqrt(feeds) / step)


def random_bits(key: Array) -> Array:
    """Two words of a key, of whichever kind, that can be added to zeros."""
    return jax.random.key_data(key)[..., :2]


def whole_number(value: int, what: str) -> int:
    """A count, or an error."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ValueError(f"{what} is a whole number, at least 1; got {value!r}.")
    return int(value)


def needs_zero(setting: Setting, who: str) -> Linearization:
    """These walks begin at 0, and only monotone functions reward that."""
    expect(setting, Setting, "setting", "Pass problem.setting.")
    linearization, domain = setting.linearization, setting.set
    if linearization.case != "A2" or not domain.contains_origin:
        raise ValueError(
            f"{who} is for monotone functions on a set that contains 0 (case A2); got case {linearization.case} on "
            f"{type(domain).__name__}. Use Droculo, which covers this case."
        )
    return linearization.for_set(domain)
