"""What ``thresher compress`` and ``thresher decompress`` print."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from thresher.cli.progress import stages
from thresher.tasks.compression import SensorCodec
from thresher.tasks.compression.files import compress_file, decompress_file
from thresher.tasks.compression.limits import MOST_BYTES
from thresher.tasks.compression.report import CompressionReport

_MOST_SENSORS = 60  # rows of the table: about a screen; by judgement


def show_compress(source: Path, target: Path, codec: SensorCodec) -> None:
    """Compress a CSV file, and print sizes and the error of every sensor."""
    console = Console()
    with stages(console, "rows") as tell:
        report = compress_file(source, target, codec, tell)
    console.print(_sensors(report))
    console.print(
        f"{report.n_bytes:,} bytes: {report.csv_bytes / report.n_bytes:.1f} times smaller than the "
        f"CSV file, {report.raw_bytes / report.n_bytes:.1f} times smaller than 32-bit numbers."
    )
    if report.paper_ratio is not None:
        console.print(
            f"By the count of the paper, without positions and dictionaries: {report.paper_ratio}."
        )
    console.print(
        f"Relative error {report.errors.relative:.3%} of all values; "
        f"{report.packets['dictionary']} dictionaries sent."
    )
    if report.labels:
        kept = ", ".join(map(repr, report.labels))
        console.print(f"Kept as text, letter by letter: {kept}.", markup=False)
    if report.memory > MOST_BYTES:
        console.print(f"To read the file: thresher decompress --max-bytes {report.memory} …")


def show_decompress(source: Path, target: Path, max_bytes: int) -> None:
    """Write the CSV file again."""
    console = Console()
    with stages(console, "rows") as tell:
        n_rows, n_sensors = decompress_file(source, target, tell, max_bytes=max_bytes)
    console.print(f"{n_rows:,} rows of {n_sensors} sensors.")


def _sensors(report: CompressionReport) -> Table:
    """A row for each sensor; of very many, those with the largest relative error."""
    shown = np.arange(len(report.names))
    title = "Error of each sensor"
    if len(shown) > _MOST_SENSORS:
        shown = np.sort(np.argsort(-report.errors.own)[:_MOST_SENSORS])
        title = f"The {_MOST_SENSORS} sensors of {len(report.names)} with the largest error"
    table = Table("Sensor", title=title, title_justify="left")
    for column in ("missing", "of its own size", "root mean square", "largest"):
        table.add_column(column, justify="right")
    for j in shown:
        table.add_row(
            escape(report.names[j]),
            f"{report.missing[j]:.1%}",
            f"{report.errors.own[j]:.3%}",
            f"{report.errors.rms[j]:.3g}",
            f"{report.errors.largest[j]:.3g}",
        )
    return table
