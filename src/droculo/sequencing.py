"""One computation after the other within a compiled program."""

import jax.numpy as jnp
from jax import Array


def after(x: Array, *done: Array) -> Array:
    """x, but not before these numbers are known (NaN, if one of them is not finite).

    Two batches of LAPACK calls (Cholesky, LU, SVD) that run at the same time can wait for each other for ever where JAX has as
    few threads as two: each takes a thread, and waits for another one to do its parts. What asks a problem or a set more
    than once within a program therefore asks one after the other.
    """
    return x + 0 * sum(jnp.sum(each) for each in done)
