"""One agent in your own loop: ask what to play and where to measure, tell what was measured."""

from __future__ import annotations

import time
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike, NDArray

from droculo.algorithms import Algorithm, Answers, Keys, SlotPlay, message_bytes
from droculo.algorithms.contract import SilentPorts
from droculo.engine.behaviour import behaviour_of_algorithm
from droculo.engine.block import RunKeys
from droculo.engine.compiling import program
from droculo.engine.fingerprint import fingerprint
from droculo.engine.inputs import as_keys, cast
from droculo.expect import expect
from droculo.networks import Network
from droculo.precision import double
from droculo.runtime.block import CompiledLinks, mix
from droculo.runtime.driver import ProcessRun, entry_of, layout_of, meet
from droculo.runtime.exchange import NeighbourExchange
from droculo.runtime.journal import Journal
from droculo.runtime.partitions import Partition, assign_agents, partition
from droculo.runtime.transports.base import Transport

Vector = NDArray[np.float64]


class Query(NamedTuple):
    """What to do in a round: play `action`, and measure at `query`, or at nothing where that is None.

    With one question `query` is a point; with several (two-point feedback, DMFW) it is an array with one point a row.
    """

    action: Vector
    query: NDArray[np.float64] | None


class Agent:
    """Agent `me` of a network, with an objective that only you know.

    All agents are made with the same algorithm, network and key. To make one takes until it has compiled and met its
    neighbours. `folder`: where to write every block; an agent that is started again with the same folder goes on from
    there, or, if the others have gone on meanwhile, joins them in the round that they are in.

        with Agent(algorithm, network, 2, transport, key=0) as agent:
            while not agent.done:
                action, query = agent.ask()
                ...  # play the action; measure at the query, unless it is None
                agent.tell(measured)

    At the end of every block `tell` talks to the neighbours, which takes as long as they do. What may be measured is the
    algorithm's feedback: under bandit feedback the query is the action itself and the answer one number; a gradient is
    refused.
    """

    def __init__(
        self,
        algorithm: Algorithm,
        network: Network,
        me: int,
        transport: Transport,
        *,
        key: Array | int,
        folder: Path | str | None = None,
    ):
        expect(algorithm, Algorithm, "algorithm", "Pass for example droculo.Droculo.design(setting, ...).")
        expect(network, Network, "network", "Turn a graph or weights into one with droculo.networks.from_graph(graph).")
        expect(transport, Transport, "transport", "Pass for example droculo.runtime.ZenohTransport(...).")
        self.place: Partition = partition(network, assign_agents(network.n_agents, network.n_agents), me)
        if (transport.me, transport.neighbours) != (me, self.place.neighbours):
            raise ValueError(
                f"the transport is that of process {transport.me} with neighbours {transport.neighbours}; agent {me} has the "
                f"neighbours {self.place.neighbours}."
            )
        keys, batched = as_keys(key)
        if batched:
            raise ValueError(f"an agent takes part in one run; got a batch of {len(keys)} keys.")
        self.transport = transport
        self.wire = NeighbourExchange(self.place, transport)
        self._began = time.perf_counter()
        with double():
            self.algorithm = jax.tree.map(lambda leaf: cast(leaf, np.dtype(np.float64)), algorithm)
            self._network = jax.tree.map(lambda leaf: cast(leaf, np.dtype(np.float64)), network)
            self._cable = CompiledLinks.of(self.place, self.wire)
            self._keys = jax.jit(RunKeys.of)(keys[0])
            self._key = self._keys.of_agent(jnp.asarray(me))
            self.state = jax.tree.map(jnp.asarray, self.algorithm.init())
            layout = layout_of(algorithm, self.place)
            home = None if folder is None else Path(folder)
            asked = (algorithm, network, me, keys)
            identity = fingerprint() if home is None else fingerprint(asked, behaviour_of_algorithm(algorithm))
            self.journal = Journal(home, layout, identity, self.place.reach + 2)
        transport.listener = self.journal.link
        self.round = 0
        self._played: SlotPlay | None = None
        self._start = 0  # of the slot
        self._answers: dict[int, Any] = {}  # question -> answer
        self._total: Any = None
        self._actions: list[Vector] = []
        self._asked: NDArray[np.int64] | None = None
        try:
            with double():
                self._meet()
        except BaseException:
            self.close()
            raise

    @property
    def done(self) -> bool:
        """Whether all rounds were played."""
        return self.round >= self.algorithm.horizon

    def ask(self) -> Query:
        """What to do in round `self.round`."""
        if self._asked is not None:
            raise RuntimeError(f"round {self.round} was asked for already: tell what was measured (None if nothing).")
        if self.done:
            raise RuntimeError(f"all {self.algorithm.horizon} rounds were played.")
        with double():
            if self._played is None:
                self._start = self.round
                played = _jitted(_plays)(self.algorithm, self.state, jnp.asarray(self.round), self._key, self._length())
                self._played = jax.tree.map(np.asarray, played)
                self._answers = {}
        action = np.array(self._played.actions[self.round - self._start])
        self._asked = np.nonzero(np.asarray(self._played.rounds) == self.round)[0]
        self._actions.append(action.copy())
        if not len(self._asked):
            return Query(action, None)
        points = np.array(np.asarray(self._played.points)[self._asked])
        return Query(action, points[0] if len(points) == 1 else points)

    def tell(self, response: ArrayLike | None = None) -> None:
        """What the world said: a number for each question, or a gradient for each, as the feedback has it; None if nothing
        was asked."""
        if self._asked is None:
            raise RuntimeError("nothing was asked for yet: call ask() first.")
        for question, answer in zip(self._asked, self._checked(response), strict=True):
            self._answers[int(question)] = answer
        self._asked = None
        self.round += 1
        if self.round < self._start + self._length():
            return
        with double():
            self._end_slot()
            if self.round % (self.algorithm.block * self.algorithm.slot) == 0 or self.done:
                self._end_block()

    def decision(self) -> Vector:
        """The decision that the agent stands for now."""
        with double():
            return np.asarray(self.algorithm.decision(self.state))

    def part(self) -> ProcessRun:
        """What the agent did so far, for `gather`."""
        took = time.perf_counter() - self._began
        return ProcessRun(self.place, tuple(self.journal.entries), self.transport.meter, took, self.journal.layout)

    def close(self) -> None:
        """Leave the neighbours."""
        self.transport.close()
        self.journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _length(self) -> int:
        return min(self.algorithm.slot, self.algorithm.horizon - self._start)

    def _checked(self, response: ArrayLike | None) -> list[Any]:
        """One answer for each question, or an error that says what was expected."""
        assert self._asked is not None
        number, d = len(self._asked), self.algorithm.domain.dim
        if response is None or number == 0:
            if response is not None:
                raise ValueError(f"nothing was asked in round {self.round} (query was None): tell(None).")
            if number:
                raise ValueError(f"round {self.round} asked at a query, and got no answer.")
            return []
        given = np.asarray(response, np.float64)
        one = (d,) if self.algorithm.feedback.order == 1 else ()
        what = f"a gradient of {d} numbers" if self.algorithm.feedback.order == 1 else "one value, and no gradient"
        if given.shape not in ([one, (1, *one)] if number == 1 else [(number, *one)]):
            raise ValueError(
                f"the feedback of this agent is {what} for each of {number} question(s); got an array of shape {given.shape}."
            )
        if not np.all(np.isfinite(given)):
            raise ValueError(f"the answer of round {self.round} is not finite: {given}. The agent has not moved.")
        return list(given.reshape(number, *one))

    def _meet(self) -> None:
        """Compile everything, and only then meet the neighbours: nobody waits for a compiler."""
        length = self._length()
        start = jnp.asarray(0)
        played = _jitted(_plays)(self.algorithm, self.state, start, self._key, length)
        nothing = SilentPorts().ask(played, self.algorithm.feedback.order)
        share = _jitted(_hears)(self.algorithm, self.state, start, self._key, length, nothing)
        lowered: Any = _jitted(_moves)
        self._update = lowered.lower(*self._moving(share)).compile()
        blocks = -(-self.algorithm.horizon // (self.algorithm.block * self.algorithm.slot))
        self.transport.largest = message_bytes(self.algorithm)
        block, self.state = meet(self.transport, self.journal, self.algorithm, self.state, blocks)
        self.round = block * self.algorithm.block * self.algorithm.slot

    def _moving(self, total: Any) -> tuple[Any, ...]:
        block = jnp.asarray((self.round - 1) // (self.algorithm.block * self.algorithm.slot))
        return self.algorithm, self._network, self._cable, self._keys.network, self._key, block, self.state, total

    def _end_slot(self) -> None:
        given = Answers(jnp.asarray(np.stack([self._answers[k] for k in range(len(self._answers))])))
        share = _jitted(_hears)(self.algorithm, self.state, jnp.asarray(self._start), self._key, self._length(), given)
        self._total = share if self._total is None else jax.tree.map(jnp.add, self._total, share)
        self._played = None

    def _end_block(self) -> None:
        self.wire.reset()
        decision, actions = self.decision(), np.stack(self._actions)
        state, spent = self._update(*self._moving(self._total))
        leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(state)]  # waits for it
        if self.wire.error is not None:
            raise self.wire.error
        self.state, self._total, self._actions = state, None, []
        length = self.algorithm.block * self.algorithm.slot
        block = (self.round - 1) // length
        rounds = np.arange(self.round - len(actions), self.round)
        entry = entry_of(block, rounds, actions[:, None], decision[None], spent, self.wire, self.journal.layout)
        self.journal.keep(entry, leaves)


def _jitted(function: Any) -> Any:
    return program(function, quick=True)


class _Given(NamedTuple):
    """A world that has answered already."""

    answers: Answers

    def ask(self, played: SlotPlay, order: int) -> Answers:
        return self.answers

    def mix(self, tree: Any, index: int | Array = 0) -> Any:
        return tree


def _plays(algorithm: Algorithm, state: Any, start: Array, keys: Keys, length: int) -> SlotPlay:
    return algorithm.play(SilentPorts(), state, algorithm.slot_at(start, length, keys))[1]


def _hears(algorithm: Algorithm, state: Any, start: Array, keys: Keys, length: int, answers: Answers) -> Any:
    return algorithm.play(_Given(answers), state, algorithm.slot_at(start, length, keys))[0]


class _UpdatePorts(NamedTuple):
    """The one port that an update needs."""

    algorithm: Algorithm
    network: Network
    cable: CompiledLinks
    key: Array
    block: Array

    def ask(self, played: SlotPlay, order: int) -> Answers:
        raise RuntimeError("update() must not call ports.ask()")

    def mix(self, tree: Any, index: int | Array = 0) -> Any:
        return mix(self.algorithm, self.network, self.cable, self.key, self.block, tree, index)


def _moves(
    algorithm: Algorithm,
    network: Network,
    cable: CompiledLinks,
    key: Array,
    keys: Keys,
    block: Array,
    state: Any,
    total: Any,
) -> tuple[Any, Any]:
    first = block * algorithm.block * algorithm.slot

    def one(state: Any, total: Any) -> tuple[Any, Any]:
        return algorithm.update(_UpdatePorts(algorithm, network, cable, key, block), state, total, keys.fold_in(first))

    alone = jax.tree.map(lambda leaf: leaf[None], (state, total))
    new, spent = jax.vmap(one)(*alone)
    return jax.tree.map(lambda leaf: leaf[0], new), spent
