"""The command line: arguments in, one function called, an exit code out."""

from droculo.cli.app import main

__all__ = ["main"]
