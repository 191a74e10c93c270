"""The times of a table's rows, found in the columns that are carried through.

Dates come in any usual spelling, with a clock or without, in one column or in two; or as year,
month, day and so on, each in a column of its own. Of several the one counts that tells most rows
apart. Without any, numbers that only rise are times, such as seconds or numbers of rows; ids and
years are not.

A table may have several rows for each time, one for each station, say. The column that tells them
apart is found too: each station then counts as sensors of its own.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.streams.times import parse_times

_DAY = 86400
_PARTS = ("year", "month", "day", "hour", "minute", "second")
_CLOCK = re.compile(r"(\d{1,2})[:.](\d\d)(?:[:.](\d\d))?", re.ASCII)
_PADDED = re.compile(r"(?<!\d)(\d)(?!\d)")  # digits that stand alone: 1/2/2026 9:05
_FULL = 0.5  # of all times and groups have a row at least, or they are no table; by judgement


class Label(NamedTuple):
    """A column that is carried through."""

    name: Any
    cells: list[str]  # one for each row


class RowTimes(NamedTuple):
    """When each row was, and which columns say so."""

    seconds: NDArray[Any]
    names: tuple[Any, ...]
    cells: list[str]  # as they are written
    dated: bool = True  # or just numbers

    @property
    def places(self) -> NDArray[Any]:
        """As the axis of a picture has them."""
        return self.seconds.astype("datetime64[s]") if self.dated else self.seconds


class Groups(NamedTuple):
    """To which of several stations each row belongs."""

    name: Any
    names: list[str]
    number: NDArray[Any]  # of each row's, among the names


def found_times(labels: Sequence[Label]) -> RowTimes | None:
    """The times of the rows; None if no column tells them."""
    dated = [(label, *dates) for label in labels if (dates := _dates(label.cells)) is not None]
    days, whole = (
        [
            RowTimes(seconds, (label.name,), label.cells)
            for label, seconds, has in dated
            if has == clock
        ]
        for clock in (False, True)
    )
    found = [*whole, *_with_a_clock(days, labels), *_of_parts(labels), *days]
    if found:
        return max(found, key=lambda times: len(np.unique(times.seconds)))
    _warn_of_gaps(labels)
    for label in labels:
        seconds = _numbers(label.cells)
        if seconds is not None and len(seconds) > 1 and (np.diff(seconds) > 0).all():
            return RowTimes(seconds, (label.name,), label.cells, dated=False)
    return None


def _warn_of_gaps(labels: Sequence[Label]) -> None:
    """Say which column would tell times, were it not for rows without one."""
    for label in labels:
        some = [cell for cell in label.cells if cell.strip()]
        if len(label.cells) / 2 < len(some) < len(label.cells) and _dates(some) is not None:
            warnings.warn(
                f"The column {label.name!r} has dates, but not in every row, so that it does not "
                "tell times; fill or drop these rows, or name another column by time=.",
                UserWarning,
                stacklevel=2,
            )


def asked_times(labels: Sequence[Label], name: Any) -> RowTimes:
    """Of the column that was asked for: dates, or numbers as they are."""
    for label in labels:
        if label.name == name:
            dates, numbers = _dates(label.cells), _numbers(label.cells)
            if dates is not None:
                return RowTimes(dates[0], (name,), label.cells)
            if numbers is not None:
                return RowTimes(numbers, (name,), label.cells, dated=False)
    raise ValueError(
        f"The column {name!r} has no times that can be read: write them as 2026-03-01T12:00, or as "
        "numbers that rise."
    )


def found_groups(seconds: NDArray[Any], labels: Sequence[Label]) -> Groups | None:
    """What tells the rows of one time apart: the column that does with the fewest words.

    None if all times are different, or if no column tells.
    """
    n, (times, row) = len(seconds), np.unique(seconds, return_inverse=True)
    best = None
    for label in labels:
        if not all(cell.strip() for cell in label.cells):
            continue
        names, number = np.unique(np.array(label.cells, dtype=str), return_inverse=True)
        one_each = len(np.unique(row * len(names) + number)) == n
        full = n >= _FULL * len(times) * len(names)
        if one_each and full and (best is None or len(names) < len(best.names)):
            best = Groups(label.name, [str(name) for name in names], number)
    return best if len(times) < n else None


def _dates(cells: list[str]) -> tuple[NDArray[Any], bool] | None:
    """Seconds of dates, and whether they have a clock; None if some cell is no date."""
    if not cells:
        return None
    times = parse_times(cells) or parse_times([_PADDED.sub(r"0\1", cell) for cell in cells])
    return (times.seconds, times.has_clock) if times is not None and times.has_date else None


def _with_a_clock(days: list[RowTimes], labels: Sequence[Label]) -> list[RowTimes]:
    """Days of one column with the clock of another."""
    clocks = [(label, seconds) for label in labels if (seconds := _clock(label.cells)) is not None]
    return [
        RowTimes(
            day.seconds + seconds,
            (*day.names, label.name),
            [f"{a} {b}" for a, b in zip(day.cells, label.cells, strict=True)],
        )
        for day in days
        for label, seconds in clocks
    ]


def _clock(cells: list[str]) -> NDArray[Any] | None:
    """Seconds since midnight, if all cells are times of a day."""
    found = [_CLOCK.fullmatch(cell.strip()) for cell in cells]
    if not cells or not all(found):
        return None
    parts = np.array([[int(part or 0) for part in match.groups()] for match in found if match])
    if (parts >= [24, 60, 60]).any():
        return None
    return np.asarray(parts @ [3600.0, 60.0, 1.0])


def _of_parts(labels: Sequence[Label]) -> list[RowTimes]:
    """Times whose year, month, day, hour, minute and second are columns; the later may miss."""
    by_name = {str(label.name).strip().lower(): label for label in labels}
    taken = [by_name[part] for part in _PARTS if part in by_name]
    if not {"year", "month", "day"} <= by_name.keys():
        return []
    numbers = [_numbers(label.cells) for label in taken]
    whole = [part for part in numbers if part is not None and (part == np.round(part)).all()]
    if len(whole) < len(numbers):
        return []
    year, month, day, *clock = whole
    if ((month < 1) | (month > 12) | (day < 1) | (day > 31) | (year < 1) | (year > 9999)).any():
        return []
    months = ((year - 1970) * 12 + month - 1).astype(np.int64).astype("M8[M]")
    seconds = (months.astype("M8[D]").astype(np.int64) + day - 1) * _DAY
    units = {"hour": 3600, "minute": 60, "second": 1}
    names = [str(label.name).strip().lower() for label in taken[3:]]
    for name, part in zip(names, clock, strict=True):
        seconds = seconds + units[name] * part
    stamps = seconds.astype(np.int64).astype("M8[s]")
    cells = [str(stamp).replace("T", " ") for stamp in stamps]
    return [RowTimes(seconds, tuple(label.name for label in taken), cells)]


def _numbers(cells: list[str]) -> NDArray[Any] | None:
    try:
        numbers = np.array(cells, dtype=np.float64)
    except ValueError:
        return None
    return numbers if np.isfinite(numbers).all() else None
