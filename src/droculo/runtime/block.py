"""The compiled half of a process: its agents under vmap, with neighbours reached through an ordered callback."""

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
from jax.flatten_util import ravel_pytree
from numpy.typing import NDArray

from droculo.algorithms import Algorithm, Answers, OracleCalls, SlotPlay
from droculo.engine.block import AgentBlock, Kept, RunKeys, Shape, World, answers
from droculo.engine.compiling import supported_options
from droculo.networks import Network
from droculo.networks.links import Links, at
from droculo.runtime.exchange import NeighbourExchange, called
from droculo.runtime.partitions import Partition

#: arrays of more numbers than this are handed to a compiled program; smaller ones become a part of it
MOST_FIXED = 4096


class CompiledLinks(eqx.Module):
    """What compiled code knows of a process' links."""

    wire: Array  # the number of the `NeighbourExchange` to call
    links: Links  # stacked along the network's cycle, over the agents that are known here
    ids: Array  # (K, L): which of the network's links they are
    order: Array  # (B + H,): rows of the agents here and then elsewhere, in the order of their numbers
    own: Array  # (B,): where among them the agents here are

    @classmethod
    def of(cls, place: Partition, wire: NeighbourExchange) -> CompiledLinks:
        both = np.concatenate([place.agents, place.elsewhere])
        return cls(
            wire=jnp.asarray(wire.number, jnp.int32),
            links=place.links,
            ids=jnp.asarray(place.ids),
            order=jnp.asarray(np.argsort(both)),
            own=jnp.asarray(np.searchsorted(place.known, place.agents)),
        )


class WiredPorts(eqx.Module):
    """The two ports of one agent of a process, inside a vmap over all of that process."""

    world: World
    cable: CompiledLinks
    agent: Array
    keys: RunKeys
    block: Array

    def ask(self, played: SlotPlay, order: int) -> Answers:
        return answers(self.world.problem, self.agent, jax.random.fold_in(self.keys.noise, self.agent), played, order)

    def mix(self, tree: Any, index: int | Array = 0) -> Any:
        return mix(self.world.algorithm, self.world.network, self.cable, self.keys.network, self.block, tree, index)


def mix(
    algorithm: Algorithm,
    network: Network,
    cable: CompiledLinks,
    key: Array,
    block: Array,
    tree: Any,
    index: int | Array,
) -> Any:
    """One agent's part of an exchange; the vmap over all agents of the process makes one call of the host of it."""
    row, unravel = ravel_pytree(tree)
    number = block * algorithm.exchanges + index
    up = network.links_up(key, number)

    @custom_vmap
    def exchange(algorithm: Algorithm, cable: CompiledLinks, number: Array, up: Array, row: Array) -> Array:
        return row  # an agent outside of the vmap over its process: nobody to talk to

    @exchange.def_vmap
    def _together(size: int, batched: Any, algorithm: Any, cable: Any, number: Any, up: Any, rows: Any) -> Any:
        here = up[cable.ids[number % cable.ids.shape[0]]]
        heard, said, counts = _call(cable, number, here, rows)
        credible = jax.vmap(lambda row: algorithm.credible(unravel(row), number % algorithm.exchanges))(heard)
        incredible = said & ~jnp.asarray(credible)
        counts &= jax.lax.cond(
            jnp.any(incredible), lambda: _refuse(cable, number, incredible, counts), lambda: jnp.ones_like(counts)
        )
        known = jnp.concatenate([rows, heard])[cable.order]
        mixed = at(cable.links, number).mix(known, here * counts)
        return mixed[cable.own], True

    return unravel(exchange(algorithm, cable, jnp.asarray(number), up, row))


def _call(cable: CompiledLinks, number: Array, up: Array, rows: Array) -> tuple[Array, Array, Array]:
    """One call of the host, with one argument: JAX takes 20 microseconds for each. It is made of 32-bit words, since in threads
    of its own JAX would round doubles to float32."""
    dtype, (own, width) = np.dtype(rows.dtype), rows.shape
    elsewhere, links = cable.order.shape[0] - own, up.shape[0]
    bits = jax.lax.bitcast_convert_type(rows, jnp.uint32)
    number = number.astype(jax.dtypes.canonicalize_dtype(jnp.int64))
    high = number >> 32 if number.dtype == jnp.int64 else jnp.zeros_like(number)
    head = jnp.stack([cable.wire.astype(number.dtype), number & 0xFFFFFFFF, high]).astype(jnp.uint32)
    letter = jnp.concatenate([head, (up > 0).astype(jnp.uint32), bits.ravel()])
    like = jax.ShapeDtypeStruct((elsewhere, *bits.shape[1:]), jnp.uint32)  # type: ignore[no-untyped-call]
    flags = [jax.ShapeDtypeStruct((n,), jnp.bool_) for n in (elsewhere, links)]  # type: ignore[no-untyped-call]

    def host(letter: Any) -> tuple[NDArray, ...]:
        words = np.asarray(letter)
        mine = words[3 + links :].view(dtype).reshape(own, width)
        count = int(words[2]) << 32 | int(words[1])
        heard, said, counts = called(words[0]).exchange(count, words[3 : 3 + links] > 0, mine)
        return heard.view(np.uint32).reshape(like.shape), said, counts

    heard, said, counts = io_callback(host, (like, *flags), letter, ordered=True)
    return jax.lax.bitcast_convert_type(heard, rows.dtype), said, counts


def _refuse(cable: CompiledLinks, number: Array, incredible: Array, counts: Array) -> Array:
    like = jax.ShapeDtypeStruct(counts.shape, jnp.bool_)  # type: ignore[no-untyped-call]

    def host(wire: Any, number: Any, incredible: Any) -> NDArray[np.bool_]:
        return called(wire).refuse(number, incredible)

    return io_callback(host, like, cable.wire, number, incredible, ordered=True)


def live(
    world: World, cable: CompiledLinks, shape: Shape, states: Any, key: Array, first: Array
) -> tuple[Any, OracleCalls, Kept | None]:
    """One block of all agents of a process, from round `first` on."""
    keys = RunKeys.of(key)
    block = first // (world.algorithm.block * world.algorithm.slot)

    def one(agent: Array, state: Any) -> tuple[Any, OracleCalls, Kept | None]:
        ports = WiredPorts(world, cable, agent, keys, block)
        own = keys.of_agent(agent)
        played = AgentBlock(world, shape, ports, state, first, own)
        total, seen = played.play()
        kept = played.keep(seen)
        state, spent = world.algorithm.update(ports, state, total, own.fold_in(first))
        return state, spent, kept

    return jax.vmap(one)(world.agents, states)


class Step:
    """`live`, compiled for every shape of block. What stays the same becomes a part of the program, unless it is large: JAX
    hands every argument of a program that calls back over one by one, in Python, and blocks are short."""

    def __init__(self, world: World, cable: CompiledLinks, key: Array, quick: bool):
        self.moving = cable.wire, key
        fixed = (world, eqx.tree_at(lambda cable: cable.wire, cable, None))
        self.large, small = eqx.partition(fixed, lambda leaf: eqx.is_array_like(leaf) and np.size(leaf) > MOST_FIXED)
        self.large = jax.tree.map(jnp.asarray, self.large)
        self.small = _Same(small)
        self.quick = quick

    def __call__(self, shape: Shape, states: Any, first: int) -> tuple[Any, Any, Kept | None]:
        return _compiled(self.small, shape, self.quick)(self.large, self.moving, states, np.int64(first))

    def traced(self, shape: Shape, states: Any) -> Any:
        bound = _bound(self.small.tree, shape)
        return eqx.filter_make_jaxpr(bound)(self.large, self.moving, states, jnp.asarray(0))[0]


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


def _bound(small: Any, shape: Shape) -> Callable[..., Any]:
    def run(large: Any, moving: Any, states: Any, first: Array) -> tuple[Any, Any, Kept | None]:
        world, cable = eqx.combine(large, small)
        wire, key = moving
        cable = eqx.tree_at(lambda cable: cable.wire, cable, wire, is_leaf=lambda leaf: leaf is None)
        return live(world, cable, shape, states, key, first)

    return run


@lru_cache(maxsize=8)
def _compiled(small: _Same, shape: Shape, quick: bool) -> Callable[..., Any]:
    """One program for all seeds of a cell."""
    return jax.jit(_bound(small.tree, shape), compiler_options=supported_options() if quick else None)
