"""Parquet and Feather files, read by pyarrow: one row group or record batch at a time.

Row groups are read in their order by our own thread (`background`): Arrow's scanner promises no
order, and reads as far ahead as it likes.
"""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from thresher.streams.columns import chosen, common_dtype, matrix, refuse_text
from thresher.streams.extras import needed
from thresher.streams.fingerprint import files_fingerprint
from thresher.streams.reader import Reader
from thresher.streams.source import rows_per_batch

_BUFFER = 1 << 16  # bytes of a column that are read at a time; by judgement


class ArrowReader(Reader):
    """Rows of a file of columns, in parts that can be read one by one."""

    jumps = True

    def __init__(self, path: Path, columns: Any) -> None:
        self.paths = (path,)
        try:
            schema = self._schema()
        except (OSError, ValueError) as error:
            raise ValueError(f"{path} is no {self.kind} file, or it is damaged: {error}") from error
        self._columns = chosen(columns, schema.names, str(path))
        self._vector = 0
        types = [schema.field(name).type for name in self._columns]
        arrow = needed("pyarrow", "files", self.kind)
        if len(types) == 1 and arrow.types.is_fixed_size_list(types[0]):
            self._vector, types = types[0].list_size, [types[0].value_type]
        is_good = [_is_number(arrow.types, kind) for kind in types]
        good = [name for name, fine in zip(self._columns, is_good, strict=True) if fine]
        bad = [name for name, fine in zip(self._columns, is_good, strict=True) if not fine]
        refuse_text(bad, good, str(path), types[is_good.index(False)] if bad else None)
        self.names = None if self._vector else self._columns
        self._dtype = common_dtype([kind.to_pandas_dtype() for kind in types])

    kind = ""

    def _schema(self) -> Any:
        raise NotImplementedError

    @cached_property
    def _lengths(self) -> list[int]:
        """Rows of each part."""
        raise NotImplementedError

    def _part(self, number: int, rows: int) -> Iterator[Any]:
        """A part as Arrow record batches of at most so many rows."""
        raise NotImplementedError

    @property
    def n_rows(self) -> int:
        """Rows of all parts."""
        return sum(self._lengths)

    @property
    def n_features(self) -> int:
        """Chosen columns, or the length of the vectors in the one that was chosen."""
        return self._vector or len(self._columns)

    def read(self, start: int, rows: int) -> Iterator[Any]:
        """One part after the other; those before ``start`` are not touched."""
        for number, n in enumerate(self._lengths):
            if n <= start:
                start -= n
                continue
            # Arrow takes its time for each column of each batch: few large ones are quicker.
            for batch in self._part(number, max(rows, rows_per_batch(self.n_features))):
                if start < batch.num_rows:
                    yield self._array(batch.slice(start))
                start = max(start - batch.num_rows, 0)

    def _array(self, batch: Any) -> Any:
        if not self._vector:
            return matrix([batch.column(name) for name in self._columns], self._dtype)
        column = batch.column(self._columns[0])
        if column.null_count:
            raise ValueError(f"{self.paths[0]} has rows without a vector in {self._columns[0]!r}.")
        return matrix([column.flatten()], self._dtype).reshape(-1, self._vector)

    def origin(self) -> str:
        """Size and checksum of the file, and the columns that are read."""
        return files_fingerprint(self.paths, self._columns)


class ParquetReader(ArrowReader):
    """Row groups of a Parquet file."""

    kind = "Parquet"

    def _open(self) -> Any:
        parquet = needed("pyarrow.parquet", "files", "Parquet")
        # Without both of these, a row group is in memory as a whole, however large it is.
        return parquet.ParquetFile(self.paths[0], buffer_size=_BUFFER, pre_buffer=False)

    def _schema(self) -> Any:
        with self._open() as file:
            return file.schema_arrow

    @cached_property
    def _lengths(self) -> list[int]:
        with self._open() as file:
            about = file.metadata
            return [about.row_group(i).num_rows for i in range(about.num_row_groups)]

    def _part(self, number: int, rows: int) -> Iterator[Any]:
        with self._open() as file:
            yield from file.iter_batches(
                rows, row_groups=[number], columns=self._columns, use_threads=False
            )


class FeatherReader(ArrowReader):
    """Record batches of a Feather file (Arrow's own format)."""

    kind = "Feather"

    def _schema(self) -> Any:
        arrow = needed("pyarrow", "files", "Feather")
        with arrow.OSFile(str(self.paths[0])) as file, arrow.ipc.open_file(file) as parts:
            return parts.schema

    @cached_property
    def _lengths(self) -> list[int]:
        arrow = needed("pyarrow", "files", "Feather")
        places = [self._schema().get_field_index(self._columns[0])]
        options = arrow.ipc.IpcReadOptions(included_fields=places)
        with (
            arrow.OSFile(str(self.paths[0])) as file,
            arrow.ipc.open_file(file, options=options) as parts,
        ):
            count = parts.num_record_batches
            return [parts.get_batch(number).num_rows for number in range(count)]

    def _part(self, number: int, rows: int) -> Iterator[Any]:
        arrow = needed("pyarrow", "files", "Feather")
        schema = self._schema()
        places = sorted(schema.get_field_index(name) for name in self._columns)
        options = arrow.ipc.IpcReadOptions(included_fields=places, use_threads=False)
        with (
            arrow.OSFile(str(self.paths[0])) as file,
            arrow.ipc.open_file(file, options=options) as parts,
        ):
            batch = parts.get_batch(number)
            for start in range(0, batch.num_rows, rows):
                yield batch.slice(start, rows)


def _is_number(types: Any, kind: Any) -> bool:
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))
