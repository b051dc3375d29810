"""Ranking the entries of a vector inside compiled code, ties included."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

#: Up to this length all pairs are compared: without a sort, so that it runs without branches on CPU and GPU.
PAIRWISE_UP_TO = 64


def precedes(score: Array) -> Array:
    """before[i, j]: entry j comes strictly before entry i in descending order, the lower index first in a tie."""
    index = jnp.arange(score.shape[0])
    higher = score[None, :] > score[:, None]
    tied_and_earlier = (score[None, :] == score[:, None]) & (index[None, :] < index[:, None])
    return higher | tied_and_earlier


def weight_before(score: Array, weight: Array, groups: Array | None = None) -> Array:
    """For every entry, the total `weight` of the entries of its group that rank before it in descending `score`.

    With unit weights this is the entry's rank, starting from 0. Equal scores never share a rank.
    """
    if score.shape[0] <= PAIRWISE_UP_TO:
        before = precedes(score)
        if groups is not None:
            before &= groups[None, :] == groups[:, None]
        return jnp.where(before, weight[None, :], 0).sum(axis=1)
    order = jnp.argsort(-score, stable=True) if groups is None else jnp.lexsort((-score, groups))
    running = jnp.cumsum(weight[order]) - weight[order]
    if groups is not None:
        sorted_groups = groups[order]
        first = jnp.searchsorted(sorted_groups, sorted_groups, side="left")
        running = running - running[first]
    return jnp.zeros_like(running).at[order].set(running)
