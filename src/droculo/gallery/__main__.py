"""`python -m droculo.gallery [names] [--out folder]`: run applications, write their pages and pictures."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from droculo.experiments.cell import NotPossibleError
from droculo.gallery import STORIES
from droculo.gallery.page import index, write


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m droculo.gallery", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"any of {', '.join(STORIES)}; all by default")
    parser.add_argument("--out", type=Path, default=Path("docs/applications"), help="the folder to write to")
    given = parser.parse_args(arguments)
    unknown = [name for name in given.names if name not in STORIES]
    if unknown:
        parser.error(f"there is no application called {', '.join(unknown)}; there are {', '.join(STORIES)}.")
    for name in given.names or list(STORIES):
        try:
            result = write(STORIES[name], name, given.out)
        except (ImportError, NotPossibleError) as error:
            print(f"{name}: left out, {error}", file=sys.stderr)
            if given.names:
                return 1
            continue
        T = result.run.horizon
        print(
            f"{name}: {result.earned.mean():.4g} a round, best fixed {result.row['best'] / T:.4g} ({result.row['best_kind']}), "
            f"at the start {result.start_earned.mean():.4g}; {result.row['seconds']:.0f} s -> {given.out / name}.md",
            flush=True,
        )
    if not given.names:
        index(STORIES).write(given.out, "README")
    return 0


if __name__ == "__main__":
    sys.exit(main())
