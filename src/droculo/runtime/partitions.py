"""Which agents belong to which process: a process has one agent or a block of them, and knows its own links only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from droculo.engine.fingerprint import Fingerprint, fingerprint
from droculo.later import networkx as nx
from droculo.networks import Edges, Network, Weights
from droculo.networks.links import Links, pack

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class LocalLinks:
    """The links of one exchange of the network's cycle that touch this process. A link is inside (both ends belong to this
    process) or leads to one neighbour, another process."""

    ids: Indices  # (L,): which of the network's links it is
    leads_to: Indices  # (L,): the neighbour's position in `Partition.neighbours`, -1 inside
    ours: Indices  # (L,): position in `Partition.agents` of the end that is here (of an inside link, the first)
    theirs: Indices  # (L,): position of the other end in `Partition.elsewhere`, of an inside link in `Partition.agents`


@dataclass(frozen=True)
class Partition:
    """One process: its agents, its neighbours (other processes), and the agents there that its own talk to."""

    me: int
    agents: Indices  # (B,): nodes of the network
    neighbours: tuple[int, ...]
    elsewhere: Indices  # (H,): nodes that belong to neighbours and have a link to here
    parts: tuple[LocalLinks, ...]  # one for each exchange of the network's cycle
    network: Fingerprint  # of the network
    reach: int  # the longest way to another process: how many blocks this one can be ahead of the slowest
    #: the same for compiled code, stacked along a first axis: between all agents here and elsewhere, in the order of their
    #: numbers, in which the simulator adds neighbours up
    links: Links


def assign_agents(agents: int, processes: int) -> list[Indices]:
    """Consecutive agents for every process, as evenly as possible.

    >>> [part.tolist() for part in assign_agents(5, 2)]
    [[0, 1, 2], [3, 4]]
    """
    if not 1 <= processes <= agents:
        raise ValueError(
            f"{agents} agents can be divided among 1 to {agents} processes; got {processes}. Start as many processes as there are "
            "agents, or fewer: then each holds a block of them."
        )
    return [np.asarray(part, np.int64) for part in np.array_split(np.arange(agents), processes)]


def partition(network: Network, homes: list[Indices], me: int) -> Partition:
    """What process `me` needs to know of the network, where process p has the agents `homes[p]`."""
    n = network.n_agents
    if not 0 <= me < len(homes):
        raise ValueError(f"there are the processes 0 to {len(homes) - 1}; got {me}.")
    home = np.full(n, -1)
    for process, agents in enumerate(homes):
        home[agents] = process
    if np.any(home < 0) or sum(map(len, homes)) != n:
        raise ValueError(f"every one of the {n} agents belongs to one process; homes lists {sum(map(len, homes))}.")
    cycle = network.cycle
    crossing = [np.nonzero(np.any(home[weights.ends] == me, axis=1))[0] for weights in cycle]
    here = np.sort(np.asarray(homes[me], np.int64))
    ends = np.concatenate([weights.ends[ids] for weights, ids in zip(cycle, crossing, strict=True)])
    others = np.unique(ends[home[ends] != me])
    # Sorted by neighbour, then agent, so that received rows can be copied in order.
    elsewhere = others[np.lexsort((others, home[others]))]
    neighbours = np.unique(home[elsewhere])
    where = np.full(n, -1)
    where[here], where[elsewhere] = np.arange(len(here)), np.arange(len(elsewhere))
    known = np.sort(np.concatenate([here, elsewhere]))
    parts, pieces = [], []
    for weights, ids in zip(cycle, crossing, strict=True):
        ends = weights.ends[ids]
        outside = home[ends] != me
        ours, theirs = np.where(outside[:, :1], ends[:, ::-1], ends).T
        leads_to = np.where(outside.any(axis=1), np.searchsorted(neighbours, home[theirs]), -1)
        parts.append(LocalLinks(ids, leads_to, where[ours], where[theirs]))
        pieces.append(Weights(Edges(len(known), np.searchsorted(known, ends)), weights.weight[ids]))
    identity, reach = identity_of(network), _reach(cycle, home, me)
    return Partition(me, here, tuple(neighbours.tolist()), elsewhere, tuple(parts), identity, reach, pack(pieces))


def identity_of(network: Network) -> Fingerprint:
    """What tells networks apart: the links of every exchange, and their weights."""
    return fingerprint(network.n_agents, [(weights.ends, weights.weight) for weights in network.cycle])


def _reach(cycle: tuple[Weights, ...], home: Indices, me: int) -> int:
    pairs = np.unique(np.concatenate([home[weights.ends] for weights in cycle]), axis=0)
    graph = nx.Graph(pairs[pairs[:, 0] != pairs[:, 1]].tolist())
    return int(nx.eccentricity(graph, me)) if me in graph else 0
