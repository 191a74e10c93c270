"""``thresher clean``: a table of sensors without gaps and glitches."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from thresher.cli.frame import ReportFile, existing, made, seeded
from thresher.cli.talk import Talk


def clean(
    talk: Talk,
    table: Annotated[
        Path,
        typer.Argument(help="A .csv, .parquet or .feather file: a row for each time."),
    ],
    out: Annotated[Path, typer.Argument(help="The file to write, of the same kind.")],
    changes: Annotated[
        Path | None,
        typer.Option(help="A CSV file with what was filled and replaced, and how sure that is."),
    ] = None,
    report: ReportFile = None,
    **parameters: Any,
) -> None:
    """Fill the gaps of a table of sensors, and mend its glitches.

    Words, times and ids are carried through. Dates in any usual spelling say how far rows are
    apart; where each time has a row for each of several stations, each is a sensor of its own.
    """
    import thresher
    from thresher.persistence import checked_target, write_atomically
    from thresher.tasks.tables.file import clean_file

    cleaner = made(thresher.TableCleaner, seeded(talk, parameters))
    if changes is not None:
        checked_target(changes)
    done = clean_file(existing(table), out, cleaner)
    n_filled, n_wrong, n_empty = (int(m.sum()) for m in (done.filled, done.flags, done.empty))
    n_rows, n_sensors = done.before.shape
    talk.answer(
        rows=n_rows, sensors=n_sensors, filled=n_filled, glitches=n_wrong, empty=n_empty, target=out
    )
    if done.time_columns:
        talk.answer(time_columns=list(done.time_columns))
        talk.aside(f"times: {', '.join(map(str, done.time_columns))}")
    if done.station_column is not None:
        talk.answer(station_column=done.station_column)
        talk.aside(f"a row for each time and {done.station_column}: each is a sensor of its own")
    talk.show(
        f"{n_rows:,} rows of {n_sensors} sensor{'s' * (n_sensors != 1)}: {n_filled:,} gaps filled, "
        f"{n_wrong:,} glitches replaced, {n_empty:,} entries still empty: {out}"
    )
    if done.unread:
        talk.answer(unread=done.unread)
        talk.show(f"columns without a single reading: {', '.join(done.unread)}")
    if changes is not None:
        write_atomically(changes, done.changes().encode())
        talk.answer(changes=changes)
        talk.show(f"changes: {changes}")
    if report is not None:
        from thresher.tasks.tables.report import table_report

        talk.write_report(table_report(done, table.name), report)
