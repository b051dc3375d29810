"""Membership up to rounding."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from droculo.sets.contract import Set


def slack(dtype: Any, domain: Set) -> Array:
    """The tolerance at which a computed point counts as inside: well above rounding, well below any real mistake."""
    return jnp.asarray(np.sqrt(np.finfo(dtype).eps) / 16, dtype) * jnp.maximum(1, domain.radius)


def is_near(domain: Set, x: Array, distance: float | Array = 0.0) -> Array:
    """False if x is certainly farther than `distance` from K.

    x is compared with the ball of radius R around the origin, and with K itself where `contains` is fast.
    """
    beyond = distance + slack(x.dtype, domain)
    near = jnp.linalg.norm(x) <= domain.radius + beyond
    # A point at this distance can violate a constraint by a multiple of it, in a knapsack by sqrt(d) times as much.
    return near & domain.contains(x, beyond * np.sqrt(domain.dim)) if domain.has_fast_contains else near
