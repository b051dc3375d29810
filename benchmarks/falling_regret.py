"""Mean alpha-regret per round of every algorithm as the horizon grows: N=8 ring, d=10, b=3, theta=1/2, drifting weights.

.venv/bin/python benchmarks/falling_regret.py            # T = 2^8, 2^12, 2^14, every feedback (about five minutes)
.venv/bin/python benchmarks/falling_regret.py --first    # first-order feedback only
"""

import argparse

import equinox as eqx
import jax
import numpy as np

from droculo import Droculo, feedback, linearizations, measure, networks, problems, simulate

N, HORIZONS = 8, (2**8, 2**12, 2**14)
BUDGET = problems.TopB.random(agents=N, dim=10, budget=3, seed=0)
FACE = problems.TopB.random(agents=N, dim=10, budget=3, seed=0, face=True)


def seen_as(problem: problems.Problem, linearization: linearizations.Linearization) -> problems.Problem:
    """A monotone DR-submodular function belongs to the non-monotone classes too."""
    return eqx.tree_at(lambda p: p.linearization, problem, linearization)


CASES = {
    "concave": problems.WaterFilling.random(agents=N, dim=10, budget=3.0, seed=0),
    "A1": FACE,
    "A2": BUDGET,
    "A3": seen_as(FACE, linearizations.NonMonotoneGeneral()),
    "A4": seen_as(BUDGET, linearizations.NonMonotoneDownClosed()),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", action="store_true", help="first-order feedback only")
    parser.add_argument("--seeds", type=int, default=4)
    given = parser.parse_args()
    network = networks.from_graph(networks.ring(N))
    keys = jax.random.split(jax.random.key(0), given.seeds)
    print(f"{'case':<9}{'feedback':<18}" + "".join(f"{f'T={T}':>12}" for T in HORIZONS))
    for (case, model), row in feedback.TABLE_1.items():
        trivial = case in ("concave", "A1")
        if isinstance(row, feedback.table.Refusal) or (trivial and model == "full information"):
            continue
        if given.first and model not in ("full information", "semi-bandit"):
            continue
        signal = getattr(feedback, model.replace(" ", "_").replace("-", "_"))()
        per_round = []
        for horizon in HORIZONS:
            agent = Droculo.design(CASES[case].setting, signal, horizon=horizon, theta=0.5)
            run = simulate(CASES[case], agent, network, key=keys, progress=False)
            per_round.append(float(np.mean(measure.regret(CASES[case], run).total)) / horizon)
        verdict = "falls" if per_round[0] > per_round[1] > per_round[2] else "does not fall throughout"
        print(f"{case:<9}{model:<18}" + "".join(f"{r:>12.4f}" for r in per_round) + f"  {verdict}", flush=True)


if __name__ == "__main__":
    main()
