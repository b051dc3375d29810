"""Four processes, each with a private target, agree on one decision (needs droculo[zenoh]).

Each process is asked only for the value of a point, and exchanges messages with its two neighbours only, peer to peer.
No process has to know how large values and gradients get, or how long it will take: an agent can be asked and told for ever.
"""

import json
import subprocess
import sys

import numpy as np

from droculo import Droculo, feedback, linearizations, networks, sets
from droculo.experiments import Deployment
from droculo.linearizations import Bounds, Setting
from droculo.runtime import Agent, ZenohTransport

N, T = 4, 800
NETWORK = networks.from_graph(networks.ring(N))
SETTING = Setting(sets.Box([0.0] * 3, [1.0] * 3), linearizations.Concave(), Bounds())


def be_an_agent(me: int, endpoints: dict[int, str], target: np.ndarray) -> np.ndarray:
    """One process. Its target is known to no other."""

    def value(x: np.ndarray) -> float:
        return -float(np.sum((x - target) ** 2))

    algorithm = Droculo.design(SETTING, feedback.two_point(), theta=1.0)
    transport = ZenohTransport(me, endpoints, tuple(sorted({(me - 1) % N, (me + 1) % N})), run="targets")
    earned = 0.0
    with Agent(algorithm, NETWORK, me, transport, key=0) as agent:
        while agent.round < T:
            action, queries = agent.ask()
            earned += value(action)  # the value of the round
            agent.tell([value(x) for x in queries])  # two-point feedback: two points to compare in each round
        print(f"process {me}: the mean value of a round was {earned / T:.3f}", file=sys.stderr)
        return agent.decision()


def main() -> None:
    targets = np.random.default_rng(1).uniform(0, 1, (N, 3))
    endpoints = json.dumps(Deployment.loopback(N).endpoints)
    agents = [
        subprocess.Popen(
            [sys.executable, __file__, str(me), endpoints], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for me in range(N)
    ]
    for agent, target in zip(agents, targets, strict=True):
        print(json.dumps(target.tolist()), file=agent.stdin, flush=True)  # to this one only
    decisions = np.array([json.loads(agent.communicate()[0]) for agent in agents])
    for me in range(N):
        print(f"process {me} has the target {np.round(targets[me], 2)} and decides {np.round(decisions[me], 2)}")
    print(f"the best common decision is {np.round(targets.mean(axis=0), 2)}")
    print(
        f"no two decisions differ by more than {np.ptp(decisions, axis=0).max():.2f}, targets by {np.ptp(targets, axis=0).max():.2f}"
    )


if __name__ == "__main__":
    if len(sys.argv) == 1:
        main()
    else:
        where = {int(me): endpoint for me, endpoint in json.loads(sys.argv[2]).items()}
        print(json.dumps(be_an_agent(int(sys.argv[1]), where, np.array(json.loads(input()))).tolist()))
