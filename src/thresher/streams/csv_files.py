"""CSV files and standard input as numbers, block by block, read by pyarrow.

The first lines tell delimiter, decimal mark and header, by the rules that tables of sensors are
read by (`csv_records`, `csv_cells`).
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from thresher.streams.bytes_of import open_bytes
from thresher.streams.columns import chosen, matrix, refuse_text
from thresher.streams.csv_cells import MISSING, decimal_marks, is_missing, is_number
from thresher.streams.csv_records import DELIMITERS, Dialect, Records, split_cells
from thresher.streams.extras import needed
from thresher.streams.fingerprint import files_fingerprint
from thresher.streams.pieces import from_row
from thresher.streams.reader import Reader

_HEAD = 1 << 18  # bytes that tell how a file is written; by judgement
_BLOCK = 1 << 20  # bytes that are read at a time; by judgement


class CsvReader(Reader):
    """Columns of numbers; empty cells, and NA, NaN, null and none, are gaps.

    Parameters
    ----------
    file : Path or binary file
        A file that is already open is read once.
    columns : str or list of str, optional
        Names in the header.
    """

    def __init__(self, file: Any, columns: Any = None) -> None:
        needed("pyarrow.csv", "files", "CSV")
        self._file, self.once = file, not isinstance(file, Path)
        self.paths = () if self.once else (file,)
        self._name = "Standard input" if self.once else str(file)
        self._head = self._first_bytes()
        records = _records(self._head, self._name)
        self._has_header = not all(is_number(c) or is_missing(c) for c in records.header)
        if self._has_header and not (self.once or records.rows):
            raise ValueError(
                f"{self._name} has no rows below its header; there is nothing to read."
            )
        there = records.header
        if not self._has_header:
            there = [str(number) for number in range(len(records.header))]
            records = records._replace(rows=[records.header, *records.rows])
        twice = {name for name in there if there.count(name) > 1}
        if twice:
            raise ValueError(f"{self._name} has two columns {twice.pop()!r}; rename one.")
        decimal, numeric = decimal_marks(records)
        self._all, self._decimal = there, decimal
        self._delimiter = records.dialect.delimiter
        self._columns = chosen(columns, there, self._name)
        is_good = dict(zip(there, numeric, strict=True))
        good = [name for name in self._columns if is_good[name]]
        bad = [name for name in self._columns if not is_good[name]]
        refuse_text(bad, good, self._name, "text")
        self.names = self._columns if self._has_header else None

    @property
    def n_features(self) -> int:
        """Chosen columns."""
        return len(self._columns)

    def read(self, start: int, rows: int) -> Iterator[Any]:
        """Blocks of lines, one after the other; rows before ``start`` are read over."""
        self.take()
        return from_row(self._blocks(), start)

    def _blocks(self) -> Iterator[Any]:
        csv = needed("pyarrow.csv", "files", "CSV")
        double = needed("pyarrow", "files", "CSV").float64()
        longest = max(map(len, self._head.splitlines()), default=0)
        spellings = sorted({s for m in MISSING for s in (m, m.upper(), m.title())} | {"NaN"})
        file = _After(self._head, self._file) if self.once else open_bytes(self._file)
        try:
            blocks = csv.open_csv(
                file,
                csv.ReadOptions(
                    use_threads=False,
                    block_size=max(_BLOCK, 4 * longest),
                    column_names=[] if self._has_header else self._all,
                ),
                csv.ParseOptions(delimiter=self._delimiter),
                csv.ConvertOptions(
                    column_types=dict.fromkeys(self._columns, double),
                    include_columns=self._columns,
                    null_values=spellings,
                    decimal_point=self._decimal,
                ),
            )
            with blocks:
                for block in blocks:
                    if block.num_rows:
                        columns = [block.column(name) for name in self._columns]
                        yield matrix(columns, np.dtype(np.float64))
        except ValueError as error:
            raise ValueError(self._told(str(error))) from error
        finally:
            if not self.once:
                file.close()

    def _told(self, error: str) -> str:
        ragged = re.search(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)", error)
        if ragged:
            row, wanted, got = ragged.groups()
            where = f"Line {row}" if row else "A line"
            return _ragged(where, self._name, got, wanted, self._delimiter)
        bad = re.search(r"In CSV column #(\d+): .*invalid value '(.*)'", error)
        if bad:
            return (
                f"{self._name} has {bad[2]!r} for a number in the column "
                f"{self._columns[int(bad[1]) % len(self._columns)]!r}; empty the cell, or leave "
                "the column out with columns=."
            )
        return f"{self._name} cannot be read as CSV: {error}"

    def _first_bytes(self) -> bytes:
        if self.once:
            parts, size = [], 0
            while size < _HEAD and (part := self._file.read1(_HEAD - size)):
                parts.append(part)
                size += len(part)
                if size and part.endswith(b"\n") and len(parts) > 1:
                    break  # a slow stream has said enough
            return b"".join(parts)
        with open_bytes(self._file) as file:
            return bytes(file.read(_HEAD))

    def origin(self) -> str:
        """Size and checksum of the file, and the columns that are read."""
        return files_fingerprint(self.paths, self._columns) if self.paths else ""


class _After:
    """A file of which the first bytes were read already."""

    closed = False

    def __init__(self, head: bytes, file: Any) -> None:
        self._head, self._file = head, file

    def read(self, size: int = -1) -> bytes:
        if not self._head:
            return bytes(self._file.read(size))
        part, self._head = (self._head, b"") if size < 0 else _parted(self._head, size)
        return part

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self.closed = True


def _parted(data: bytes, size: int) -> tuple[bytes, bytes]:
    return data[:size], data[size:]


def _records(head: bytes, name: str) -> Records:
    """The first lines in cells."""
    whole = len(head) < _HEAD
    lines = head if whole else head[: max(head.rfind(b"\n"), 0) + 1]
    try:
        text = lines.decode().removeprefix("\ufeff")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise ValueError(f"{name} is not a text file in UTF-8; save it as CSV in UTF-8.")
    if not text.strip():
        raise ValueError(f"{name} is empty; there is nothing to read.")
    delimiter, numbered = split_cells(name, text)
    rows = [(line, cells) for line, cells in numbered if "".join(cells).strip()]
    header = rows[0][1]
    width = len(header)
    even = [cells for _, cells in rows[1:] if len(cells) == width]
    if rows[1:] and not even:  # of others, a reader is told when they are read
        raise ValueError(_ragged(f"Line {rows[1][0]}", name, len(rows[1][1]), width, delimiter))
    return Records(Dialect(delimiter), header, even, [])


def _ragged(where: str, name: str, found: Any, wanted: Any, delimiter: str) -> str:
    return (
        f"{where} of {name} has {found} cells, the header has {wanted} (cells are separated by "
        f"{DELIMITERS[delimiter]}): make them as many."
    )
