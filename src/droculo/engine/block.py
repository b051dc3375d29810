"""One block of one agent, as both drivers compile it: the slots that are played, and the rounds that are recorded."""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array
from jax.experimental.layout import Layout, with_layout_constraint

from droculo.algorithms import Algorithm, Answers, Keys, Ports, SlotPlay
from droculo.engine.record import Record
from droculo.networks import Network
from droculo.problems import Problem
from droculo.sets.membership import slack


class Shape(NamedTuple):
    """What a compiled stretch of blocks depends on: equal blocks of `slots` slots, then one shorter slot or none."""

    capacity: int  # room for this many blocks
    slots: int
    short: int
    record: Record
    at_once: int  # slots are played side by side as long as their plays stay below this many numbers


class Kept(NamedTuple):
    """The recorded rounds of a block; `valid` marks those that exist."""

    rounds: Array
    valid: Array
    actions: Array
    decisions: Array
    queries: Array | None
    outside: Array  # how many of its actions and queries are not in K


class World(eqx.Module):
    """Everything that stays the same during a run."""

    problem: Problem
    algorithm: Algorithm
    network: Network
    agents: Array  # (N,)


def answers(problem: Problem, agent: Array, noise_key: Array, played: SlotPlay, order: int) -> Answers:
    """What the problem says to one agent's questions of one slot."""

    def one(index: Array, t: Array, x: Array) -> Array:
        return problem.answer(agent, t, x, order, _noise(problem, noise_key, t, index))

    asked = jax.vmap(one)(jnp.arange(played.rounds.shape[0]), played.rounds, played.points)
    if played.earned is None:
        return Answers(asked)
    after = jnp.asarray(played.rounds.shape[0])  # noise of its own, numbered after that of the questions

    def value(t: Array, x: Array) -> Array:
        return problem.answer(agent, t, x, 0, _noise(problem, noise_key, t, after))

    return Answers(asked, jax.vmap(value)(played.earned, played.actions))


def _noise(problem: Problem, key: Array, t: Array, index: Array) -> Array:
    return jax.random.fold_in(jax.random.fold_in(key, t), index) if problem.noisy else key


class RunKeys(NamedTuple):
    """The random keys of a run, the same for every driver."""

    agents: Array
    network: Array
    noise: Array
    shared: Array

    @classmethod
    def of(cls, key: Array) -> RunKeys:
        agents, network, noise = jax.random.split(key, 3)
        return cls(agents, network, noise, shared=jax.random.fold_in(key, 3))

    def of_agent(self, agent: Array) -> Keys:
        """Those that an agent is given."""
        return Keys(jax.random.fold_in(self.agents, agent), self.shared)


@eqx.filter_jit  # type: ignore[untyped-decorator]
def begin(world: World) -> Any:
    """The states of all agents before the first block."""
    one = world.algorithm.init()
    n = world.agents.shape[0]
    return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (n, *leaf.shape)), one)


def play_block(
    world: World, shape: Shape, ports: Ports, state: Any, first: Array, keys: Keys
) -> tuple[Any, list[SlotPlay] | None]:
    """The sum of a block's shares: slots side by side in chunks, so that memory does not grow with the block.

    Where the block is a single chunk, what was played comes along, slot by slot.
    """
    algorithm, length = world.algorithm, world.algorithm.slot

    def slots(start: Array, number: int, length: int) -> tuple[Any, SlotPlay]:
        def slot(q: Array) -> tuple[Any, SlotPlay]:
            begin = start + q * length
            return algorithm.play(ports, state, algorithm.slot_at(begin, length, keys))

        if number == 1:  # no batch axis where there is no batch: one slot is the rule at theta = 1
            share, played = slot(jnp.zeros((), start.dtype))
            return share, jax.tree.map(lambda leaf: leaf[None], played)
        shares, played = jax.vmap(slot)(jnp.arange(number))
        return jax.tree.map(lambda leaf: _rows(leaf).sum(axis=0), shares), played

    def plus(one: Any, other: Any) -> Any:
        return jax.tree.map(jnp.add, one, other)

    numbers = world.agents.shape[0] * length * algorithm.domain.dim
    chunk = max(1, min(shape.slots, shape.at_once // numbers))
    whole, rest = divmod(shape.slots, chunk)
    parts = []
    if whole:
        share, played = slots(first, chunk, length)
        if whole > 1:
            share = jax.lax.fori_loop(
                1, whole, lambda c, total: plus(total, slots(first + c * chunk * length, chunk, length)[0]), share
            )
        parts.append((share, played))
    if rest:
        parts.append(slots(first + whole * chunk * length, rest, length))
    if shape.short:
        parts.append(slots(first + shape.slots * length, 1, shape.short))
    total = parts[0][0]
    for share, _ in parts[1:]:
        total = plus(total, share)
    return total, [played for _, played in parts] if whole <= 1 else None


def _rows(shares: Array) -> Array:
    """The same, with the coordinates of a slot's share side by side in memory.

    Left to itself a GPU's compiler puts the slots there, to sum them in one row. Functions' data that a block reads then come
    from far apart. On a CPU nothing is gained by it.
    """
    if jax.default_backend() == "cpu" or shares.ndim < 2:
        return shares
    rows: Array = with_layout_constraint(shares, Layout(tuple(range(shares.ndim))))  # type: ignore[no-untyped-call]
    return rows


def keep_block(
    world: World, shape: Shape, ports: Ports, state: Any, first: Array, keys: Keys, seen: list[SlotPlay] | None
) -> Kept | None:
    """The block's recorded rounds, and how many of their actions and queries lie outside of K."""
    record, domain = shape.record, world.algorithm.domain
    if record.every == 0:
        return None
    if record.every == 1 and seen is not None:
        rounds, valid, actions, queries = _everything(first, seen)
    else:
        rounds, valid, actions, queries = _replayed(world, shape, ports, state, first, keys)
    outside = jnp.zeros((), jnp.int32)
    if domain.has_fast_contains:
        points = jnp.concatenate([actions, queries.reshape(-1, domain.dim)])
        asked = jnp.repeat(valid, queries.shape[1])
        inside = jax.vmap(lambda x: domain.contains(x, slack(points.dtype, domain)))(points)
        outside = jnp.sum(~inside & jnp.concatenate([valid, asked]))
    return Kept(rounds, valid, actions, world.algorithm.decision(state), queries if record.queries else None, outside)


def _everything(first: Array, seen: list[SlotPlay]) -> tuple[Array, ...]:
    """Every round of the block, as it was played."""
    dim = seen[0].actions.shape[-1]
    actions = jnp.concatenate([played.actions.reshape(-1, dim) for played in seen])
    queries = jnp.concatenate([jnp.repeat(played.points, played.actions.shape[1], axis=0) for played in seen])
    rounds = first + jnp.arange(actions.shape[0])
    return rounds, jnp.ones(rounds.shape, bool), actions, queries


def _replayed(world: World, shape: Shape, ports: Ports, state: Any, first: Array, keys: Keys) -> tuple[Array, ...]:
    """The rounds to keep, played again: a slot's plays are a function of state and key. Answers
    are unused, so XLA removes the oracle calls."""
    algorithm, every = world.algorithm, shape.record.every

    def part(begin: Array, slots: int, length: int) -> tuple[Array, ...]:
        number = -(-slots * length // every)
        rounds = (-(-begin // every) + jnp.arange(number)) * every
        valid = rounds < begin + slots * length
        offset = jnp.where(valid, rounds - begin, 0)

        def replay(offset: Array) -> tuple[Array, Array]:
            start = begin + offset // length * length
            played = algorithm.play(ports, state, algorithm.slot_at(start, length, keys))[1]
            return played.actions[offset % length], played.points

        return rounds, valid, *jax.vmap(replay)(offset)

    slot = algorithm.slot
    parts = [part(first, shape.slots, slot)] if shape.slots else []
    if shape.short:
        parts.append(part(first + shape.slots * slot, 1, shape.short))
    rounds, valid, actions, queries = (jnp.concatenate(pieces) for pieces in zip(*parts, strict=True))
    return rounds, valid, actions, queries
