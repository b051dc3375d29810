"""The compiled part of the simulator: agents under vmap, blocks under one loop, no Python per agent or round."""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from droculo.algorithms import Answers, Keys, OracleCalls, SlotPlay
from droculo.engine.block import AgentBlock, Kept, RunKeys, Shape, World, answers

AXIS = "agents"


class Bill(NamedTuple):
    """What a stretch cost every agent."""

    messages: Array
    spent: OracleCalls


class SimulatedPorts(eqx.Module):
    """The two ports of one agent, inside a vmap over all of them."""

    world: World
    agent: Array
    network_key: Array
    noise_key: Array
    block: Array

    def ask(self, played: SlotPlay, order: int) -> Answers:
        return answers(self.world.problem, self.agent, self.noise_key, played, order)

    def mix(self, tree: Any, index: int | Array = 0) -> Any:
        network = self.world.network
        exchange = self.block * self.world.algorithm.exchanges + index
        up = network.links_up(self.network_key, exchange)

        def average(mine: Array) -> Array:
            everyone = jax.lax.all_gather(mine, AXIS)
            return network.mix(everyone, exchange, up)[jax.lax.axis_index(AXIS)]

        return jax.tree.map(average, tree)


def stretch(
    world: World, shape: Shape, states: Any, keys: Array, start: Array, count: Array
) -> tuple[Any, Bill, Kept | None]:
    """Run `count` equal blocks from round `start` on, for every key of a batch. One compilation serves all counts:
    `compiling.program` compiles it."""
    return jax.vmap(lambda states, key: _blocks(world, shape, states, key, start, count))(states, keys)


class _Blocks(NamedTuple):
    """The blocks of one run of a batch."""

    world: World
    shape: Shape
    keys: RunKeys
    own: Keys  # of all agents

    def play(self, first: Array, states: Any) -> tuple[Any, Bill, Kept | None]:
        """All agents play the block that begins with round `first`, exchange and update."""
        block = self._number(first)

        def agent(node: Array, keys: Keys, state: Any) -> tuple[Any, OracleCalls, Kept | None]:
            ports, played = self._played(node, keys, state, first)
            total, seen = played.play()
            kept = played.keep(seen)
            state, spent = self.world.algorithm.update(ports, state, total, keys.fold_in(first))
            return state, spent, kept

        new, spent, kept = jax.vmap(agent, axis_name=AXIS)(self.world.agents, self.own, states)
        return new, Bill(_messages(self.world, self.keys.network, block), spent), kept

    def keep(self, first: Array, states: Any) -> Kept | None:
        """What `play` keeps, without the update."""

        def agent(node: Array, keys: Keys, state: Any) -> Kept | None:
            played = self._played(node, keys, state, first)[1]
            return played.keep(played.play()[1])

        return jax.vmap(agent, axis_name=AXIS)(self.world.agents, self.own, states)

    def _played(self, node: Array, keys: Keys, state: Any, first: Array) -> tuple[SimulatedPorts, AgentBlock]:
        noise = jax.random.fold_in(self.keys.noise, node)
        ports = SimulatedPorts(self.world, node, self.keys.network, noise, self._number(first))
        return ports, AgentBlock(self.world, self.shape, ports, state, first, keys)

    def _number(self, first: Array) -> Array:
        return first // (self.world.algorithm.block * self.world.algorithm.slot)


def _blocks(
    world: World, shape: Shape, states: Any, key: Array, start: Array, count: Array
) -> tuple[Any, Bill, Kept | None]:
    rounds = shape.slots * world.algorithm.slot + shape.short
    keys = RunKeys.of(key)
    blocks = _Blocks(world, shape, keys, jax.vmap(keys.of_agent)(world.agents))

    def body(i: Array, carry: tuple[Any, Bill, Kept | None]) -> tuple[Any, Bill, Kept | None]:
        states, bill, buffers = carry
        new, cost, kept = blocks.play(start + i * rounds, states)
        bill = jax.tree.map(lambda total, more: total + more.astype(total.dtype), bill, cost)
        buffers = jax.tree.map(lambda buffer, block: buffer.at[i].set(block), buffers, kept)
        return new, bill, buffers

    # Shapes are found without the update: tracing the oracle takes most of the time.
    like = jax.eval_shape(lambda: blocks.keep(start, states))
    buffers = jax.tree.map(lambda leaf: jnp.zeros((shape.capacity, *leaf.shape), leaf.dtype), like)
    nothing = jnp.zeros(world.agents.shape, jax.dtypes.canonicalize_dtype(jnp.int64))
    bill = Bill(nothing, jax.tree.map(lambda _: nothing, OracleCalls()))
    return jax.lax.fori_loop(0, count, body, (states, bill, buffers))


def _messages(world: World, key: Array, block: Array) -> Array:
    """How many neighbours every agent reached during the block's exchanges."""
    network, exchanges = world.network, world.algorithm.exchanges

    def sent(index: int | Array) -> Array:
        exchange = block * exchanges + index
        return network.messages(exchange, network.links_up(key, exchange))

    total = sent(0)
    return total if exchanges == 1 else jax.lax.fori_loop(1, exchanges, lambda i, sum: sum + sent(i), total)
