"""The command line: arguments in, one function called, an exit code out."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from droculo.cache import keep_compiled


def main(arguments: Sequence[str] | None = None) -> int:
    """`droculo ...`; an error that a person can act on is one line and exit code 2."""
    given = _parser().parse_args(arguments)
    if given.cache:
        keep_compiled()
    try:
        given.run(given)
    except (ValueError, TypeError, ImportError, OSError) as error:
        print(f"droculo: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(
            "droculo: interrupted; what was finished is kept, and the same command goes on from there.", file=sys.stderr
        )
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="droculo", description="Decentralized, projection-free, online optimization: experiments."
    )
    parser.add_argument("--cache", action="store_true", help="keep compiled programs, so that the next start is quick")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _table_1(commands)
    return parser


def _table_1(commands: Any) -> None:
    parser = commands.add_parser(
        "table1",
        help="measure every row of the paper's Table 1",
        description="Run every row of the paper's Table 1 over growing horizons, fit its exponents and write table1.md "
        "with its figures. What is finished is kept: the same command goes on where it stopped.",
    )
    parser.add_argument("--size", choices=("quick", "full"), default="quick", help="a few minutes, or an hour")
    parser.add_argument("--out", type=Path, default=Path("results"), help="the folder to write to (default: results)")
    parser.set_defaults(run=_run_table_1)


def _run_table_1(given: argparse.Namespace) -> None:
    from droculo.experiments import FULL, QUICK, measure_table_1
    from droculo.report import write_table_1

    size = FULL if given.size == "full" else QUICK
    found = measure_table_1(size, given.out)
    print(write_table_1(found, given.out))
