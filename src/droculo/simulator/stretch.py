"""The compiled part of the simulator: agents under vmap, blocks under one loop, no Python per agent or round."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from droculo.algorithms.contract import OracleCalls
from droculo.engine.block import AgentBlock, AgentPorts, Kept, RunKeys, Shape, World
from droculo.engine.breaches import Breaches

AXIS = "agents"


class Bill(NamedTuple):
    """What a stretch cost every agent, and what was wrong with the answers."""

    costs: dict[str, Array]
    breaches: Breaches  # (agents, kinds)

    def plus(self, costs: dict[str, Array], breaches: Breaches) -> Bill:
        """With those of one more block."""
        total = {name: self.costs[name] + cost.astype(self.costs[name].dtype) for name, cost in costs.items()}
        return Bill(total, self.breaches | breaches)


class SimulatedPorts(AgentPorts):
    """The agents of the vmap are the network."""

    def mix(self, tree: Any, index: int | Array = 0) -> Any:
        network = self.world.network
        exchange = self.block * self.world.algorithm.exchanges + index
        up = network.links_up(self.keys.network, exchange)

        def average(mine: Array) -> Array:
            everyone = jax.lax.all_gather(mine, AXIS)
            return network.mix(everyone, exchange, up)[jax.lax.axis_index(AXIS)]

        return jax.tree.map(average, tree)


def stretch(
    world: World, shape: Shape, states: Any, keys: Array, start: Array, count: Array
) -> tuple[Any, Bill, Kept | None]:
    """Run `count` equal blocks from round `start` on, for every key of a batch. One compilation serves all counts:
    `compiling.program` compiles it."""
    if len(keys) == 1:  # without a batch axis of length one: tracing it takes half as long again
        only = _blocks(world, shape, jax.tree.map(lambda leaf: leaf[0], states), keys[0], start, count)
        return jax.tree.map(lambda leaf: leaf[None], only)
    return jax.vmap(lambda states, key: _blocks(world, shape, states, key, start, count))(states, keys)


def _blocks(
    world: World, shape: Shape, states: Any, key: Array, start: Array, count: Array
) -> tuple[Any, Bill, Kept | None]:
    algorithm, keys = world.algorithm, RunKeys.of(key)

    def of_agents(what: Callable[[AgentBlock], Any], first: Array, states: Any) -> Any:
        """`what` of the block of every agent that begins with round `first`."""

        def one(agent: Array, state: Any) -> Any:
            ports = SimulatedPorts(world, keys, agent, first // (algorithm.block * algorithm.slot))
            return what(AgentBlock(ports, shape, state, first))

        return jax.vmap(one, axis_name=AXIS)(world.agents, states)

    def body(i: Array, carry: tuple[Any, Bill, Kept | None]) -> tuple[Any, Bill, Kept | None]:
        states, bill, buffers = carry
        first = start + i * (shape.slots * algorithm.slot + shape.short)
        new, spent, breaches, kept = of_agents(AgentBlock.whole, first, states)
        cost = {"messages": _messages(world, keys.network, first // (algorithm.block * algorithm.slot)), **vars(spent)}
        return (
            new,
            bill.plus(cost, breaches),
            jax.tree.map(lambda buffer, block: buffer.at[i].set(block), buffers, kept),
        )

    # Shapes are found without the update: tracing the oracle takes most of the time.
    like = jax.eval_shape(lambda: of_agents(lambda block: block.keep(block.play()[1]), start, states))
    buffers = jax.tree.map(lambda leaf: jnp.zeros((shape.capacity, *leaf.shape), leaf.dtype), like)
    nothing = jnp.zeros(world.agents.shape, jax.dtypes.canonicalize_dtype(jnp.int64))
    costs = dict.fromkeys(["messages", *vars(OracleCalls())], nothing)
    breaches = jax.vmap(lambda _: Breaches.none())(world.agents)
    return jax.lax.fori_loop(0, count, body, (states, Bill(costs, breaches), buffers))


def _messages(world: World, key: Array, block: Array) -> Array:
    """How many neighbours every agent reached during the block's exchanges."""
    network, exchanges = world.network, world.algorithm.exchanges

    def sent(index: int | Array) -> Array:
        exchange = block * exchanges + index
        return network.messages(exchange, network.links_up(key, exchange))

    total = sent(0)
    return total if exchanges == 1 else jax.lax.fori_loop(1, exchanges, lambda i, sum: sum + sent(i), total)
