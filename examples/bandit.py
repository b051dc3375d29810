"""Values only: what is learned from one number a round, and from two. With noise on top, as measurements have it."""

import jax

from droculo import Droculo, feedback, measure, networks, problems, simulate

AGENTS, HORIZON, SEEDS = 4, 1024, 3

exact = problems.TopB.random(agents=AGENTS, dim=5, budget=2, seed=0)  # monotone, on a set with 0: case A2
noisy = problems.Noisy(exact, value=1.0)  # every answer is off by up to 1
network = networks.from_graph(networks.complete(AGENTS))
keys = jax.random.split(jax.random.key(0), SEEDS)


def main() -> None:
    best = measure.best_fixed_point(exact, HORIZON, AGENTS).total / HORIZON
    alpha = float(exact.linearization.for_set(exact.set).alpha)  # the share of the optimum that theory promises here
    print(f"the best fixed point earns {best:.2f} a round; {alpha:.2f} of that is promised in the long run")
    for name, problem in (("exact", exact), ("noisy", noisy)):
        for model in (feedback.bandit(), feedback.two_point()):
            agent = Droculo.design(problem.setting, model, theta=0.5)
            run = simulate(problem, agent, network, key=keys, rounds=HORIZON)
            earned = measure.rewards(exact, run)  # (seeds, rounds, agents)
            first, last = earned[:, : HORIZON // 8].mean(), earned[:, -HORIZON // 8 :].mean()
            asked = run.ledger.mean()["value_queries"]
            print(
                f"{name} values, {model.kind:<10} from {first:.2f} a round to {last:.2f}, with {asked:.0f} values an agent"
            )


if __name__ == "__main__":
    main()
