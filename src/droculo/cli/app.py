"""The command `droculo`: its parts put together, and how it ends."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from droculo.cli import agents, looking, studies, sweeps
from droculo.cli.screen import Given, complain

#: what a wrong argument raises, in whichever library Typer keeps it
_Wrong: type[Any] = typer.BadParameter.__mro__[2]

#: the exit code of an interruption from the keyboard
INTERRUPTED = 130

app = typer.Typer(name="droculo", add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
for command in (
    sweeps.run, sweeps.resume, sweeps.report, sweeps.show, looking.new, looking.list_, looking.plan, looking.doctor,
    agents.launch, agents.agent, agents.gather, studies.table1, studies.theory, studies.compare, studies.crossover,
):  # fmt: skip
    app.command(command.__name__.rstrip("_"))(command)


@app.callback()
def _before(
    context: typer.Context,
    cache: Annotated[
        bool, typer.Option("--cache", help="Keep compiled programs, so that the next start is quick.")
    ] = False,
) -> None:
    """Decentralized, projection-free, online optimization: run, resume, share and look at experiments."""
    if cache:
        from droculo.cache import keep_compiled

        folder = keep_compiled()
        if folder is not None:
            os.environ["DROCULO_CACHE"] = str(folder)  # for the processes of a sweep


def main(arguments: Sequence[str] | None = None) -> int:
    """`droculo ...`; an error that the user can act on is one line and exit code 2."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    given = Given(words)
    try:
        ended = typer.main.get_command(app).main(words, prog_name="droculo", standalone_mode=False, obj=given)
    except _Wrong as error:
        said = error.format_message().rstrip(".")
        return complain(f"{said}{_got(said, words)}{'' if said.endswith('?') else '.'} See droculo --help.")
    except (typer.Abort, KeyboardInterrupt):
        ended = INTERRUPTED
    except (ValueError, TypeError, ImportError, OSError, RuntimeError, ArithmeticError) as error:
        return complain(str(error))
    if ended == INTERRUPTED:
        kept = "what was finished is kept, and the same command goes on from there"
        complain(f"interrupted; {kept if given.keeps else 'nothing is kept'}.")
    return ended if isinstance(ended, int) else 0


def _got(said: str, words: list[str]) -> str:
    """What was typed for the option that a message speaks of, unless the message says it."""
    option = re.search(r"'(--[a-z-]+)'", said)
    if option is None or option[1] not in words[:-1]:
        return ""
    typed = words[words.index(option[1]) + 1]
    return "" if repr(typed) in said else f"; got {typed!r}"
