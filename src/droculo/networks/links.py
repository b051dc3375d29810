"""The arrays that mix: neighbour lists padded to one width, or plain links where degrees are too uneven."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from droculo.networks.weights import Vector, Weights

#: padded lists may take this many times the room of the links themselves; a star of N agents would take N / 3
ROOM = 4

#: how many neighbours are written out in a row before the compiled loop turns
UNROLL = 8

Indices = NDArray[np.int32]


class Links(eqx.Module):
    """One exchange's links. Padding has weight zero and leads from an agent to itself.

    `neighbours`, `slot` and `slot_weight` are None where the lists would waste room; sums over links replace them.
    """

    n_agents: int = eqx.field(static=True)
    ends: Indices  # (E, 2)
    weight: Vector  # (E,)
    neighbours: Indices | None  # (N, D)
    slot: Indices | None  # (N, D): which link leads to that neighbour
    slot_weight: Vector | None  # (N, D)

    def mix(self, values: Array, up: Array) -> Array:
        """y_i = x_i + sum_j w_ij up_ij (x_j - x_i).

        In this form equal values stay equal to the last bit, and a link that is down leaves both ends their own.
        """
        values = jnp.asarray(values)
        if not jnp.issubdtype(values.dtype, jnp.inexact):
            values = values.astype(float)  # whole numbers have no averages
        if self.weight.shape[0] == 0:
            return values
        if self.neighbours is None or self.slot_weight is None:
            first, second = self.ends[:, 0], self.ends[:, 1]
            flow = self._like(jnp.asarray(up) * self.weight, values) * (values[second] - values[first])
            return values + self._sum_at_ends(flow, -flow)
        share = self._like(jnp.asarray(up)[self.slot] * self.slot_weight, values)

        def hear(total: Array, one: tuple[Array, Array]) -> tuple[Array, None]:
            return total + one[0] * (values[one[1]] - values), None

        # One neighbour of all agents at a time: an (N, D, ...) array of all of them at once is 4 to 13 times slower.
        slots = jnp.moveaxis(share, 1, 0), jnp.asarray(self.neighbours).T
        return values + jax.lax.scan(hear, jnp.zeros_like(values), slots, unroll=UNROLL)[0]

    def messages(self, up: Array) -> Array:
        """(N,): how many links of every agent exist and are up."""
        if self.weight.shape[0] == 0:
            return jnp.zeros(self.n_agents, jnp.int32)
        sent = ((jnp.asarray(self.weight) > 0) & (jnp.asarray(up) > 0)).astype(jnp.int32)
        if self.neighbours is None:
            return self._sum_at_ends(sent, sent)
        return jnp.where(jnp.asarray(self.slot_weight) > 0, sent[self.slot], 0).sum(axis=1)

    def _like(self, weight: Array, values: Array) -> Array:
        """In the values' precision, with an axis of length one for each of their further axes."""
        return weight.astype(values.dtype).reshape(weight.shape + (1,) * (values.ndim - 1))

    def _sum_at_ends(self, at_first: Array, at_second: Array) -> Array:
        flows, agents = jnp.concatenate([at_first, at_second]), jnp.asarray(self.ends).T.ravel()
        return jax.ops.segment_sum(flows, agents, num_segments=self.n_agents)


def pack(cycle: Sequence[Weights]) -> Links:
    """The links of several exchanges, stacked along a first axis and padded to a common size."""
    n = cycle[0].n_agents
    most = max(len(part.weight) for part in cycle)
    degree = max(int(np.bincount(part.ends.ravel(), minlength=n).max()) for part in cycle)
    lists = n * degree <= ROOM * (2 * most + n)
    packed = [_pack_one(part, most, degree if lists else None) for part in cycle]
    stacked: Links = jax.tree.map(lambda *arrays: np.stack(arrays), *packed)
    return stacked


def at(stacked: Links, exchange: int | Array) -> Links:
    """The links of one exchange; the cycle starts again after its last."""
    length = stacked.weight.shape[0]
    part = 0 if length == 1 else exchange % length  # known beforehand: no gather
    chosen: Links = jax.tree.map(lambda array: jnp.asarray(array)[part], stacked)
    return chosen


def _pack_one(part: Weights, most: int, degree: int | None) -> Links:
    n, count = part.n_agents, len(part.weight)
    ends = np.zeros((most, 2), np.int32)
    weight = np.zeros(most)
    ends[:count], weight[:count] = part.ends, part.weight
    if degree is None:
        return Links(n, ends, weight, None, None, None)
    agent = part.ends.T.ravel()
    order = np.argsort(agent, kind="stable")
    rows = agent[order]
    columns = np.arange(2 * count) - np.searchsorted(rows, rows)  # position of the link in its agent's list
    neighbours = np.repeat(np.arange(n, dtype=np.int32)[:, None], degree, axis=1)
    slot = np.zeros((n, degree), np.int32)
    slot_weight = np.zeros((n, degree))
    link = np.tile(np.arange(count), 2)[order]
    neighbours[rows, columns] = part.ends[:, ::-1].T.ravel()[order]
    slot[rows, columns] = link
    slot_weight[rows, columns] = part.weight[link]
    return Links(n, ends, weight, neighbours, slot, slot_weight)
