"""Results on disk: two Parquet files for every cell, written whole or not at all; the columns are those of `rows`."""

from __future__ import annotations

import io
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from droculo.expect import extra
from droculo.experiments.rows import FLEETING, POINTS, RUNS, Rows
from droculo.plotting import axes, band

if TYPE_CHECKING:
    import pandas
    import pyarrow


class StoreError(ValueError):
    """A folder or file that holds no results."""


@dataclass(frozen=True)
class Store:
    """A folder of results: `runs/KEY.parquet`, one row for each seed, and `points/KEY.parquet`, one for each recorded time.

    A cell is finished when its file in `runs` exists. Files are written under another name, flushed, and renamed; that of
    `runs` comes last. So whatever happens at whatever moment, a file under its final name is whole.
    """

    folder: Path

    def finished(self, key: str) -> bool:
        """True if both files of this cell are there."""
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
        """Remove the remains of interrupted writes, except those of processes that still run."""
        for part in ("runs", "points", "."):
            for half in (self.folder / part).glob(".*.part"):
                if not _alive(half.suffixes[-2].lstrip(".") if len(half.suffixes) > 1 else ""):
                    half.unlink(missing_ok=True)

    def gather(self, results: Results) -> None:
        """Write all rows of a sweep, and no others of the folder, to `points.parquet` and `runs.parquet`, if these differ."""
        for part, content in (("points", results.points), ("runs", results.runs)):
            file = self.folder / f"{part}.parquet"
            if not file.is_file() or not _arrow("pyarrow.parquet").read_table(file).equals(content):
                self._write(file, content)

    def of_other_code(self) -> dict[str, str]:
        """Cell as JSON -> the key of its newest rows, whatever the version and code that made them."""
        gathered = self.folder / "runs.parquet"
        found: dict[str, str] = {}
        if gathered.is_file():
            kept = _arrow("pyarrow.parquet").read_table(gathered, columns=["spec", "run"])
            found = dict(zip(kept.column("spec").to_pylist(), kept.column("run").to_pylist(), strict=True))
        for file in sorted((self.folder / "runs").glob("*.parquet"), key=lambda file: file.stat().st_mtime_ns):
            if self.finished(file.stem):
                (asked, *_) = self.read("runs", [file.stem]).column("spec").to_pylist()
                found[asked] = file.stem
        return found

    def read(self, part: str, keys: list[str]) -> pyarrow.Table:
        """The rows of these cells, in this order: from their own files, or from the gathered one."""
        schema = RUNS if part == "runs" else POINTS
        gathered = self._gathered(part, keys)
        tables = [gathered[key] if key in gathered else self._read(part, key) for key in keys]
        return _arrow("pyarrow").concat_tables(tables) if tables else table(schema, [])

    def _read(self, part: str, key: str) -> pyarrow.Table:
        file = self.folder / part / f"{key}.parquet"
        try:
            return _complete(_arrow("pyarrow.parquet").read_table(file), part)
        except FileNotFoundError:
            raise StoreError(f"{file} is missing: droculo resume {self.folder} plays its cell.") from None
        except (OSError, ValueError, KeyError) as error:
            raise StoreError(
                f"{file} is damaged or not a file of results ({str(error).splitlines()[0]}). Delete it, and "
                f"play its cell again with: droculo resume {self.folder}"
            ) from None

    def _gathered(self, part: str, keys: list[str]) -> dict[str, pyarrow.Table]:
        """Of the cells without files, the rows in the gathered file: a folder of two files is enough to be shown."""
        lacking = {key for key in keys if not self.finished(key)}
        file = self.folder / f"{part}.parquet"
        if not lacking or not (self.folder / "runs.parquet").is_file() or not file.is_file():
            return {}
        known = set(_arrow("pyarrow.parquet").read_table(self.folder / "runs.parquet", columns=["run"])[0].to_pylist())
        kept = _complete(_arrow("pyarrow.parquet").read_table(file), part)
        places: dict[str, list[int]] = {key: [] for key in lacking & known}
        for place, run in enumerate(kept.column("run").to_pylist()):
            if run in places:
                places[run].append(place)
        arrow = _arrow("pyarrow")
        return {key: kept.take(arrow.array(where, arrow.int64())) for key, where in places.items()}


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


def _complete(found: pyarrow.Table, part: str) -> pyarrow.Table:
    """With nulls in the columns that older files lack."""
    schema = RUNS if part == "runs" else POINTS
    like = table(schema, []).schema
    for name in schema:
        if name not in found.column_names and name not in ("run", "seed"):
            field = like.field(name)
            found = found.append_column(field, _arrow("pyarrow").nulls(len(found), field.type))
    return found.select(list(schema)).cast(like)


def write_whole(file: Path, content: bytes | str) -> None:
    """Write under another name, flush to the disk, rename: a file under its final name is always whole."""
    file.parent.mkdir(parents=True, exist_ok=True)
    half = file.with_name(f".{file.name}.{os.getpid()}.part")
    with half.open("wb") as out:
        out.write(content.encode() if isinstance(content, str) else content)
        out.flush()
        os.fsync(out.fileno())
    half.replace(file)


def _alive(pid: str) -> bool:
    """True if a process with this number runs. Only POSIX can tell: elsewhere, a signal might end it."""
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
    """Rows as an Arrow table; the metadata of a column say what it means."""
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
