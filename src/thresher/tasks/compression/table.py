"""Tables of sensor values in CSV files: a name above each column, a time in each row."""

import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from thresher.linalg import Array
from thresher.tasks.compression.labels import packed_labels, unpacked_labels

_MISSING = {"", "na", "nan", "null", "none"}
_TIME_NAMES = {"time", "date", "datetime", "timestamp", "hour", "day", "index", ""}


@dataclass(frozen=True)
class SensorTable:
    """Values, NaN where missing; names; digits after the point; what names the rows, if any."""

    values: Array
    names: list[str]
    decimals: list[int | None]
    label_name: str | None = None
    labels: list[str] | None = None

    def about(self) -> dict[str, Any]:
        """All but the values, for a file."""
        about: dict[str, Any] = {"names": self.names, "decimals": self.decimals}
        if self.labels is not None:
            about |= {"label_name": self.label_name, "rows": packed_labels(self.labels)}
        return about

    @classmethod
    def from_about(cls, values: Array, about: dict[str, Any]) -> "SensorTable":
        """The table again."""
        N = values.shape[1]
        names = about.get("names", [f"sensor {j + 1}" for j in range(N)])
        labels = unpacked_labels(about["rows"]) if "rows" in about else None
        decimals = about.get("decimals", [None] * N)
        return cls(values, names, decimals, about.get("label_name"), labels)

    def csv(self) -> bytes:
        """The table as a CSV file; cells of missing values are empty."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        first = [] if self.labels is None else [self.label_name or ""]
        writer.writerow([*first, *self.names])
        columns = [
            [_cell(value, decimals) for value in column]
            for column, decimals in zip(self.values.T.tolist(), self.decimals, strict=True)
        ]
        if self.labels is not None:
            columns.insert(0, self.labels)
        writer.writerows(zip(*columns, strict=True))
        return text.getvalue().encode()


def read_table(path: Path) -> SensorTable:
    """Read a CSV file; a ValueError says what to change in one that does not fit."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            lines = [line for line in csv.reader(file) if line]
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not a text file in UTF-8; save it as CSV in UTF-8.") from None
    if len(lines) < 2:
        raise ValueError(f"{path} has no rows below its header; nothing to compress.")
    header, rows = lines[0], lines[1:]
    if all(_number(cell) is not None for cell in header):
        raise ValueError(f"The first line of {path} must name the columns; it has numbers only.")
    for at, row in enumerate(rows, 2):
        if len(row) != len(header):
            raise ValueError(
                f"Line {at} of {path} has {len(row)} cells, the header has {len(header)}: make "
                "them as many."
            )
    columns = [list(column) for column in zip(*rows, strict=True)]
    label_name, labels = None, None
    if header[0].strip().lower() in _TIME_NAMES or not _is_numeric(columns[0]):
        label_name, labels, header, columns = header[0], columns[0], header[1:], columns[1:]
    text = [name for name, column in zip(header, columns, strict=True) if not _is_numeric(column)]
    if text:
        names = ", ".join(map(repr, text))
        raise ValueError(
            f"These columns of {path} have text in them: {names}. Leave them out, or empty the "
            "cells that are not numbers. Only the first column may name the rows."
        )
    if not columns:
        raise ValueError(f"{path} has no column of numbers; nothing to compress.")
    values = np.array([[_value(cell) for cell in column] for column in columns]).T
    if np.isinf(values).any():
        raise ValueError(f"{path} has infinite values; empty these cells.")
    decimals = [_decimals(column) for column in columns]
    return SensorTable(values, header, decimals, label_name, labels)


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def _is_missing(cell: str) -> bool:
    return cell.strip().lower() in _MISSING


def _is_numeric(column: list[str]) -> bool:
    return all(_is_missing(cell) or _number(cell) is not None for cell in column)


def _value(cell: str) -> float:
    return np.nan if _is_missing(cell) else float(cell)


def _decimals(column: list[str]) -> int | None:
    """The most digits after the point; None if some number has an exponent."""
    cells = [cell.strip().lower() for cell in column if not _is_missing(cell)]
    if any("e" in cell for cell in cells):
        return None
    return max((len(cell.partition(".")[2]) for cell in cells), default=0)


def _cell(value: float, decimals: int | None) -> str:
    if value != value:
        return ""
    return repr(value) if decimals is None else f"{value:.{decimals}f}"
