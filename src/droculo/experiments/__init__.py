"""Experiments: a spec names cells, a sweep runs them, and their rows are kept in a folder of results."""

from droculo.experiments.catalogue import ALGORITHMS, FEEDBACKS, NETWORKS, PROBLEMS
from droculo.experiments.cell import Cell
from droculo.experiments.over_zenoh import Deployment
from droculo.experiments.run import run_cell
from droculo.experiments.spec import Spec, SpecError, load, parse, study
from droculo.experiments.store import Results, Store
from droculo.experiments.sweeps import Sweep, collect, sweep, sweep_in_turns

__all__ = ["ALGORITHMS", "FEEDBACKS", "NETWORKS", "PROBLEMS", "Cell", "Deployment", "Results", "Spec", "SpecError"]
__all__ += ["Store", "Sweep", "collect", "load", "parse", "run_cell", "study", "sweep", "sweep_in_turns"]
