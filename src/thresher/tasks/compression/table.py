"""Tables of sensor values in CSV files: a name above each column, a time in each row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from thresher.linalg import Array
from thresher.streams.csv_cells import decimal_marks, is_number
from thresher.streams.csv_records import DELIMITERS, NEWLINES, Dialect, read_records
from thresher.tasks.compression.columns import (
    MOST_DIGITS,
    cell_of,
    decimals_of,
    label_columns,
    value_of,
)
from thresher.tasks.compression.labels import packed_labels, unpacked_labels
from thresher.tasks.compression.packet import PacketError

_BLOCK = 4096  # rows that are text at a time; by judgement


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
    def labels(self) -> list[str]:
        """Names of the columns that are kept letter by letter."""
        return [column.name for column in self.columns if column.cells is not None]

    def about(self) -> dict[str, Any]:
        """All but the values, for a file."""
        kinds = [c.decimals if c.cells is None else packed_labels(c.cells) for c in self.columns]
        about: dict[str, Any] = {"names": [c.name for c in self.columns], "kinds": kinds}
        usual = asdict(Dialect())
        about |= {k: v for k, v in asdict(self.dialect).items() if v != usual[k]}
        return {"table": about | ({"blank": self.blank} if self.blank else {})}

    @classmethod
    def from_about(cls, values: Array, about: dict[str, Any]) -> SensorTable:
        """The table again; what is not from a CSV file gets names of its own."""
        n, N = values.shape
        table = about.get("table")
        if table is None:
            return cls(values, [Column(f"sensor {j + 1}") for j in range(N)])
        if not isinstance(table, dict) or not _makes_sense(table, n, N):
            raise PacketError("The head of the file does not tell how its table was written.")
        dialect = Dialect(**{key: table[key] for key in asdict(Dialect()) if key in table})
        columns = [
            Column(name, unpacked_labels(kind, n))
            if isinstance(kind, dict)
            else Column(name, decimals=kind)
            for name, kind in zip(table["names"], table["kinds"], strict=True)
        ]
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

    def _lines(self) -> Iterator[str]:
        yield self.dialect.line(column.name for column in self.columns) or '""'
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


def _makes_sense(table: dict[str, Any], n: int, N: int) -> bool:
    """Whether what a file tells about its table is of the right kinds and sizes."""
    told = {"names": None, "kinds": None, "blank": [], **asdict(Dialect()), **table}
    names, kinds, blank = told["names"], told["kinds"], told["blank"]
    return (
        all(isinstance(part, list) for part in (names, kinds, blank))
        and len(names) == len(kinds)
        and all(isinstance(name, str) for name in names)
        and sum(not isinstance(kind, dict) for kind in kinds) == N
        and all(isinstance(kind, dict) or _is_decimals(kind) for kind in kinds)
        and told["delimiter"] in tuple(DELIMITERS)
        and told["newline"] in NEWLINES
        and told["decimal"] in (".", ",")
        and type(told["bom"]) is type(told["ended"]) is bool
        and all(type(i) is int and 0 <= i < 1 + n + len(blank) for i in blank)
        and len(set(blank)) == len(blank)
    )


def read_table(path: Path) -> SensorTable:
    """Read a CSV file; a ValueError says what to change in one that does not fit."""
    records = read_records(path)
    decimal, numeric = decimal_marks(records)
    dialect = replace(records.dialect, decimal=decimal)
    records = records._replace(dialect=dialect)
    if all(map(is_number, records.header)):
        raise ValueError(f"The first line of {path} must name the columns; it has numbers only.")
    columns, values = [], []
    kept = label_columns(records, numeric)
    for name, cells, is_label in zip(
        records.header, zip(*records.rows, strict=True), kept, strict=True
    ):
        if is_label:
            columns.append(Column(name, list(cells)))
        else:
            columns.append(Column(name, decimals=decimals_of(list(cells), decimal)))
            values.append([value_of(cell, decimal) for cell in cells])
    if not values:
        raise ValueError(
            f"{path} has no column of numbers to compress: all are text, times, ids, or a first "
            "column that only rises or falls."
        )
    Y = np.array(values).T
    if np.isinf(Y).any():
        raise ValueError(f"{path} has infinite values; empty these cells.")
    return SensorTable(Y, columns, dialect, records.blank)
