"""A file of sensors cleaned: CSV, Parquet or Feather in, the same out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from thresher.persistence import checked_target, write_atomically
from thresher.streams.extras import needed
from thresher.tasks.compression.table import SensorTable, read_table
from thresher.tasks.tables.containers import SensorColumns, shown_times

if TYPE_CHECKING:
    from thresher.tasks.tables.cleaner import Cleaned, TableCleaner

_ARROW = (".parquet", ".feather", ".arrow")


class CleanedFile(NamedTuple):
    """What became of a file: its measured columns as numbers."""

    names: list[str]
    rows: list[str]
    """A label of each row: its time, or its number."""
    places: NDArray[Any]
    """Times of the rows (datetime64), or numbers."""
    unread: list[str]
    """Columns without a single reading."""
    before: NDArray[Any]
    after: NDArray[Any]
    flags: NDArray[Any]
    scores: NDArray[Any]
    lower: NDArray[Any]
    upper: NDArray[Any]

    @classmethod
    def of(cls, columns: SensorColumns, found: Cleaned, time: Any) -> Self:
        """From tables in memory."""
        places = shown_times(columns.given, time)
        places = 1 + np.arange(len(columns.X)) if places is None else places
        after = SensorColumns.of(found.table, time)
        parts = (columns.back(columns.X), after.back(after.X), *map(_matrix, found[1:]))
        heard = ~np.isnan(parts[0]).all(axis=0)
        names = np.array([str(name) for name in columns.names])
        rows = [str(place).replace("T", " ") for place in places]
        unread = names[~heard].tolist()
        return cls(names[heard].tolist(), rows, places, unread, *(part[:, heard] for part in parts))

    @property
    def filled(self) -> NDArray[Any]:
        """Gaps that are none any more."""
        return np.asarray(np.isnan(self.before) & ~np.isnan(self.after))

    @property
    def empty(self) -> NDArray[Any]:
        """What stays empty."""
        return np.isnan(self.after)

    def changes(self) -> str:
        """What was replaced, as a CSV file: where, what it was, what it is, how sure that is."""
        lines = ["row,column,was,is,lower,upper,score"]
        for i, j in zip(*np.nonzero(self.flags | self.filled), strict=True):
            name = '"' + self.names[j].replace('"', '""') + '"'
            numbers = (m[i, j] for m in (self.before, self.after, self.lower, self.upper))
            cells = ["" if np.isnan(v) else f"{v:.6g}" for v in (*numbers, self.scores[i, j])]
            lines.append(",".join([f'"{self.rows[i]}"', name, *cells]))
        return "\n".join(lines) + "\n"


def clean_file(source: Path, target: Path, cleaner: TableCleaner) -> CleanedFile:
    """Clean a table from a file into another; words, times and the look of numbers stay."""
    kinds = dict.fromkeys((".csv", ".tsv", ".txt"), ".csv") | {s: s for s in _ARROW}
    for path in (source, target):
        if path.suffix not in kinds:
            raise ValueError(f"{path} must be a .csv, .parquet or .feather file.")
    if kinds[source.suffix] != kinds[target.suffix]:
        raise ValueError(f"{target} must be of the same kind as {source}.")
    checked_target(target)
    return (_of_arrow if source.suffix in _ARROW else _of_csv)(source, target, cleaner)


def _of_csv(source: Path, target: Path, cleaner: TableCleaner) -> CleanedFile:
    table = read_table(source)
    names = [column.name for column in table.measured]
    times, seconds = _times(table, cleaner.time)
    X: NDArray[Any] = table.values
    parameters: dict[str, Any] = {"time": None}
    if seconds is not None:
        X, parameters = np.column_stack([seconds, X]), {"time": 0}
    if isinstance(cleaner.bounds, Mapping):
        missing = [name for name in cleaner.bounds if name not in names]
        if missing:
            raise ValueError(f"bounds= has {missing[0]!r}, which is no column of numbers.")
        shift = int(seconds is not None)
        parameters["bounds"] = {names.index(k) + shift: v for k, v in cleaner.bounds.items()}
    found = clone(cleaner).set_params(**parameters).clean(X)
    after = found.table if seconds is None else found.table[:, 1:]
    written = replace(table, values=after)
    write_atomically(target, written.csv())
    unread = [c.name for c in table.columns if c.cells is not None and not any(c.cells)]
    rows = times or [str(number + 1) for number in range(len(X))]
    places = 1 + np.arange(len(X)) if times is None else _as_times(times)
    parts = (table.values, written.as_written(after), *found[1:])
    return CleanedFile(names, rows, places, unread, *parts)


def _times(table: SensorTable, time: Any) -> tuple[list[str] | None, NDArray[Any] | None]:
    """The column of times, as it is written and in seconds; the first one that can be read."""
    for column in table.columns:
        if column.cells is None or (time is not None and column.name != time):
            continue
        seconds = _seconds(column.cells)
        if seconds is not None:
            return column.cells, seconds
    if time is not None:
        raise ValueError(
            f"The column {time!r} has no times that can be read: write them as 2026-03-01T12:00, "
            "or as numbers that rise."
        )
    return None, None


def _seconds(cells: list[str]) -> NDArray[Any] | None:
    for kind, unit in (("datetime64[us]", 1e6), ("float64", 1.0)):
        try:
            seconds = np.array(cells, dtype=kind).astype(np.float64) / unit
        except ValueError:
            continue
        if np.isfinite(seconds).all():
            return np.asarray(seconds)
    return None


def _of_arrow(source: Path, target: Path, cleaner: TableCleaner) -> CleanedFile:
    what = f"A {source.suffix} file"
    parquet, feather = (needed(f"pyarrow.{kind}", "files", what) for kind in ("parquet", "feather"))
    is_parquet = source.suffix == ".parquet"
    table = parquet.read_table(source) if is_parquet else feather.read_table(source)
    found = cleaner.clean(table)
    if is_parquet:
        parquet.write_table(found.table, target)
    else:
        feather.write_feather(found.table, str(target))
    return CleanedFile.of(SensorColumns.of(table, cleaner.time), found, cleaner.time)


def _as_times(cells: list[str]) -> NDArray[Any]:
    try:
        return np.array(cells, dtype="datetime64[s]")
    except ValueError:
        return np.array(cells, dtype=np.float64)


def _matrix(part: Any) -> NDArray[Any]:
    """Something about each reading, in numbers."""
    return part if isinstance(part, np.ndarray) else nw.from_native(part).to_numpy()
