"""Results on disk: two Parquet files for every cell, written whole or not at all, with a schema that says what it means."""

from __future__ import annotations

import io
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from droculo.engine.costs import COSTS, COUNTED
from droculo.expect import extra
from droculo.experiments.play import Rows
from droculo.experiments.whole_files import write_whole
from droculo.plotting import axes, band

if TYPE_CHECKING:
    import pandas
    import pyarrow

#: column -> (type, what it means). Costs are those of the average agent.
RUNS: dict[str, tuple[str, str]] = {
    "run": ("string", "the name of the cell's files: a digest of what was asked for and of the versions; its seeds share it"),
    "seed": ("int64", "of the agents' randomness; the adversary's is an option of the problem"),
    "problem": ("string", "its name and options"),
    "network": ("string", "its name and options"),
    "algorithm": ("string", "its name"),
    "label": ("string", "the algorithm with feedback, theta and options, as tables and legends show it"),
    "feedback": ("string", "what an agent may ask for"),
    "theta": ("float64", "the dial between regret and communication; null where a method has none"),
    "horizon": ("int64", "T, rounds"),
    "agents": ("int64", "N"),
    "dim": ("int64", "d, coordinates"),
    "domain": ("string", "the kind of set"),
    "case": ("string", "the class of functions: concave, A1, A2, A3, A4 or own"),
    "alpha": ("float64", "the share of the optimum that regret is measured against"),
    "mixing_rate": ("float64", "how much disagreement is left after an exchange, at most"),
    "block": ("int64", "K, slots between two exchanges"),
    "slot": ("int64", "L, rounds of a slot"),
    "promised_exponent": ("float64", "regret grows like T to this power, says the theorem; null where none speaks of it"),
    "promised_by": ("string", "the theorem"),
    "links": ("list<int64>", "the network's links, both ends of each one after another; null for large networks"),
    "reward": ("float64", "(1/N) sum over rounds and functions of f(action), mean over agents"),
    "regret": ("float64", "alpha-regret after T rounds, mean over agents; null where no best fixed point is known"),
    "regret_worst": ("float64", "that of the worst agent"),
    "certified": ("float64", "the certificate, an upper bound on alpha-regret, mean over agents; null without gradients"),
    "certified_worst": ("float64", "that of the worst agent"),
    "consensus_gap": ("float64", "the largest distance of a last decision to the mean of all"),
    "best": ("float64", "the reward of the best fixed point over T rounds"),
    "best_kind": ("string", "exact, certified (proven to within one percent) or found"),
    "best_gap": ("float64", "how much more the optimum may be, proven; null where nothing is"),
    "driver": ("string", "what played it: simulator, mpi or zenoh"),
    "processes": ("int64", "that shared the agents; null in the simulator"),
    "missed_rounds": ("int64", "of all agents together, in which a dead agent did not play; null in the simulator"),
    "failed_links": ("int64", "ends of links, over all exchanges, that did not count; null in the simulator"),
    "disagreements": ("int64", "links, over all exchanges, that counted at one end only; null in the simulator"),
    "sampled": ("bool", "whether rewards, regret and certificate are estimates from a sample"),
    **{name: ("float64", about) for name, about in COSTS.items()},
    "seconds": ("float64", "of all seeds of the cell together, compilation and measures included; differs from run to run"),
    "spec": ("string", "what was asked for, as JSON"),
    "droculo": ("string", "version"),
    "results_version": ("int64", "raised by hand when the same run has other results; null in results made before it was counted"),
    "jax": ("string", "version"),
    "numpy": ("string", "version"),
    "python": ("string", "version"),
    "platform": ("string", "operating system and processor"),
    "device": ("string", "what computed it"),
    "played_at": ("string", "UTC; differs from run to run"),
}  # fmt: skip
POINTS: dict[str, tuple[str, str]] = {
    "run": ("string", "as in runs"),
    "seed": ("int64", "as in runs"),
    "round": ("int64", "t: everything here is after so many rounds"),
    "reward": ("float64", "cumulative, mean over agents"),
    "regret": ("float64", "cumulative alpha-regret, mean over agents, against the best fixed point of these t rounds if that is known exactly"),
    "certified": ("float64", "the certificate of the first t rounds, mean over agents"),
    "consensus_gap": ("float64", "the largest distance of a decision to the mean of all, in round t"),
    "exchanges": ("float64", "so far, as all costs"),
    "bytes": ("float64", ""),
    **{name: ("float64", "known at about 20 times of a run and interpolated" if name == "messages" else "") for name in COUNTED},
    "queries": ("float64", "gradients or values"),
    "agent_regret": ("list<float64>", "of every agent; null for large networks"),
    "agent_certified": ("list<float64>", "of every agent"),
    "agent_gap": ("list<float64>", "of every agent: the distance of its decision to the mean of all"),
}  # fmt: skip
#: columns that were added to the schema after the first results were written
LATER = ("driver", "processes", "missed_rounds", "failed_links", "disagreements", "results_version")
#: columns that no two runs share, however alike they are
FLEETING = ("seconds", "played_at")


class StoreError(ValueError):
    """A folder that holds no results, or files in it that are none."""


@dataclass(frozen=True)
class Store:
    """A folder of results: `runs/KEY.parquet`, one row for each seed, and `points/KEY.parquet`, one for each recorded time.

    A cell is finished when its file in `runs` exists. Files are written under another name, flushed, and renamed; that of
    `runs` comes last. So whatever happens at whatever moment, a file that has its name is whole.
    """

    folder: Path

    def finished(self, key: str) -> bool:
        """Whether this cell was run and kept."""
        return all((self.folder / part / f"{key}.parquet").is_file() for part in ("points", "runs"))

    def keep(self, key: str, rows: Rows) -> None:
        """Write a cell's two files."""
        for part, schema, content in (("points", POINTS, rows.points), ("runs", RUNS, rows.runs)):
            self._write(self.folder / part / f"{key}.parquet", table(schema, content))

    def _write(self, file: Path, content: pyarrow.Table) -> None:
        buffer = io.BytesIO()
        _arrow("pyarrow.parquet").write_table(content, buffer, compression="zstd")
        write_whole(file, buffer.getvalue())

    def tidy(self) -> None:
        """Remove what interrupted writes left behind; not what another process is writing right now."""
        for part in ("runs", "points", "."):
            for half in (self.folder / part).glob(".*.part"):
                if not _alive(half.suffixes[-2].lstrip(".") if len(half.suffixes) > 1 else ""):
                    half.unlink(missing_ok=True)

    def gather(self, results: Results) -> None:
        """Write all rows of a sweep to `runs.parquet` and `points.parquet`: what the folder holds of other specs or of
        other code is not among them."""
        self._write(self.folder / "points.parquet", results.points)
        self._write(self.folder / "runs.parquet", results.runs)

    def of_other_code(self) -> dict[str, str]:
        """What was asked for, as JSON -> the newest files with that, whatever the code that made them."""
        found: dict[str, str] = {}
        for file in sorted((self.folder / "runs").glob("*.parquet"), key=lambda file: file.stat().st_mtime_ns):
            if self.finished(file.stem):
                (asked, *_) = self.read("runs", [file.stem]).column("spec").to_pylist()
                found[asked] = file.stem
        return found

    def read(self, part: str, keys: list[str]) -> pyarrow.Table:
        """The rows of these cells, in this order."""
        schema = RUNS if part == "runs" else POINTS
        tables = []
        for key in keys:
            file = self.folder / part / f"{key}.parquet"
            try:
                found = _with_later(_arrow("pyarrow.parquet").read_table(file), schema)
                tables.append(found.select(list(schema)))
            except FileNotFoundError:
                raise StoreError(f"{file} is missing: droculo resume {self.folder} plays what is not there.") from None
            except (OSError, ValueError, KeyError) as error:
                raise StoreError(
                    f"{file} is damaged or was written by something else ({str(error).splitlines()[0]}). Delete it, and "
                    f"play it again with: droculo resume {self.folder}"
                ) from None
        arrow = _arrow("pyarrow")
        return arrow.concat_tables(tables) if tables else table(schema, [])


@dataclass(frozen=True)
class Results:
    """The rows of a sweep."""

    runs: pyarrow.Table
    points: pyarrow.Table

    def frame(self, part: str = "runs") -> pandas.DataFrame:
        """`runs` or `points` as a pandas DataFrame."""
        if part not in ("runs", "points"):
            raise ValueError(f"results have 'runs' and 'points'; got {part!r}.")
        extra("pandas", "DataFrames", "sweeps")
        found: pyarrow.Table = getattr(self, part)
        return found.to_pandas()

    def plot(self, ax: Any = None, quantity: str = "certified") -> Any:
        """A quantity of `points`, a round, over rounds: every method at its longest horizon, mean and range over seeds.
        Returns the axes."""
        ax = axes(ax)
        runs = self.runs.to_pylist()
        longest = max(row["horizon"] for row in runs)
        several = len({(row["problem"], row["network"]) for row in runs}) > 1
        names = {
            row["run"]: f"{row['label']} ({row['problem']}; {row['network']})" if several else row["label"]
            for row in runs
            if row["horizon"] == longest
        }
        each = (lambda t: 1) if quantity == "consensus_gap" else (lambda t: t)
        curves: dict[str, dict[int, list[tuple[int, float]]]] = {}
        for point in self.points.select(["run", "seed", "round", quantity]).to_pylist():
            if point["run"] in names and point[quantity] is not None:
                of_seed = curves.setdefault(point["run"], {}).setdefault(point["seed"], [])
                of_seed.append((point["round"], point[quantity] / each(point["round"])))
        for key, seeds in curves.items():
            table = np.array([list(zip(*curve, strict=True)) for curve in seeds.values()], np.float64)
            band(ax, table[0, 0], table[:, 1], names[key])
        ax.set(xlabel="round", ylabel=quantity if quantity == "consensus_gap" else f"{quantity} a round", xscale="log")
        ax.legend(fontsize="small")
        return ax

    def lasting(self) -> tuple[pyarrow.Table, pyarrow.Table]:
        """Both tables without the columns that differ from run to run, sorted: equal for equal sweeps."""
        runs = self.runs.drop_columns(list(FLEETING)).sort_by([("run", "ascending"), ("seed", "ascending")])
        order = [("run", "ascending"), ("seed", "ascending"), ("round", "ascending")]
        return runs, self.points.sort_by(order)


def _with_later(found: pyarrow.Table, schema: dict[str, tuple[str, str]]) -> pyarrow.Table:
    """What was written before a column was thought of has nulls there."""
    like = table(schema, []).schema
    for name in LATER:
        if name in schema and name not in found.column_names:
            field = like.field(name)
            found = found.append_column(field, _arrow("pyarrow").nulls(len(found), field.type))
    return found


def _alive(pid: str) -> bool:
    """Whether a process of this number runs. Elsewhere than on POSIX nobody is asked: a signal might end it."""
    if os.name != "posix" or not pid.isdecimal():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return int(pid) != os.getpid()


def _arrow(module: str) -> Any:
    return extra(module, "results on disk", "sweeps")


def table(schema: dict[str, tuple[str, str]], rows: list[dict[str, Any]]) -> pyarrow.Table:
    """Rows as an Arrow table; what a column means goes with it."""
    arrow = _arrow("pyarrow")
    kinds = {
        "string": arrow.string(), "int64": arrow.int64(), "float64": arrow.float64(), "bool": arrow.bool_(),
        "list<int64>": arrow.list_(arrow.int64()), "list<float64>": arrow.list_(arrow.float64()),
    }  # fmt: skip
    fields = [
        arrow.field(name, kinds[kind], metadata={"about": about} if about else None)
        for name, (kind, about) in schema.items()
    ]
    about = {"droculo": json.dumps({"schema": 1})}
    return arrow.Table.from_pylist(rows, schema=arrow.schema(fields, metadata=about))
