"""One block of one agent, as both drivers compile it: the slots that are played, and the rounds that are recorded."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial, reduce
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array
from jax.experimental.layout import Layout, with_layout_constraint

from droculo.algorithms import Algorithm
from droculo.algorithms.contract import Answers, Keys, OracleCalls, SlotPlay
from droculo.engine.breaches import Breaches, Listening
from droculo.engine.record import Record
from droculo.networks import Network
from droculo.problems import Problem
from droculo.sets import Set
from droculo.sets.membership import slack


class Shape(NamedTuple):
    """What a compiled stretch of blocks depends on: every block has `slots` slots, and then one shorter slot or none."""

    capacity: int  # room for this many blocks
    slots: int
    short: int
    record: Record
    at_once: int  # how many numbers the plays of slots that are played side by side may have


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
    """One block of one agent: its rounds from `first` on are a function of these values."""

    ports: AgentPorts
    shape: Shape
    state: Any
    first: Array

    @property
    def keys(self) -> Keys:
        return self.ports.keys.of_agent(self.ports.agent)

    @property
    def algorithm(self) -> Algorithm:
        return self.ports.world.algorithm

    def whole(self) -> tuple[Any, OracleCalls, Breaches, Kept | None]:
        """Play, exchange and update: the new state, its costs, what the answers broke, and what is recorded."""
        (total, breaches), seen = self.play()
        kept = self.keep(seen)
        state, spent = self.algorithm.update(self.ports, self.state, total, self.keys.fold_in(self.first))
        return state, spent, breaches, kept

    def play(self) -> tuple[Heard, list[SlotPlay] | None]:
        """What all slots came to, together. They are played side by side in chunks, so that memory does not grow with
        the block; if it is a single chunk, the plays are returned too."""
        shape, length = self.shape, self.algorithm.slot
        numbers = self.ports.world.agents.shape[0] * length * self.algorithm.domain.dim
        chunk = max(1, min(shape.slots, shape.at_once // numbers))
        whole, rest = divmod(shape.slots, chunk)

        def add(c: Array, total: Heard) -> Heard:
            return total.plus(self._slots(self.first + c * chunk * length, chunk, length)[0])

        parts = []
        if whole:
            heard, played = self._slots(self.first, chunk, length)
            parts.append((heard if whole == 1 else jax.lax.fori_loop(1, whole, add, heard), played))
        if rest:
            parts.append(self._slots(self.first + whole * chunk * length, rest, length))
        if shape.short:
            parts.append(self._slots(self.first + shape.slots * length, 1, shape.short))
        all_heard, seen = zip(*parts, strict=True)
        return reduce(Heard.plus, all_heard), list(seen) if whole <= 1 else None

    def keep(self, seen: list[SlotPlay] | None) -> Kept | None:
        """The recorded rounds, and how many of their actions and queries lie outside of K. `seen`: what `play` returned."""
        record, algorithm = self.shape.record, self.algorithm
        if record.every == 0:
            return None
        if record.every == 1 and seen is not None:
            actions = jnp.concatenate([played.actions.reshape(-1, algorithm.domain.dim) for played in seen])
            queries = jnp.concatenate([jnp.repeat(played.points, played.actions.shape[1], axis=0) for played in seen])
            rounds, valid = self.first + jnp.arange(len(actions)), jnp.ones(len(actions), bool)
        else:
            rounds, valid, actions, queries = self._replayed()
        outside = jnp.zeros((), jnp.int32)
        if algorithm.domain.has_fast_contains:
            outside = _outside(algorithm.domain, valid, actions, queries)
        decisions = algorithm.decision(self.state)
        return Kept(rounds, valid, actions, decisions, queries if record.queries else None, outside)

    def _slot(self, start: Array, length: int) -> tuple[Heard, SlotPlay]:
        ports = Listening(self.ports, self.ports.world.problem, self.ports.world.rounds)
        share, played = self.algorithm.play(ports, self.state, self.algorithm.slot_at(start, length, self.keys))
        return Heard(share, ports.breaches), played

    def _slots(self, start: Array, number: int, length: int) -> tuple[Heard, SlotPlay]:
        """Equal slots side by side: what they came to, and what was played."""
        if number == 1:  # without a batch axis of length one, since one slot is the rule at theta = 1
            heard, played = self._slot(start, length)
            return heard, jax.tree.map(lambda leaf: leaf[None], played)
        heard, played = jax.vmap(lambda q: self._slot(start + q * length, length))(jnp.arange(number))
        share = jax.tree.map(lambda leaf: _rows(leaf).sum(axis=0), heard.share)
        return Heard(share, heard.breaches.over_slots()), played

    def _replayed(self) -> tuple[Array, ...]:
        """The rounds to keep, played again: a slot's plays are a function of state and key. Answers are unused, so XLA
        removes the oracle calls."""
        shape, slot, every = self.shape, self.algorithm.slot, self.shape.record.every

        def of_slots(begin: Array, slots: int, length: int) -> tuple[Array, ...]:
            rounds = (-(-begin // every) + jnp.arange(-(-slots * length // every))) * every
            valid = rounds < begin + slots * length

            def replay(offset: Array) -> tuple[Array, Array]:
                played = self._slot(begin + offset // length * length, length)[1]
                return played.actions[offset % length], played.points

            return rounds, valid, *jax.vmap(replay)(jnp.where(valid, rounds - begin, 0))

        parts = [of_slots(self.first, shape.slots, slot)] if shape.slots else []
        if shape.short:
            parts.append(of_slots(self.first + shape.slots * slot, 1, shape.short))
        return tuple(map(jnp.concatenate, zip(*parts, strict=True)))


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
    asked = jnp.repeat(valid, queries.shape[1])
    inside = jax.vmap(lambda x: domain.contains(x, slack(points.dtype, domain)))(points)
    return jnp.sum(~inside & jnp.concatenate([valid, asked]))
