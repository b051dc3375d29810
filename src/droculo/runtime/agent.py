"""One agent in your own loop: ask what to play and where to measure, tell what was measured."""

from __future__ import annotations

import time
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import equinox as eqx
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
from droculo.runtime.driver import ProcessRun, check_transport_of, entry_of, layout_of, meet, open_journal
from droculo.runtime.exchange import NeighbourExchange
from droculo.runtime.partitions import Partition, assign_agents, partition
from droculo.runtime.transports.base import Transport

Vector = NDArray[np.float64]


class Query(NamedTuple):
    """What to do in a round: play `action`, and measure at `query`, unless that is None.

    With one question `query` is a point; with several (two-point feedback, DMFW) it is an array with one point in each row.
    """

    action: Vector
    query: NDArray[np.float64] | None


class Agent:
    """Agent `me` of a network, with an objective that only you know.

    All agents are made with the same algorithm, network and key. Making one takes until it has compiled and met its
    neighbours. `folder`: where to write every block; an agent that is started again with the same folder continues from
    there, or, if the others have gone on meanwhile, joins them in the round that they are in.

        with Agent(algorithm, network, 2, transport, key=0) as agent:
            while not agent.done:
                action, query = agent.ask()
                ...  # play the action; measure at the query, unless it is None
                agent.tell(measured)

    At the end of every block `tell` exchanges messages with the neighbours, which takes as long as they do. What may be
    measured is the algorithm's feedback: under bandit feedback the query is the action itself and the answer one number; a
    gradient is refused. An algorithm that uses the values of all its actions asks for one number in every round.
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
        self.partition: Partition = partition(network, assign_agents(network.n_agents, network.n_agents), me)
        check_transport_of(self.partition, transport)
        keys, batched = as_keys(key)
        if batched:
            raise ValueError(f"an agent takes part in one run; got a batch of {len(keys)} keys.")
        self.transport = transport
        self.round = 0
        self._began = time.perf_counter()
        self._exchange = NeighbourExchange(self.partition, transport)
        self._played: SlotPlay | None = None  # in the slot that began with round `_start`
        self._start = 0
        self._total: Any = None  # the sum of the shares of the block so far
        self._actions: list[Vector] = []  # of the block so far
        self._asked: _Asked | None = None
        with double():
            self._prepare(algorithm, network, keys)
            asked = (algorithm, network, self.partition.me, keys)
            identity = fingerprint() if folder is None else fingerprint(asked, behaviour_of_algorithm(algorithm))
        self.journal = open_journal(folder, layout_of(algorithm, self.partition), identity, self.partition)
        transport.listener = self.journal.link
        try:
            with double():
                self._meet()
        except BaseException:
            self.close()
            raise

    def _prepare(self, algorithm: Algorithm, network: Network, keys: Array) -> None:
        """Everything as arrays."""
        kind = np.dtype(np.float64)
        self.algorithm, self._network = jax.tree.map(lambda leaf: cast(leaf, kind), (algorithm, network))
        self._links = CompiledLinks.of(self.partition, self._exchange)
        self._keys = jax.jit(RunKeys.of)(keys[0])
        self._key = self._keys.of_agent(jnp.asarray(self.partition.me))
        self.state = jax.tree.map(jnp.asarray, self.algorithm.init())

    @property
    def done(self) -> bool:
        """True if all rounds were played."""
        return self.round >= self.algorithm.horizon

    def ask(self) -> Query:
        """What to do in round `self.round`."""
        if self._asked is not None:
            raise RuntimeError(f"round {self.round} was asked for already: tell what was measured (None if nothing).")
        if self.done:
            raise RuntimeError(f"all {self.algorithm.horizon} rounds were played.")
        if self._played is None:
            self._start = self.round
            with double():
                played = _quick(_play)(self.algorithm, self.state, jnp.asarray(self.round), self._key, self._length())
            self._played = jax.tree.map(np.array, played)
            self._answers = _Measured(self._played)
        action = np.array(self._played.actions[self.round - self._start])
        self._actions.append(action.copy())
        self._asked = _Asked.of(self._played, self.round, self._start)
        points = self._asked.points
        return Query(action, None if len(points) == 0 else points[0] if len(points) == 1 else points)

    def tell(self, response: ArrayLike | None = None) -> None:
        """Tell what was measured: a number for each query, or a gradient for each, depending on the feedback; None if there
        was no query."""
        if self._asked is None:
            raise RuntimeError("nothing was asked for yet: call ask() first.")
        self._answers.keep(self._asked, self.round - self._start, self._checked(response))
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
        return ProcessRun(self.partition, tuple(self.journal.entries), self.transport.meter, took, self.journal.layout)

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
        number, d = len(self._asked.points), self.algorithm.domain.dim
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
        """Compile everything, and only then meet the neighbours, so that none of them waits for the compiler."""
        start, order = jnp.asarray(0), self.algorithm.feedback.order
        played = _quick(_play)(self.algorithm, self.state, start, self._key, self._length())
        if played.earned is not None and order == 1:
            raise ValueError(
                "this algorithm asks for gradients and for the values of its actions, and an agent tells one kind of number: "
                "use a signal that needs values only, or droculo.runtime.run_process."
            )
        nothing = SilentPorts().ask(played, order)
        share = _quick(_share)(self.algorithm, self.state, start, self._key, self._length(), nothing)
        lowered: Any = _quick(_update)
        self._compiled_update = lowered.lower(*self._at_end_of_block(share)).compile()
        blocks = -(-self.algorithm.horizon // (self.algorithm.block * self.algorithm.slot))
        self.transport.largest = message_bytes(self.algorithm)
        block, self.state = meet(self.transport, self.journal, self.algorithm, self.state, blocks)
        self.round = block * self.algorithm.block * self.algorithm.slot

    def _at_end_of_block(self, total: Any) -> tuple[Any, ...]:
        block = jnp.asarray((self.round - 1) // (self.algorithm.block * self.algorithm.slot))
        ports = _UpdatePorts(self.algorithm, self._network, self._links, self._keys.network, block)
        return ports, self._key, self.state, total

    def _end_slot(self) -> None:
        start, measured = jnp.asarray(self._start), self._answers.all()
        share = _quick(_share)(self.algorithm, self.state, start, self._key, self._length(), measured)
        self._total = share if self._total is None else jax.tree.map(jnp.add, self._total, share)
        self._played = None

    def _end_block(self) -> None:
        self._exchange.reset()
        decision, actions = self.decision(), np.stack(self._actions)
        state, spent = self._compiled_update(*self._at_end_of_block(self._total))
        leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(state)]  # waits for it
        self._exchange.raise_error()
        self.state, self._total, self._actions = state, None, []
        block = (self.round - 1) // (self.algorithm.block * self.algorithm.slot)
        rounds = np.arange(self.round - len(actions), self.round)
        layout = self.journal.layout
        entry = entry_of(block, rounds, actions[:, None], decision[None], spent, self._exchange, layout)
        self.journal.keep(entry, leaves)


class _Asked(NamedTuple):
    """What is measured in one round."""

    questions: NDArray[np.int64]  # which of the slot's questions
    points: Vector  # where: the points of these questions, and the action if its value is needed and not among them
    action: int | None  # which of the points is the action, if its value is needed

    @classmethod
    def of(cls, played: SlotPlay, t: int, start: int) -> _Asked:
        questions = np.nonzero(np.asarray(played.rounds) == t)[0]
        points, action = np.array(np.asarray(played.points)[questions]), None
        if played.earned is not None:
            here = np.asarray(played.actions)[t - start]
            same = np.nonzero(np.all(points == here, axis=1))[0]
            action = int(same[0]) if len(same) else len(points)
            points = points if len(same) else np.concatenate([points, here[None]])
        return cls(questions, points, action)


class _Measured:
    """The answers of a slot, as they come in."""

    def __init__(self, played: SlotPlay):
        self.questions: list[Any] = [None] * len(played.rounds)
        self.earned: list[Any] | None = None if played.earned is None else [None] * len(played.actions)

    def keep(self, asked: _Asked, place: int, measured: list[Any]) -> None:
        """What was measured in the round at this place of the slot."""
        for question, answer in zip(asked.questions, measured, strict=False):
            self.questions[question] = answer
        if self.earned is not None and asked.action is not None:
            self.earned[place] = measured[asked.action]

    def all(self) -> Answers:
        asked = np.stack(self.questions) if self.questions else np.zeros(0)
        return Answers(jnp.asarray(asked), None if self.earned is None else jnp.asarray(np.stack(self.earned)))


def _quick(function: Any) -> Any:
    return program(function, quick=True)


class _AnsweredPorts(NamedTuple):
    """Ports with the answers that were measured."""

    answers: Answers

    def ask(self, played: SlotPlay, order: int) -> Answers:
        return self.answers

    def mix(self, tree: Any, index: int | Array = 0) -> Any:
        return tree


class _UpdatePorts(eqx.Module):
    """The one port that an update needs."""

    algorithm: Algorithm
    network: Network
    links: CompiledLinks
    key: Array
    block: Array

    def ask(self, played: SlotPlay, order: int) -> Answers:
        raise RuntimeError("update() must not call ports.ask()")

    def mix(self, tree: Any, index: int | Array = 0) -> Any:
        return mix(self.algorithm, self.network, self.links, self.key, self.block, tree, index)


def _play(algorithm: Algorithm, state: Any, start: Array, keys: Keys, length: int) -> SlotPlay:
    return algorithm.play(SilentPorts(), state, algorithm.slot_at(start, length, keys))[1]


def _share(algorithm: Algorithm, state: Any, start: Array, keys: Keys, length: int, answers: Answers) -> Any:
    return algorithm.play(_AnsweredPorts(answers), state, algorithm.slot_at(start, length, keys))[0]


def _update(ports: _UpdatePorts, keys: Keys, state: Any, total: Any) -> tuple[Any, Any]:
    algorithm = ports.algorithm
    first = ports.block * algorithm.block * algorithm.slot

    def one(state: Any, total: Any) -> tuple[Any, Any]:
        return algorithm.update(ports, state, total, keys.fold_in(first))

    alone = jax.tree.map(lambda leaf: leaf[None], (state, total))
    new, spent = jax.vmap(one)(*alone)
    return jax.tree.map(lambda leaf: leaf[0], new), spent
