"""``thresher compress``: sensors, as a file within an error."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from thresher.cli.frame import ReportFile, existing, made
from thresher.cli.talk import Talk

if TYPE_CHECKING:
    from thresher.tasks.compression.report import CompressionReport

_MOST_SENSORS = 60  # rows of the table: about a screen; by judgement


def compress(
    talk: Talk,
    source: Annotated[Path, typer.Argument(help="The CSV file to read.")],
    target: Annotated[Path, typer.Argument(help="The file to write, such as sensors.thr.")],
    error: Annotated[
        float,
        typer.Option(
            help="Root mean square error of all values together, relative to their own root mean "
            "square: with values of about 20, 0.02 leaves an error of about 0.4. With 0 all values "
            "come back as they are. Put columns of one unit in a file: a column whose own error is "
            "far larger is refused."
        ),
    ] = 0.02,
    report: ReportFile = None,
    **parameters: Any,
) -> None:
    """Compress a CSV file of sensor values: a name above each column, a time in each row.

    Cells are separated by commas, semicolons or tabs. Text, times and ids are kept letter by
    letter, and so is a first column that only rises; all other columns are measurements.
    """
    from thresher.tasks.compression import SensorCodec
    from thresher.tasks.compression.files import compress_file
    from thresher.tasks.compression.limits import MOST_BYTES

    codec = made(SensorCodec, {"error": error, **parameters})
    started = time.perf_counter()
    with talk.stages("rows") as tell:
        done = compress_file(existing(source), target, codec, tell)
    seconds = time.perf_counter() - started
    if done.labels:
        kept = ", ".join(map(repr, done.labels))
        talk.choose(
            "kept as text, letter by letter",
            kept,
            "times, ids, words, a count of rows, or nothing at all",
        )
    talk.answer(
        bytes=done.n_bytes,
        csv_bytes=done.csv_bytes,
        raw_bytes=done.raw_bytes,
        relative_error=done.errors.relative,
        sensors=[
            {"name": name, "missing": missing, "of_its_own_size": own, "rms": rms, "largest": most}
            for name, missing, own, rms, most in zip(
                done.names, done.missing, done.errors.own, done.errors.rms, done.errors.largest,
                strict=True,
            )
        ],
        memory=done.memory,
        packets=done.packets,
        target=target,
    )  # fmt: skip
    _show(talk, done)
    if done.memory > MOST_BYTES:
        talk.show(f"To read the file: thresher decompress --max-bytes {done.memory} …")
    if report is not None:
        from thresher.tasks.compression.page import compression_page
        from thresher.tasks.compression.table import read_table

        values = read_table(source).values
        talk.write_report(compression_page(done, source.name, values, seconds), report)


def _show(talk: Talk, done: CompressionReport) -> None:
    talk.show(
        _sensors(done),
        f"{done.n_bytes:,} bytes: {done.csv_bytes / done.n_bytes:.1f} times smaller than the "
        f"CSV file, {done.raw_bytes / done.n_bytes:.1f} times smaller than 32-bit numbers.",
    )
    if done.paper_ratio is not None:
        talk.show(
            f"By the count of the paper, without positions and dictionaries: {done.paper_ratio}."
        )
    talk.show(
        f"Relative error {done.errors.relative:.3%} of all values; "
        f"{done.packets['dictionary']} dictionaries sent."
    )
    if done.labels:
        kept = ", ".join(map(repr, done.labels))
        talk.show(f"Kept as text, letter by letter: {kept}.")


def _sensors(done: CompressionReport) -> Table:
    """A row for each sensor; of very many, those with the largest relative error."""
    shown = done.worst(_MOST_SENSORS)
    title = "Error of each sensor"
    if len(shown) < len(done.names):
        title = f"The {len(shown)} sensors of {len(done.names)} with the largest error"
    table = Table("Sensor", title=title, title_justify="left")
    for column in done.columns[1:]:
        table.add_column(column, justify="right")
    for sensor in shown:
        name, *cells = done.row(sensor)
        table.add_row(escape(name), *cells)
    return table
