"""Digests of small runs of every algorithm, to show that a change of structure leaves every run as it was.

    python -m tests.golden before.json     # at the commit before the change
    python -m tests.golden after.json      # after it, on the same machine: the files must be equal

Digests are exact to the last bit. They differ between processors, so none is committed.
"""

import hashlib
import json
import sys

import numpy as np

from droculo import Droculo, Record, algorithms, feedback, simulate
from droculo.algorithms import Anytime
from tests import designs
from tests.runtime import cases

ROUNDS = 12
COSTS = (
    "exchanges", "messages", "bytes", "loo_calls", "gradient_queries", "value_queries", "not_converged", "projections", "separations",
)  # fmt: skip


def runs():
    """Name -> (problem, algorithm, network, options of `simulate`) of every run."""
    for case, model in designs.PAIRS:
        problem = designs.PROBLEMS[case]
        yield f"{case} {model}", (problem, designs.design(case, model), designs.RING, {"rounds": ROUNDS})
        prescribed = designs.prescribed(case, model, horizon=ROUNDS)
        yield f"prescribed {case} {model}", (problem, prescribed, designs.RING, {})
    for model in ("full_information", "semi_bandit", "zeroth_order", "bandit"):
        problem = designs.PROBLEMS["A2"]
        asked = getattr(feedback, model)()
        yield (
            f"default {model}",
            (problem, Droculo.design(problem.setting, asked, horizon=48, theta=0.5), designs.RING, {}),
        )
        published = algorithms.published(problem.setting, asked, horizon=48, theta=0.5)
        yield f"published {model}", (problem, published, designs.RING, {"record": Record(every=3, queries=True)})
    for name, (problem, algorithm, network) in cases.CASES.items():
        yield f"process {name}", (problem, algorithm, network, {"rounds": min(ROUNDS, algorithm.horizon or ROUNDS)})
    problem = designs.PROBLEMS["A2"]
    anytime = Anytime(lambda T: Droculo.prescribed(problem.setting, feedback.bandit(), horizon=T), first=8)
    yield "anytime", (problem, anytime, designs.RING, {"rounds": 24})


def digest(problem, algorithm, network, options):
    """Of actions, decisions, queries and costs."""
    options = {"record": Record(queries=True)} | options
    run = simulate(problem, algorithm, network, key=7, progress=False, **options)
    costs = [getattr(run.ledger, name) for name in COSTS]
    arrays = {"rounds": run.rounds, "actions": run.actions, "decisions": run.decisions, "queries": run.queries}
    arrays |= {"costs": np.stack(costs)}
    return {name: hashlib.sha256(np.ascontiguousarray(a).tobytes()).hexdigest()[:16] for name, a in arrays.items()}


if __name__ == "__main__":
    found = {name: digest(*run) for name, run in runs()}
    with open(sys.argv[1], "w") as file:
        json.dump(found, file, indent=1, sort_keys=True)
