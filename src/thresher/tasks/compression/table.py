"""Tables of sensor values in CSV files: a name above each column, a time in each row."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from thresher.linalg import Array
from thresher.streams.csv_cells import decimal_marks, is_number
from thresher.streams.csv_records import DELIMITERS, NEWLINES, Dialect, read_records
from thresher.streams.extras import needed
from thresher.tasks.compression.bounds import USUAL, asked_by_name, bounds_of
from thresher.tasks.compression.columns import (
    MOST_DIGITS,
    cell_of,
    decimals_of,
    label_columns,
    value_of,
)
from thresher.tasks.compression.grid import gives_back, grid_of
from thresher.tasks.compression.labels import unpacked_labels
from thresher.tasks.compression.lossless import packed_texts, unpacked_texts
from thresher.tasks.compression.packet import PacketError

_BLOCK = 4096  # rows that are text at a time; by judgement
_KEPT = "kept"  # the kind of a column that comes back letter by letter, in a file


@dataclass(frozen=True)
class Column:
    """A name; the cells of a label; or the digits after the point of a measurement."""

    name: str
    cells: list[str] | None = None
    decimals: int | None = None


@dataclass(frozen=True)
class SensorTable:
    """Measurements, NaN where missing; all columns in their order; how the file is written."""

    values: Array
    columns: list[Column]
    dialect: Dialect = field(default_factory=Dialect)
    blank: list[int] = field(default_factory=list)

    @property
    def measured(self) -> list[Column]:
        """The columns of ``values``."""
        return [column for column in self.columns if column.cells is None]

    @property
    def names(self) -> list[str]:
        """Of the columns of ``values``."""
        return [column.name for column in self.measured]

    @property
    def labels(self) -> list[str]:
        """Names of the columns that are kept letter by letter."""
        return [column.name for column in self.columns if column.cells is not None]

    def about(self) -> dict[str, Any]:
        """All but the values, for a file."""
        kinds = [c.decimals if c.cells is None else _KEPT for c in self.columns]
        about: dict[str, Any] = {"names": [c.name for c in self.columns], "kinds": kinds}
        usual = asdict(Dialect())
        about |= {k: v for k, v in asdict(self.dialect).items() if v != usual[k]}
        return {"table": about | ({"blank": self.blank} if self.blank else {})}

    def packed(self) -> list[bytes]:
        """The columns that are kept letter by letter, for a file."""
        return [packed_texts(column.cells) for column in self.columns if column.cells is not None]

    @classmethod
    def from_about(
        cls, values: Array, about: dict[str, Any], packed: list[bytes], max_bytes: int
    ) -> SensorTable:
        """The table again; what is not from a CSV file gets names of its own."""
        n, N = values.shape
        table = about.get("table")
        if table is None:
            return cls(values, [Column(f"sensor {j + 1}") for j in range(N)])
        if not isinstance(table, dict) or not _makes_sense(table, n, N, len(packed)):
            raise PacketError("The head of the file does not tell how its table was written.")
        dialect = Dialect(**{key: table[key] for key in asdict(Dialect()) if key in table})
        kept, columns = iter(packed), list[Column]()
        for name, kind in zip(table["names"], table["kinds"], strict=True):
            if kind == _KEPT:
                columns.append(Column(name, unpacked_texts(next(kept), n, max_bytes)))
            elif isinstance(kind, dict):
                columns.append(Column(name, unpacked_labels(kind, n)))
            else:
                columns.append(Column(name, decimals=kind))
        return cls(values, columns, dialect, table.get("blank", []))

    def as_written(self, values: Array) -> Array:
        """Other values in place of these, as they are read from the file that they make."""
        written = np.empty(values.shape)
        for j, column in enumerate(self.measured):
            cells = (cell_of(v, column.decimals, ".") for v in values[:, j].tolist())
            written[:, j] = [value_of(cell, ".") for cell in cells]
        return written

    def csv(self) -> bytes:
        """The table as a CSV file; cells of missing values are empty."""
        lines, blank = self._lines(), set(self.blank)
        total = 1 + len(self.values) + len(blank)
        return self.dialect.file("" if i in blank else next(lines) for i in range(total))

    def parquet(self) -> bytes:
        """The table as a Parquet file: measurements as numbers, the rest as text."""
        arrow = needed("pyarrow", "files", "Parquet")
        parquet = needed("pyarrow.parquet", "files", "Parquet")
        values, buffer = iter(self.values.T), io.BytesIO()
        arrays = [
            arrow.array(c.cells, arrow.string())
            if c.cells is not None
            else arrow.array(next(values), mask=None, from_pandas=True)
            for c in self.columns
        ]
        names = [column.name for column in self.columns]
        parquet.write_table(arrow.Table.from_arrays(arrays, names=names), buffer)
        return buffer.getvalue()

    def _lines(self) -> Iterator[str]:
        yield self.dialect.line(column.name for column in self.columns)
        for start in range(0, len(self.values), _BLOCK):
            rows = slice(start, start + _BLOCK)
            values = iter(self.values[rows].T.tolist())
            cells = [
                [cell_of(v, column.decimals, self.dialect.decimal) for v in next(values)]
                if column.cells is None
                else column.cells[rows]
                for column in self.columns
            ]
            yield from map(self.dialect.line, zip(*cells, strict=True))


def _is_decimals(kind: Any) -> bool:
    """Whether this can be `Column.decimals`."""
    return kind is None or (type(kind) is int and 0 <= kind <= MOST_DIGITS)


def _is_label(kind: Any) -> bool:
    return isinstance(kind, dict) or kind == _KEPT


def _makes_sense(table: dict[str, Any], n: int, N: int, n_kept: int) -> bool:
    """Whether what a file tells about its table is of the right kinds and sizes."""
    told = {"names": None, "kinds": None, "blank": [], **asdict(Dialect()), **table}
    names, kinds, blank = told["names"], told["kinds"], told["blank"]
    return (
        all(isinstance(part, list) for part in (names, kinds, blank))
        and len(names) == len(kinds)
        and all(isinstance(name, str) for name in names)
        and sum(not _is_label(kind) for kind in kinds) == N
        and sum(kind == _KEPT for kind in kinds) == n_kept
        and all(_is_label(kind) or _is_decimals(kind) for kind in kinds)
        and told["delimiter"] in tuple(DELIMITERS)
        and told["newline"] in NEWLINES
        and told["decimal"] in (".", ",")
        and type(told["bom"]) is type(told["ended"]) is bool
        and all(type(i) is int and 0 <= i < 1 + n + len(blank) for i in blank)
        and len(set(blank)) == len(blank)
    )


def read_table(path: Path, error: Any = USUAL, max_error: Any = None) -> SensorTable:
    """Read a CSV file; a ValueError says what to change in one that does not fit.

    Columns that must come back as they are, and whose numbers have more digits than a grid, are
    kept as text; columns that an error names are measurements, if they are numbers.
    """
    records = read_records(path)
    decimal, numeric = decimal_marks(records)
    dialect = replace(records.dialect, decimal=decimal)
    records = records._replace(dialect=dialect)
    if all(map(is_number, records.header)):
        raise ValueError(f"The first line of {path} must name the columns; it has numbers only.")
    asked = asked_by_name(error) | asked_by_name(max_error)
    columns, values = list[Column](), list[list[float]]()
    kept = label_columns(records, numeric, asked)
    for name, cells, is_label in zip(
        records.header, zip(*records.rows, strict=True), kept, strict=True
    ):
        if is_label:
            columns.append(Column(name, list(cells)))
        else:
            columns.append(Column(name, decimals=decimals_of(list(cells), decimal)))
            values.append([value_of(cell, decimal) for cell in cells])
    Y = np.array(values, np.float64).reshape(len(values), len(records.rows)).T
    if np.isinf(Y).any():
        raise ValueError(f"{path} has infinite values; empty these cells.")
    table = SensorTable(Y, columns, dialect, records.blank)
    return _without_a_grid_as_text(table, records.rows, error, max_error)


def _without_a_grid_as_text(
    table: SensorTable, rows: list[list[str]], error: Any, max_error: Any
) -> SensorTable:
    """Columns without error whose numbers are on no grid, as they are written."""
    if not table.measured:
        return table
    bounds = bounds_of(error, max_error, len(table.measured), table.names)
    exact = iter(bounds.exact[bounds.groups])
    columns, left = list[Column](), list[int]()
    for j, column in enumerate(table.columns):
        number = sum(c.cells is None for c in table.columns[:j])
        if column.cells is None and next(exact):
            known = table.values[:, number]
            known = known[~np.isnan(known)]
            if not gives_back(known, grid_of(known)):
                column = Column(column.name, [row[j] for row in rows])
        if column.cells is None:
            left.append(number)
        columns.append(column)
    return replace(table, columns=columns, values=table.values[:, left])
