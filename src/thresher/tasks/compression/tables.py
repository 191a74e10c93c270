"""Tables as the columns of a file: CSV, and Parquet as Arrow has it.

In CSV files the columns are those of `streams.tables`. In Parquet files, floats are measurements,
and integers that a bound names; all other columns come back as they were, and types travel as the
schema of Arrow's IPC format. Lossless numbers of a CSV file that have an exponent, or more digits
than a double, are kept cell by cell.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from thresher.streams.csv_records import DELIMITERS, NEWLINES, Dialect
from thresher.streams.tables import MAX_DIGITS, Column, CsvTable, read_csv_table
from thresher.tasks.compression.bounds import bounds_of, named_columns
from thresher.tasks.compression.columns import (
    pack_bytes,
    pack_integers,
    pack_texts,
    unpack_bytes,
    unpack_integers,
    unpack_texts,
)
from thresher.tasks.compression.quantise import grid_of, on_grid, same_bits
from thresher.tasks.compression.wire import (
    CELL_BYTES,
    LARGEST,
    Array,
    PacketError,
    Reader,
    check_memory,
    number,
    part,
)

_CSV, _ARROW = range(2)  # part of the format
_KEPT, _FREE = -2, -1  # columns of a CSV file: cell by cell; as many digits as it takes
_MISSING = _NONE, _NULL, _NAN = "", "null", "nan"  # what stands for a missing measurement


@dataclass(frozen=True)
class ArrowTable:
    """Measurements, NaN where missing; the schema; the other columns, by their number."""

    values: Array
    schema: Any
    missing: list[str]
    """For each column, what stands for a missing measurement; empty if the column is kept."""
    columns: dict[int, Any]

    @property
    def names(self) -> list[str]:
        """Of the columns of ``values``."""
        return [n for n, m in zip(self.schema.names, self.missing, strict=True) if m]

    @property
    def kept(self) -> list[str]:
        """Names of the columns that are kept."""
        return [self.schema.names[i] for i in self.columns]

    def as_written(self, values: Array) -> Array:
        """Return other values in place of these, as they are read from the file they make."""
        types = [f.type for f, m in zip(self.schema, self.missing, strict=True) if m]
        written = [_as_doubles(y, kind) for y, kind in zip(values.T, types, strict=True)]
        return np.array(written).reshape(values.T.shape).T

    def table(self) -> Any:
        """Return the table as pyarrow has it."""
        values, arrays = iter(self.values.T), list[Any]()
        for i, (column, missing) in enumerate(zip(self.schema, self.missing, strict=True)):
            if not missing:
                arrays.append(self.columns[i])
                continue
            y = next(values)
            mask = np.isnan(y) if missing == _NULL else None
            numbers = np.rint(np.nan_to_num(y)) if pa.types.is_integer(column.type) else y
            numbers = numbers.astype(column.type.to_pandas_dtype())
            arrays.append(pa.array(numbers, column.type, mask=mask))
        return pa.Table.from_arrays(arrays, schema=self.schema)


Table = CsvTable | ArrowTable


def read_table(path: Path, error: Any, max_error: Any) -> Table:
    """Read a CSV or Parquet file; a ValueError says what to change in one that does not fit."""
    asked = named_columns(error) | named_columns(max_error)
    if path.suffix.lower() not in (".parquet", ".pq"):
        table, cells = read_csv_table(path, asked)
        bounds = bounds_of(error, max_error, len(table.names), table.names)
        decimals = [column.decimals for column in table.columns if column.cells is None]
        spelled = [
            j for j, d in enumerate(decimals) if d is None and bounds.exact[bounds.groups[j]]
        ]
        return table.without({j: cells[j] for j in spelled})
    try:
        source = pyarrow.parquet.read_table(path).combine_chunks()
    except (pa.ArrowException, OSError) as error_found:
        raise ValueError(f"{path} is not a readable Parquet file: {error_found}") from None
    if not source.num_columns or not source.num_rows:
        raise ValueError(f"{path} has no rows; there is nothing to read.")
    values, missing, columns = list[Array](), list[str](), dict[int, Any]()
    for i, (column, array) in enumerate(zip(source.schema, source.columns, strict=True)):
        is_float = pa.types.is_floating(column.type)
        y = _measured(array) if is_float or column.name in asked else None
        if y is None:
            columns[i] = array.combine_chunks()
            missing.append("")
        else:
            values.append(y)
            missing.append(_NULL if array.null_count or not is_float else _NAN)
    Y = np.array(values, np.float64).reshape(len(values), source.num_rows).T
    return ArrowTable(Y, source.schema, missing, columns)


def write_table(table: Table, path: Path) -> bytes:
    """Return the bytes of a CSV or Parquet file."""
    buffer = io.BytesIO()
    if path.suffix.lower() in (".parquet", ".pq"):
        pyarrow.parquet.write_table(_as_arrow(table), buffer)
        return buffer.getvalue()
    if isinstance(table, CsvTable):
        return table.csv()
    if len(table.missing) == 1:  # pyarrow writes a blank line for null, which readers leave out
        cells = table.table().column(0).cast("string").to_pylist()
        lines = ([cell or ""] for cell in (*table.schema.names, *cells))
        return Dialect().file(map(Dialect().line, lines))
    pyarrow.csv.write_csv(table.table(), buffer)
    return buffer.getvalue()


def pack_table(table: Table) -> list[bytes]:
    """Return the head of a table, and its columns other than measurements."""
    if isinstance(table, ArrowTable):
        schema, names = table.schema.serialize().to_pybytes(), table.schema.names
        kinds = part(pack_integers(np.array(list(map(_MISSING.index, table.missing)))))
        head = bytes([_ARROW]) + kinds + number(len(schema)) + pack_bytes(schema)
        return [head, *(_packed_column(names[i], array) for i, array in table.columns.items())]
    dialect, texts = table.dialect, [c.cells for c in table.columns if c.cells is not None]
    kinds = part(pack_integers(np.array([_kind_of(column) for column in table.columns])))
    written = [list(DELIMITERS).index(dialect.delimiter), NEWLINES.index(dialect.newline)]
    written += [".,".index(dialect.decimal), dialect.bom, dialect.ended]
    blank = number(len(table.blank)) + pack_integers(np.array(table.blank))
    names = part(pack_texts([column.name for column in table.columns]))
    return [bytes([_CSV]) + names + kinds + bytes(written) + blank, *map(pack_texts, texts)]


def unpack_table(values: Array, packed: list[bytes], max_bytes: int) -> Table:
    """Return a table again; `PacketError` if the parts of the file do not make one."""
    n, N = values.shape
    if not packed:
        return CsvTable(values, [Column(f"sensor {j + 1}") for j in range(N)])
    parts, n_columns = Reader(packed[0]), N + len(packed) - 1
    (way,) = parts.take(1)
    if way == _ARROW:
        return _unpacked_arrow(values, parts, packed[1:], max_bytes)
    names = unpack_texts(parts.part(), n_columns, max_bytes)
    kinds = unpack_integers(parts.part(), n_columns)[0].tolist()
    delimiter, newline, comma, bom, ended = parts.take(5)
    n_blank = parts.number()
    check_memory(n_blank * CELL_BYTES, max_bytes)
    blank = unpack_integers(parts.rest(), n_blank)[0].tolist()
    is_table = way == _CSV and kinds.count(_KEPT) == len(packed) - 1
    is_dialect = max(delimiter, newline) < 3 and max(comma, bom, ended) < 2
    is_within = all(_KEPT <= kind <= MAX_DIGITS for kind in kinds)
    is_within &= blank == sorted(set(blank)) and all(0 <= i <= n + n_blank for i in blank)
    if not (is_table and is_dialect and is_within):
        raise PacketError("The head of the file does not say how its table was written.")
    dialect = Dialect(
        list(DELIMITERS)[delimiter], NEWLINES[newline], ".,"[comma], bom > 0, ended > 0
    )
    columns, kept = list[Column](), iter(packed[1:])
    for name, kind in zip(names, kinds, strict=True):
        cells = unpack_texts(next(kept), n, max_bytes) if kind == _KEPT else None
        columns.append(Column(name, cells, kind if kind >= 0 else None))
    return CsvTable(values, columns, dialect, blank)


def _kind_of(column: Column) -> int:
    """Return the decimals of a measurement, or how it is written without; `_KEPT` for cells."""
    if column.cells is not None:
        return _KEPT
    return _FREE if column.decimals is None else column.decimals


def contents(table: Table) -> list[Any]:
    """Return the columns that are kept, as lists that can be compared."""
    if isinstance(table, CsvTable):
        return [column.cells for column in table.columns]
    return [list(values) for array in table.columns.values() for values in _content(array)]


# -------------------------------------------------------------------------------- Arrow


def _integers_under(kind: Any) -> Any:
    """Return the type of integers in as many bits; None for columns that travel as text."""
    types = pa.types
    is_fixed = types.is_integer(kind) or types.is_floating(kind) or types.is_temporal(kind)
    return getattr(pa, f"int{kind.bit_width}")() if is_fixed and kind.bit_width <= 64 else None


def _content(array: Any) -> tuple[Array, Any]:
    """Return where a column has nulls, and its values as integers or text, if it has any."""
    nulls, whole = np.asarray(pc.is_null(array)), _integers_under(array.type)
    if nulls.all():
        return nulls, []
    if whole is not None:
        return nulls, np.asarray(pc.fill_null(array.view(whole), 0)).astype(np.int64)
    words = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
    return nulls, pc.fill_null(words.cast(pa.large_string()), "").to_pylist()


def _measured(column: Any) -> Array | None:
    """Return measurements, NaN where missing; None if the column has to be kept as it is."""
    if not (pa.types.is_floating(column.type) or pa.types.is_integer(column.type)):
        return None
    y = np.asarray(column.to_numpy(), np.float64 if pa.types.is_integer(column.type) else None)
    known = y[~np.isnan(y)]
    # Nulls and NaN in one column, infinite and huge numbers are kept as they are.
    both = column.null_count and np.isnan(y).sum() > column.null_count
    if both or not known.size or not (np.abs(known) <= LARGEST).all():
        return None
    return _as_doubles(y, column.type)


def _as_doubles(y: Array, kind: Any) -> Array:
    """Return numbers as doubles: of shorter floats, the decimal fractions they stand for."""
    if pa.types.is_integer(kind):
        return np.rint(y)
    short = np.asarray(y, kind.to_pandas_dtype())
    grid = 0 if pa.types.is_float64(kind) else grid_of(short[~np.isnan(short)])
    found = on_grid(short.astype(np.float64), grid)
    same = same_bits(found.astype(short.dtype), short) | np.isnan(short)
    return found if same.all() else short.astype(np.float64)


def _packed_column(name: str, array: Any) -> bytes:
    """Return a column without its type and its length: nulls, then integers or text."""
    try:
        nulls, content = _content(array)
        data = pack_texts(content) if isinstance(content, list) else pack_integers(content)
    except pa.ArrowException:
        raise ValueError(
            f"Column {name!r} has type {array.type}, which is not supported; drop it, or convert "
            "it to text or numbers."
        ) from None
    return part(pack_integers(nulls)) + (b"" if nulls.all() else data)


def _unpacked_column(data: bytes, kind: Any, n: int, max_bytes: int) -> Any:
    check_memory(n * CELL_BYTES, max_bytes)
    parts, whole = Reader(data), _integers_under(kind)
    nulls = unpack_integers(parts.part(), n)[0].astype(bool)
    try:
        if nulls.all():
            parts.end()
            found = pa.nulls(n, kind)
        elif whole is not None:
            numbers = unpack_integers(parts.rest(), n)[0].astype(whole.to_pandas_dtype())
            found = pa.array(numbers, whole, mask=nulls).view(kind)
        else:
            texts = np.array(unpack_texts(parts.rest(), n, max_bytes), object)
            found = pa.array(texts, pa.large_string(), mask=nulls).cast(kind)
        found.validate(full=True)
    except (pa.ArrowException, UnicodeError) as error:
        raise PacketError(f"The file has a column that is not of type {kind}: {error}") from None
    return found


def _unpacked_arrow(
    values: Array, parts: Reader, packed: list[bytes], max_bytes: int
) -> ArrowTable:
    n, N = values.shape
    kinds = unpack_integers(parts.part(), N + len(packed))[0]
    size = parts.number()
    check_memory(4 * size, max_bytes)
    try:
        schema = pa.ipc.read_schema(pa.py_buffer(unpack_bytes(parts.rest(), size)))
    except (pa.ArrowException, OSError, ValueError) as error:
        raise PacketError(f"The file has a schema that Arrow does not read: {error}") from None
    is_number = [pa.types.is_floating(c.type) or pa.types.is_integer(c.type) for c in schema]
    if (
        len(schema) != len(kinds)
        or not ((kinds >= 0) & (kinds < len(_MISSING))).all()
        or np.count_nonzero(kinds) != N
        or (kinds.astype(bool) & ~np.array(is_number, bool)).any()
    ):
        raise PacketError("The file has other columns than its schema.")
    columns = {
        i: _unpacked_column(data, schema.types[i], n, max_bytes)
        for i, data in zip(np.flatnonzero(kinds == 0).tolist(), packed, strict=True)
    }
    return ArrowTable(values, schema, [_MISSING[kind] for kind in kinds], columns)


def _as_arrow(table: Table) -> Any:
    """Return a table as pyarrow has it: measurements of a CSV file as numbers, the rest as text."""
    if isinstance(table, ArrowTable):
        return table.table()
    values = iter(table.values.T)
    arrays = [
        pa.array(c.cells, pa.string()) if c.cells is not None
        else pa.array(next(values), from_pandas=True)
        for c in table.columns
    ]  # fmt: skip
    return pa.Table.from_arrays(arrays, names=[column.name for column in table.columns])
