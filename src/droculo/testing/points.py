"""Random points of a set, for checks: mixtures of vertices, made by the oracle alone."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from droculo.sets import Set
from droculo.sets.geometry import Vector

_argmaxes = eqx.filter_jit(lambda set_, directions: jax.vmap(set_.argmax)(directions))
_inside = eqx.filter_jit(lambda set_, points, tolerance: jax.vmap(lambda x: set_.contains(x, tolerance))(points))


def random_points(set_: Set, number: int, rng: np.random.Generator) -> Vector:
    """`number` points of the set: vertices, and mixtures of up to four vertices, in double precision."""
    directions = rng.standard_normal((number + 3, set_.dim))
    vertices = np.asarray(_argmaxes(set_, jnp.asarray(directions)), np.float64)
    weights = rng.dirichlet(np.full(4, 0.5), number)
    weights[::3] = np.eye(4)[0]  # every third one is a vertex
    windows = np.stack([vertices[i : i + number] for i in range(4)], axis=1)
    return np.einsum("nk,nkd->nd", weights, windows)


def all_inside(set_: Set, points: Vector, tolerance: float) -> bool:
    """True if every row is in the set."""
    return bool(np.all(_inside(set_, jnp.asarray(points), jnp.asarray(tolerance))))
