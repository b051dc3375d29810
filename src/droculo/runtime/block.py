"""The compiled block of a process: its agents under vmap, with neighbours reached through an ordered callback."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.custom_batching import custom_vmap
from jax.experimental import io_callback
from numpy.typing import NDArray

from droculo.algorithms import Algorithm
from droculo.algorithms.contract import OracleCalls
from droculo.algorithms.timetable import Span
from droculo.engine.block import AgentBlock, AgentPorts, Kept, RunKeys, Shape, World
from droculo.engine.breaches import Breaches
from droculo.engine.compiling import supported_options
from droculo.networks.links import Links, at
from droculo.runtime.exchange import NOT_FINITE, NeighbourExchange, exchange_of
from droculo.runtime.messages import message_of

#: arrays of more numbers than this are handed to a compiled program; smaller ones become a part of it
MOST_FIXED = 4096


class CompiledLinks(eqx.Module):
    """What compiled code knows of a process' links."""

    handle: Array  # the handle of the `NeighbourExchange` to call
    stacked: Links  # along the network's cycle, over the agents that are known here
    ids: Array  # (K, L): which of the network's links they are
    order: Array  # (B + H,): rows of the agents here and then elsewhere, in the order of their numbers
    own: Array  # (B,): where among them the agents here are

    @classmethod
    def of(cls, exchange: NeighbourExchange) -> CompiledLinks:
        partition = exchange.partition
        order = np.argsort(np.concatenate([partition.agents, partition.elsewhere]))
        most = partition.links.weight.shape[1]
        return cls(
            handle=jnp.asarray(exchange.handle, jnp.int32),
            stacked=partition.links,
            ids=jnp.asarray(np.stack([np.pad(part.ids, (0, most - len(part.ids))) for part in partition.parts])),
            order=jnp.asarray(order),
            own=jnp.asarray(np.argsort(order)[: len(partition.agents)]),
        )


class ProcessPorts(AgentPorts):
    """The other agents of the process are in the vmap, and its neighbours are called."""

    links: CompiledLinks

    def mix(self, tree: Any, index: int | Array = 0) -> Any:
        """One agent's part of an exchange. The vmap over all agents of the process turns it into one call of the host."""
        message = message_of(tree)
        number = self.block * self.world.algorithm.exchanges + index
        up = self.world.network.links_up(self.keys.network, number)

        @custom_vmap
        def exchange(algorithm: Algorithm, links: CompiledLinks, number: Array, up: Array, row: Array) -> Any:
            # Outside of the vmap over its process an agent has no neighbours.
            alone = message.mixed(row[None], lambda v: v if jnp.issubdtype(v.dtype, jnp.inexact) else v * 1.0)
            return jax.tree.map(lambda leaf: leaf[0], alone)

        @exchange.def_vmap
        def _of_process(size: int, batched: Any, algorithm: Any, links: Any, number: Any, up: Any, rows: Any) -> Any:
            here = up[links.ids[number % links.ids.shape[0]]]
            heard, said, counts = _call(links, number, here, rows)
            credible = jax.vmap(lambda row: algorithm.credible(message.tree(row), number % algorithm.exchanges))(heard)
            finite = message.finite(heard)
            doubts = jnp.where(finite, said & ~jnp.asarray(credible), NOT_FINITE * said)
            counts &= jax.lax.cond(
                jnp.any(doubts > 0), lambda: _refuse(links, number, doubts, counts), lambda: jnp.ones_like(counts)
            )
            heard = jnp.where(finite[:, None], heard, jnp.zeros_like(heard))  # a weight of zero does not take NaN away
            known, stacked = jnp.concatenate([rows, heard])[links.order], at(links.stacked, number)
            mixed = message.mixed(known, lambda values: stacked.mix(values, here * counts)[links.own])
            return mixed, jax.tree.map(lambda _: True, mixed)

        return exchange(self.world.algorithm, self.links, jnp.asarray(number), up, message.row(tree))


def _call(links: CompiledLinks, number: Array, up: Array, rows: Array) -> tuple[Array, Array, Array]:
    """One call of the host, with one argument, since JAX takes 20 microseconds for each. It is made of 32-bit words, since
    JAX would round doubles to float32 in threads of its own."""
    dtype, (own, width) = np.dtype(rows.dtype), rows.shape
    elsewhere, local = links.order.shape[0] - own, up.shape[0]
    padding = (0, 0), (0, -width % 4 if dtype == np.uint8 else 0)  # rows of bytes are filled up to whole words
    bits = jnp.pad(rows, padding).view(jnp.uint32)
    number = number.astype(jax.dtypes.canonicalize_dtype(jnp.int64))
    long = number.dtype == jnp.int64  # in single precision exchanges have 32-bit numbers
    low, high = (number & 0xFFFFFFFF, number >> 32) if long else (number, jnp.zeros_like(number))
    head = jnp.stack([links.handle.astype(number.dtype), low, high]).astype(jnp.uint32)
    letter = jnp.concatenate([head, (up > 0).astype(jnp.uint32), bits.ravel()])
    like = jax.ShapeDtypeStruct((elsewhere, bits.shape[1]), jnp.uint32)  # type: ignore[no-untyped-call]
    flags = [jax.ShapeDtypeStruct((n,), jnp.bool_) for n in (elsewhere, local)]  # type: ignore[no-untyped-call]

    def host(letter: Any) -> tuple[NDArray, ...]:
        words = np.asarray(letter)
        mine = words[3 + local :].reshape(bits.shape).view(dtype)[:, :width]
        count = int(words[2]) << 32 | int(words[1])
        heard, said, counts = exchange_of(words[0]).exchange(count, words[3 : 3 + local] > 0, mine)
        return np.pad(heard, padding).view(np.uint32), said, counts

    heard, said, counts = io_callback(host, (like, *flags), letter, ordered=True)
    return heard.view(dtype)[:, :width], said, counts


def _refuse(links: CompiledLinks, number: Array, doubts: Array, counts: Array) -> Array:
    like = jax.ShapeDtypeStruct(counts.shape, jnp.bool_)  # type: ignore[no-untyped-call]

    def host(handle: Any, number: Any, doubts: Any) -> NDArray[np.bool_]:
        return exchange_of(handle).refuse(number, doubts)

    return io_callback(host, like, links.handle, number, doubts, ordered=True)


class CompiledBlock:
    """One block of all agents of a process, compiled for every shape. What stays the same is a part of the program, unless it
    is large: JAX hands every argument of a program that calls back over one by one, in Python, and blocks are short."""

    def __init__(self, world: World, links: CompiledLinks, key: Array, quick: float):
        self.moving = links.handle, key
        fixed = (world, eqx.tree_at(lambda links: links.handle, links, None))
        self.large, small = eqx.partition(fixed, lambda leaf: eqx.is_array_like(leaf) and np.size(leaf) > MOST_FIXED)
        self.large = jax.tree.map(jnp.asarray, self.large)
        self.small = _Same(small)
        self.quick = quick  # how many blocks, from the first, are compiled quickly

    def __call__(self, shape: Shape, states: Any, span: Span) -> tuple[Any, OracleCalls, Breaches, Kept | None]:
        return _compiled(self.small, shape, self.quickly(span))(
            self.large, self.moving, states, Span(*map(np.asarray, span))
        )

    def quickly(self, span: Span) -> bool:
        """True if this block (or the first of these) is compiled quickly."""
        return bool(np.min(span.number) < self.quick)


class _Same:
    """A pytree that equals another with the same structure and the same numbers, bit for bit."""

    def __init__(self, tree: Any):
        self.tree = tree
        leaves, structure = jax.tree.flatten(tree)
        as_key = [(np.asarray(x).tobytes(), str(np.asarray(x).dtype)) if eqx.is_array_like(x) else x for x in leaves]
        self._key = (structure, tuple(as_key))

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self._key == other._key


@lru_cache(maxsize=8)
def _compiled(small: _Same, shape: Shape, quick: bool) -> Callable[..., Any]:
    """One program for all seeds of a cell."""

    def run(large: Any, moving: Any, states: Any, span: Span) -> tuple[Any, OracleCalls, Breaches, Kept | None]:
        world, links = eqx.combine(large, small.tree)
        links = eqx.tree_at(lambda links: links.handle, links, moving[0], is_leaf=lambda leaf: leaf is None)
        keys = RunKeys.of(moving[1])

        def one(agent: Array, state: Any) -> tuple[Any, OracleCalls, Breaches, Kept | None]:
            block = AgentBlock(ProcessPorts(world, keys, agent, span.number, links), shape, state, span)
            return block.whole(block.recorded(), jnp.zeros_like(span.first))

        return jax.vmap(one)(world.agents, states)

    return jax.jit(run, compiler_options=supported_options() if quick else None)
