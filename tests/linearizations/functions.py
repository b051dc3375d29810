"""Random members of each class, written in JAX, for the linearizations to be tried on."""

import jax.numpy as jnp
import numpy as np


def concave(d, rng):
    w, a, b = rng.uniform(0.1, 2, d), rng.uniform(0.5, 4, d), rng.standard_normal(d)
    M = rng.standard_normal((d, d))
    Q = M @ M.T / d
    return [lambda x: jnp.dot(w, jnp.log1p(a * x)), lambda x: jnp.dot(b, x) - x @ Q @ x / 2 + 3]


def monotone(d, rng):
    """Non-negative, monotone and DR-submodular on the box: a quadratic, a coverage function, an exponential form."""
    H = -rng.uniform(0, 1, (d, d))
    H = (H + H.T) / 2
    h = -H.sum(axis=1) + rng.uniform(0, 0.2, d)
    p = rng.uniform(0, 1, (4, d))
    B = rng.uniform(0, 1, (3, d))
    return [
        lambda x: x @ H @ x / 2 + jnp.dot(h, x),
        lambda x: jnp.sum(1 - jnp.prod(1 - p * x, axis=1)),
        lambda x: jnp.sum(1 - jnp.exp(-(B @ x))),
    ]


def weakly_monotone(d, rng, gamma):
    """h.x + x.Hx/2 with H >= 0 entrywise and PSD, h = c H 1: gamma = 2c/(2c + 1) for up-concavity."""
    c = gamma / (2 * (1 - gamma))
    M = rng.uniform(0, 1, (d, d))
    H = M @ M.T / d
    h = c * H.sum(axis=1)
    return [lambda x: jnp.dot(h, x) + x @ H @ x / 2]


def non_monotone(d, rng):
    """Non-negative and DR-submodular, rising and falling: cuts, revenue, and the authors' benchmark quadratic."""
    W = rng.uniform(0, 1, (d, d)) * (rng.uniform(size=(d, d)) < 0.5)
    W = np.triu(W, 1) + np.triu(W, 1).T
    H = -10 * rng.uniform(0, 1, (d, d))
    H = (H + H.T) / 2
    h, c = -0.1 * H.sum(axis=1), -H.sum() / 2
    return [
        lambda x: jnp.sum(jnp.triu(jnp.asarray(W)) * (x[:, None] + x[None, :] - 2 * x[:, None] * x[None, :])),
        lambda x: jnp.sum(jnp.asarray(W) * x[:, None] * (1 - x[None, :])),
        lambda x: x @ H @ x / 2 + jnp.dot(h, x) + c,
    ]
