"""``thresher compress``: a table of sensors, as a file within errors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from thresher.cli.frame import ReportFile, existing, made
from thresher.cli.talk import Talk

if TYPE_CHECKING:
    from thresher.tasks.compression.report import CompressionReport

_MOST_SENSORS = 60  # rows of the table: about a screen


def compress(
    talk: Talk,
    source: Annotated[Path, typer.Argument(help="The CSV or Parquet file to read.")],
    target: Annotated[Path, typer.Argument(help="The file to write, such as sensors.thr.")],
    error: Annotated[
        list[str],
        typer.Option(
            help="Root mean square error of all values together, relative to their own root mean "
            "square: with values of about 20, 0.02 leaves an error of about 0.4. 1% is that of "
            "each column by itself. For a single column, and as often as need be: temp=0.5 in its "
            "own unit, temp=1% of its own size. 0 is lossless."
        ),
    ] = ["0.02"],  # noqa: B006, typer copies it
    max_error: Annotated[
        list[str] | None,
        typer.Option(
            help="The largest error of any value: 0.5 in the unit of each column, 2% of its size; "
            "for a single column, temp=0.5."
        ),
    ] = None,
    report: ReportFile = None,
    **parameters: Any,
) -> None:
    """Compress a table of sensor values: a name for each column, a time in each row.

    Cells of CSV files are separated by commas, semicolons or tabs. Text, times and ids are kept as
    they are, and so are a first column that only rises and integers of which there are few; all
    other columns are measurements. In Parquet files, numbers with a fraction are.
    """
    from thresher.tasks.compression import SensorCodec
    from thresher.tasks.compression.files import compress_file
    from thresher.tasks.compression.wire import MAX_BYTES

    bounds = {"error": _bounds(error), "max_error": _bounds(max_error or [])}
    codec = made(SensorCodec, {**bounds, **parameters})
    with talk.stages("rows") as tell:
        done = compress_file(existing(source), target, codec, tell)
    if done.kept:
        kept = ", ".join(map(repr, done.kept))
        talk.choose("kept as they are", kept, "times, ids, text, states, a count of rows, or empty")
    rows = zip(done.names, done.errors.own, done.errors.rms, done.errors.largest, strict=True)
    talk.answer(
        bytes=done.n_bytes,
        source_bytes=done.source_bytes,
        raw_bytes=done.raw_bytes,
        relative_error=done.errors.relative,
        sensors=[
            {"name": name, "relative_error": own, "rms": rms, "largest": most}
            for name, own, rms, most in rows
        ],
        memory=done.memory,
        kept=done.kept,
        target=target,
    )
    _show(talk, done)
    if done.memory > MAX_BYTES:
        talk.show(f"To read the file: thresher decompress --max-bytes {done.memory} …")
    if report is not None:
        talk.write_report(done.page(), report)


def _bounds(given: list[str]) -> Any:
    """Return what the command line asks: one bound, or a dict of columns."""
    columns: dict[str, Any] = {}
    for text in given:
        name, equals, bound = text.rpartition("=")
        columns[name if equals else "*"] = _number(bound)
    if set(columns) <= {"*"}:
        return columns.get("*")
    return columns


def _number(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


def _show(talk: Talk, done: CompressionReport) -> None:
    rows = done.rows(_MOST_SENSORS)
    title = "Error of each sensor"
    if len(rows) < len(done.names):
        title = f"The {len(rows)} sensors of {len(done.names)} with the largest error"
    table = Table(done.columns[0], title=title, title_justify="left")
    for column in done.columns[1:]:
        table.add_column(column, justify="right")
    for name, *cells in rows:
        table.add_row(escape(name), *cells)
    talk.show(
        table,
        f"{done.n_bytes:,} bytes: {done.source_bytes / done.n_bytes:.1f} times smaller than the "
        f"source, {done.raw_bytes / done.n_bytes:.1f} times smaller than 32-bit numbers.",
    )
    talk.show(f"Relative error {done.errors.relative:.3%} of all values.")
    if done.kept:
        kept = ", ".join(f"{name!r} ({size:,} bytes)" for name, size in done.kept.items())
        talk.show(f"Kept as they are: {kept}.")
