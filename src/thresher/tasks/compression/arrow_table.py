"""Tables of sensor values in Parquet files: types, nulls and what pandas keeps stay as they were.

Numbers with a fraction are measurements. Whole numbers, times, words and the like come back as they
were; a column of whole numbers that an error names is a measurement too.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from thresher.streams.csv_records import Dialect
from thresher.streams.extras import needed
from thresher.tasks.compression.arrays import Numbers
from thresher.tasks.compression.arrow_columns import packed_column, unpacked_column
from thresher.tasks.compression.arrow_types import FLOATS, is_kept, is_whole, type_of
from thresher.tasks.compression.bounds import asked_by_name, bounds_of
from thresher.tasks.compression.grid import GRIDS, gives_back, grid_of, same_bits
from thresher.tasks.compression.packet import PacketError

_FAR = 2**50  # whole numbers beyond are not measured: doubles calculate with them
_LARGEST = 1e15
_NULL, _NAN = "null", "nan"


@dataclass(frozen=True)
class ArrowColumn:
    """A name, a type, the column if it is kept, and what stands for a missing measurement."""

    name: str
    kind: str
    kept: Any = None
    missing: str = _NULL


@dataclass(frozen=True)
class ArrowTable:
    """Measurements, NaN where missing; all columns in their order; what the schema keeps."""

    values: Numbers
    columns: list[ArrowColumn]
    metadata: dict[str, str]

    @property
    def names(self) -> list[str]:
        """Of the columns of ``values``."""
        return [column.name for column in self.columns if column.kept is None]

    @property
    def labels(self) -> list[str]:
        """Names of the columns that are kept as they are."""
        return [column.name for column in self.columns if column.kept is not None]

    def about(self) -> dict[str, Any]:
        """All but the values, for a file."""
        table = {
            "names": [column.name for column in self.columns],
            "types": [column.kind for column in self.columns],
            "missing": [column.missing if column.kept is None else "" for column in self.columns],
        }
        return {"parquet": table | ({"metadata": self.metadata} if self.metadata else {})}

    def packed(self) -> list[bytes]:
        """The columns that are kept as they are, for a file."""
        return [packed_column(column.kept) for column in self.columns if column.kept is not None]

    def as_written(self, values: Numbers) -> Numbers:
        """Other values in place of these, as they are read from the file that they make."""
        kinds = [column.kind for column in self.columns if column.kept is None]
        written = [_measured(y, kind) for y, kind in zip(values.T, kinds, strict=True)]
        return np.array(written).reshape(values.T.shape).T

    @classmethod
    def from_about(
        cls, values: Numbers, about: dict[str, Any], packed: list[bytes], max_bytes: int
    ) -> ArrowTable:
        """The table again."""
        table, (n, N) = about["parquet"], values.shape
        if not isinstance(table, dict) or not _makes_sense(table, N, len(packed)):
            raise PacketError("The head of the file does not tell how its table was written.")
        kept, columns = iter(packed), list[ArrowColumn]()
        for name, kind, missing in zip(
            table["names"], table["types"], table["missing"], strict=True
        ):
            if missing == "":
                found = unpacked_column(next(kept), kind, n, max_bytes)
                columns.append(ArrowColumn(name, kind, found))
            else:
                columns.append(ArrowColumn(name, kind, missing=missing))
        return cls(values, columns, table.get("metadata", {}))

    def table(self) -> Any:
        """As pyarrow has it."""
        arrow = needed("pyarrow", "files", "Parquet")
        values, arrays = iter(self.values.T), list[Any]()
        for column in self.columns:
            if column.kept is not None:
                arrays.append(column.kept)
                continue
            y, kind = next(values), type_of(column.kind)
            mask = np.isnan(y) if column.missing == _NULL else None
            numbers = np.nan_to_num(y) if is_whole(column.kind) else y
            dtype = kind.to_pandas_dtype()
            arrays.append(arrow.array(numbers.astype(dtype), kind, mask=mask))
        names = [column.name for column in self.columns]
        fields = [arrow.field(n, a.type) for n, a in zip(names, arrays, strict=True)]
        schema = arrow.schema(fields, metadata=self.metadata or None)
        return arrow.Table.from_arrays(arrays, schema=schema)

    def parquet(self) -> bytes:
        """The table as a Parquet file."""
        parquet = needed("pyarrow.parquet", "files", "Parquet")
        buffer = io.BytesIO()
        parquet.write_table(self.table(), buffer)
        return buffer.getvalue()

    def csv(self) -> bytes:
        """The table as a CSV file."""
        csv = needed("pyarrow.csv", "files", "Parquet")
        if len(self.columns) == 1:  # pyarrow writes a blank line for null, which readers leave out
            cells = self.table().column(0).cast("string").to_pylist()
            names = (column.name for column in self.columns)
            dialect = Dialect()
            return dialect.file(dialect.line([cell or ""]) for cell in (*names, *cells))
        buffer = io.BytesIO()
        csv.write_csv(self.table(), buffer)
        return buffer.getvalue()


def read_arrow_table(path: Path, error: Any, max_error: Any) -> ArrowTable:
    """Read a Parquet file; a ValueError says what to change in one that does not fit."""
    arrow = needed("pyarrow", "files", "Parquet")
    parquet = needed("pyarrow.parquet", "files", "Parquet")
    try:
        table = parquet.read_table(path)
    except (arrow.ArrowException, OSError) as error_found:
        raise ValueError(f"{path} is not a Parquet file that can be read: {error_found}") from None
    if not table.num_columns or not table.num_rows:
        raise ValueError(f"{path} has no rows; there is nothing to read.")
    asked = asked_by_name(error) | asked_by_name(max_error)
    columns, values = list[ArrowColumn](), list[Numbers]()
    for field, column in zip(table.schema, table.columns, strict=True):
        kind = str(field.type)
        if not is_kept(kind):
            raise ValueError(
                f"Column {field.name!r} of {path} has type {kind}, which is not kept; drop it, or "
                "make it text or numbers."
            )
        found = _numbers(column, kind) if kind in FLOATS or field.name in asked else None
        if found is None:
            columns.append(ArrowColumn(field.name, kind, column.combine_chunks()))
        else:
            missing = _NULL if column.null_count or kind not in FLOATS else _NAN
            columns.append(ArrowColumn(field.name, kind, missing=missing))
            values.append(found)
    Y = np.array(values, np.float64).reshape(len(values), table.num_rows).T
    metadata = {_text(k): _text(v) for k, v in (table.schema.metadata or {}).items()}
    whole = ArrowTable(Y, columns, metadata)
    return _without_a_grid_as_it_is(whole, table, error, max_error)


def _numbers(column: Any, kind: str) -> Numbers | None:
    """Measurements, NaN where missing; None if the column has to be kept as it is."""
    if kind not in FLOATS and not (is_whole(kind) and "int" in kind):
        return None
    y = np.asarray(column.to_numpy())
    if kind in FLOATS:
        known = y[~np.isnan(y)]
        # Nulls and NaN in one column, infinite and huge numbers: as they are.
        both = column.null_count and np.isnan(y).sum() > column.null_count
        if both or not np.isfinite(known).all() or (np.abs(known) > _LARGEST).any():
            return None
        return None if not known.size else _measured(y, kind)
    whole = np.asarray(column.to_pylist(), dtype=object)
    numbers = np.array([np.nan if v is None else float(v) for v in whole])
    return None if (np.abs(numbers[~np.isnan(numbers)]) > _FAR).any() else numbers


def _measured(y: Numbers, kind: str) -> Numbers:
    """Numbers as doubles: of shorter ones, the decimal fraction that they stand for."""
    if is_whole(kind):
        return np.rint(y)
    short = np.asarray(y, type_of(kind).to_pandas_dtype())
    number = 0 if kind == "double" else grid_of(short[~np.isnan(short)])
    exact = short.astype(np.float64)
    if number:
        grid = GRIDS[number]
        exact = np.rint(exact / grid.spacing) * grid.numerator / grid.denominator
    return exact


def _without_a_grid_as_it_is(
    table: ArrowTable, source: Any, error: Any, max_error: Any
) -> ArrowTable:
    """Columns without error whose numbers are on no grid, bit by bit."""
    if not table.names:
        return table
    bounds = bounds_of(error, max_error, len(table.names), table.names)
    exact = bounds.exact[bounds.groups]
    columns, left, number = list[ArrowColumn](), list[int](), 0
    for j, column in enumerate(table.columns):
        if column.kept is None:
            y = table.values[:, number]
            known = y[~np.isnan(y)]
            if exact[number] and not (
                gives_back(known, grid_of(known)) and _is_given_back(y, source.columns[j])
            ):
                column = ArrowColumn(column.name, column.kind, source.columns[j].combine_chunks())
            else:
                left.append(number)
            number += 1
        columns.append(column)
    return ArrowTable(table.values[:, left], columns, table.metadata)


def _is_given_back(y: Numbers, column: Any) -> bool:
    """Whether doubles, cut to the type of a column, have its bits where there are values."""
    short = np.asarray(column.to_numpy())
    there = ~np.isnan(y)
    return bool(same_bits(y.astype(short.dtype)[there], short[there]).all())


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _makes_sense(table: dict[str, Any], N: int, n_kept: int) -> bool:
    lists: list[Any] = [table.get(key) for key in ("names", "types", "missing")]
    metadata = table.get("metadata", {})
    if not all(isinstance(part, list) for part in lists) or not isinstance(metadata, dict):
        return False
    names, kinds, missing = lists
    texts = [*names, *kinds, *missing, *metadata.values()]
    return (
        len(names) == len(kinds) == len(missing)
        and all(isinstance(text, str) for text in texts)
        and set(missing) <= {"", _NULL, _NAN}
        and sum(m == "" for m in missing) == n_kept
        and sum(m != "" for m in missing) == N
        and all(m == "" or k in FLOATS or k.startswith(("int", "uint"))
                for m, k in zip(missing, kinds, strict=True))
    )  # fmt: skip
