"""Tables in CSV and Parquet files to ``.thr`` and back."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from thresher.persistence import write_atomically
from thresher.tasks.compression.bounds import bounds_of
from thresher.tasks.compression.codec import SensorCodec
from thresher.tasks.compression.container import (
    Container,
    read_container,
    read_values,
    write_container,
)
from thresher.tasks.compression.encoder import checked_rows
from thresher.tasks.compression.quantise import ROUNDING
from thresher.tasks.compression.report import CompressionReport, Errors
from thresher.tasks.compression.tables import (
    Table,
    contents,
    pack_table,
    read_table,
    unpack_table,
    write_table,
)
from thresher.tasks.compression.wire import MAX_BYTES, file_bytes

Progress = Callable[[str, int, int], None]
_TRIES = 40
"""To save what rounding to the digits of a column adds: bounds shrink by a tenth or more at a time.
Heuristic: half stops at an eighth of the bound, double takes twice as long to refuse a file."""


def compress_file(
    source: Path, target: Path, codec: SensorCodec, progress: Progress | None = None
) -> CompressionReport:
    """Compress a table, decode the result as a check, then write it at once.

    Parameters
    ----------
    source : Path
        A CSV or Parquet file.
    target : Path
        The file to write, such as ``sensors.thr``.
    codec : SensorCodec
        Its errors may name columns.
    progress : function of (stage, rows done, rows in all), optional
        Called after every batch.
    """
    _check_paths(source, target)
    table = read_table(source, codec.error, codec.max_error)
    values, errors = _coded(table, codec, progress)
    if isinstance(codec.error, int | float):
        errors.check_columns(table.names, codec.error)
    packed, (n, N) = pack_table(table), table.values.shape
    data = write_container(Container(n, N, {}, values, packed))
    again = _read(data, sys.maxsize, None)
    if contents(again) != contents(table):
        raise RuntimeError("The file does not decode to what was compressed; please report it.")
    write_atomically(target, data)
    return CompressionReport(
        n_bytes=len(data),
        source_bytes=source.stat().st_size,
        memory=file_bytes(n, N),
        errors=errors,
        names=table.names,
        kept=dict(zip(table.kept, map(len, packed[1:]), strict=True)),
        value_bytes=len(values),
        values=table.values,
        source=source.name,
    )


def decompress_file(
    source: Path, target: Path, progress: Progress | None = None, *, max_bytes: int = MAX_BYTES
) -> tuple[int, int]:
    """Write the table of a compressed file; return the number of rows and of sensors."""
    _check_paths(source, target)
    table = _read(source.read_bytes(), max_bytes, progress)
    write_atomically(target, write_table(table, target))
    n, N = table.values.shape
    return n, N


def _read(data: bytes, max_bytes: int, progress: Progress | None) -> Table:
    file = read_container(data, max_bytes)
    values = read_values(file, max_bytes, progress and partial(progress, "decompress"))
    return unpack_table(values, file.columns, max_bytes)


def _coded(table: Table, codec: SensorCodec, progress: Progress | None) -> tuple[bytes, Errors]:
    """Return values that, as they will be written, are within the bounds."""
    Y, names = table.values, table.names
    if codec.mode == "paper" and np.isnan(Y).any():
        raise ValueError(
            "mode='paper' does not send which sensors are missing, so an empty cell would come "
            "back as a number; fill them first, or leave mode out."
        )
    if not names:
        return b"", Errors.of(Y, Y)
    checked_rows(Y, len(names))
    bounds, (n, N) = bounds_of(codec.error, codec.max_error, len(names), names), Y.shape
    tried = bounds
    for _ in range(_TRIES):
        data = codec.write_values(Y, tried, progress and partial(progress, "compress"))
        file = Container(n, N, {}, data, [])
        decoded = read_values(file, sys.maxsize, progress and partial(progress, "check"))
        if not np.array_equal(np.isnan(decoded), np.isnan(Y)):
            raise RuntimeError("The file does not decode to what was compressed; please report it.")
        written = table.as_written(decoded)
        excess = bounds.excess(written, Y)
        if codec.mode == "paper" or excess <= ROUNDING:
            return data, Errors.of(written, Y)
        # Columns of few digits, cut as they are written: what rounding adds has to be saved.
        tried = tried.times(0.9 / min(excess, 1e6))
    raise ValueError("error is finer than the last digit of these numbers; set 0 for lossless.")


def _check_paths(source: Path, target: Path) -> None:
    """Refuse a source that may never end, and a target that is the source, or in no folder."""
    if not source.is_file():
        raise ValueError(f"{source} is not a file; write the output of a device or pipe to one.")
    if not target.parent.is_dir():
        raise ValueError(f"There is no folder {target.parent}; create it first.")
    if target.exists() and target.samefile(source):
        raise ValueError(f"{target} is the file to read; write to another one.")
