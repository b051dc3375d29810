"""On a GPU: the loops of a few agents inside one kernel, independent of all other agents, with their state in registers.

A batched loop outside of a kernel reads and writes the state of all agents in every iteration, asks the host whether to
continue, and runs until the slowest agent is done. Here the same function becomes a Pallas kernel (Triton). Triton supports
fewer operations than XLA: `_simplified` expresses the others (boolean reductions, small products) by those it supports.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.experimental import pallas
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

#: numbers of a program's largest array that the registers of one warp hold, together with the others
ONE_WARP = 32 * 32


def warps(own: Any, tile: int) -> int:
    """The number of warps of a kernel's program: one, or four where one would run out of registers.

    At d = 32 with 10^5 agents, memories of 16 points take 1.1 ms with one, 1.5 with two, 1.8 with four; of 32, 2.4 with one and 2.5
    with two; of 64, 17 with one, 8.8 with two, 8.5 with four and 12 with eight.
    """
    largest = tile * max(math.prod(leaf.shape[1:]) for leaf in jax.tree.leaves(own))
    return 1 if largest <= ONE_WARP else 4


def fits(shared: Any, own: Any) -> bool:
    """True if Triton supports these arrays: all lengths but the agent axis are powers of two, and none is float64."""
    lengths = [n for leaf in jax.tree.leaves(shared) for n in jnp.shape(leaf)]
    lengths += [n for leaf in jax.tree.leaves(own) for n in jnp.shape(leaf)[1:]]
    wide = any(jnp.result_type(leaf) == np.float64 for leaf in jax.tree.leaves((shared, own)))
    return not wide and all(n & (n - 1) == 0 for n in lengths)


def in_kernel(function: Callable[[Any, Any], Any], shared: Any, own: Any, tile: int) -> Any:
    """vmap of `function(shared, own)` over the first axis of `own`, `tile` agents (a power of two) to a program."""
    from jax.experimental.pallas import triton

    size = jax.tree.leaves(own)[0].shape[0]
    programs = -(-size // tile)
    whole = jax.vmap(function, in_axes=(None, 0))
    example = jax.tree.map(lambda leaf: _of_length(leaf, tile), own)
    closed, shape = jax.make_jaxpr(whole, return_shape=True)(shared, example)
    given, (outs, structure) = jax.tree.leaves((shared, own)), jax.tree.flatten(shape)
    count = len(jax.tree.leaves(shared))
    # Constants found in tracing (such as a range of indices) are passed with the shared arrays.
    given = [jnp.asarray(c) for c in closed.consts] + given
    count += len(closed.consts)
    single = [leaf.ndim == 0 for leaf in given[:count]]  # kernels take blocks, not scalars

    def kernel(*refs: Any) -> None:
        read = [ref[0] if i < count and single[i] else ref[...] for i, ref in enumerate(refs[: len(given)])]
        for ref, value in zip(refs[len(given) :], _simplified(closed.jaxpr, read), strict=True):
            ref[...] = value.astype(ref.dtype)

    def block(shape: tuple[int, ...], mine: bool) -> pallas.BlockSpec:
        if mine:
            return pallas.BlockSpec((tile, *shape[1:]), lambda i: (i, *(0 for _ in shape[1:])))
        return pallas.BlockSpec(shape, lambda i: tuple(0 for _ in shape))

    padded = [jnp.atleast_1d(leaf) if i < count else _padded(leaf, programs * tile) for i, leaf in enumerate(given)]
    found = pallas.pallas_call(
        kernel,
        grid=(programs,),
        in_specs=[block(leaf.shape, i >= count) for i, leaf in enumerate(padded)],
        out_specs=[block(leaf.shape, True) for leaf in outs],
        out_shape=[_of_length(leaf, programs * tile) for leaf in outs],
        compiler_params=triton.CompilerParams(num_warps=warps(own, tile)),
    )(*padded)
    return jax.tree.unflatten(structure, [leaf[:size] for leaf in found])


def _of_length(leaf: Any, agents: int) -> Any:
    """The type of `leaf` for this number of agents."""
    return jax.ShapeDtypeStruct((agents, *leaf.shape[1:]), leaf.dtype)  # type: ignore[no-untyped-call]


def _padded(leaf: Array, size: int) -> Array:
    """`leaf` with the last agent repeated, so that the last program is full."""
    short = size - leaf.shape[0]
    return jnp.concatenate([leaf, jnp.broadcast_to(leaf[-1:], (short, *leaf.shape[1:]))]) if short else leaf


def _simplified(jaxpr: Jaxpr, args: list[Any]) -> list[Any]:
    """Evaluate, with every operation that Triton lacks expressed by those that it has."""
    values: dict[Any, Any] = {}

    def read(atom: Any) -> Any:
        return atom.val if isinstance(atom, Literal) else values[atom]

    values.update(zip([*jaxpr.constvars, *jaxpr.invars], args, strict=True))
    for eqn in jaxpr.eqns:
        found = _apply(eqn, [read(v) for v in eqn.invars])
        values.update(zip(eqn.outvars, found, strict=True))
    return [read(v) for v in jaxpr.outvars]


def _apply(eqn: Any, args: list[Any]) -> list[Any]:
    name, params = eqn.primitive.name, eqn.params
    if name in ("reduce_and", "reduce_or"):
        number = args[0].astype(jnp.int32)
        both = name == "reduce_and"
        return [(number.min(params["axes"]) if both else number.max(params["axes"])) > 0]
    if name == "dot_general":
        return [_product(args[0], args[1], params["dimension_numbers"])]
    if name == "while":
        return _loop(args, params)
    inner = params.get("jaxpr") or params.get("call_jaxpr") or params.get("call")
    if isinstance(inner, ClosedJaxpr):
        return _simplified(inner.jaxpr, [*inner.consts, *args])
    found = eqn.primitive.bind(*args, **params)
    return list(found) if eqn.primitive.multiple_results else [found]


def _loop(args: list[Any], params: dict[str, Any]) -> list[Any]:
    cond, body = params["cond_jaxpr"], params["body_jaxpr"]
    first, second = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]

    def active(carry: tuple[Any, ...]) -> Any:
        return _simplified(cond.jaxpr, [*cond.consts, *args[:first], *carry])[0]

    def go_on(carry: tuple[Any, ...]) -> Any:
        each = active(carry)
        return each if each.ndim == 0 else each.astype(jnp.int32).max() > 0

    def turn(carry: tuple[Any, ...]) -> tuple[Any, ...]:
        new = _simplified(body.jaxpr, [*body.consts, *args[first:second], *carry])
        each = active(carry)  # a batched loop: finished agents keep their values
        return tuple(
            jnp.where(each.reshape(*each.shape, *(1,) * (after.ndim - each.ndim)), after, before)
            for after, before in zip(new, carry, strict=True)
        )

    out: Any = jax.lax.while_loop(go_on, turn, tuple(args[second:]))
    return list(out)


def _product(a: Array, b: Array, dimensions: Any) -> Array:
    """A small dot product, as a sum of products. Order of axes: batch, free of a, free of b, contracted."""
    (over_a, over_b), (batch_a, batch_b) = dimensions
    free_a = [i for i in range(a.ndim) if i not in (*over_a, *batch_a)]
    free_b = [i for i in range(b.ndim) if i not in (*over_b, *batch_b)]
    left = jnp.transpose(a, (*batch_a, *free_a, *over_a))
    right = jnp.transpose(b, (*batch_b, *free_b, *over_b))
    n, p, q = len(batch_a), len(free_a), len(free_b)
    left = left.reshape(*left.shape[: n + p], *(1,) * q, *left.shape[n + p :])
    right = right.reshape(*right.shape[:n], *(1,) * p, *right.shape[n:])
    return (left * right).sum(axis=tuple(range(n + p + q, n + p + q + len(over_a))))
