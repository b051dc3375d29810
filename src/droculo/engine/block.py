"""One block of one agent, as both drivers compile it: the slots that are played, and the rounds that are recorded."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array
from jax.experimental.layout import Layout, with_layout_constraint

from droculo.algorithms import Algorithm
from droculo.algorithms.contract import Answers, Keys, OracleCalls, SlotPlay
from droculo.algorithms.timetable import Span
from droculo.engine.breaches import Breaches, Listening
from droculo.engine.record import Record
from droculo.networks import Network
from droculo.problems import Problem
from droculo.sets import Set
from droculo.sets.membership import slack


class Shape(NamedTuple):
    """What a compiled stretch of blocks depends on. One shape, and so one program, serves all blocks of a run."""

    blocks: int  # room for so many blocks
    rows: int  # room for so many recorded rounds
    chunk: int  # slots that are played side by side
    most: int  # the rounds of the longest slot
    cut: bool  # True if a block of the run may be incomplete
    record: Record


class Kept(NamedTuple):
    """The recorded rounds of some blocks."""

    actions: Array  # (rows, d)
    queries: Array | None  # (rows, questions, d)
    outside: Array  # how many of these actions and queries are not in K


class World(eqx.Module):
    """Everything that stays the same during a run."""

    problem: Problem
    algorithm: Algorithm
    network: Network
    agents: Array  # (N,)
    rounds: Array  # of the run: its last slot may reach beyond


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
def begin(world: World, *seeds: int) -> Any:
    """The states of all agents before the first block, for as many seeds as are asked for."""
    shape = (*seeds, *world.agents.shape)
    return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, shape + leaf.shape), world.algorithm.init())


class AgentPorts(eqx.Module):
    """The ports of one agent in one block, inside a vmap over the agents of a driver, which adds `mix`."""

    world: World
    keys: RunKeys
    agent: Array
    block: Array

    def ask(self, played: SlotPlay, order: int) -> Answers:
        """The problem's answers to the questions of one slot."""
        problem, noise = self.world.problem, jax.random.fold_in(self.keys.noise, self.agent)

        def one(order: int, index: Array, t: Array, x: Array) -> Array:
            own = jax.random.fold_in(jax.random.fold_in(noise, t), index) if problem.noisy else noise
            return problem.answer(self.agent, t, x, order, own)

        number = played.rounds.shape[0]
        asked = jax.vmap(partial(one, order))(jnp.arange(number), played.rounds, played.points)
        if played.earned is None:
            return Answers(asked)
        after = partial(one, 0, jnp.asarray(number))  # with noise that is numbered after that of the questions
        return Answers(asked, jax.vmap(after)(played.earned, played.actions))

    @abstractmethod
    def mix(self, tree: Any, index: int | Array = 0) -> Any:
        """Send `tree` to the neighbours and receive the weighted average."""


class Heard(NamedTuple):
    """What the answers of some slots came to."""

    share: Any  # their part of the block's sum
    breaches: Breaches

    def plus(self, other: Heard) -> Heard:
        return Heard(jax.tree.map(jnp.add, self.share, other.share), self.breaches | other.breaches)


class AgentBlock(NamedTuple):
    """One block of one agent: its rounds are a function of these values."""

    ports: AgentPorts
    shape: Shape
    state: Any
    span: Span

    @property
    def keys(self) -> Keys:
        return self.ports.keys.of_agent(self.ports.agent)

    @property
    def algorithm(self) -> Algorithm:
        return self.ports.world.algorithm

    def whole(self, kept: Kept | None, row: Array) -> tuple[Any, OracleCalls, Breaches, Kept | None]:
        """Play, exchange and update: the new state, its costs, what the answers broke, and what is recorded, from `row` on."""
        (total, breaches), kept = self.play(kept, row)
        if not self.shape.cut:
            return *self._update(total), breaches, kept
        idle = self.state, OracleCalls()
        state, spent = jax.lax.cond(self.span.complete, lambda: _like(self._update(total), idle), lambda: idle)
        return state, spent, breaches, kept

    def _update(self, total: Any) -> tuple[Any, OracleCalls]:
        return self.algorithm.update(self.ports, self.state, total, self.keys.fold_in(self.span.first))

    def play(self, kept: Kept | None, row: Array) -> tuple[Heard, Kept | None]:
        """What all slots came to, together, and the recorded rounds. Slots are played side by side in chunks, so that memory
        does not grow with the block."""
        chunk = self.shape.chunk

        def add(c: Array, so_far: tuple[Heard, Kept | None]) -> tuple[Heard, Kept | None]:
            total, kept = so_far
            heard, played = self._slots(c * chunk)
            return total.plus(heard), self._keep(kept, row, c * chunk, played)

        heard, played = self._slots(jnp.zeros_like(self.span.slots))
        first = heard, self._keep(kept, row, jnp.zeros_like(self.span.slots), played)
        return jax.lax.fori_loop(1, -(-self.span.slots // chunk), add, first) if self._many else first

    @property
    def _many(self) -> bool:
        """True if a block may have more slots than a chunk."""
        return self.shape.chunk < self.ports.world.algorithm.timetable.most_slots

    def recorded(self) -> Kept | None:
        """Room for the recorded rounds of a stretch of blocks, and none of them yet."""
        if self.shape.record.every == 0:
            return None
        played = jax.eval_shape(lambda: self._slots(jnp.zeros_like(self.span.slots))[1])
        rows = self.shape.rows + self._step
        dim, dtype = self.algorithm.domain.dim, played.actions.dtype
        questions = jnp.zeros((rows, *played.points.shape[1:]), dtype) if self.shape.record.queries else None
        return Kept(jnp.zeros((rows, dim), dtype), questions, jnp.zeros((), jnp.int32))

    @property
    def _step(self) -> int:
        """The most recorded rounds of one chunk."""
        return -(-self.shape.chunk * self.shape.most // self.shape.record.every)

    def _keep(self, kept: Kept | None, row: Array, index: Array, played: SlotPlay) -> Kept | None:
        """With the recorded rounds of the chunk that begins with slot `index`. Rows behind the last round of the chunk are
        overwritten by what comes next, or left out at the end."""
        if kept is None:
            return None
        every, span, domain = self.shape.record.every, self.span, self.algorithm.domain
        begin = span.first + index * span.slot
        first = -(-begin // every)
        rounds = (first + jnp.arange(self._step)) * every
        place = rounds - begin
        slot, offset = jnp.minimum(place // span.slot, self.shape.chunk - 1), place % span.slot
        actions, queries = played.actions[slot, offset], played.points[slot]
        outside = kept.outside
        if domain.has_fast_contains:
            last = begin + jnp.minimum(self.shape.chunk, span.slots - index) * span.slot
            valid = rounds < jnp.minimum(last, span.end)
            outside = outside + _outside(domain, valid, actions, queries)
        at = row + first - -(-span.first // every)
        write = partial(jax.lax.dynamic_update_slice_in_dim, start_index=at, axis=0)
        asked = None if kept.queries is None else write(kept.queries, queries)
        return Kept(write(kept.actions, actions), asked, outside.astype(kept.outside.dtype))

    def _slot(self, index: Array) -> tuple[Heard, SlotPlay]:
        world = self.ports.world
        slot = self.span.slot_at(index, self.keys, self.shape.most)
        ports = Listening(self.ports, world.problem, world.rounds, slot.length)
        share, played = self.algorithm.play(ports, self.state, slot)
        share = jax.tree.map(lambda leaf: jnp.where(slot.length > 0, leaf, jnp.zeros_like(leaf)), share)
        return Heard(share, ports.breaches), played

    def _slots(self, index: Array) -> tuple[Heard, SlotPlay]:
        """A chunk of slots side by side: what they came to, and what was played."""
        if self.shape.chunk == 1:  # without a batch axis of length one, since one slot is the rule at theta = 1
            heard, played = self._slot(index)
            return heard, jax.tree.map(lambda leaf: leaf[None], played)
        heard, played = jax.vmap(self._slot)(index + jnp.arange(self.shape.chunk))
        share = jax.tree.map(lambda leaf: _rows(leaf).sum(axis=0), heard.share)
        return Heard(share, heard.breaches.over_slots()), played


def _like(tree: Any, other: Any) -> Any:
    """The same numbers, of the types of `other`."""
    return jax.tree.map(lambda leaf, model: jnp.asarray(leaf).astype(jnp.asarray(model).dtype), tree, other)


def _rows(shares: Array) -> Array:
    """The same values, with the coordinates of a slot's share side by side in memory.

    By default a GPU's compiler puts the slots side by side, to sum them in one row; the data of functions that a block reads
    are then scattered. On a CPU nothing is gained by it.
    """
    if jax.default_backend() == "cpu" or shares.ndim < 2:
        return shares
    rows: Array = with_layout_constraint(shares, Layout(tuple(range(shares.ndim))))  # type: ignore[no-untyped-call]
    return rows


def _outside(domain: Set, valid: Array, actions: Array, queries: Array) -> Array:
    """How many recorded actions and queries are not in K."""
    points = jnp.concatenate([actions, queries.reshape(-1, domain.dim)])
    asked = jnp.repeat(valid, queries.shape[1], total_repeat_length=len(queries) * queries.shape[1])
    inside = jax.vmap(lambda x: domain.contains(x, slack(points.dtype, domain)))(points)
    return jnp.sum(~inside & jnp.concatenate([valid, asked]))
