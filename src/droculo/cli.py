"""The command line: arguments in, one function called, an exit code out."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from droculo.cache import keep_compiled


class _Parser(argparse.ArgumentParser):
    """Bad arguments are one line too."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}. See {self.prog} --help.\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """`droculo ...`; an error that a person can act on is one line and exit code 2."""
    arguments = sys.argv[1:] if arguments is None else arguments
    given = _parser().parse_args(arguments)
    given.command = shlex.join(["droculo", *arguments])
    if given.cache:
        keep_compiled()
    try:
        given.run(given)
    except (ValueError, TypeError, ImportError, OSError) as error:
        print(f"droculo: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        kept = (
            "what was finished is kept, and the same command goes on from there." if given.keeps else "nothing is kept."
        )
        print(f"droculo: interrupted; {kept}", file=sys.stderr)
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="droculo", description="Decentralized, projection-free, online optimization: experiments.")
    parser.add_argument("--cache", action="store_true", help="keep compiled programs, so that the next start is quick")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _table_1(commands)
    _compare(commands)
    _crossover(commands)
    return parser


def _table_1(commands: Any) -> None:
    parser = commands.add_parser(
        "table1",
        help="measure every row of the paper's Table 1",
        description="Run every row of the paper's Table 1 over growing horizons, fit its exponents and write table1.md "
        "with its figures. What is finished is kept: the same command goes on where it stopped.",
    )
    parser.add_argument("--size", choices=("quick", "full"), default="quick", help="a few minutes, or an hour")
    _out(parser)
    parser.add_argument("--processes", type=int, default=1, help="curves to run side by side (default: 1)")
    parser.set_defaults(run=_run_table_1, keeps=True)


def _run_table_1(given: argparse.Namespace) -> None:
    from droculo.experiments import FULL, QUICK, measure_table_1
    from droculo.report import write_table_1

    size = FULL if given.size == "full" else QUICK
    found = measure_table_1(size, given.out, processes=given.processes)
    print(write_table_1(found, given.out, given.command))


def _compare(commands: Any) -> None:
    from droculo.experiments import NETWORKS, PROBLEMS

    parser = commands.add_parser(
        "compare",
        help="all methods head to head on one problem",
        description="Play one problem with every method that covers it, the same seeds and the same adversary, and write "
        "compare.md with its figures: reward and regret against rounds, exchanges, bytes, LOO calls, queries and seconds. A "
        "few minutes.",
    )
    parser.add_argument("--problem", choices=tuple(PROBLEMS), default="top-b", help="(default: %(default)s)")
    parser.add_argument("--network", choices=tuple(NETWORKS), default="ring", help="(default: %(default)s)")
    numbers = {
        "agents": (1, 8, "how many agents"), "dim": (3, 10, "how many coordinates"),
        "horizon": (1, 4096, "how many rounds"), "seeds": (1, 3, "how many runs of each method"),
    }  # fmt: skip
    for name, (least, usual, what) in numbers.items():
        parser.add_argument(f"--{name}", type=_whole(least), default=usual, help=f"{what} (default: {usual})")
    _out(parser)
    parser.set_defaults(run=_run_compare, keeps=False)


def _run_compare(given: argparse.Namespace) -> None:
    from droculo.experiments import compare, network_of, problem_of
    from droculo.report import write_compare

    given.out.mkdir(parents=True, exist_ok=True)  # where that cannot be, it is said before the runs
    problem, network = problem_of(given.problem, given.agents, given.dim), network_of(given.network, given.agents)
    found = compare(problem, network, given.horizon, range(given.seeds))
    print(write_compare(found, given.out, given.command))


def _crossover(commands: Any) -> None:
    parser = commands.add_parser(
        "crossover",
        help="who is faster as the dimension grows, projection or linear oracle",
        description="Time DOBGA, which projects, against DROCULO, which asks a linear oracle, over growing dimensions, on a "
        "set with closed forms and on a polytope, and write crossover.md with its figure. Half an hour; what is finished "
        "is kept: the same command goes on where it stopped.",
    )
    parser.add_argument("--quick", action="store_true", help="two small dimensions, a few rounds: two minutes")
    _out(parser)
    parser.set_defaults(run=_run_crossover, keeps=True)


def _run_crossover(given: argparse.Namespace) -> None:
    from droculo.experiments import measure_crossover
    from droculo.report import write_crossover

    given.out.mkdir(parents=True, exist_ok=True)
    found = measure_crossover(quick=given.quick, folder=given.out)
    print(write_crossover(found, given.out, given.command))


def _out(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, default=Path("results"), help="the folder to write to (default: results)")


def _whole(least: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"it is a whole number, at least {least}; got {text!r}")
        return int(text)

    return read
