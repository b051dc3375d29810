"""Quickstart: one problem, every feedback model, one table. Run it with `make run`."""

import time

import jax
import numpy as np

from droculo import Droculo, feedback, measure, networks, problems, simulate
from droculo.cache import keep_compiled

AGENTS, HORIZON, THETA, SEEDS = 8, 1024, 0.5, 4

# Eight agents on a ring share the b = 3 best of ten options; whose worth drifts, and differs from agent to agent.
problem = problems.TopB.random(agents=AGENTS, dim=10, budget=3, seed=0)
network = networks.from_graph(networks.ring(AGENTS))
keys = jax.random.split(jax.random.key(0), SEEDS)

models = [
    feedback.full_information(),
    feedback.semi_bandit(),
    feedback.two_point(),
    feedback.zeroth_order(),
    feedback.bandit(),
]


def main() -> None:
    print(f"top-b quadratic (case A2): N={AGENTS} ring, d=10, T={HORIZON}, theta={THETA}, mean of {SEEDS} seeds")
    print("reward and alpha-regret are per round; costs are per agent\n")
    head = f"{'feedback':<18}{'reward':>9}{'of best':>9}{'at the end':>12}{'regret':>9}{'exchanges':>11}{'LOO calls':>11}{'queries':>9}"
    print(head, "-" * len(head), sep="\n")
    keep_compiled()  # in your folder for caches: the second start is quicker
    began = time.perf_counter()
    for model in models:
        agent = Droculo.design(problem.setting, model, theta=THETA)
        run = simulate(problem, agent, network, key=keys, rounds=HORIZON)
        result, worth = measure.regret(problem, run), measure.summary(problem, run)
        bill = run.ledger.mean()
        reward = np.mean(result.rewards)
        print(
            f"{model.kind:<18}{reward / HORIZON:>9.3f}{worth.share:>9.1%}{worth.share_last:>12.1%}"
            f"{np.mean(result.total) / HORIZON:>9.3f}{bill['exchanges']:>11.0f}{bill['loo_calls']:>11.1f}"
            f"{bill['gradient_queries'] + bill['value_queries']:>9.0f}",
            flush=True,
        )
    print(
        f"\nAt the end: in the last quarter. Standing still earns {worth.still:.1%} of the best, a random vertex {worth.luck:.1%}."
    )
    print(f"alpha = {result.alpha:.4f}; the best fixed point in hindsight is known ({result.comparator.kind}).")
    print("A negative regret means: better than the guarantee of alpha times the best.")
    print(f"{time.perf_counter() - began:.0f} seconds, compilation included.")


if __name__ == "__main__":
    main()
