"""One agent in your own loop: ask what to play and where to measure, tell what was measured."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike, NDArray

from droculo.algorithms import Algorithm
from droculo.algorithms.contract import Answers, Keys, SilentPorts, SlotPlay, message_bytes
from droculo.algorithms.timetable import Span
from droculo.engine.block import RunKeys, World
from droculo.engine.breaches import BREACHES, NEVER, Breaches
from droculo.engine.compiling import program
from droculo.engine.costs import COUNTED
from droculo.engine.fingerprint import behaviour_of_algorithm, fingerprint
from droculo.engine.run import as_keys, cast
from droculo.expect import expect
from droculo.networks import Network
from droculo.precision import double
from droculo.runtime.block import CompiledLinks, ProcessPorts
from droculo.runtime.driver import ProcessRun, check_transport_of, layout_of, meet, states_kept
from droculo.runtime.exchange import IDLE, NeighbourExchange
from droculo.runtime.journal import Entry, Journal
from droculo.runtime.partitions import Partition, assign_agents, partition
from droculo.runtime.transports.base import Transport

Vector = NDArray[np.float64]
#: only you know the problem, and so what its answers may be
_UNKNOWN: Any = None
#: the blocks that are looked up at first, and a number of blocks that is never reached
FIRST_BLOCKS, ENDLESS = 64, 1 << 40
_NO_BREACHES = Breaches(np.zeros((1, len(BREACHES)), np.int32), np.full((1, len(BREACHES)), NEVER, np.int32))


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
        self._played: SlotPlay | None = None  # in the slot that began with round `_start`
        self._answers: Any = None  # to what that slot asks, as they come in
        self._start = 0
        self._block = 0
        self._total: Any = None  # the sum of the shares of the block so far
        self._actions: list[Vector] = []  # of the block so far
        self._asked: _Asked | None = None
        with double():
            asked = (algorithm, network, self.partition.me, keys)
            identity = fingerprint() if folder is None else fingerprint(asked, behaviour_of_algorithm(algorithm))
            layout, states = layout_of(algorithm, self.partition), states_kept(self.partition)
            self.journal = Journal(None if folder is None else Path(folder), layout, identity, states)
            self._exchange = NeighbourExchange(self.partition, transport, self.journal)
            exact = jax.tree.map(lambda leaf: cast(leaf, np.dtype(np.float64)), (algorithm, network))
            self.algorithm = exact[0]
            self._spans = self.algorithm.timetable.blocks(FIRST_BLOCKS)
            never = np.iinfo(np.int32).max
            world = World(_UNKNOWN, *exact, jnp.asarray(self.partition.agents), jnp.asarray(never))
            run_keys, here = jax.jit(RunKeys.of)(keys[0]), jnp.asarray(self.partition.me)
            self._ports = _UpdatePorts(world, run_keys, here, jnp.asarray(0), CompiledLinks.of(self._exchange))
            self._key = run_keys.of_agent(here)
            self.state = jax.tree.map(jnp.asarray, self.algorithm.init())
        try:
            with double():
                self._meet()
        except BaseException:
            self.close()
            raise

    @property
    def done(self) -> bool:
        """True if all rounds were played. An algorithm without a horizon is never done."""
        return self.algorithm.horizon is not None and self.round >= self.algorithm.horizon

    def ask(self) -> Query:
        """What to do in round `self.round`."""
        if self._asked is not None:
            raise RuntimeError(f"round {self.round} was asked for already: tell what was measured (None if nothing).")
        if self.done:
            raise RuntimeError(f"all {self.algorithm.horizon} rounds were played.")
        if self._played is None:
            self._start = self.round
            with double():
                self._played = jax.tree.map(np.array, self._quick(_play))
                self._answers = jax.tree.map(np.array, self._silence(self._played))
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
        measured, questions = self._checked(response, len(self._asked.points)), self._asked.questions
        self._answers.asked[questions] = measured[: len(questions)]
        if self._asked.action is not None:
            self._answers.earned[self.round - self._start] = measured[self._asked.action]
        self._asked = None
        self.round += 1
        if self.round < self._start + self._length:
            return
        with double():
            share = self._quick(_share, jax.tree.map(jnp.asarray, self._answers))
            self._total = share if self._total is None else jax.tree.map(jnp.add, self._total, share)
            self._played = None
            if self.round == self._span.end:
                self._end_block()

    def decision(self) -> Vector:
        """The decision that the agent stands for now."""
        with double():
            return np.asarray(self.algorithm.decision(self.state))

    def part(self) -> ProcessRun:
        """What the agent did so far, for `gather`."""
        took, entries = time.perf_counter() - self._began, [*self.journal.entries, *self._unfinished()]
        return ProcessRun(self.partition, tuple(entries), self.transport.meter, took, self.journal.layout)

    def close(self) -> None:
        """Leave the neighbours."""
        self.transport.close()
        self.journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def _length(self) -> int:
        """The rounds of the slot."""
        return int(min(self._span.slot, self._span.end - self._start))

    @property
    def _span(self) -> Span:
        """The block that is being played."""
        if self._block >= len(self._spans.number):
            self._spans = self.algorithm.timetable.blocks(2 * self._block)
        return self._spans.at(self._block)

    def _quick(self, function: Callable[..., Any], *more: Any) -> Any:
        """A function of the slot that began with round `_start`, compiled quickly."""
        span = self._span
        index, most = (self._start - span.first) // span.slot, 1 << (int(span.slot) - 1).bit_length()
        slot = Span(*map(jnp.asarray, span)), jnp.asarray(index), self._key, most
        return program(function, quick=True)(self.algorithm, self.state, *slot, *more)

    def _silence(self, played: SlotPlay) -> Answers:
        return SilentPorts().ask(played, self.algorithm.feedback.order)

    def _checked(self, response: ArrayLike | None, number: int) -> Vector:
        """One answer for each question, or an error that says what was expected."""
        if number == 0 and response is not None:
            raise ValueError(f"nothing was asked in round {self.round} (query was None): tell(None).")
        if number and response is None:
            raise ValueError(f"round {self.round} asked at a query, and got no answer.")
        d, gradients = self.algorithm.domain.dim, self.algorithm.feedback.order == 1
        one = (d,) if gradients else ()
        given = np.zeros((0, *one)) if response is None else np.asarray(response, np.float64)
        if given.shape not in ([one, (1, *one)] if number == 1 else [(number, *one)]):
            what = f"a gradient of {d} numbers" if gradients else "one value, and no gradient"
            raise ValueError(
                f"the feedback of this agent is {what} for each of {number} question(s); got an array of shape {given.shape}."
            )
        if not np.all(np.isfinite(given)):
            raise ValueError(f"the answer of round {self.round} is not finite: {given}. The agent has not moved.")
        return given.reshape(number, *one)

    def _meet(self) -> None:
        """Compile everything, and only then meet the neighbours, so that none of them waits for the compiler."""
        played = self._quick(_play)
        if played.earned is not None and self.algorithm.feedback.order == 1:
            raise ValueError(
                "this algorithm asks for gradients and for the values of its actions, and an agent tells one kind of number: "
                "use a signal that needs values only, or droculo.runtime.run_process."
            )
        share = self._quick(_share, self._silence(played))
        update: Any = program(_update, quick=True)
        self._compiled_update = update.lower(self._ports, self.state, share, jnp.asarray(self._span.first)).compile()
        self.transport.largest = message_bytes(self.algorithm)
        horizon = self.algorithm.horizon
        spans = None if horizon is None else self.algorithm.timetable.until(horizon)
        complete = ENDLESS if spans is None else int(spans.complete.sum())
        self._block, self.state = meet(self._exchange, self.algorithm, self.state, complete)
        over = spans is not None and self._block == len(spans.number)
        self.round = horizon if over else int(self._span.first)

    def _end_block(self) -> None:
        self._exchange.reset()
        block, decision, actions = self._block, self.decision(), np.stack(self._actions)
        ports = eqx.tree_at(lambda ports: ports.block, self._ports, jnp.asarray(block))
        state, spent = self._compiled_update(ports, self.state, self._total, jnp.asarray(self._span.first))
        leaves = self._exchange.finish(state)
        self.state, self._total, self._actions = state, None, []
        self._block += 1
        rounds = np.arange(self.round - len(actions), self.round)
        self._exchange.keep(leaves, block, rounds, actions[:, None], decision[None], spent, _NO_BREACHES)

    def _unfinished(self) -> list[Entry]:
        """The rounds of a block that has not come to its end."""
        played = self.round - int(self._span.first) if self._actions else 0
        if played == 0:
            return []
        rounds, nothing = np.arange(self.round - played, self.round), np.asarray(_NO_BREACHES.first).T
        costs = np.zeros((len(COUNTED), 1), np.int64)
        counted = np.full((self.algorithm.exchanges, len(self.partition.neighbours)), IDLE, np.int8)
        actions = np.stack(self._actions[:played])[:, None]
        return [Entry(self._block, rounds, actions, self.decision()[None], costs, nothing, counted)]


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


class _AnsweredPorts(SilentPorts):
    """Ports with the answers that were measured."""

    def __init__(self, answers: Answers):
        self.answers = answers

    def ask(self, played: SlotPlay, order: int) -> Answers:
        return self.answers


class _UpdatePorts(ProcessPorts):
    """The one port that an update needs."""

    def ask(self, played: SlotPlay, order: int) -> Answers:
        raise RuntimeError("update() must not call ports.ask()")


def _play(algorithm: Algorithm, state: Any, span: Span, index: Array, keys: Keys, most: int) -> SlotPlay:
    return algorithm.play(SilentPorts(), state, span.slot_at(index, keys, most))[1]


def _share(algorithm: Algorithm, state: Any, span: Span, index: Array, keys: Keys, most: int, answers: Answers) -> Any:
    return algorithm.play(_AnsweredPorts(answers), state, span.slot_at(index, keys, most))[0]


def _update(ports: _UpdatePorts, state: Any, total: Any, first: Array) -> tuple[Any, Any]:
    keys = ports.keys.of_agent(ports.agent).fold_in(first)
    alone = jax.tree.map(lambda leaf: leaf[None], (state, total))
    algorithm = ports.world.algorithm
    new, spent = jax.vmap(lambda state, total: algorithm.update(ports, state, total, keys))(*alone)
    return jax.tree.map(lambda leaf: leaf[0], new), spent
