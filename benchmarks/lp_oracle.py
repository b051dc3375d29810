"""Milliseconds for one call of the linear oracle of a polytope: the library's, against a fresh linprog.

.venv/bin/python benchmarks/lp_oracle.py --repeats 200

Random polytopes {0 <= x <= 1, A x <= b} and random directions. The library keeps one HiGHS model for all solves, and starts
each from the same basis; `scipy.optimize.linprog(method="highs")` is the same solver, told the whole program every time.
Both answer the same directions in turns; the times are medians, and both must reach the same optimal value.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from targets import Part, Target, table

from droculo import sets

#: name: coordinates, rows
SIZES = {"small": (20, 10), "large": (60, 30)}


def polytope(dim: int, rows: int, seed: int = 0) -> sets.Polytope:
    rng = np.random.default_rng(seed)
    return sets.Polytope(rng.uniform(0, 1, (rows, dim)), np.full(rows, 3.0), np.zeros(dim), np.ones(dim))


def measure(repeats: int) -> dict[str, float]:
    """For both sizes: milliseconds of a call (library, linprog), their ratio, and the largest difference in value."""
    found = {}
    for name, (dim, rows) in SIZES.items():
        domain = polytope(dim, rows)
        bounds = np.stack([domain.lower, domain.upper], axis=1)

        def fresh(direction: NDArray, domain: sets.Polytope = domain, bounds: NDArray = bounds) -> NDArray:
            return linprog(-direction, A_ub=domain.A, b_ub=domain.b, bounds=bounds, method="highs").x

        directions = np.random.default_rng(1).normal(size=(repeats + 3, dim))
        ours, theirs, gaps = [], [], []
        for direction in directions:
            mine, quick = _timed(domain.host.solve, direction)
            other, slow = _timed(fresh, direction)
            gaps.append(abs(float(direction @ (mine - other))))
            ours.append(quick)
            theirs.append(slow)
        warm = slice(3, None)  # the first calls import, allocate and so on
        quick, slow = (1e3 * float(np.median(times[warm])) for times in (ours, theirs))
        found |= {
            f"{name}_ms": quick,
            f"{name}_linprog_ms": slow,
            f"{name}_ratio": slow / quick,
            f"{name}_gap": max(gaps),
        }
    return found


def measure_lp(quick: bool = False) -> Part:
    """The part of `make bench`."""
    found = measure(20 if quick else 200)
    rows, targets = [], []
    for name, (dim, rows_of_it) in SIZES.items():
        ratio, gap = found[f"{name}_ratio"], found[f"{name}_gap"]
        rows.append([dim, rows_of_it, found[f"{name}_ms"], found[f"{name}_linprog_ms"], ratio])
        targets.append(Target(f"LP oracle against a fresh linprog (d = {dim})", ratio, at_least=5, noise=0.1))
        targets.append(Target(f"difference between their optimal values (d = {dim})", gap, at_most=1e-9))
    text = table(["d", "rows", "library, ms a call", "fresh linprog, ms a call", "ratio"], rows)
    return Part("LP oracle", ".venv/bin/python benchmarks/lp_oracle.py", text, targets)


def _timed(solve: Callable[[NDArray], NDArray], direction: NDArray) -> tuple[NDArray, float]:
    began = time.perf_counter()
    point = solve(direction)
    return point, time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=200)
    found = measure(parser.parse_args().repeats)
    print("polytope      d rows   library   linprog  ratio  difference in value")
    for name, (dim, rows) in SIZES.items():
        print(
            f"{name:10s} {dim:4d} {rows:4d} {found[f'{name}_ms']:6.3f} ms {found[f'{name}_linprog_ms']:6.3f} ms "
            f"{found[f'{name}_ratio']:6.1f} {found[f'{name}_gap']:12.1e}"
        )
        assert found[f"{name}_gap"] <= 1e-9, "the two disagree"


if __name__ == "__main__":
    main()
