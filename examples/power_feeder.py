"""The 33-bus power feeder, from a spec to a DataFrame, a plot and a page: what `droculo run` does, in Python."""

import tempfile
from pathlib import Path

from droculo.experiments import parse, sweep
from droculo.report import write_page

SPEC = """
title = "Tie lines, three ways to learn"
problems = "feeder"            # how far to close the five tie lines; six areas decide together
networks = "feeder-areas"
horizons = 192                 # two days of quarter hours
seeds = 2

[[algorithms]]
name = "droculo"
feedback = ["full-information", "semi-bandit"]
theta = "2/3"

[[algorithms]]
name = "dobga"                 # projects, and talks in every round
"""


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="feeder-"))
    found = sweep(parse(SPEC), folder, processes=1)
    runs = found.results.frame()
    runs["saved"] = runs["reward"] / runs["horizon"]  # kW of loss, a round
    runs["certified"] /= runs["horizon"]
    shown = ["saved", "certified", "exchanges", "bytes", "loo_calls", "projections"]
    print(runs.groupby("label")[shown].mean().round(2).to_string())
    found.results.plot().figure.savefig(folder / "certified.png", dpi=120)
    print(f"\n{write_page(found, folder).name} and certified.png are in {folder}")


if __name__ == "__main__":
    main()
