"""The page about a cleaned table: each sensor's series, what was replaced, and why."""

from __future__ import annotations

import numpy as np

from thresher import __version__
from thresher.plotting import for_page, series_panels
from thresher.report import Report
from thresher.tasks.tables.file import CleanedFile

_DRAWN = 6  # sensors
_STRETCH = 300  # rows of a picture
_MOST_SENSORS, _MOST_GLITCHES = 200, 30  # rows of the tables; by judgement


def table_report(done: CleanedFile, name: str) -> Report:
    """Tell what was filled and replaced in a table, and why.

    Parameters
    ----------
    done : CleanedFile
        The table before and after.
    name : str
        Of the file.
    """
    n_filled, n_wrong, n_empty = (int(m.sum()) for m in (done.filled, done.flags, done.empty))
    report = Report(
        f"{name}, cleaned",
        f"{n_filled:,} gaps were filled and {n_wrong:,} glitches replaced, among "
        f"{done.before.size:,} entries. All other readings are as they were.",
        f"Thresher {__version__} · tables",
    )
    report.facts(
        [
            (f"{len(done.before):,} × {len(done.names)}", "rows and sensors"),
            (f"{n_filled:,}", "gaps filled"),
            (f"{n_wrong:,}", "glitches replaced"),
            (f"{n_empty:,}", "entries of which nothing is known, still empty"),
        ]
    )
    _pictures(report, done)
    _glitches(report, done)
    _sensors(report, done)
    if done.unread:
        report.paragraph(f"Columns without a single reading: {', '.join(done.unread)}.")
    return report


def _pictures(report: Report, done: CleanedFile) -> None:
    """The stretch in which most was replaced, of the sensors of which most was."""
    replaced = done.flags | done.filled
    if not replaced.any():
        return
    order = np.argsort(done.places, kind="stable")
    sums = np.concatenate([[0], np.cumsum(replaced[order].sum(1))])
    length = min(_STRETCH, len(replaced))
    start = int(np.argmax(sums[length:] - sums[:-length]))
    rows = order[start : start + length]
    drawn = np.argsort(-replaced[rows].sum(0), kind="stable")[:_DRAWN]
    drawn = drawn[np.isfinite(done.after[rows][:, drawn]).any(0)]
    parts = [part[rows][:, drawn] for part in (done.before, done.after, done.lower, done.upper)]
    names = [done.names[j] for j in drawn]
    report.heading("Where most was replaced")
    report.picture(
        for_page(lambda: series_panels(names, *parts, places=done.places[rows])),
        f"Series of {', '.join(names)}: readings, what was filled in, and glitches",
        f"Rows {done.rows[rows[0]]} to {done.rows[rows[-1]]}. Grey: readings. Colour: what was "
        "filled in, with its interval. Crosses: readings that were replaced; those far out are "
        "drawn at the edge.",
    )


def _glitches(report: Report, done: CleanedFile) -> None:
    rows, columns = np.nonzero(done.flags)
    if not len(rows):
        return
    order = np.argsort(-done.scores[rows, columns], kind="stable")[:_MOST_GLITCHES]
    report.heading("Why they were replaced")
    report.paragraph(
        "Each reading was compared with what its own sensor around it in time, and the other "
        "sensors of its row, say of it."
    )
    report.table(
        ["Reading", "Was", "Expected", "So far off"],
        [
            [
                f"{done.names[j]}, {done.rows[i]}",
                f"{done.before[i, j]:.4g}",
                f"{_number(done.lower[i, j])} to {_number(done.upper[i, j])}",
                _chance(float(done.scores[i, j])),
            ]
            for i, j in ((rows[k], columns[k]) for k in order)
        ],
        caption=f"The {len(order)} least likely of {len(rows):,}, and how often a sound reading is "
        "so far off.",
    )


def _sensors(report: Report, done: CleanedFile) -> None:
    replaced = (done.flags | done.filled).sum(0)
    order = np.argsort(-replaced, kind="stable")[:_MOST_SENSORS]
    report.heading("Each sensor")
    report.table(
        ["Sensor", "Gaps filled", "Glitches", "Still empty", "Half an interval"],
        [
            [
                done.names[j],
                f"{int(done.filled[:, j].sum()):,}",
                f"{int(done.flags[:, j].sum()):,}",
                f"{int(done.empty[:, j].sum()):,}",
                _number(_half(done, int(j))),
            ]
            for j in order
        ],
        caption="Half an interval: the median over what was filled or replaced, in the unit of the "
        "sensor." + (f" The {len(order)} with most of it." if len(order) < len(done.names) else ""),
    )


def _half(done: CleanedFile, j: int) -> float:
    width = (done.upper[:, j] - done.lower[:, j]) / 2
    width = width[np.isfinite(width)]
    return float(np.median(width)) if len(width) else np.nan


def _number(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.4g}"


def _chance(score: float) -> str:
    if np.isinf(score):
        return "never: out of bounds"
    return f"once in {10**score:,.0f}" if score < 7 else "less than once in 10,000,000"
