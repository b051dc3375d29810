"""What sending y alone (and two numbers for the step) costs against the paper's (x, y), by certified regret.

.venv/bin/python benchmarks/exchange.py            # T = 1024: every row of Table 1, five networks (fifteen minutes, of compilation)
.venv/bin/python benchmarks/exchange.py --quick    # T = 256, two networks

N = 8 agents, theta = 1/2, the same seeds for both. The default oracle keeps a memory of its own and does not use the x it is
given, so there the two should agree exactly; `oracles.FrankWolfe` starts from that x, and shows what the exchange really costs.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
from falling_regret import CASES, N
from targets import Part, Target, run_alone, table
from tqdm import tqdm

from droculo import Droculo, feedback, networks, oracles, simulate
from droculo.algorithms import SendXY, SendY
from droculo.measure import certificate

THETA, SEEDS = 0.5, 4
NETWORKS = {
    "ring": networks.ring(N),
    "grid": networks.grid(2, N // 2),
    "star": networks.star(N),
    "complete": networks.complete(N),
    "Erdos-Renyi": networks.erdos_renyi(N, 0.4, seed=0),
}
REPRESENTATIVE = [
    ("concave", "semi-bandit"),
    ("A2", "full information"),
    ("A1", "bandit"),
    ("A3", "two-point"),
]
ORACLES = {"corrective": oracles.ActiveSet(), "sharp": oracles.FrankWolfe()}


class Row(NamedTuple):
    """One comparison: certified regret (mean over agents and seeds) and bytes that an agent sends in an exchange."""

    case: str
    model: str
    network: str
    oracle: str
    alone: float
    both: float
    lean_bytes: float
    both_bytes: float

    @property
    def name(self) -> str:
        return f"{self.case} {self.model}, {self.network}, {self.oracle}"

    @property
    def difference(self) -> float:
        """Of the two bounds, as a share of the larger one."""
        return abs(self.alone - self.both) / (max(abs(self.alone), abs(self.both)) or 1.0)


def compare(case: str, model: str, network: str, oracle: str, horizon: int) -> Row:
    problem, linked = CASES[case], networks.from_graph(NETWORKS[network])
    signal = getattr(feedback, model.replace(" ", "_").replace("-", "_"))()
    keys = jax.random.split(jax.random.key(0), SEEDS)
    bounds, sent = [], []
    for exchange in (SendY(), SendXY()):
        agent = Droculo.design(
            problem.setting, signal, horizon=horizon, theta=THETA, oracle=ORACLES[oracle], exchange=exchange
        )
        run = simulate(problem, agent, linked, key=keys, progress=False)
        bounds.append(float(certificate(problem, run).bound.mean()))
        sent.append(float(run.ledger.bytes.mean() / run.ledger.exchanges.mean()))
    return Row(case, model, network, oracle, *bounds, *sent)


def pairs(linked: Sequence[str]) -> list[tuple[str, str, str, str]]:
    """Every row of Table 1 on the ring, and four of them on each of these networks with both oracles."""
    known = [pair for pair, row in feedback.TABLE_1.items() if not isinstance(row, feedback.table.Refusal)]
    listed = [(*pair, "ring", "corrective") for pair in known]
    for oracle in ORACLES:
        listed += [(*pair, network, oracle) for pair in REPRESENTATIVE for network in linked]
    return list(dict.fromkeys(listed))


def measure(quick: bool = False) -> Part:
    """All comparisons; `quick`: with a shorter horizon, on two networks."""
    horizon, linked = (256, ["ring", "star"]) if quick else (1024, list(NETWORKS))
    rows = [compare(*pair, horizon) for pair in tqdm(pairs(linked), disable=None)]
    ratios = [row.both_bytes / row.alone_bytes for row in rows]
    targets = [  # where y alone is the default
        Target(f"y alone, {row.name}: relative difference", row.difference, at_most=0.01)
        for row in rows
        if not ORACLES[row.oracle].starts_from_x0
    ]
    # 2 d + 2 numbers over d + 2, since an adaptive step adds two to either
    targets.append(Target("y alone: bytes of (x, y) over bytes of y, least of all rows", min(ratios), at_least=1.8))
    targets.append(Target("y alone: bytes of (x, y) over bytes of y, most of all rows", max(ratios), at_most=2))
    worst = {name: max(row.difference for row in rows if row.oracle == name) for name in ORACLES}
    text = (
        f"N = {N}, T = {horizon}, theta = 1/2, {SEEDS} seeds, the same for both. Certified regret a round "
        "(`measure.certificate`, mean over agents and seeds), y sent alone against (x, y); the difference is a share of the "
        "larger of the two. Bytes: of one agent in one exchange, to all its neighbours.\n\n"
        "The corrective oracle (the default) never uses the x that an exchange would bring: its own memory is nearer. So it "
        f"loses nothing (largest difference {worst['corrective']:.2g}). The sharp oracle starts from that x, from its own "
        f"last decision when y is sent alone; there the largest difference is {worst['sharp']:.2g}, so (x, y) is its default.\n\n"
    )
    head = ["case", "feedback", "network", "oracle", "y alone", "(x, y)", "ratio", "difference"]
    head += ["bytes, y", "bytes, (x, y)"]
    shown: list[list[Any]] = [
        [
            row.case, row.model, row.network, row.oracle, row.alone / horizon, row.both / horizon, f"{row.alone / row.both:.4f}",
            row.difference, round(row.alone_bytes), round(row.both_bytes),
        ]
        for row in rows
    ]  # fmt: skip
    return Part(
        title="Lean exchange",
        command=".venv/bin/python benchmarks/exchange.py",
        text=text + table(head, shown),
        targets=targets,
        numbers={row.name: row._asdict() | {"difference": row.difference} for row in rows},
    )


if __name__ == "__main__":
    run_alone(measure, __doc__, "a shorter horizon, two networks")
