"""CSV files to ``.thr`` and back, and what came of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from thresher.linalg import Array
from thresher.persistence import write_atomically
from thresher.tasks.compression.codec import SensorCodec
from thresher.tasks.compression.table import SensorTable, read_table

Tell = Callable[[str, int, int], None]


@dataclass(frozen=True)
class CompressionReport:
    """Sizes and errors, as measured on the decoded file.

    Attributes
    ----------
    n_bytes, csv_bytes, raw_bytes : int
        Of the file, of the CSV file, and of the values as 32-bit numbers.
    paper_ratio : int or None
        The paper's ⌊N/η₀⌋, which counts neither positions nor dictionaries.
    error : float
        Relative, over all sensors.
    names : list of str
    missing, relative, rms, largest : array of shape (N)
        For each sensor: the share of missing values; the relative error; the root mean square and
        the largest error in the units of the data.
    packets : dict
        How many of each kind.
    """

    n_bytes: int
    csv_bytes: int
    raw_bytes: int
    paper_ratio: int | None
    error: float
    names: list[str]
    missing: Array
    relative: Array
    rms: Array
    largest: Array
    packets: dict[str, int]


def compress_file(
    source: Path, target: Path, codec: SensorCodec, tell: Tell | None = None
) -> CompressionReport:
    """Compress a CSV file, decode what comes of it as a check, then write it at once."""
    table = read_table(source)
    say = tell or (lambda stage, done, total: None)
    say("compress", 0, len(table.values))
    data, edge = codec.compress(
        table.values, about=table.about(), progress=lambda n, of: say("compress", n, of)
    )
    decoded, _ = SensorCodec.decompress(data, progress=lambda n, of: say("check", n, of))
    if not np.array_equal(np.isnan(decoded), np.isnan(table.values)):
        raise RuntimeError("The file does not decode to what was compressed; please report this.")
    write_atomically(target, data)
    Y, E = table.values, decoded - table.values
    observed = np.maximum(np.count_nonzero(~np.isnan(Y), axis=0), 1)
    squares, errors = np.nansum(Y**2, axis=0), np.nansum(E**2, axis=0)
    return CompressionReport(
        n_bytes=len(data),
        csv_bytes=source.stat().st_size,
        raw_bytes=4 * Y.size,
        paper_ratio=None if codec.n_nonzero is None else Y.shape[1] // codec.n_nonzero,
        error=float(np.sqrt(errors.sum() / max(squares.sum(), 1e-300))),
        names=table.names,
        missing=np.isnan(Y).mean(axis=0),
        relative=np.sqrt(errors / np.maximum(squares, 1e-300)),
        rms=np.sqrt(errors / observed),
        largest=np.abs(np.nan_to_num(E)).max(axis=0),
        packets=edge.n_packets_,
    )


def decompress_file(source: Path, target: Path, tell: Tell | None = None) -> tuple[int, int]:
    """Write the CSV file again; the number of rows and of sensors."""
    say = tell or (lambda stage, done, total: None)
    values, about = SensorCodec.decompress(
        source.read_bytes(), progress=lambda n, of: say("decompress", n, of)
    )
    write_atomically(target, SensorTable.from_about(values, about).csv())
    return values.shape
