"""Compiler options: a short run ends before an optimized program would have been compiled."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import equinox as eqx
import jax

from droculo.algorithms import Algorithm

#: agents times rounds times coordinates up to which a run counts as short
SHORT = 1_000_000
#: agents times exchanges times coordinates squared (about the work of the oracle) up to which a run counts as short
FEW = 500_000
#: a third of the compile time or half of it, for rounds that take twice as long and oracles that take five times as long
FAST_COMPILE = {"xla_backend_optimization_level": 0, "xla_cpu_use_fusion_emitters": False}


@cache
def program(function: Callable[..., Any], *, quick: bool) -> Callable[..., Any]:
    """A driver's function, compiled quickly or for speed; the same object for the same arguments.

    >>> program(sum, quick=True) is program(sum, quick=True)
    True
    """
    return eqx.filter_jit(function, compiler_options=supported_options() if quick else None)


def quick_blocks(algorithm: Algorithm, agents: int) -> float:
    """How many blocks, from the first, are compiled quickly. It does not depend on the rounds or seeds of a run, so that a shorter
    run is the beginning of a longer one, to the last bit: all blocks or none up to the last round of a timetable, and where it
    has none, those that a short run has."""
    dim, timetable = algorithm.domain.dim, algorithm.timetable
    rounds = SHORT // (agents * dim)
    exchanges = FEW // (agents * dim**2 * algorithm.exchanges)
    if timetable.last is None:
        return min(exchanges, timetable.count(rounds))
    return math.inf if timetable.last <= rounds and len(timetable.until(timetable.last).number) <= exchanges else 0


@cache
def supported_options() -> dict[str, Any] | None:
    """The options that compile fast; None with an accelerator, or where this version of the compiler does not know them."""
    if jax.default_backend() != "cpu":
        return None
    try:
        jax.jit(lambda x: x + 1, compiler_options=FAST_COMPILE)(0)
    except Exception:  # its errors have changed their class from version to version
        return None
    return FAST_COMPILE
