"""CSV files to ``.thr`` and back."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from thresher.persistence import write_atomically
from thresher.tasks.compression.codec import SensorCodec
from thresher.tasks.compression.edge import Edge
from thresher.tasks.compression.limits import MOST_BYTES, file_bytes
from thresher.tasks.compression.report import CompressionReport, Errors
from thresher.tasks.compression.table import SensorTable, read_table

Tell = Callable[[str, int, int], None]


def compress_file(
    source: Path, target: Path, codec: SensorCodec, tell: Tell | None = None
) -> CompressionReport:
    """Compress a CSV file, decode what comes of it as a check, then write it at once."""
    _check_paths(source, target)
    table = read_table(source)
    data, edge, errors = _coded(table, codec, tell or _silent)
    names = [column.name for column in table.measured]
    errors.check_columns(names, codec.error)
    write_atomically(target, data)
    n, N = table.values.shape
    return CompressionReport(
        n_bytes=len(data),
        csv_bytes=source.stat().st_size,
        raw_bytes=4 * n * N,
        memory=file_bytes(n, N),
        paper_ratio=None if codec.n_nonzero is None else N // codec.n_nonzero,
        errors=errors,
        names=names,
        labels=table.labels,
        missing=np.isnan(table.values).mean(axis=0),
        packets=edge.n_packets_,
    )


def decompress_file(
    source: Path, target: Path, tell: Tell | None = None, *, max_bytes: int = MOST_BYTES
) -> tuple[int, int]:
    """Write the CSV file again; the number of rows and of sensors."""
    _check_paths(source, target)
    say = tell or _silent
    values, about = SensorCodec.decompress(
        source.read_bytes(),
        max_bytes=max_bytes,
        progress=lambda n, of: say("decompress", n, of),
    )
    write_atomically(target, SensorTable.from_about(values, about).csv())
    return values.shape


def _coded(table: SensorTable, codec: SensorCodec, say: Tell) -> tuple[bytes, Edge, Errors]:
    """The bytes of a file whose table, digits cut as they will be, is within the error asked."""
    if codec.mode == "paper" and np.isnan(table.values).any():
        raise ValueError(
            "mode='paper' does not tell which sensors are silent, so an empty cell would come back "
            "as a number; fill them first, or leave mode out."
        )
    allowed, about = codec.error, table.about()
    say("compress", 0, len(table.values))
    while True:
        data, edge = codec.compress(
            table.values, about=about, progress=lambda n, of: say("compress", n, of)
        )
        decoded, _ = SensorCodec.decompress(
            data, max_bytes=sys.maxsize, progress=lambda n, of: say("check", n, of)
        )
        if not np.array_equal(np.isnan(decoded), np.isnan(table.values)):
            raise RuntimeError("The file does not decode to what was compressed; please report it.")
        errors = Errors.of(table.as_written(decoded), table.values)
        if codec.n_nonzero is not None or errors.relative <= allowed * (1 + 1e-12):
            return data, edge, errors
        if not codec.error:
            column = table.measured[int(np.argmax(errors.own))].name
            raise ValueError(
                f"error=0 is for values on a grid, such as whole numbers or tenths; column "
                f"{column!r} has more digits. Set an error above zero."
            )
        # Columns of whole numbers among others with decimals: what rounding adds has to be saved.
        codec = replace(codec, error=0.9 * codec.error * allowed / errors.relative)


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
