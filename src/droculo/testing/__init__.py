"""Checks of custom members of every family: they keep the contracts that everything else relies on.

One check per family; each raises an AssertionError in a full sentence. Our own tests run them on every member.
"""

from droculo.testing.algorithms import check_algorithm
from droculo.testing.linearizations import check_linearization
from droculo.testing.networks import check_network
from droculo.testing.oracles import check_oracle
from droculo.testing.parts import check_draws, check_exchange, check_steps
from droculo.testing.problems import check_problem
from droculo.testing.sets import check_set
from droculo.testing.transports import check_transport

__all__ = ["check_algorithm", "check_draws", "check_exchange", "check_linearization", "check_network"]
__all__ += ["check_oracle", "check_problem", "check_set", "check_steps", "check_transport"]
