"""The compiled step of a process: one program for every shape of block, and which block has which."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from droculo.engine.block import Kept, Shape, World
from droculo.engine.compiling import supported_options
from droculo.runtime.kernel import CompiledLinks, live

#: arrays of more numbers than this are handed to a compiled program; smaller ones become a part of it
MOST_FIXED = 4096


class Step:
    """`live`, compiled for every shape of block. What stays the same becomes a part of the program, unless it is large: JAX
    hands every argument of a program that calls back over one by one, in Python, and blocks are short."""

    def __init__(self, world: World, cable: CompiledLinks, key: Array, quick: bool):
        self.moving = cable.wire, key
        fixed = (world, eqx.tree_at(lambda cable: cable.wire, cable, None))
        self.large, small = eqx.partition(fixed, lambda leaf: eqx.is_array_like(leaf) and np.size(leaf) > MOST_FIXED)
        self.large = jax.tree.map(jnp.asarray, self.large)
        self.small = _Same(small)
        self.quick = quick

    def __call__(self, shape: Shape, states: Any, first: int) -> tuple[Any, Any, Kept | None]:
        return _compiled(self.small, shape, self.quick)(self.large, self.moving, states, np.int64(first))


class _Same:
    """A pytree that equals another with the same structure and the same numbers, bit for bit."""

    def __init__(self, tree: Any):
        self.tree = tree
        leaves, structure = jax.tree.flatten(tree)
        as_key = [(np.asarray(x).tobytes(), str(np.asarray(x).dtype)) if eqx.is_array_like(x) else x for x in leaves]
        self._key = (structure, tuple(as_key))

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self._key == other._key


def _bound(small: Any, shape: Shape) -> Callable[..., Any]:
    def run(large: Any, moving: Any, states: Any, first: Array) -> tuple[Any, Any, Kept | None]:
        world, cable = eqx.combine(large, small)
        wire, key = moving
        cable = eqx.tree_at(lambda cable: cable.wire, cable, wire, is_leaf=lambda leaf: leaf is None)
        return live(world, cable, shape, states, key, first)

    return run


@lru_cache(maxsize=8)
def _compiled(small: _Same, shape: Shape, quick: bool) -> Callable[..., Any]:
    """One program for all seeds of a cell."""
    return jax.jit(_bound(small.tree, shape), compiler_options=supported_options() if quick else None)
