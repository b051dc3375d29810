"""The version of the numbers: raised by hand when the same question gets another answer."""

#: Part of the identity of everything that is stored: results of sweeps, checkpoints, journals. Raise it by one when a run, a
#: measure or a problem of the catalogue changes by more than rounding, and write `tests/results.json` again with
#: `python -m tests.results`. A renamed file, an edited docstring or a faster program leaves it as it is.
RESULTS_VERSION = 4
