"""Messages of several kinds of numbers: processes send exactly the bytes that the algorithm declares, and mix as the simulator."""

import threading

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.designs import PROBLEMS

from droculo import networks, simulate
from droculo.algorithms import DOBGA
from droculo.algorithms.contract import OracleCalls, message_bytes, numbers
from droculo.algorithms.rivals import DOBGAState
from droculo.precision import double
from droculo.runtime import MemoryTransport, assign_agents, gather, partition, run_process
from droculo.runtime.messages import Bytes, Numbers, message_of
from droculo.runtime.protocol.frames import Frame, Kind, decode
from droculo.runtime.transports.memory import Hub
from droculo.sets.membership import is_near

A2 = PROBLEMS["A2"]
PATH = networks.from_graph(networks.path(3))


class Coarse(DOBGA):
    """DOBGA that sends half of its numbers in 8 bits: a vector in full precision and one of whole numbers."""

    @property
    def message(self):
        return numbers(self.domain.dim), jax.ShapeDtypeStruct((3,), np.uint8)

    def update(self, ports, state, total, keys):
        coarse = jnp.round(255 * jnp.clip(state.y[:3], 0, 1)).astype(jnp.uint8)
        mean, heard = ports.mix((state.y, coarse))
        y = mean.at[:3].set((mean[:3] + heard / 255) / 2)
        x = self.domain.project(y + self.steps.step_size * self.linearization.beta * total)
        return DOBGAState(x, x, state.steps), OracleCalls(projections=jnp.ones((), jnp.int32))

    def credible(self, tree, index=0):
        return is_near(self.domain, tree[0])


def played(algorithm, kinds, processes, **options):
    """The run of these transports, one thread for each process."""
    hub, parts = Hub(), [None] * processes
    homes = assign_agents(3, processes)

    def play(me):
        mine = partition(PATH, homes, me)
        transport = kinds[me](hub, me, mine.neighbours)
        parts[me] = run_process(A2, algorithm, PATH, mine, transport, key=3, **options)

    threads = [threading.Thread(target=play, args=(me,)) for me in range(processes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
    return parts


@pytest.fixture(scope="module")
def coarse():
    whole = DOBGA.design(A2.setting, horizon=6)
    return Coarse(**{name: getattr(whole, name) for name in whole.__dataclass_fields__})


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_bytes_on_the_wire_are_those_of_the_ledger(coarse, kind):
    assert message_bytes(coarse, kind) == 5 * np.dtype(kind).itemsize + 3
    parts = played(coarse, [MemoryTransport] * 3, 3, dtype=kind)
    found, expected = gather(coarse, parts).trajectory, simulate(A2, coarse, PATH, key=3, dtype=kind)
    np.testing.assert_allclose(found.actions, expected.actions, rtol=0, atol=1e-12 if kind == np.float64 else 1e-5)
    assert [part.meter.bytes for part in parts] == expected.ledger.bytes.tolist() == found.ledger.bytes.tolist()
    assert [part.meter.frames for part in parts] == expected.ledger.messages.tolist()


class Broken(MemoryTransport):
    """Sends a NaN, as bytes, in one exchange."""

    def exchange(self, number, outgoing, shapes):
        if number == 2:
            outgoing = {q: rows.copy() for q, rows in outgoing.items()}
            for rows in outgoing.values():
                assert rows.dtype == np.uint8
                rows[0, :8] = np.frombuffer(np.float64(np.nan).tobytes(), np.uint8)
        return super().exchange(number, outgoing, shapes)


def test_a_nan_within_bytes_is_a_failed_link(coarse):
    parts = played(coarse, [MemoryTransport, Broken], 2)
    assert parts[0].meter.refused == {"not finite": 1}
    assert parts[0].entries[2].counted.tolist() == [[0]]
    assert gather(coarse, parts).faults.failed_links == 1
    assert all(np.all(np.isfinite(entry.actions)) for part in parts for entry in part.entries)


def test_every_kind_of_array_comes_back_as_it_was():
    with double():
        tree = {
            "double": jnp.arange(6.0).reshape(2, 3), "single": jnp.arange(3, dtype=jnp.float32) / 7, "yes": jnp.asarray([True, False]),
            "small": jnp.asarray([-3, 5], jnp.int8), "half": jnp.asarray(0.5, jnp.float16), "long": jnp.asarray(2**40),
        }  # fmt: skip
        message = message_of(tree)
        assert isinstance(message, Bytes)
        row = message.row(tree)
        assert (row.dtype, row.nbytes) == (np.uint8, sum(leaf.nbytes for leaf in tree.values()))
        back = message.tree(row)
        for name, leaf in tree.items():
            assert back[name].dtype == leaf.dtype
            assert np.array_equal(back[name], leaf)
        bad = eqx.tree_at(lambda tree: tree["single"], tree, jnp.asarray([0, np.inf, 0], jnp.float32))
        assert message.finite(jnp.stack([row, message.row(bad)])).tolist() == [True, False]


def test_numbers_of_one_precision_travel_as_they_are():
    tree = (jnp.ones(3, jnp.float32), (), jnp.zeros((2, 2), jnp.float32))
    message = message_of(tree)
    assert isinstance(message, Numbers)
    assert message.row(tree).tolist() == [1, 1, 1, 0, 0, 0, 0]
    assert isinstance(message_of(jnp.arange(3, dtype=jnp.uint8)), Bytes)


def test_a_frame_carries_bytes():
    frame = Frame(Kind.ROWS, b"12345678", 9, 1, 0, 5, rows=np.arange(6, dtype=np.uint8).reshape(2, 3))
    found = decode(frame.encode(), b"12345678")
    assert found.rows.dtype == np.uint8
    assert np.array_equal(found.rows, frame.rows)
