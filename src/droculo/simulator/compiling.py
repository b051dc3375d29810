"""How hard the compiler tries: a short run is over before an optimized program would have been compiled."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import equinox as eqx
import jax

from droculo.algorithms import Algorithm
from droculo.simulator.engine import stretch

#: agents times rounds times coordinates up to which a run counts as short,
SHORT = 1_000_000
#: and agents times exchanges times coordinates squared, which is about what its oracle does
FEW = 500_000
#: a third of the compile time or half of it, for rounds that take twice as long and oracles that take five times as long
HASTE = {"xla_backend_optimization_level": 0, "xla_cpu_use_fusion_emitters": False}


@cache
def program(quick: bool, function: Callable[..., Any] = stretch) -> Callable[..., Any]:
    """The simulator's `stretch`, or another driver's function, compiled quickly or for speed.

    >>> program(True) is program(True)
    True
    """
    options = understood() if quick else None
    return eqx.filter_jit(function) if options is None else eqx.filter_jit(function, compiler_options=options)


def is_short(algorithm: Algorithm, agents: int) -> bool:
    """Whether to compile quickly. It depends on the algorithm's horizon and not on the rounds or seeds of a run, so that
    a shorter run is the beginning of a longer one, to the last bit."""
    dim = algorithm.domain.dim
    exchanges = algorithm.horizon / (algorithm.block * algorithm.slot) * algorithm.exchanges
    return agents * algorithm.horizon * dim <= SHORT and agents * exchanges * dim**2 <= FEW


@cache
def understood() -> dict[str, Any] | None:
    """The options for haste, unless there is an accelerator, or this version of the compiler does not know them."""
    if jax.default_backend() != "cpu":
        return None
    try:
        jax.jit(lambda x: x + 1, compiler_options=HASTE)(0)
    except Exception:  # its errors have changed their class from version to version
        return None
    return HASTE
