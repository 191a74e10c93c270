"""Tables in CSV and Parquet files to ``.thr`` and back."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from thresher.persistence import write_atomically
from thresher.tasks.compression.arrow_table import ArrowTable, read_arrow_table
from thresher.tasks.compression.bounds import bounds_of, scaled
from thresher.tasks.compression.codec import SensorCodec
from thresher.tasks.compression.container import Container, written_container
from thresher.tasks.compression.limits import MOST_BYTES, file_bytes
from thresher.tasks.compression.report import CompressionReport, Errors
from thresher.tasks.compression.sender import checked_rows
from thresher.tasks.compression.table import SensorTable, read_table
from thresher.tasks.compression.values import read_values
from thresher.tasks.compression.writing import read_file, smallest_values

Tell = Callable[[str, int, int], None]
Table = SensorTable | ArrowTable
_PARQUET = (".parquet", ".pq")
_SURELY = 1 + 1e-12
_TRIES = 40  # to save what rounding adds; more do not help, as each halves what is left, or more


def compress_file(
    source: Path, target: Path, codec: SensorCodec, tell: Tell | None = None
) -> CompressionReport:
    """Compress a table, decode what comes of it as a check, then write it at once."""
    _check_paths(source, target)
    is_parquet = source.suffix.lower() in _PARQUET
    table: Table = (read_arrow_table if is_parquet else read_table)(
        source, codec.error, codec.max_error
    )
    say = tell or _silent
    values, packets, errors = _coded(table, codec, say)
    if isinstance(codec.error, int | float):
        errors.check_columns(table.names, codec.error)
    packed = table.packed()
    n, N = table.values.shape
    data = written_container(Container(n, N, table.about(), values, packed))
    again = read_file(data, sys.maxsize, lambda done, of: None)
    if not _is_same(_table(again, sys.maxsize), table):
        raise RuntimeError("The file does not decode to what was compressed; please report it.")
    write_atomically(target, data)
    return CompressionReport(
        n_bytes=len(data),
        source_bytes=source.stat().st_size,
        raw_bytes=4 * n * N,
        memory=file_bytes(n, N),
        paper_ratio=None if codec.n_nonzero is None else N // codec.n_nonzero,
        errors=errors,
        names=table.names,
        labels=table.labels,
        label_bytes=[len(part) for part in packed],
        value_bytes=len(values),
        missing=np.isnan(table.values).mean(axis=0),
        packets=packets,
        kind="Parquet" if is_parquet else "CSV",
        values=table.values,
    )


def decompress_file(
    source: Path, target: Path, tell: Tell | None = None, *, max_bytes: int = MOST_BYTES
) -> tuple[int, int]:
    """Write the table again; the number of rows and of sensors."""
    _check_paths(source, target)
    say = tell or _silent
    file = read_file(source.read_bytes(), max_bytes, lambda done, of: say("decompress", done, of))
    table = _table(file, max_bytes)
    if target.suffix.lower() in _PARQUET:
        write_atomically(target, table.parquet())
    else:
        write_atomically(target, table.csv())
    return file.values.shape


def _table(file: Any, max_bytes: int) -> Table:
    kind = ArrowTable if "parquet" in file.about else SensorTable
    return kind.from_about(file.values, file.about, file.columns, max_bytes)


def _is_same(again: Table, table: Table) -> bool:
    """Whether all columns that are kept came back as they were, and gaps where they were."""
    if isinstance(again, SensorTable):
        assert isinstance(table, SensorTable)
        kept = all(a.cells == b.cells for a, b in zip(again.columns, table.columns, strict=True))
    else:
        assert isinstance(table, ArrowTable)
        kept = all(
            a.kept is None or a.kept.equals(b.kept)
            or (a.kept.cast("string").equals(b.kept.cast("string")))
            for a, b in zip(again.columns, table.columns, strict=True)
        )  # fmt: skip
    return kept and np.array_equal(np.isnan(again.values), np.isnan(table.values))


def _coded(table: Table, codec: SensorCodec, say: Tell) -> tuple[bytes, dict[str, int], Errors]:
    """Values that, as they will be written, are within the errors asked."""
    Y, names = table.values, table.names
    if codec.mode == "paper" and np.isnan(Y).any():
        raise ValueError(
            "mode='paper' does not tell which sensors are silent, so an empty cell would come back "
            "as a number; fill them first, or leave mode out."
        )
    say("compress", 0, len(Y))
    if not names:
        say("compress", len(Y), len(Y))
        return b"", {}, Errors.of(Y, Y)
    checked_rows(Y, len(names))
    asked = bounds_of(codec.error, codec.max_error, len(names), names)
    for _ in range(_TRIES):
        data, edge = smallest_values(codec, Y, names, lambda n, of: say("compress", n, of))
        n, N = Y.shape
        decoded = read_values(data, n, N, sys.maxsize, lambda n, of: say("check", n, of))
        if not np.array_equal(np.isnan(decoded), np.isnan(Y)):
            raise RuntimeError("The file does not decode to what was compressed; please report it.")
        written = table.as_written(decoded)
        excess = asked.excess(written, Y)
        if codec.n_nonzero is not None or excess <= _SURELY:
            return data, edge.n_packets_, Errors.of(written, Y)
        # Columns of few digits, cut as they are written: what rounding adds has to be saved.
        by = 0.9 / min(excess, 1e6)
        finer = {"error": scaled(codec.error, by), "max_error": scaled(codec.max_error, by)}
        try:
            codec = replace(codec, **finer)
        except ValueError:  # no codec takes such an error
            break
    raise ValueError(
        "The error that was asked for is finer than the last digit of these numbers; set 0, with "
        "which all come back as they are."
    )


def _silent(stage: str, done: int, total: int) -> None:
    """Tell nobody."""


def _check_paths(source: Path, target: Path) -> None:
    """Refuse a source that may never end, and a target that is the source, or in no folder."""
    if not source.is_file():
        raise ValueError(f"{source} is not a file; write to one first what a device or pipe gives.")
    if not target.parent.is_dir():
        raise ValueError(f"There is no folder {target.parent}; make it first.")
    if target.exists() and target.samefile(source):
        raise ValueError(f"{target} is the file to read; write to another one.")
