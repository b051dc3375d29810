"""Every algorithm in one small run, for processes to play and for the simulator to compare with."""

from functools import cache

import numpy as np
from tests.designs import PROBLEMS, RING, N, T, design, matchings, prescribed

from droculo import Scales, networks, oracles, simulate
from droculo.algorithms import DMFW, DOBGA, DecBFTRL, MonoDMFW, dpobga
from droculo.experiments import Deployment

A2 = PROBLEMS["A2"]
KEY = 7
BOLD = Scales(step=20.0)
FAILING = networks.Failing(RING, 0.3)
SWAPS = networks.TimeVarying([networks.from_matrix(part) for part in matchings()])

#: blocks that grow, and a run that ends within one of them, after one round of a slot of several rounds
GROWING = design("A2", "semi_bandit").timetable.blocks(12)
CUT = next(
    int(first) + 1 for first, slot in zip(GROWING.first, GROWING.slot, strict=True) if first > T // 2 and slot > 1
)

#: name -> (problem, algorithm, network)
CASES = {
    **{model: (A2, design("A2", model), RING) for model in ("full_information", "zeroth_order", "bandit", "two_point")},
    "semi_bandit": (A2, design("A2", "semi_bandit", horizon=CUT), RING),
    "prescribed": (A2, prescribed("A2", "semi_bandit"), RING),
    "prescribed, values": (A2, prescribed("A2", "bandit"), RING),
    "DOBGA": (A2, DOBGA.design(A2.setting, horizon=20, scales=BOLD), RING),
    "DPOBGA": (A2, dpobga(A2.setting, horizon=20, scales=Scales(step=3.0, tolerance=0.1)), RING),
    "DMFW": (A2, DMFW.design(A2.setting, horizon=8, inner=6, scales=BOLD), RING),
    "Mono-DMFW": (A2, MonoDMFW.design(A2.setting, horizon=24, block=6, scales=BOLD), RING),
    "Dec-BFTRL": (A2, DecBFTRL.design(A2.setting, horizon=20, mixing_rate=RING.mixing_rate, scales=BOLD), RING),
    "failing links": (A2, design("A2", "full_information", oracle=oracles.FrankWolfe()), FAILING),
    "changing links": (A2, DOBGA.design(A2.setting, horizon=20, scales=BOLD), SWAPS),
}
assert N == 4


@cache
def simulated(name):
    """The run of a case that processes are compared with; its numbers are also among the stored results."""
    problem, algorithm, network = CASES[name]
    return simulate(problem, algorithm, network, key=KEY, progress=False)


def endpoints(number, scheme="tcp", host="127.0.0.1"):
    """Free ports of this machine."""
    free = Deployment.loopback(number).endpoints
    return {me: at.replace("tcp/127.0.0.1", f"{scheme}/{host}") for me, at in free.items()}


def check_equals(together, run):
    """A gathered run without faults is the simulated one."""
    np.testing.assert_allclose(together.trajectory.actions, run.actions, rtol=0, atol=1e-12)
    np.testing.assert_allclose(together.trajectory.decisions, run.decisions, rtol=0, atol=1e-12)
    for name, cost in run.ledger.counts.items():
        assert np.array_equal(together.trajectory.ledger.counts[name], cost), name
    faults = together.faults
    assert (faults.failed_links, faults.disagreements, int(faults.missed_rounds.sum())) == (0, 0, 0)
