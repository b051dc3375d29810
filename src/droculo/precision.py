"""Numbers: droculo works in double precision without touching a user's global JAX configuration."""

from contextlib import AbstractContextManager

import jax


def double() -> AbstractContextManager[None]:
    """A context in which JAX computes in float64, whatever the user's own configuration says outside of it."""
    return jax.enable_x64(True)
