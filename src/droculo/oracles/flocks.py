"""A batched loop runs to its slowest agent. In small flocks nobody waits long, and what they need stays at hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap

#: agents whose loops run together on a CPU: 4 to 20 cost the same per agent, 64 twice as much
FLOCK = 16
#: and in a program of a GPU's kernel
TILE = 1


def in_flocks(function: Callable[..., Any], shared: Any, *own: Any) -> Any:
    """`function(shared, *own)`. Under a vmap over what is each agent's `own`: flock after flock, each with its own loops.

    On a GPU a flock is a program of one kernel, where the arrays allow that (`kernel.fits`), and else all agents are one.
    """
    if jax.config.jax_disable_jit:  # type: ignore[attr-defined]
        return function(shared, *own)
    arrays, rest = eqx.partition(shared, eqx.is_array)
    # Sets hold NumPy's float64: as JAX arrays they have the precision of this moment, not that of some earlier trace.
    arrays, own = jax.tree.map(jnp.asarray, (arrays, own))

    def one(arrays: Any, own: Any) -> Any:
        return function(eqx.combine(arrays, rest), *own)

    call = custom_vmap(one)

    @call.def_vmap
    def all_of_them(size: int, batched: Any, arrays: Any, own: Any) -> tuple[Any, Any]:
        if any(jax.tree.leaves(batched[0])):  # the set itself differs from agent to agent
            axes = jax.tree.map(lambda its: 0 if its else None, tuple(batched))
            out = jax.vmap(one, in_axes=axes, axis_size=size)(arrays, own)
        else:
            own = jax.tree.map(lambda x, its: x if its else jnp.broadcast_to(x, (size, *x.shape)), own, batched[1])
            out = _each_flock(one, arrays, own, size)
        return out, jax.tree.map(lambda _: True, out)

    return call(arrays, own)


def _each_flock(one: Callable[[Any, Any], Any], arrays: Any, own: Any, size: int) -> Any:
    together = jax.vmap(one, in_axes=(None, 0))
    backend = jax.default_backend()
    if backend == "gpu":
        from droculo.oracles import kernel  # its imports take time, and few need them

        if kernel.fits(arrays, own):
            return kernel.in_kernel(one, arrays, own, TILE)
    if backend != "cpu" or size < 2 * FLOCK:
        return together(arrays, own)
    flocks = size // FLOCK
    # The last flock is filled up with the last agent, again and again.
    members = jnp.minimum(jnp.arange(flocks * -(-size // flocks)), size - 1).reshape(flocks, -1)
    out = jax.lax.map(lambda who: together(arrays, jax.tree.map(lambda leaf: leaf[who], own)), members)
    return jax.tree.map(lambda leaf: leaf.reshape(members.size, *leaf.shape[2:])[:size], out)
