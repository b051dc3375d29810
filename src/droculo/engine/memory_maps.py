"""Stay below Linux's limit on memory maps: each compiled program takes hundreds of them."""

from __future__ import annotations

from pathlib import Path

import jax

MAPS = Path("/proc/self/maps")
#: Linux allows 65,530 mappings unless told otherwise; beyond that the compiler crashes without a message
MOST = 40_000
#: by how many they grow between two calls at most; counting tens of thousands takes as many microseconds
GROWTH = 5_000
#: calls that are certain to find fewer than `MOST`
_certain = 0


def clear_caches_if_needed(most: int = MOST) -> bool:
    """Forget all compiled programs if they hold more than `most` memory maps; returns True if they did.

    What is needed again is compiled again. Where maps cannot be counted (other systems), nothing is done.
    """
    global _certain
    if most == MOST and _certain > 0:
        _certain -= 1
        return False
    try:
        with MAPS.open("rb") as lines:
            number = sum(1 for _ in lines)
    except OSError:
        return False
    _certain = max(0, (MOST - number) // GROWTH)
    if number <= most:
        return False
    jax.clear_caches()  # type: ignore[no-untyped-call]
    return True
