"""How long a program waits before it works: `import droculo`, a first run, and the same in a second process.

.venv/bin/python benchmarks/start.py

Subprocesses in turns, medians. The second process finds the programs of the first with `droculo.keep_compiled`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

import numpy as np
from targets import Part, Target, table

SIMULATE = """
import time
began = time.perf_counter()
from droculo import Droculo, feedback, keep_compiled, networks, problems, simulate
keep_compiled()
problem = problems.TopB.random(agents=8, dim=10, budget=3, seed=0)
agent = Droculo.design(problem.setting, feedback.bandit(), horizon=1024, theta=0.5)
simulate(problem, agent, networks.from_graph(networks.ring(8)), key=0, progress=False)
print(time.perf_counter() - began)
"""


def seconds_of(code: str) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    return time.perf_counter() - began


def measure_start(quick: bool = False) -> Part:
    turns = 2 if quick else 7
    pairs = [(seconds_of("import jax, jax.numpy"), seconds_of("import droculo")) for _ in range(turns)]
    beyond = float(np.median([ours - theirs for theirs, ours in pairs]))
    with tempfile.TemporaryDirectory() as folder:
        there = {**os.environ, "DROCULO_CACHE": folder}
        starts = [
            float(subprocess.run([sys.executable, "-c", SIMULATE], check=True, capture_output=True, env=there).stdout)
            for _ in range(2)
        ]
    rows = [
        ["`import droculo` beyond JAX's own import", beyond],
        ["import and a bandit run of 1024 rounds, first start", starts[0]],
        ["the same, second start", starts[1]],
    ]
    targets = [
        Target("seconds of `import droculo` beyond JAX's own", beyond, at_most=1),
        Target("second start against the first", starts[1] / starts[0], at_most=0.75),
    ]
    return Part("Start", ".venv/bin/python benchmarks/start.py", table(["", "seconds"], rows), targets)


if __name__ == "__main__":
    part = measure_start("--quick" in sys.argv)
    print(part.text, *(target.line for target in part.targets), sep="\n")
