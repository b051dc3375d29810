"""What the checks share: random points of a set, kinds of numbers, an assertion, and members passed on by a wrapper."""

from operator import attrgetter
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from droculo.sets import Set
from droculo.sets.geometry import Vector
from droculo.sets.membership import count_outside

argmaxes = eqx.filter_jit(lambda set_, directions: jax.vmap(set_.argmax)(directions))


def random_points(set_: Set, number: int, rng: np.random.Generator) -> Vector:
    """`number` points of the set: vertices, and mixtures of up to four vertices, in double precision, by the oracle alone."""
    directions = rng.standard_normal((number + 3, set_.dim))
    vertices = np.asarray(argmaxes(set_, jnp.asarray(directions)), np.float64)
    weights = rng.dirichlet(np.full(4, 0.5), number)
    weights[::3] = np.eye(4)[0]  # every third one is a vertex
    windows = np.stack([vertices[i : i + number] for i in range(4)], axis=1)
    return np.einsum("nk,nkd->nd", weights, windows)


def all_inside(set_: Set, points: Vector, tolerance: float) -> bool:
    """True if every row is in the set."""
    return count_outside(set_, points, tolerance) == 0


def in_single(tree: Any) -> Any:
    """The same with all its numbers in float32."""
    return jax.tree.map(lambda leaf: np.asarray(leaf, np.float32) if eqx.is_inexact_array(leaf) else leaf, tree)


def kinds(tree: Any) -> list[tuple[tuple[int, ...], str]]:
    """The shapes and types of all leaves."""
    leaves = jax.tree.leaves(tree)
    return [(jnp.shape(leaf), str(getattr(leaf, "dtype", None) or jnp.result_type(leaf))) for leaf in leaves]


def need(holds: Any, message: str) -> None:
    """Raise an AssertionError unless it holds everywhere."""
    if not np.all(np.asarray(holds)):
        raise AssertionError(message)


def of_base(name: str) -> Any:
    """A member that a wrapper takes from its field `base`."""
    return property(attrgetter(f"base.{name}"))
