"""The oracle that is used where none is given, and what other modules read from an oracle.

Two facts of an `InfeasibleProjection` matter outside of this package:

| fact             | read by                       | what follows                                                    |
|------------------|-------------------------------|-----------------------------------------------------------------|
| `starts_from_x0` | `Droculo`                     | False: agents send y alone by default, half the bytes of (x, y) |
| `remembers`      | the default scales (`Scales`) | True: longer steps, and a smaller tolerance on polytopes        |
"""

from __future__ import annotations

from droculo.oracles.active_set import ActiveSet
from droculo.oracles.contract import InfeasibleProjection
from droculo.sets import Set


def default_oracle(domain: Set) -> InfeasibleProjection:
    """The oracle for this set if the user chose none: today `ActiveSet` for every set.

    >>> from droculo import sets
    >>> default_oracle(sets.Simplex(3))
    ActiveSet()
    """
    return ActiveSet()
