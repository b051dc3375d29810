"""How certified regret depends on the length of the steps: what the default scales were chosen by.

.venv/bin/python benchmarks/scales.py --out docs/results      # all problems, both settings (a quarter of an hour on two cores)
.venv/bin/python benchmarks/scales.py inventory --steps 1 2 3 # those with that in their name, and steps of your own

N = 8 agents on a ring; T = 4096 at theta = 1/2, and T = 1024 at theta = 1 or the largest that a row of Table 1
allows. The problems are those that `efficiency.py` marks "chosen on", and some more; none of those that it marks "validated on"
is here.
"""

import argparse
from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import jax
from efficiency import CHOSEN, DIM, SAMPLE, N, Yardstick, largest, signal, yardsticks
from targets import on_all_cores, table

from droculo import Droculo, Scales, networks, problems, simulate
from droculo.measure import certificate

SETTINGS = ((4096, 0.5), (1024, 1.0))


class Kind(NamedTuple):
    """What agents are told, the feedbacks that do so, and the scales of the step that are tried with them."""

    title: str
    models: tuple[str, ...]
    ladder: tuple[float, ...]


KINDS = (
    Kind("Gradients", ("full information", "semi-bandit"), (1.0, 2.0, 3.0, 10.0, 30.0, 90.0)),
    Kind("Two values", ("two-point",), (1.0, 3.0, 10.0, 30.0, 90.0, 300.0)),
    Kind("One value", ("zeroth order", "bandit"), (30.0, 100.0, 300.0, 900.0)),
)


class Curve(NamedTuple):
    """One problem with one feedback: certified regret a round for each scale of the step."""

    problem: str
    case: str
    model: str
    default: float
    certified: dict[float, float]

    def row(self, steps: Sequence[float]) -> list[str]:
        """Cells of a table; the default in bold."""
        cells = [f"{self.certified[step]:.3g}" if step in self.certified else "" for step in steps]
        bold = [f"**{cell}**" if step == self.default else cell for step, cell in zip(steps, cells, strict=True)]
        return [self.problem, self.case, self.model, *bold]


@cache
def scanned() -> list[Yardstick]:
    """What is scanned: the problems that the scales were chosen on."""
    water = problems.WaterFilling.random(agents=N, dim=12, budget=3.0, seed=21)
    stock = problems.Inventory.random(agents=N, products=DIM, supplies=6, seed=21, case="A4")
    prices = problems.Pricing.random(stores=N, products=DIM, seed=21, case="A3")
    samples = problems.Revenue.karate(agents=N, seed=21)
    spins = problems.MeanField.synthetic(agents=N, seed=21)
    bowls = {case: problems.NQP.random(agents=N, dim=DIM, constraints=5, seed=21, case=case) for case in ("A3", "A4")}
    cut = problems.PlantedCut.random(agents=N, left=4, right=6, seed=21, down_closed=True)
    sensors = problems.LogDetSensors.random(agents=N, sites=DIM, budget=3, seed=21)
    more: dict[str, problems.Problem] = {
        "water-filling, d = 12": water, "inventory, d = 6": stock, "pricing": prices, "free samples, karate club": samples,
        "mean field": spins, "NQP": bowls["A3"], "NQP (A4)": bowls["A4"], "planted cut": cut, "log det": sensors,
    }  # fmt: skip
    # Inventories differ most: the best step of one is too long for another.
    for seed, products, supplies in ((22, 6, 8), (23, 8, 6), (24, 10, 10), (25, 8, 8), (26, 6, 6)):
        drawn = problems.Inventory.random(agents=N, products=products, supplies=supplies, seed=seed)
        more[f"inventory {seed}, d = {supplies}"] = drawn
    others = [Yardstick(CHOSEN, name, problem, ("full information",)) for name, problem in more.items()]
    return [yardstick for yardstick in yardsticks() if yardstick.group == CHOSEN] + others


def curve(horizon: int, theta: float, steps: Sequence[float] | None, task: tuple[int, str]) -> Curve:
    """That of one problem, by its place in the list, with one feedback."""
    index, model = task
    _, name, problem, _ = scanned()[index]
    asked, link, network = signal(model), problem.linearization, networks.from_graph(networks.ring(N))
    allowed = largest(problem, model, theta)
    keys = jax.random.split(jax.random.key(0), 4)

    def certified(step: float) -> float:
        agent = Droculo.design(problem.setting, asked, horizon=horizon, theta=allowed, scales=Scales(step=step))
        run = simulate(problem, agent, network, key=keys, progress=False)
        return float(certificate(problem, run, sample=SAMPLE).bound.mean()) / horizon

    (ladder,) = (kind.ladder for kind in KINDS if model in kind.models)
    default = Scales().step_for(asked, link, allowed)
    tried = sorted({*(steps or ladder), default})
    return Curve(name, link.case, model, default, {step: certified(step) for step in tried})


def page(chosen: Sequence[int], steps: Sequence[float] | None) -> str:
    """A section for each setting, with a table for each kind of answer."""
    tasks = [(index, model) for index in chosen for model in scanned()[index].models]
    parts = []
    for horizon, theta in SETTINGS:
        listed: list[Curve] = on_all_cores(partial(curve, horizon, theta, steps), tasks)
        at = f"{theta:g}" if theta < 1 else "1, or the largest that is allowed"
        parts.append(f"## T = {horizon}, theta = {at}")
        for title, models, _ in KINDS:
            shown = [found for found in listed if found.model in models]
            tried = sorted({step for found in shown for step in found.certified})
            if shown:
                head = ["problem", "case", "feedback", *(f"{step:.3g}" for step in tried)]
                parts += [f"### {title}", table(head, [list(found.row(tried)) for found in shown])]
    return "\n\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="only problems with one of these in their name")
    parser.add_argument("--steps", type=float, nargs="+", help="scales of the step, instead of the ladder")
    parser.add_argument("--out", type=Path, help="a folder for the page scales.md")
    given = parser.parse_args()
    if given.out and (given.names or given.steps):
        parser.error("the page is of all problems and of the ladder: leave out --out, or names and --steps.")
    chosen = [k for k, y in enumerate(scanned()) if not given.names or any(part in y.name for part in given.names)]
    if not chosen:
        parser.error(
            f"no problem has one of {given.names} in its name; there are {sorted({y.name for y in scanned()})}."
        )
    found = page(chosen, given.steps)
    print(found)
    if given.out is not None:
        text = (
            "# Steps and certified regret\n\nGenerated by `.venv/bin/python benchmarks/scales.py --out docs/results`. Certified "
            f"regret a round, from {SAMPLE.agents} of N = {N} agents on a ring, {SAMPLE.rounds} rounds and four seeds, for "
            "scales of the theorem's step; less is better. In bold: the default ([Default scales](../design.md#default-scales)).\n\n"
        )
        (given.out / "scales.md").write_text(text + found + "\n")


if __name__ == "__main__":
    main()
