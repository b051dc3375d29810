"""A batched loop runs to its slowest agent. In small flocks nobody waits long, and what they need stays in the cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap

#: agents whose loops run together on a CPU: 4 to 20 cost the same per agent, 64 twice as much
FLOCK = 16


def in_flocks(function: Callable[..., Any], shared: Any, *own: Any) -> Any:
    """`function(shared, *own)`. Under a vmap over what is each agent's `own`: one flock after the other, on a CPU."""
    if jax.config.jax_disable_jit:  # step by step, for a debugger: no batches
        return function(shared, *own)
    arrays, rest = eqx.partition(shared, eqx.is_array)

    def one(arrays: Any, own: Any) -> Any:
        return function(eqx.combine(arrays, rest), *own)

    call = custom_vmap(one)

    @call.def_vmap
    def all_of_them(size: int, batched: Any, arrays: Any, own: Any) -> tuple[Any, Any]:
        axes = jax.tree.map(lambda its: 0 if its else None, tuple(batched))
        flocks = size // FLOCK
        if flocks < 2 or jax.default_backend() != "cpu" or any(jax.tree.leaves(batched[0])):
            out = jax.vmap(one, in_axes=axes, axis_size=size)(arrays, own)
        else:
            # The last flock is filled up with the last agent, again and again.
            members = jnp.minimum(jnp.arange(flocks * -(-size // flocks)), size - 1).reshape(flocks, -1)

            def flock(who: Any) -> Any:
                theirs = jax.tree.map(lambda leaf, its: leaf[who] if its else leaf, own, batched[1])
                return jax.vmap(one, in_axes=axes, axis_size=members.shape[1])(arrays, theirs)

            out = jax.tree.map(
                lambda leaf: leaf.reshape(members.size, *leaf.shape[2:])[:size], jax.lax.map(flock, members)
            )
        return out, jax.tree.map(lambda _: True, out)

    return call(arrays, own)
