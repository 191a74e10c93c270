"""``thresher compress``: a table of sensors, as a file within errors."""

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
    source: Annotated[Path, typer.Argument(help="The CSV or Parquet file to read.")],
    target: Annotated[Path, typer.Argument(help="The file to write, such as sensors.thr.")],
    error: Annotated[
        list[str],
        typer.Option(
            help="Root mean square error of all values together, relative to their own root mean "
            "square: with values of about 20, 0.02 leaves an error of about 0.4. 1% is that of "
            "each column by itself. For a single column, and as often as need be: temp=0.5 in its "
            "own unit, temp=1% of its own size. With 0 all values come back as they are."
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

    Cells of CSV files are separated by commas, semicolons or tabs. Text, times and ids are kept
    letter by letter, and so are a first column that only rises and whole numbers of which there
    are few; all other columns are measurements. In Parquet files, numbers with a fraction are.
    """
    from thresher.tasks.compression import SensorCodec
    from thresher.tasks.compression.files import compress_file
    from thresher.tasks.compression.limits import MOST_BYTES

    bounds = {"error": _bounds(error), "max_error": _bounds(max_error or [])}
    codec = made(SensorCodec, {**bounds, **parameters})
    started = time.perf_counter()
    with talk.stages("rows") as tell:
        done = compress_file(existing(source), target, codec, tell)
    seconds = time.perf_counter() - started
    if done.labels:
        kept = ", ".join(map(repr, done.labels))
        talk.choose(
            "kept as text, letter by letter",
            kept,
            "times, ids, words, states, a count of rows, or nothing at all",
        )
    talk.answer(
        bytes=done.n_bytes,
        source_bytes=done.source_bytes,
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
        kept=dict(zip(done.labels, done.label_bytes, strict=True)),
        target=target,
    )  # fmt: skip
    _show(talk, done)
    if done.memory > MOST_BYTES:
        talk.show(f"To read the file: thresher decompress --max-bytes {done.memory} …")
    if report is not None:
        from thresher.tasks.compression.page import compression_page

        talk.write_report(compression_page(done, source.name, done.values, seconds), report)


def _bounds(given: list[str]) -> Any:
    """What the words on the command line ask: one bound, or a dict of columns."""
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
    talk.show(
        _sensors(done),
        f"{done.n_bytes:,} bytes: {done.source_bytes / done.n_bytes:.1f} times smaller than the "
        f"{done.kind} file, {done.raw_bytes / done.n_bytes:.1f} times smaller than 32-bit numbers.",
    )
    if done.paper_ratio is not None:
        talk.show(
            f"By the count of the paper, without positions and dictionaries: {done.paper_ratio}."
        )
    sent = done.packets.get("dictionary", 0)
    talk.show(
        f"Relative error {done.errors.relative:.3%} of all values."
        + (f" {sent} dictionaries sent." if sent else "")
    )
    if done.labels:
        kept = ", ".join(
            f"{name!r} ({size:,} bytes)"
            for name, size in zip(done.labels, done.label_bytes, strict=True)
        )
        talk.show(f"Kept letter by letter: {kept}.")


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
