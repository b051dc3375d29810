"""N = 100,000 agents on a random 6-regular graph: time, sampled regret and peak memory of one run.

.venv/bin/python benchmarks/large_network.py --agents 100000
"""

import argparse
import resource
import time

import numpy as np

from droculo import Droculo, Record, feedback, measure, networks, oracles, problems, simulate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", type=int, default=100_000)
    parser.add_argument("--horizon", type=int, default=1024)
    parser.add_argument("--theta", type=float, default=0.5)
    given = parser.parse_args()
    began = time.perf_counter()
    problem = problems.TopB.random(agents=given.agents, dim=20, budget=5, seed=0)
    network = networks.from_graph(networks.random_regular(given.agents, 6))
    agent = Droculo.design(
        problem.setting,
        feedback.full_information(),
        horizon=given.horizon,
        theta=given.theta,
        oracle=oracles.FrankWolfe(),
    )
    made = time.perf_counter()
    print(
        f"made in {made - began:.1f} s: N={given.agents}, {agent.horizon} rounds in {len(agent.timetable.until(agent.horizon).first)} blocks",
        flush=True,
    )
    run = simulate(problem, agent, network, key=0, record=Record(every=max(1, given.horizon // 16)))
    x = run.states.x
    inside = np.all((x >= -1e-9) & (x <= 1 + 1e-9)) and np.all(x.sum(axis=1) <= 5 + 1e-8)
    bill = run.ledger.mean()
    print(f"run in {run.ledger.seconds:.1f} s, compilation included; all decisions in the set: {inside}")
    print("per agent:", ", ".join(f"{bill[name]:.1f} {name}" for name in ("exchanges", "messages", "loo_calls")))
    spread = np.sqrt(np.mean(np.sum((x - x.mean(axis=0)) ** 2, axis=1)))
    print(f"disagreement (rms distance to the mean decision): {spread:.2e}")
    began = time.perf_counter()
    found = measure.regret(problem, run, sample=measure.Sample(agents=16, functions=64, rounds=16))
    print(
        f"regret of 16 agents, from 16 rounds and 64 functions in each: {found.total.mean() / given.horizon:.3f} a round, "
        f"standard error {found.error.mean() / given.horizon:.3f}; measured in {time.perf_counter() - began:.1f} s"
    )
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB")


if __name__ == "__main__":
    main()
