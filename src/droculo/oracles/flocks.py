"""A batched loop runs to its slowest agent. In small flocks nobody waits long, and what they need stays at hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap

#: agents whose loops run together on a CPU: 4 to 20 cost the same per agent, 64 twice as much
FLOCK = 16
#: the same where each has a loop of its own, and they share only the oracle's answers
HERD = 128
#: and in a program of a GPU's kernel
TILE = 1


def in_flocks(one: Callable[..., Any], many: Callable[..., Any] | None, shared: Any, *own: Any) -> Any:
    """`one(shared, *own)`. Under vmaps over what is each agent's `own`: flock after flock, each with its own loops.

    `many`, if given, does the same for a flock: all arrays of `own` have an axis more, or several. On a GPU a flock is a
    program of one kernel, where the arrays allow that (`kernel.fits`), and else all agents are one.
    """
    if jax.config.jax_disable_jit:  # type: ignore[attr-defined]
        return one(shared, *own)
    arrays, rest = eqx.partition(shared, eqx.is_array)
    # Sets hold NumPy's float64: as JAX arrays they have the precision of this moment, not that of some earlier trace.
    arrays, own = jax.tree.map(jnp.asarray, (arrays, own))

    def alone(arrays: Any, own: Any) -> Any:
        if many is None:
            return one(eqx.combine(arrays, rest), *own)
        out = many(eqx.combine(arrays, rest), *jax.tree.map(lambda leaf: leaf[None], own))
        return jax.tree.map(lambda leaf: leaf[0], out)

    def flock(arrays: Any, own: Any, axes: int) -> Any:
        if many is not None:
            return many(eqx.combine(arrays, rest), *own)
        return over(axes, lambda own: alone(arrays, own))(own)

    def at(axes: int) -> Callable[[Any, Any], Any]:
        """The function of agents with so many axes before their own, which under a vmap is that with one more."""

        def all_of_them(arrays: Any, own: Any) -> Any:
            return _each_flock(alone, flock, arrays, own, axes, FLOCK if many is None else HERD)

        here = all_of_them if axes else alone
        call = custom_vmap(here)

        @call.def_vmap
        def under_vmap(size: int, batched: Any, arrays: Any, own: Any) -> tuple[Any, Any]:
            if any(jax.tree.leaves(batched[0])):  # the set itself differs from agent to agent
                which = jax.tree.map(lambda its: 0 if its else None, tuple(batched))
                out = jax.vmap(here, in_axes=which, axis_size=size)(arrays, own)
            else:
                own = jax.tree.map(lambda x, its: x if its else jnp.broadcast_to(x, (size, *x.shape)), own, batched[1])
                out = at(axes + 1)(arrays, own)
            return out, jax.tree.map(lambda _: True, out)

        return call

    return at(0)(arrays, own)


def over(axes: int, function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` over so many leading axes of all its arguments."""
    return function if axes == 0 else jax.vmap(over(axes - 1, function))


def _each_flock(
    alone: Callable[[Any, Any], Any],
    flock: Callable[[Any, Any, int], Any],
    arrays: Any,
    own: Any,
    axes: int,
    length: int,
) -> Any:
    shape = jax.tree.leaves(own)[0].shape[:axes]
    size, backend = math.prod(shape), jax.default_backend()
    if backend == "cpu" and size < 2 * length:
        return flock(arrays, own, axes)
    own = jax.tree.map(lambda leaf: leaf.reshape(size, *leaf.shape[axes:]), own)
    out = _in_turn(flock, arrays, own, length) if backend == "cpu" else _on_accelerator(alone, flock, arrays, own)
    return jax.tree.map(lambda leaf: leaf.reshape(*shape, *leaf.shape[1:]), out)


def _in_turn(flock: Callable[[Any, Any, int], Any], arrays: Any, own: Any, length: int) -> Any:
    size = jax.tree.leaves(own)[0].shape[0]
    flocks = size // length
    # The last flock is filled up with the last agent, again and again.
    members = jnp.minimum(jnp.arange(flocks * -(-size // flocks)), size - 1).reshape(flocks, -1)
    out = jax.lax.map(lambda who: flock(arrays, jax.tree.map(lambda leaf: leaf[who], own), 1), members)
    return jax.tree.map(lambda leaf: leaf.reshape(members.size, *leaf.shape[2:])[:size], out)


def _on_accelerator(
    alone: Callable[[Any, Any], Any], flock: Callable[[Any, Any, int], Any], arrays: Any, own: Any
) -> Any:
    if jax.default_backend() == "gpu":
        from droculo.oracles import kernel  # its imports take time, and few need them

        if kernel.fits(arrays, own):
            return kernel.in_kernel(alone, arrays, own, TILE)
    return flock(arrays, own, 1)
