"""CSV files as tables: which columns are measurements, which are kept cell by cell, and back.

Only measurements may be changed. A column is kept if any of its cells is not a number; if a number
has leading zeros, or more digits than a double; if its name says so (a time, a date, an id); if it
is the first one and its numbers only rise, or only fall; or if it has a few different integers
only, such as states. To keep a measurement as text costs bytes, to round an id destroys it: in
doubt, text. What a caller asks for by name is a measurement, if it is numbers.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from thresher.linalg import Array
from thresher.streams.csv_cells import decimal_marks, is_missing, is_number, plain
from thresher.streams.csv_records import Dialect, Records, read_records

MAX_DIGITS = 15
"""Digits of a decimal number that every double gives back; a bound of IEEE 754."""
_BLOCK = 4096  # rows that are text at a time
_STATES, _OFTEN = 8, 4  # different integers at most that are states, and rows of each at least

# In any name, such as "Start time" or "sensor_id".
_WORDS = {"time", "date", "datetime", "timestamp", "epoch", "id", "uid", "uuid", "guid"}
_WORDS |= {"datum", "zeit", "uhrzeit", "zeitstempel", "fecha", "heure", "czas"}
# As a whole name: "station" names stations, "station 7" has what it measured.
_NAMES = {"", "index", "row", "key", "code", "name", "number", "no", "nr", "serial", "ts", "unix"}
_NAMES |= {"utc", "year", "month", "day", "hour", "minute", "second", "hora", "stunde", "jahr"}
_NAMES |= {"station", "sensor", "device", "node", "site", "zip", "postcode", "plz"}


@dataclass(frozen=True)
class Column:
    """A name; the cells of a column that is kept; or the decimals of a measurement."""

    name: str
    cells: list[str] | None = None
    decimals: int | None = None


@dataclass(frozen=True)
class CsvTable:
    """Measurements, NaN where missing; all columns in their order; how the file is written."""

    values: Array
    columns: list[Column]
    dialect: Dialect = field(default_factory=Dialect)
    blank: list[int] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """Of the columns of ``values``."""
        return [column.name for column in self.columns if column.cells is None]

    @property
    def kept(self) -> list[str]:
        """Names of the columns that are kept cell by cell."""
        return [column.name for column in self.columns if column.cells is not None]

    def as_written(self, values: Array) -> Array:
        """Return other values in place of these, as they are read from the file that they make."""
        written = np.empty(values.shape)
        measured = (column for column in self.columns if column.cells is None)
        for j, column in enumerate(measured):
            cells = (_cell_of(v, column.decimals, ".") for v in values[:, j].tolist())
            written[:, j] = [_value_of(cell, ".") for cell in cells]
        return written

    def csv(self) -> bytes:
        """Return the table as a CSV file; cells of missing values are empty."""
        lines, blank = self._lines(), set(self.blank)
        total = 1 + len(self.values) + len(blank)
        return self.dialect.file("" if i in blank else next(lines) for i in range(total))

    def without(self, columns: dict[int, list[str]]) -> CsvTable:
        """Return the table with some measurements, by their number, kept as cells instead."""
        numbers = iter(range(len(self.names)))
        found = list[Column]()
        for column in self.columns:
            number = next(numbers) if column.cells is None else -1
            found.append(Column(column.name, columns[number]) if number in columns else column)
        left = [j for j in range(len(self.names)) if j not in columns]
        return replace(self, columns=found, values=self.values[:, left])

    def _lines(self) -> Iterator[str]:
        yield self.dialect.line(column.name for column in self.columns)
        for start in range(0, len(self.values), _BLOCK):
            rows = slice(start, start + _BLOCK)
            values = iter(self.values[rows].T.tolist())
            cells = [
                [_cell_of(v, column.decimals, self.dialect.decimal) for v in next(values)]
                if column.cells is None
                else column.cells[rows]
                for column in self.columns
            ]
            yield from map(self.dialect.line, zip(*cells, strict=True))


def read_csv_table(
    path: Path, asked: Collection[str] = ()
) -> tuple[CsvTable, dict[int, list[str]]]:
    """Read a CSV file; return the table, and the cells of its measurements by their number.

    A ValueError says what to change in a file that does not fit.

    Parameters
    ----------
    path : Path
        The file.
    asked : collection of str
        Columns that are measurements if they are numbers.
    """
    records = read_records(path)
    decimal, numeric = decimal_marks(records)
    dialect = replace(records.dialect, decimal=decimal)
    if all(map(is_number, records.header)):
        raise ValueError(f"The first line of {path} must name the columns; it has numbers only.")
    columns, values, cells_of = list[Column](), list[list[float]](), dict[int, list[str]]()
    kept = _kept_columns(records._replace(dialect=dialect), numeric, asked)
    for name, cells, is_kept in zip(
        records.header, zip(*records.rows, strict=True), kept, strict=True
    ):
        if is_kept:
            columns.append(Column(name, list(cells)))
        else:
            cells_of[len(values)] = list(cells)
            columns.append(Column(name, decimals=_decimals_of(cells, decimal)))
            values.append([_value_of(cell, decimal) for cell in cells])
    Y = np.array(values, np.float64).reshape(len(values), len(records.rows)).T
    if np.isinf(Y).any():
        raise ValueError(f"{path} has infinite values; empty these cells.")
    return CsvTable(Y, columns, dialect, records.blank), cells_of


def is_named(name: str) -> bool:
    """Return whether a name says that a column has times or ids."""
    words = re.findall(r"[^\W\d_]+", re.sub("(?<=[a-z])(?=[A-Z])", " ", name).lower())
    return bool(_WORDS & set(words)) or name.strip().lower() in _NAMES


def _kept_columns(records: Records, numeric: list[bool], asked: Collection[str]) -> list[bool]:
    """Return which columns are no measurements."""
    columns = list(zip(*records.rows, strict=True))
    kept = list[bool]()
    for j, (name, cells, number) in enumerate(zip(records.header, columns, numeric, strict=True)):
        rises = j == 0 and len(columns) > 1 and number and (
            _only_rises_or_falls(cells, records.dialect.decimal)
        )  # fmt: skip
        is_kept = (
            not number
            or _is_spelled(cells)
            or _names_a_label(name, cells, first=j == 0)
            or rises
            or _has_few_states(cells)
        )
        kept.append(is_kept and not (number and name in asked))
    return kept


def _has_few_states(cells: tuple[str, ...]) -> bool:
    """Return whether all numbers are alike, or a few integers that come again and again."""
    states = {cell for cell in cells if not is_missing(cell)}
    if len(states) < 2:
        return True
    enough = len(states) <= _STATES and _OFTEN * len(states) <= len(cells)
    return enough and all(map(_is_integer, states))


def _is_integer(cell: str) -> bool:
    return cell.strip().lstrip("+-").isdigit()


def _value_of(cell: str, decimal: str) -> float:
    """Return the number in a cell, NaN if there is none."""
    return float("nan") if is_missing(cell) else float(cell.strip().replace(decimal, "."))


def _decimals_of(cells: tuple[str, ...], decimal: str) -> int | None:
    """Return the most decimals; None if some number has an exponent, or very many digits."""
    known = [plain(cell) for cell in cells if not is_missing(cell)]
    most = max((len(cell.partition(decimal)[2]) for cell in known), default=0)
    return None if most > MAX_DIGITS or any("e" in cell for cell in known) else most


def _cell_of(value: float, decimals: int | None, decimal: str) -> str:
    """Return a number as a cell; a missing one is empty."""
    if value != value:
        return ""
    text = repr(value) if decimals is None else f"{value:.{decimals}f}"
    if text.startswith("-") and not text.strip("-0."):
        text = text[1:]
    return text if decimal == "." else text.replace(".", decimal)


def _is_spelled(cells: tuple[str, ...]) -> bool:
    """Return whether some number has leading zeros, or digits that a double does not hold."""
    for cell in map(plain, cells):
        whole = re.match("[0-9]*", cell.lstrip("+-"))
        digits = whole[0] if whole else ""
        if (len(digits) > 1 and digits[0] == "0") or len(digits) > MAX_DIGITS:
            return True
    return False


def _names_a_label(name: str, cells: tuple[str, ...], *, first: bool) -> bool:
    """Return whether a name says times or ids; beyond the first column, only for integers."""
    return is_named(name) and (first or all(is_missing(c) or _is_integer(c) for c in cells))


def _only_rises_or_falls(cells: tuple[str, ...], decimal: str) -> bool:
    if any(map(is_missing, cells)):
        return False
    values = [_value_of(cell, decimal) for cell in cells]
    return all(a < b for a, b in pairwise(values)) or all(a > b for a, b in pairwise(values))
