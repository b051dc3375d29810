"""A few numbers of small runs, stored in `results.json`, to notice when results change.

    python -m tests.results    # writes them again, after RESULTS_VERSION was raised

Unlike the digests of `tests.golden`, these are compared with a tolerance: another processor rounds differently.
"""

import json
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from droculo import measure, simulate
from droculo.engine.results_version import RESULTS_VERSION
from droculo.experiments import catalogue
from tests import designs
from tests.runtime import cases

STORED = Path(__file__).with_name("results.json")
#: relative to the largest number of a row; far above rounding, far below any change of method
TOLERANCE = 1e-6
#: needs a download or an extra
ELSEWHERE = ("movielens",)


def runs():
    """Name -> (problem, run): every algorithm and every class of functions."""
    for name, (problem, _, _) in cases.CASES.items():
        yield name, (problem, cases.simulated(name))
    for name, (problem, algorithm, network) in more():
        yield name, (problem, simulate(problem, algorithm, network, key=cases.KEY, progress=False))


def more():
    """Name -> (problem, algorithm, network) of those that processes do not play."""
    for case, model in (("concave", "two_point"), ("A1", "semi_bandit"), ("A3", "bandit"), ("A4", "full_information")):
        yield f"{case} {model}", (designs.PROBLEMS[case], designs.design(case, model), designs.RING)
    for case, model in (("A1", "bandit"), ("A2", "semi_bandit"), ("A2", "full_information")):
        yield f"prescribed {case} {model}", (designs.PROBLEMS[case], designs.prescribed(case, model), designs.RING)


def of_run(problem, run):
    """What was played, what it is worth and what it cost."""
    return {
        "mean action": run.actions.mean(axis=(0, 1)),
        "last decision": run.decisions[-1].mean(axis=0),
        "regret": measure.regret(problem, run).total,
        "certificate": measure.certificate(problem, run).bound,
        **{f"cost {name}": np.array([int(np.sum(cost))]) for name, cost in run.ledger.counts.items()},
    }


def of_problem(problem):
    """Values and a gradient of its functions, half way between its anchor and the center of its set."""
    with jax.enable_x64(True):
        x = (jnp.asarray(problem.set.center) + jnp.asarray(problem.set.anchor)) / 2
        last = 0 if problem.agents is None else problem.agents - 1
        asked = [(jnp.asarray(agent), jnp.asarray(t)) for agent, t in ((0, 0), (last, 1), (last, 100))]
        value, gradient = (eqx.filter_jit(f) for f in (problem.value, problem.gradient))
        found = {"values": np.array([value(agent, t, x) for agent, t in asked])}
        if problem.differentiable:
            found["gradient"] = np.asarray(gradient(*asked[1], x))
    return found


def of_network(network):
    """Its links, and how fast it mixes."""
    return {
        "mixing": np.array([network.mixing_rate]),
        "degrees": network.degrees,
        "weights": np.concatenate([part.weight for part in network.cycle]),
    }


def found():
    """Name -> row -> numbers."""
    everything = {f"run: {name}": of_run(*run) for name, run in runs()}
    for name, entry in catalogue.PROBLEMS.items():
        if name not in ELSEWHERE:
            everything[f"problem: {name}"] = of_problem(entry.make())
    for name, entry in catalogue.NETWORKS.items():
        everything[f"network: {name}"] = of_network(catalogue.network(entry.make, _agents(entry.make), {}))
    return everything


def _agents(make):
    return 12 if make.__code__.co_varnames[:1] == ("agents",) else None


def same(new, old):
    """Whether a row of numbers is the stored one: whole numbers exactly, others up to rounding."""
    old = np.asarray(old)
    if new.shape != old.shape or np.issubdtype(new.dtype, np.integer):
        return np.array_equal(new, old)
    return bool(np.all(np.abs(new - old) <= TOLERANCE * np.max(np.abs(old), initial=1e-9)))


def changed(new, old):
    """The rows that are other than the stored ones, or not stored."""
    for name in sorted(new.keys() | old.keys()):
        rows, stored = new.get(name, {}), old.get(name, {})
        for row in sorted(rows.keys() | stored.keys()):
            if row not in rows or row not in stored or not same(rows[row], stored[row]):
                yield f"{name}, {row}"


def load():
    """The version and the rows that are stored."""
    stored = json.loads(STORED.read_text())
    return stored["results_version"], stored["rows"]


def main():
    new = found()
    if STORED.exists():
        version, old = load()
        kept = {name: rows for name, rows in new.items() if name in old}
        other = list(changed(kept, {name: old[name] for name in kept}))
        if other and version == RESULTS_VERSION:
            raise SystemExit(
                f"these results changed: {other}. Raise droculo.engine.results_version.RESULTS_VERSION first."
            )
    rows = {
        name: {
            row: [float(f"{x:.12g}") if isinstance(x, float) else x for x in numbers.tolist()]
            for row, numbers in each.items()
        }
        for name, each in new.items()
    }
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(each)}" for name, each in rows.items())
    STORED.write_text(f'{{\n "results_version": {RESULTS_VERSION},\n "rows": {{\n{lines}\n }}\n}}\n')


if __name__ == "__main__":
    main()
