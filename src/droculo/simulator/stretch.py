"""The compiled part of the simulator: agents under vmap, blocks under one loop, no Python per agent or round."""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from droculo.algorithms import Answers, Keys, OracleCalls, SlotPlay
from droculo.engine.block import Kept, RunKeys, Shape, World, answers, keep_block, play_block

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


def _blocks(
    world: World, shape: Shape, states: Any, key: Array, start: Array, count: Array
) -> tuple[Any, Bill, Kept | None]:
    rounds = shape.slots * world.algorithm.slot + shape.short
    full = world.algorithm.block * world.algorithm.slot
    run = RunKeys.of(key)
    keys = jax.vmap(run.of_agent)(world.agents)

    def one(first: Array, states: Any, moves: bool = True) -> tuple[Any, Bill | None, Kept | None]:
        block = first // full

        def live(agent: Array, keys: Keys, state: Any) -> tuple[Any, Any, Kept | None]:
            ports = SimulatedPorts(world, agent, run.network, jax.random.fold_in(run.noise, agent), block)
            total, seen = play_block(world, shape, ports, state, first, keys)
            kept = keep_block(world, shape, ports, state, first, keys, seen)
            if not moves:
                return None, None, kept
            state, spent = world.algorithm.update(ports, state, total, keys.fold_in(first))
            return state, spent, kept

        new, spent, kept = jax.vmap(live, axis_name=AXIS)(world.agents, keys, states)
        return new, Bill(_messages(world, run.network, block), spent) if moves else None, kept

    def body(i: Array, carry: tuple[Any, Bill, Kept | None]) -> tuple[Any, Bill, Kept | None]:
        states, bill, buffers = carry
        new, cost, kept = one(start + i * rounds, states)
        bill = jax.tree.map(lambda total, more: total + more.astype(total.dtype), bill, cost)
        buffers = jax.tree.map(lambda buffer, block: buffer.at[i].set(block), buffers, kept)
        return new, bill, buffers

    # What is kept has the same shape whether agents move on or not; to trace the oracle takes most of the time.
    like = jax.eval_shape(lambda: one(start, states, moves=False))[2]
    buffers = jax.tree.map(lambda leaf: jnp.zeros((shape.capacity, *leaf.shape), leaf.dtype), like)
    nothing = jnp.zeros(world.agents.shape, jax.dtypes.canonicalize_dtype(jnp.int64))
    return jax.lax.fori_loop(
        0, count, body, (states, Bill(nothing, jax.tree.map(lambda _: nothing, OracleCalls())), buffers)
    )


def _messages(world: World, key: Array, block: Array) -> Array:
    """How many neighbours every agent reached during the block's exchanges."""
    network, exchanges = world.network, world.algorithm.exchanges

    def sent(index: int | Array) -> Array:
        exchange = block * exchanges + index
        return network.messages(exchange, network.links_up(key, exchange))

    total = sent(0)
    return total if exchanges == 1 else jax.lax.fori_loop(1, exchanges, lambda i, sum: sum + sent(i), total)
