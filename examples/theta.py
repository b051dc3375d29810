"""The dial theta: what an agent's regret costs in talk. More exchanges, less regret, on one problem."""

import numpy as np

from droculo import Droculo, feedback, measure, networks, problems, simulate

AGENTS, HORIZON = 6, 256

problem = problems.TopB.random(agents=AGENTS, dim=8, budget=3, seed=0)
network = networks.from_graph(networks.ring(AGENTS))


def main() -> None:
    print(f"{'theta':>6}{'exchanges':>11}{'bytes':>8}{'LOO calls':>11}{'certified regret a round':>26}{'promised':>11}")
    for theta in (0.25, 0.5, 1.0):
        agent = Droculo.design(problem.setting, feedback.full_information(), theta=theta)
        run = simulate(problem, agent, network, key=0, rounds=HORIZON)
        bill = run.ledger.mean()
        certified = np.mean(measure.certificate(problem, run).bound) / HORIZON
        promised = measure.guarantee(problem.setting, feedback.full_information(), horizon=HORIZON, theta=theta)
        print(
            f"{theta:>6}{bill['exchanges']:>11.0f}{bill['bytes']:>8.0f}{bill['loo_calls']:>11.1f}{certified:>26.3f}"
            f"{'T^' + format(promised.exponents.regret, '.3g'):>11}"
        )

    # The other way round: a budget of exchanges in, the best theta out.
    plan = measure.plan(problem.setting, feedback.full_information(), horizon=HORIZON, exchanges=50)
    print(f"\nWith at most 50 exchanges: theta = {plan.theta:.3f}, which makes {plan.guarantee.exchanges} of them.")
    last = simulate(problem, plan.design(), network, key=0)
    print(last.ledger.frame()[["agent", "exchanges", "messages", "bytes", "loo_calls"]].head(3).to_string(index=False))


if __name__ == "__main__":
    main()
