"""How a batch of infeasible projections is run: in which chunks, by which code, on which device.

An oracle is written for one agent. A batched loop runs until its slowest agent is done, so a large batch is split into
chunks: a slow agent then delays only its chunk, and the chunk fits the processor's cache.

| device | an oracle in JAX alone           | an oracle that has code for batches (`ProjectsBatches`)    |
|--------|----------------------------------|------------------------------------------------------------|
| CPU    | chunks of `CHUNK` under vmap     | its code, in chunks of the length that it asks for         |
| GPU    | one kernel (`gpu.fits`), else all agents at once | the same                                  |

Results do not depend on the chunks. The last chunk is filled up by repeating the last agent, whose additional linear
oracle calls are not part of any agent's bill.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array
from jax.custom_batching import custom_vmap

from droculo.oracles import native
from droculo.oracles.contract import InfeasibleProjection, Memory, Projection
from droculo.sets import Set

#: agents whose loops run together on a CPU: 4 to 20 cost the same per agent, 64 twice as much
CHUNK = 16
#: the same where every agent has a loop of its own, and only the oracle's answers are shared
NATIVE_CHUNK = 128
#: agents per program of a GPU's kernel
AGENTS_PER_PROGRAM = 1


class BatchCode(NamedTuple):
    """Code that projects a batch: `project`, all of whose arrays but the set's have one axis more, or several."""

    project: Callable[..., Projection]
    chunk: int | None = NATIVE_CHUNK  # agents at a time on a CPU; None: all of them


@runtime_checkable
class ProjectsBatches(Protocol):
    """An oracle that has its own code for batches. The contract does not ask for it."""

    def batch_code(self, dtype: Any) -> BatchCode | None:
        """The code for numbers of this type, or None if it cannot run here."""


def project(
    oracle: InfeasibleProjection, domain: Set, x0: Array, y0: Array, tolerance: Array, memory: Memory
) -> Projection:
    """`oracle.project(domain, x0, y0, tolerance, memory)`. Under vmap the batch is run chunk by chunk.

    >>> from droculo import oracles, sets
    >>> simplex, oracle = sets.Simplex(2), oracles.ActiveSet()
    >>> x0 = jnp.array([0.5, 0.5])
    >>> out = project(oracle, simplex, x0, jnp.array([2.0, 0.0]), jnp.asarray(0.01), oracle.init(simplex, x0))
    >>> out.x.tolist(), bool(out.converged)
    ([1.0, 0.0], True)
    """
    y0 = native.once(jnp.asarray(y0))  # y0 is a sum of gradients, which would be computed again at every use
    if jax.config.jax_disable_jit:  # type: ignore[attr-defined]
        return oracle.project(domain, x0, y0, tolerance, memory)
    code = oracle.batch_code(y0.dtype) if isinstance(oracle, ProjectsBatches) else None
    arrays, rest = eqx.partition(domain, eqx.is_array)
    # Sets hold float64 arrays of NumPy: as JAX arrays they get the precision of this trace, not of an earlier one.
    arrays, own = jax.tree.map(jnp.asarray, (arrays, (x0, y0, tolerance, memory)))
    out: Projection = _Batching(oracle, code, rest).call(0)(arrays, own)
    return out


def over(axes: int, function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` under `axes` vmaps, over the leading axes of all its arguments."""
    return function if axes == 0 else jax.vmap(over(axes - 1, function))


@dataclass(frozen=True)
class _Batching:
    """Functions of (arrays of the set, arrays of each agent), for one oracle and the static part `rest` of a set."""

    oracle: InfeasibleProjection
    code: BatchCode | None
    rest: Any

    def call(self, axes: int) -> Callable[[Any, Any], Any]:
        """The projection of agents with `axes` axes before their own; under a vmap, the same with one axis more."""
        here = partial(self.in_chunks, axes=axes) if axes else self.alone
        call = custom_vmap(here)

        @call.def_vmap
        def under_vmap(size: int, batched: Any, arrays: Any, own: Any) -> tuple[Any, Any]:
            if any(jax.tree.leaves(batched[0])):  # the set itself differs from agent to agent
                which = jax.tree.map(lambda its: 0 if its else None, tuple(batched))
                out = jax.vmap(here, in_axes=which, axis_size=size)(arrays, own)
            else:
                own = jax.tree.map(lambda x, its: x if its else jnp.broadcast_to(x, (size, *x.shape)), own, batched[1])
                out = self.call(axes + 1)(arrays, own)
            return out, jax.tree.map(lambda _: True, out)

        return call

    def alone(self, arrays: Any, own: Any) -> Any:
        """One agent."""
        domain = eqx.combine(arrays, self.rest)
        if self.code is None:
            return self.oracle.project(domain, *own)
        out = self.code.project(domain, *jax.tree.map(lambda leaf: leaf[None], own))
        return jax.tree.map(lambda leaf: leaf[0], out)

    def together(self, arrays: Any, own: Any, axes: int) -> Any:
        """All agents at once."""
        if self.code is not None:
            return self.code.project(eqx.combine(arrays, self.rest), *own)
        return over(axes, lambda own: self.alone(arrays, own))(own)

    def in_chunks(self, arrays: Any, own: Any, axes: int) -> Any:
        """All agents, in chunks where that is faster on this device."""
        shape = jax.tree.leaves(own)[0].shape[:axes]
        size, backend = math.prod(shape), jax.default_backend()
        chunk = CHUNK if self.code is None else self.code.chunk
        if backend == "cpu" and (chunk is None or size < 2 * chunk):
            return self.together(arrays, own, axes)
        own = jax.tree.map(lambda leaf: leaf.reshape(size, *leaf.shape[axes:]), own)
        if backend == "cpu" and chunk is not None:
            out = self.one_after_another(arrays, own, size // chunk)
        else:
            out = self.on_accelerator(arrays, own, backend)
        return jax.tree.map(lambda leaf: leaf.reshape(*shape, *leaf.shape[1:]), out)

    def one_after_another(self, arrays: Any, own: Any, chunks: int) -> Any:
        size = jax.tree.leaves(own)[0].shape[0]
        # The last chunk is filled up with copies of the last agent.
        agents = jnp.minimum(jnp.arange(chunks * -(-size // chunks)), size - 1).reshape(chunks, -1)
        out = jax.lax.map(lambda chunk: self.together(arrays, jax.tree.map(lambda leaf: leaf[chunk], own), 1), agents)
        return jax.tree.map(lambda leaf: leaf.reshape(agents.size, *leaf.shape[2:])[:size], out)

    def on_accelerator(self, arrays: Any, own: Any, backend: str) -> Any:
        if backend == "gpu":
            from droculo.oracles import gpu  # imported here because Pallas takes time to load

            if gpu.fits(arrays, own):
                return gpu.in_kernel(self.alone, arrays, own, AGENTS_PER_PROGRAM)
        return self.together(arrays, own, 1)
