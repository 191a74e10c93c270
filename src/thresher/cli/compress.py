"""What ``thresher compress`` and ``thresher decompress`` print."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from thresher.cli.progress import stages
from thresher.tasks.compression import SensorCodec
from thresher.tasks.compression.files import CompressionReport, compress_file, decompress_file

_MOST_SENSORS = 60


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
        f"Relative error {report.error:.3%}; {report.packets['dictionary']} dictionaries sent."
    )


def show_decompress(source: Path, target: Path) -> None:
    """Write the CSV file again."""
    console = Console()
    with stages(console, "rows") as tell:
        n_rows, n_sensors = decompress_file(source, target, tell)
    console.print(f"{n_rows:,} rows of {n_sensors} sensors.")


def _sensors(report: CompressionReport) -> Table:
    """A row for each sensor; of very many, those with the largest relative error."""
    shown = np.arange(len(report.names))
    title = "Error of each sensor"
    if len(shown) > _MOST_SENSORS:
        shown = np.sort(np.argsort(-report.relative)[:_MOST_SENSORS])
        title = f"The {_MOST_SENSORS} sensors of {len(report.names)} with the largest error"
    table = Table("Sensor", title=title, title_justify="left")
    for column in ("missing", "relative error", "root mean square", "largest"):
        table.add_column(column, justify="right")
    for j in shown:
        table.add_row(
            report.names[j],
            f"{report.missing[j]:.1%}",
            f"{report.relative[j]:.3%}",
            f"{report.rms[j]:.3g}",
            f"{report.largest[j]:.3g}",
        )
    return table
