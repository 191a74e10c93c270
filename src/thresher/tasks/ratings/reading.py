"""Ratings from a file: users, items and ratings in the first three columns."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from thresher.streams.extras import needed

_ARROW = (".parquet", ".feather", ".arrow")


def read_ratings(path: Path) -> tuple[tuple[Any, Any, Any], list[str]]:
    """Users, items and ratings of a CSV, Parquet or Feather file, and the names of the columns.

    Ids are texts, or whole numbers if all are.
    """
    if path.suffix in _ARROW:
        kind = "parquet" if path.suffix == ".parquet" else "feather"
        table = needed(f"pyarrow.{kind}", "files", f"Reading {path}").read_table(path)
        _check_width(path, table.num_columns)
        users, items, values = (table.column(place).to_pylist() for place in range(3))
        return (users, items, values), list(table.column_names[:3])
    with path.open(newline="", encoding="utf-8-sig", errors="replace") as file:
        rows = [row for row in csv.reader(file) if row]
    _check_width(path, min((len(row) for row in rows), default=0))
    names = ["user", "item", "rating"]
    if _number(rows[0][2]) is None:
        names, rows = rows[0][:3], rows[1:]
    values = []
    for place, row in enumerate(rows):
        value = _number(row[2])
        if value is None:
            raise ValueError(
                f"{path} has {row[2]!r} for a rating, in its row {place + 1} after the header; "
                "the third column has to be numbers."
            )
        values.append(value)
    users, items = (_ids([row[column] for row in rows]) for column in range(2))
    return (users, items, values), names


def _check_width(path: Path, width: int) -> None:
    if width < 3:
        raise ValueError(f"{path} needs three columns: users, items and ratings.")


def _number(text: str) -> float | None:
    try:
        return float(text) if text.strip() else float("nan")
    except ValueError:
        return None


def _ids(texts: list[str]) -> list[Any]:
    whole = all(text.isdecimal() and str(int(text)) == text for text in texts)
    return [int(text) for text in texts] if whole else texts
