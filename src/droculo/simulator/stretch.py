"""The compiled part of the simulator: agents under vmap, blocks under one loop, no Python per agent or round."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from droculo.algorithms.contract import OracleCalls
from droculo.algorithms.timetable import Span
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


class Decided(NamedTuple):
    """What is recorded of a stretch: rounds, and the decision of every block."""

    kept: Kept | None  # (agents, ...)
    decisions: Array | None  # (blocks, agents, d)


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
    world: World, shape: Shape, states: Any, keys: Array, spans: Span, count: Array
) -> tuple[Any, Bill, Decided]:
    """Run the first `count` of some blocks, for every key of a batch. One compilation serves all blocks of a run:
    `compiling.program` compiles it."""
    if len(keys) == 1:  # without a batch axis of length one: tracing it takes half as long again
        only = _blocks(world, shape, jax.tree.map(lambda leaf: leaf[0], states), keys[0], spans, count)
        return jax.tree.map(lambda leaf: leaf[None], only)
    return jax.vmap(lambda states, key: _blocks(world, shape, states, key, spans, count))(states, keys)


def _blocks(
    world: World, shape: Shape, states: Any, key: Array, spans: Span, count: Array
) -> tuple[Any, Bill, Decided]:
    keys, every = RunKeys.of(key), shape.record.every

    def of_agents(what: Callable[..., Any], span: Span, *own: Any) -> Any:
        """`what` of this block of every agent."""

        def one(agent: Array, state: Any, *rest: Any) -> Any:
            ports = SimulatedPorts(world, keys, agent, span.number)
            return what(AgentBlock(ports, shape, state, span), *rest)

        return jax.vmap(one, axis_name=AXIS)(world.agents, *own)

    def body(i: Array, carry: tuple[Any, Bill, Decided]) -> tuple[Any, Bill, Decided]:
        states, bill, decided = carry
        span, kept = spans.at(i), decided.kept
        row = -(-span.first // every) - -(-spans.first[0] // every) if every else 0
        states_after, spent, breaches, kept = of_agents(lambda block, kept: block.whole(kept, row), span, states, kept)
        cost = {"messages": _messages(world, keys.network, span), **vars(spent)}
        decisions = decided.decisions
        if decisions is not None:
            decisions = decisions.at[i].set(jax.vmap(world.algorithm.decision)(states))
        return states_after, bill.plus(cost, breaches), Decided(kept, decisions)

    decided = Decided(of_agents(AgentBlock.recorded, spans.at(0), states), None)
    if every:
        like = jax.eval_shape(jax.vmap(world.algorithm.decision), states)
        decided = Decided(decided.kept, jnp.zeros((shape.blocks, *like.shape), like.dtype))
    nothing = jnp.zeros(world.agents.shape, jax.dtypes.canonicalize_dtype(jnp.int64))
    costs = dict.fromkeys(["messages", *vars(OracleCalls())], nothing)
    breaches = jax.vmap(lambda _: Breaches.none())(world.agents)
    return jax.lax.fori_loop(0, count, body, (states, Bill(costs, breaches), decided))


def _messages(world: World, key: Array, span: Span) -> Array:
    """How many neighbours every agent reached during the block's exchanges."""
    network, exchanges = world.network, world.algorithm.exchanges

    def sent(index: int | Array) -> Array:
        exchange = span.number * exchanges + index
        return network.messages(exchange, network.links_up(key, exchange)) * span.complete

    total = sent(0)
    return total if exchanges == 1 else jax.lax.fori_loop(1, exchanges, lambda i, sum: sum + sent(i), total)
