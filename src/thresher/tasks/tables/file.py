"""A file of sensors cleaned: CSV, Parquet or Feather in, the same out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from thresher.estimators.frames import with_plain_names
from thresher.persistence import checked_target, write_atomically
from thresher.streams.extras import needed
from thresher.streams.tables import CsvTable, read_csv_table
from thresher.tasks.tables.containers import SensorColumns, shown_times
from thresher.tasks.tables.times import Label, asked_times, found_times

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
    time_columns: tuple[Any, ...]
    """Columns that were found to tell times."""
    station_column: Any
    """The column that was found to tell stations, if each time has several rows; or None."""
    there: NDArray[Any]
    """Entries that the file has: where it has a row for each time and station, some may miss."""
    before: NDArray[Any]
    after: NDArray[Any]
    flags: NDArray[Any]
    scores: NDArray[Any]
    lower: NDArray[Any]
    upper: NDArray[Any]

    @classmethod
    def of(cls, columns: SensorColumns, after: NDArray[Any], found: Cleaned, time: Any) -> Self:
        """From a table, its numbers afterwards, and what else was found."""
        X = columns.back(columns.X)
        if columns.told is not None:
            places, rows = columns.told.places, columns.told.cells
        else:
            known = shown_times(columns.given, time)
            places = 1 + np.arange(len(X)) if known is None else known
            rows = [str(place).replace("T", " ") for place in places]
        parts = [np.ones(X.shape, dtype=bool), X, after, *map(_matrix, found[1:])]
        if len(columns.groups) > 1:
            first = np.unique(columns.row, return_index=True)[1]
            rows, places = [rows[i] for i in first], places[first]
            parts = [columns.spread(part) for part in parts]
        heard = ~np.isnan(parts[1]).all(axis=0)
        names = np.array(columns.sensors)
        told_by = () if columns.told is None else columns.told.names, columns.group_name
        about = (names[heard].tolist(), rows, places, names[~heard].tolist(), *told_by)
        return cls(*about, *(part[:, heard] for part in parts))

    @classmethod
    def of_table(cls, columns: SensorColumns, found: Cleaned, time: Any) -> Self:
        """From tables in memory."""
        after = SensorColumns.of(found.table, time)
        return cls.of(columns, after.back(after.X), found, time)

    @property
    def filled(self) -> NDArray[Any]:
        """Gaps that are none any more."""
        return np.asarray(np.isnan(self.before) & ~np.isnan(self.after))

    @property
    def empty(self) -> NDArray[Any]:
        """What stays empty."""
        return np.asarray(np.isnan(self.after) & self.there)

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
    table, _ = read_csv_table(source)
    names, time = table.names, cleaner.time
    kept = _with_something(table)
    labels = [
        Label(c.name, [c.cells[i] for i in kept]) for c in table.columns if c.cells is not None
    ]
    at = [j for j, name in enumerate(names) if name != time]
    Y: NDArray[Any] = table.values[kept]
    seconds, times = None, None
    if len(at) < len(names):  # numbers that would be readings by themselves
        seconds = Y[:, names.index(time)]
    else:
        times = found_times(labels) if time is None else asked_times(labels, time)
    sensors = [names[j] for j in at]
    columns = SensorColumns.arranged(Y, Y[:, at], sensors, at, seconds, labels, times)
    columns = columns.without(cleaner.no_reading)
    found = clone(cleaner).clean_columns(columns)
    values = table.values.copy()
    values[kept] = found.table
    written = replace(table, values=values)
    write_atomically(target, written.csv())
    after = written.as_written(found.table)[:, at]
    done = CleanedFile.of(columns, after, found, None if seconds is None else names.index(time))
    unread = [label.name or "(no name)" for label in labels if not any(label.cells)]
    return done._replace(unread=[*unread, *done.unread])


def _with_something(table: CsvTable) -> NDArray[Any]:
    """Numbers of the rows that have a time, a word or a reading.

    Spreadsheets leave rows of empty cells at their end. Where all columns are measured, such a row
    is one in which all sensors are off.
    """
    something = np.isfinite(table.values).any(axis=1)
    texts = [column.cells for column in table.columns if column.cells is not None]
    for cells in texts:
        something |= np.array([bool(cell.strip()) for cell in cells])
    return np.flatnonzero(something | (not texts))


def _of_arrow(source: Path, target: Path, cleaner: TableCleaner) -> CleanedFile:
    what = f"A {source.suffix} file"
    parquet, feather = (needed(f"pyarrow.{kind}", "files", what) for kind in ("parquet", "feather"))
    is_parquet = source.suffix == ".parquet"
    table = parquet.read_table(source) if is_parquet else feather.read_table(source)
    columns = SensorColumns.of(table, cleaner.time).without(cleaner.no_reading)
    found = cleaner.clean_columns(columns)
    if is_parquet:
        parquet.write_table(found.table, target)
    else:
        feather.write_feather(found.table, str(target))
    return CleanedFile.of_table(columns, found, cleaner.time)


def _matrix(part: Any) -> NDArray[Any]:
    """Something about each reading, in numbers."""
    return part if isinstance(part, np.ndarray) else with_plain_names(part)[0].to_numpy()
