"""LOO calls and seconds against certified regret, for each oracle on each kind of set.

.venv/bin/python benchmarks/oracle_calls.py --horizon 1024

N = 20 agents on a ring; f_{t,i}(x) = <c_{t,i}, x> - |x|^2/2 with drifting c, concave on every set. Step x3 for all. "calls":
LOO calls a block; "regret": the certificate (of 4 agents, on a sample of rounds) relative to that of the corrective oracle with
a tolerance so small that it projects exactly; "seconds": of a second run, so without compilation.
"""

import argparse
import time

import jax.numpy as jnp
import networkx as nx
import numpy as np

from droculo import Droculo, Scales, feedback, linearizations, measure, networks, oracles, problems, sets, simulate

AGENTS = 20


def every_set() -> dict[str, sets.Set]:
    rng = np.random.default_rng(0)
    return {
        "budget": sets.budget(20, 5),
        "simplex": sets.Simplex(20),
        "partition matroid": sets.PartitionMatroid(np.repeat(np.arange(4), 5), [1, 2, 1, 2]),
        "nuclear ball": sets.NuclearBall(4, 5),
        "LP polytope": sets.Polytope(rng.uniform(0, 1, (10, 20)), np.full(10, 3.0), np.zeros(20), np.ones(20)),
        "spanning trees": sets.SpanningTrees(nx.gnm_random_graph(12, 20, seed=1)),
        "assignment": sets.Birkhoff(5),
    }


def tracking(domain: sets.Set) -> problems.Problem:
    """Drifting linear gains less half the squared norm: the best point is a projection."""
    rng = np.random.default_rng(1)
    base = rng.normal(0, 1, (AGENTS, domain.dim)) + rng.normal(0, 1, domain.dim)
    speed = rng.uniform(0.5, 2.5, (AGENTS, domain.dim))
    radius = float(domain.radius)
    steepest = float(np.max(np.linalg.norm(np.abs(base) + 0.5, axis=1))) + radius
    return problems.from_function(
        lambda i, t, x: jnp.dot(jnp.asarray(base)[i] + 0.5 * jnp.cos(jnp.asarray(speed)[i] * t), x) - jnp.dot(x, x) / 2,
        domain, linearizations.Concave(), gradient_bound=steepest, value_bound=steepest * radius, smoothness=1.0,
        agents=AGENTS,
    )  # fmt: skip


ORACLES = {
    "exact": (oracles.Corrective(), 1e-5),
    "corrective": (oracles.Corrective(), 0.1),
    "sharp": (oracles.Sharp(), 0.1),
    "paper": (oracles.Paper(limit=20_000), 0.1),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--horizon", type=int, default=1024)
    parser.add_argument("--thetas", type=float, nargs="+", default=[0.5, 1.0])
    parser.add_argument("--only", nargs="*", help="names of oracles")
    given = parser.parse_args()
    network = networks.connect(networks.ring(AGENTS))
    sample = measure.Sample(agents=4, functions=AGENTS, rounds=256)
    print(f"{'set':18s} theta {'oracle':12s} calls/block   regret  seconds  unmet")
    for theta in given.thetas:
        for name, domain in every_set().items():
            problem, exact = tracking(domain), None
            for which, (oracle, tolerance) in ORACLES.items():
                if given.only and which not in given.only:
                    continue
                scales = Scales(step=3.0, tolerance=tolerance)
                agent = Droculo.design(
                    problem.setting, feedback.full_information(), horizon=given.horizon, theta=theta, oracle=oracle,
                    scales=scales,
                )  # fmt: skip
                simulate(problem, agent, network, key=0, progress=False)
                began = time.perf_counter()
                run = simulate(problem, agent, network, key=0, progress=False)
                seconds = time.perf_counter() - began
                bound = measure.certificate(problem, run, sample=sample).bound.mean()
                exact = bound if exact is None else exact
                calls = run.ledger.loo_calls.mean() / run.ledger.exchanges.mean()
                print(
                    f"{name:18s} {theta:5.2f} {which:12s} {calls:11.2f} {bound / exact:8.3f} {seconds:8.2f} "
                    f"{int(run.ledger.unmet.sum()):6d}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
