"""A small sweep whose rows were written by hand: two networks, two horizons, three methods, three seeds."""

from pathlib import Path

from droculo.engine.costs import COSTS, COUNTED
from droculo.experiments import Results, Sweep, parse
from droculo.experiments.rows import POINTS, RUNS, SHARES
from droculo.experiments.store import table

SPEC = """title = "{title}"
problems = "top-b"
networks = ["ring", "complete"]
horizons = [64, 256]
seeds = 3
[[algorithms]]
name = "droculo"
theta = ["1/2", 1]
[[algorithms]]
name = "dobga"
"""
METHODS = (
    ("droculo", "droculo, full-information, theta = 0.5", 0.5),
    ("droculo", "droculo, full-information, theta = 1", 1.0),
    ("dobga", "dobga", None),
)
HORIZONS, SEEDS, AGENTS, ALPHA = (64, 256), (0, 1, 2), 4, 0.5
LINKS = {"ring": [(0, 1), (1, 2), (2, 3), (0, 3)], "complete": [(i, j) for i in range(4) for j in range(i)]}


def certified(method: int, horizon: int, seed: int) -> float:
    """(method + 1) (seed + 1) T^(1/2): the slope is 1/2, the mean over seeds is 2 (method + 1) T^(1/2)."""
    return (method + 1.0) * (seed + 1) * horizon**0.5


def rows(network: str, method: int, horizon: int) -> tuple[list[dict], list[dict]]:
    algorithm, label, theta = METHODS[method]
    run = f"{network}-{method}-{horizon}"
    exchanges = {0.5: horizon**0.5, 1.0: float(horizon), None: float(horizon)}[theta]
    runs, points = [], []
    for seed in SEEDS:
        for t in (1, horizon // 4, horizon // 2, horizon):
            bound = certified(method, t, seed)
            points.append({
                "run": run, "seed": seed, "round": t, "reward": 2.0 * t, "regret": -0.75 * t, "certified": bound,
                "moving": 5.0 * t,
                **dict.fromkeys(COUNTED, 0.0),
                "consensus_gap": 1.0 / t, "exchanges": exchanges * t / horizon, "messages": 2.0 * t, "bytes": 80.0 * t,
                "loo_calls": 0.0 if theta is None else float(t), "projections": float(t) if theta is None else 0.0,
                "queries": float(t), "agent_regret": [-0.75 * t] * AGENTS,
                "agent_certified": [bound + agent * t**0.5 for agent in range(AGENTS)],
                "agent_gap": [agent / t for agent in range(AGENTS)],
            })  # fmt: skip
        runs.append({
            "run": run, "seed": seed, "problem": "top-b", "network": network, "algorithm": algorithm, "label": label,
            "feedback": "full information", "theta": theta, "horizon": horizon, "agents": AGENTS, "dim": 3, "domain": "Budget",
            "case": "A2", "alpha": ALPHA, "mixing_rate": 0.5, "blocks": int(exchanges), "sampled": False,
            "promised_exponent": 0.75 if method == 0 else None, "promised_by": "Theorem 2" if method == 0 else None,
            "links": [end for link in LINKS[network] for end in link], "reward": 2.0 * horizon, "regret": -0.75 * horizon,
            "regret_worst": -0.75 * horizon, "certified": certified(method, horizon, seed), "certified_worst": 1.0,
            "consensus_gap": 1.0 / horizon, "best": 2.5 * horizon, "best_kind": "exact", "best_gap": 0.0,
            **dict.fromkeys(COSTS, 0.0), **dict.fromkeys(SHARES, 0.8), "still_last": 0.7, "warnings": None, "exchanges": exchanges, "messages": 2.0 * horizon, "bytes": 80.0 * horizon,
            "loo_calls": 0.0 if theta is None else float(horizon), "projections": float(horizon) if theta is None else 0.0,
            "gradient_queries": float(horizon), "value_queries": 0.0, "seconds": 1.0,
            "spec": "{}", "droculo": "0", "results_version": 1, "jax": "0", "numpy": "0", "python": "3", "platform": "any",
            "device": "cpu", "played_at": "2025-01-01T00:00:00+00:00",
        })  # fmt: skip
    return runs, points


def small_sweep(title: str = "Three methods", networks: tuple[str, ...] = ("ring", "complete")) -> Sweep:
    spec = parse(SPEC.format(title=title.replace('"', '\\"')))
    every = [rows(network, method, T) for network in networks for method in range(3) for T in HORIZONS]
    runs, points = ([row for part in every for row in part[which]] for which in (0, 1))
    failures, missing = ((spec.cells[0], "ValueError: an error, for once"),), (spec.cells[1],)
    return Sweep(spec, Path("results/small"), Results(table(RUNS, runs), table(POINTS, points)), failures, missing)
