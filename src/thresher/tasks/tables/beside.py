"""A line between neighbours, beside what a cleaner fills in: for its page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import clone

from thresher.linalg import Array
from thresher.report import Report, tell_beside, timed

if TYPE_CHECKING:
    from thresher.tasks.tables.cleaner import TableCleaner
    from thresher.tasks.tables.file import CleanedFile

_MOST_ENTRIES = 50_000  # of the table that is cleaned again; by judgement
_HIDDEN = 20  # one reading in so many
_FEWEST = 100  # hidden readings


def tell_line(report: Report, cleaner: TableCleaner, done: CleanedFile) -> None:
    """Hide one sound reading in twenty, and compare how well it is told by a line through its gap.

    Parameters
    ----------
    report : Report
    cleaner : TableCleaner
    done : CleanedFile
        The table before and after.
    """
    n_rows = max(1, _MOST_ENTRIES // len(done.names))
    order = np.argsort(done.places, kind="stable")[:n_rows]
    X = np.where(done.flags, np.nan, done.before)[order]
    times = done.places[order].astype(np.float64)  # numbers, or seconds
    hidden = np.isfinite(X) & (np.random.default_rng(0).random(X.shape) < 1 / _HIDDEN)
    if cleaner.causal or hidden.sum() < _FEWEST:  # a line looks ahead
        return
    spoiled = np.where(hidden, np.nan, X)
    again = clone(cleaner).set_params(time=0, bounds=None, random_state=0, verbose=0)
    table = np.column_stack([times, spoiled])
    own, own_seconds = timed(lambda: again.clean(table).table[:, 1:])
    line, seconds_of_line = timed(lambda: lines_through(spoiled, times))
    scale = np.nanstd(X, axis=0)
    errors = []
    for told in (own, line):
        off = ((told - X) / np.where(scale > 0, scale, 1.0))[hidden]
        errors.append(float(np.sqrt(np.nanmean(off**2))))
    tell_beside(
        report,
        ["error", "seconds"],
        [
            ["TableCleaner", f"{errors[0]:.3f}", f"{own_seconds:.2g}"],
            ["a line", f"{errors[1]:.3f}", f"{seconds_of_line:.2g}"],
        ],
        f"{int(hidden.sum()):,} single readings of {len(order):,} rows were hidden, and told from "
        "the others. The error is the root of the mean square, in standard deviations of each "
        "column. The line goes from the reading before to the one after. Over long gaps it is "
        "much worse than here.",
    )


def lines_through(X: Array, times: Array) -> Array:
    """Gaps filled by straight lines in time; the nearest reading beyond the first and last."""
    filled = X.copy()
    for column in filled.T:
        known = np.isfinite(column)
        if known.any():
            column[~known] = np.interp(times[~known], times[known], column[known])
    return filled
