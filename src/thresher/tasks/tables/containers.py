"""Tables of any kind as numbers and times, and numbers as tables of the kind that came in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from thresher.estimators.frames import (
    is_frame,
    refuse_lazy,
    with_plain_names,
)
from thresher.streams.tables import is_named
from thresher.tasks.tables.times import (
    Label,
    RowTimes,
    asked_times,
    found_groups,
    found_times,
)

_TIMES = (nw.Datetime, nw.Date)


@dataclass(frozen=True)
class SensorColumns:
    """The measured columns of a table, its rows in the order of their times.

    Where a table has a row for each time and station, X has a column for each sensor of each
    station: those of the first station first.
    """

    given: Any
    X: NDArray[Any]  # a row for each time, in order; float64, NaN in gaps
    seconds: NDArray[Any] | None  # of the rows of X; None if there are no times
    names: list[Any]  # of the measured columns
    at: list[int]  # where they stand in what was given
    row: NDArray[Any]  # of X, in which each given row stands
    group: NDArray[Any]  # the station of each given row
    groups: list[str]  # stations; one without a name if there are none
    group_name: Any = None  # the column that tells stations
    told: RowTimes | None = None  # of the given rows, if times were found in text

    @classmethod
    def of(cls, table: Any, time: Any = None, whole: bool = True) -> SensorColumns:
        """From a frame of pandas, polars or Arrow, or from an array.

        Times that are written as text, and stations, are found in whole tables only: the next rows
        of a stream may be too few to tell.
        """
        refuse_lazy(table, "clean")
        if not is_frame(table):
            X, at, seconds = _of_array(table, time)
            return cls.arranged(table, X, at, at, seconds)
        frame, names = with_plain_names(table)
        time_at = _time_place(names, time)
        columns = list(frame.iter_columns())
        at = [
            place
            for place, column in enumerate(columns)
            if place != time_at and is_measured(column, names[place])
        ]
        X = np.empty((len(frame), len(at)))
        for i, place in enumerate(at):
            X[:, i] = _numbers(columns[place])
        seconds = _times_of_frame(table, columns, time_at)
        labels = _labels(columns, names, at) if whole or time is not None else []
        times = None
        if seconds is None:
            times = found_times(labels) if time is None else asked_times(labels, time)
        labels = labels if whole else []
        return cls.arranged(table, X, [names[place] for place in at], at, seconds, labels, times)

    @classmethod
    def arranged(
        cls,
        given: Any,
        X: NDArray[Any],
        names: list[Any],
        at: list[int],
        seconds: NDArray[Any] | None,
        labels: Sequence[Label] = (),
        times: RowTimes | None = None,
    ) -> SensorColumns:
        """From readings as they were given, and what else the table tells.

        ``times`` were found in text, or else ``seconds`` are known, if any.
        """
        seconds = seconds if times is None else times.seconds
        if X.shape[1] == 0:
            raise ValueError("The table has no columns of numbers; there is nothing to clean.")
        if len(X) == 0:
            raise ValueError("The table has no rows; there is nothing to clean.")
        if np.isinf(X).any():
            raise ValueError("The table has infinite numbers; make them NaN, which is a gap.")
        one = np.zeros(len(X), dtype=int)
        if seconds is None:
            return cls(given, X, None, names, at, np.arange(len(X)), one, [""])
        if not np.isfinite(seconds).all():
            raise ValueError("Some rows have no time; fill or drop them, or leave time= out.")
        used = () if times is None else times.names
        groups = found_groups(seconds, [label for label in labels if label.name not in used])
        if groups is None:
            row, order = np.empty(len(X), dtype=int), np.argsort(seconds, kind="stable")
            row[order] = np.arange(len(X))
            return cls(given, X[order], seconds[order], names, at, row, one, [""], None, times)
        distinct, row = np.unique(seconds, return_inverse=True)
        by_station = (row, groups.number, groups.names, groups.name)
        empty = cls(given, np.empty((len(distinct), 0)), distinct, names, at, *by_station, times)
        return replace(empty, X=empty.spread(X))

    def without(self, no_reading: Any) -> SensorColumns:
        """With gaps for numbers that stand for them."""
        if no_reading is None:
            return self
        return replace(self, X=np.where(np.isin(self.X, no_reading), np.nan, self.X))

    @property
    def times(self) -> NDArray[Any]:
        """Of the rows of X, in steps: the usual distance of two is 1."""
        if self.seconds is None:
            return np.arange(float(len(self.X)))
        return in_steps(self.seconds)

    @property
    def sensors(self) -> list[str]:
        """A name for each column of X."""
        if len(self.groups) == 1:
            return [str(name) for name in self.names]
        return [f"{name}, {group}" for group in self.groups for name in self.names]

    def back(self, values: NDArray[Any]) -> NDArray[Any]:
        """Rows as they were given, of something about each entry of X."""
        by_group = values.reshape(len(values), len(self.groups), -1)
        return np.asarray(by_group[self.row, self.group])

    def spread(self, values: NDArray[Any]) -> NDArray[Any]:
        """As X is, of something about each given reading; NaN or False where there is none."""
        shape = (len(self.X), len(self.groups), len(self.names))
        spread = np.full(shape, False if values.dtype == bool else np.nan, dtype=values.dtype)
        spread[self.row, self.group] = values
        return spread.reshape(len(self.X), -1)

    def with_values(self, values: NDArray[Any], replaced: NDArray[Any]) -> Any:
        """The table with other numbers where some were replaced; all else as it was, types too."""
        values, replaced = self.back(values), self.back(replaced)
        if not is_frame(self.given):
            return _like_array(self.given, values, replaced, self.at)
        frame, names = with_plain_names(self.given)
        changed = []
        for i, place in enumerate(self.at):
            if replaced[:, i].any():
                column = frame[frame.columns[place]]
                changed.append(_mended(column, values[:, i], replaced[:, i]))
        made = frame.with_columns(*changed) if changed else frame.clone()
        return with_names_of(made.to_native(), self.given, range(len(names)))

    def frame(self, values: NDArray[Any]) -> Any:
        """Something about each reading: a table of the same kind, measured columns only."""
        values = self.back(values)
        if not is_frame(self.given):
            return values
        frame, _ = with_plain_names(self.given)
        backend = frame.implementation
        columns = {
            frame.columns[place]: nw.new_series(frame.columns[place], values[:, i], backend=backend)
            for i, place in enumerate(self.at)
        }
        made = nw.DataFrame.from_dict(columns, backend=backend).to_native()
        if nw.dependencies.is_pandas_dataframe(made):
            made.index = self.given.index
        return with_names_of(made, self.given, self.at)


def shown_times(table: Any, time: Any) -> NDArray[Any] | None:
    """Times of the rows as people read them (datetime64), or a column of numbers; None if none."""
    if not is_frame(table):
        return None if time is None else np.asarray(table)[:, time]
    index: Any = getattr(table, "index", None)
    if time is None and nw.dependencies.is_pandas_dataframe(table) and hasattr(index, "tz"):
        return np.asarray(index.tz_localize(None), dtype="datetime64[s]")
    frame, names = with_plain_names(table)
    time_at = _time_place(names, time)
    columns = list(frame.iter_columns())
    dated = [column for column in columns if isinstance(column.dtype, _TIMES)]
    for column in dated[:1] if time_at is None else [columns[time_at]]:
        if isinstance(column.dtype, nw.Datetime):
            column = column.dt.replace_time_zone(None)
        if isinstance(column.dtype, _TIMES):
            return np.asarray(column.to_numpy(), dtype="datetime64[s]")
        return _numbers(column)
    return None


def in_steps(seconds: NDArray[Any]) -> NDArray[Any]:
    """Times in order, from 0, with the median distance of two different ones as unit."""
    apart = np.diff(seconds)
    apart = apart[apart > 0]
    step = float(np.median(apart)) if len(apart) else 1.0
    return np.asarray((seconds - seconds[0]) / step) if len(seconds) else seconds


def is_measured(column: Any, name: Any) -> bool:
    """Whether a column of some name has measurements.

    Truth values, words and times are carried through, and so are whole numbers under a name such as
    year, hour, id or station.
    """
    if not column.dtype.is_numeric() or isinstance(column.dtype, nw.Boolean):
        return False
    return not (column.dtype.is_integer() and is_named(str(name)))


def _time_place(names: list[Any], time: Any) -> int | None:
    """Which column is the time, if one was named."""
    if time is None:
        return None
    places = places_of(time, names)
    if not places:
        raise ValueError(f"There is no column {time!r} to be the time=.")
    if len(places) > 1:
        raise ValueError(
            f"{len(places)} columns are named {time!r}, the time=; rename all but one of them."
        )
    return places[0]


def _labels(columns: list[Any], names: list[Any], measured: list[int]) -> list[Label]:
    """The columns of words and of numbers that are no measurements, as text; gaps are empty."""
    kinds = (nw.String, nw.Categorical, nw.Enum)
    found = []
    for place, (column, name) in enumerate(zip(columns, names, strict=True)):
        text = isinstance(column.dtype, kinds) or column.dtype == nw.Object
        if place not in measured and (text or column.dtype.is_integer()):
            cells = ["" if cell is None or cell != cell else cell for cell in column.to_list()]
            if all(isinstance(cell, str | int) for cell in cells):
                found.append(Label(name, [str(cell) for cell in cells]))
    return found


def _numbers(column: Any) -> NDArray[Any]:
    if column.null_count() == len(column):
        return np.full(len(column), np.nan)
    return np.asarray(column.cast(nw.Float64).to_numpy(), dtype=np.float64)


def _times_of_frame(table: Any, columns: list[Any], time: int | None) -> NDArray[Any] | None:
    """Seconds of each row: of a column that was named, the index, or the first one of times."""
    if time is not None:
        return _seconds(columns[time])
    index: Any = getattr(table, "index", None)
    if nw.dependencies.is_pandas_dataframe(table) and index.dtype.kind in "mM":
        return np.asarray(index.asi8, dtype=np.float64)
    if nw.dependencies.is_pandas_dataframe(table) and hasattr(index, "tz"):  # with a time zone
        return np.asarray(index.asi8, dtype=np.float64)
    for column in columns:
        if isinstance(column.dtype, _TIMES):
            return _seconds(column)
    return None


def _seconds(column: Any) -> NDArray[Any] | None:
    """Of a column of times, or of numbers; None if it is text."""
    if isinstance(column.dtype, nw.Date):
        column = column.cast(nw.Datetime("us"))
    if isinstance(column.dtype, nw.Datetime):
        stamps = column.dt.timestamp("us")
        return np.asarray(stamps.cast(nw.Float64).to_numpy(), dtype=np.float64) / 1e6
    return _numbers(column) if column.dtype.is_numeric() else None


def _of_array(table: Any, time: Any) -> tuple[NDArray[Any], list[Any], NDArray[Any] | None]:
    values = np.asarray(table)
    if values.ndim != 2 or values.dtype.kind not in "fiub":
        raise ValueError(
            "A table is a frame, or an array of numbers with a row for each time and a column for "
            f"each sensor; this has the shape {values.shape} and the type {values.dtype}."
        )
    X = values.astype(np.float64)
    names = list(range(X.shape[1]))
    if time is None:
        return X, names, None
    if not isinstance(time, int | np.integer) or not 0 <= time < X.shape[1]:
        raise ValueError(f"time={time!r} must be the number of a column of the array.")
    names.remove(int(time))
    return X[:, names], names, X[:, time]


def _like_array(
    given: Any, values: NDArray[Any], replaced: NDArray[Any], names: list[int]
) -> NDArray[Any]:
    made = np.array(given, copy=True)
    inside = made[:, names]
    whole = made.dtype.kind in "iub"
    replaced = replaced & ~(np.isnan(values) & whole)
    inside[replaced] = (np.round(values) if whole else values)[replaced]
    made[:, names] = inside
    return made


def _mended(column: Any, values: NDArray[Any], replaced: NDArray[Any]) -> Any:
    """A column of the same type with new values in some places; whole numbers stay whole."""
    if column.dtype.is_integer():
        values, replaced = np.round(values), replaced & ~np.isnan(values)
    new = nw.new_series(column.name, values, nw.Float64, backend=column.implementation)
    where = nw.new_series(column.name, replaced, nw.Boolean, backend=column.implementation)
    if nw.dependencies.is_pandas_series(column.to_native()):
        native = column.to_native().copy()
        places = np.flatnonzero(replaced)
        native.iloc[places] = values[places].astype(_numpy_type(native))
        return nw.from_native(native, series_only=True)
    filled = new.zip_with(where, column.cast(nw.Float64))
    gone = np.isnan(values) & replaced
    if gone.any():
        empty = nw.new_series(
            column.name, [None] * len(values), nw.Float64, backend=column.implementation
        )
        keep = nw.new_series(column.name, ~gone, nw.Boolean, backend=column.implementation)
        filled = filled.zip_with(keep, empty)
    return filled.cast(column.dtype)


def _numpy_type(native: Any) -> Any:
    kind = getattr(native.dtype, "numpy_dtype", native.dtype)
    return kind if isinstance(kind, np.dtype) and kind.kind in "iuf" else np.float64


def with_names_of(made: Any, given: Any, places: Sequence[int]) -> Any:
    """A frame with the names of some columns of another, of the same library, as its own."""
    if nw.dependencies.is_pandas_dataframe(given):
        every = len(places) == len(given.columns)
        made.columns = given.columns if every else given.columns[list(places)]
    elif nw.dependencies.is_pyarrow_table(given):
        made = made.rename_columns([given.column_names[place] for place in places])
    return made


def places_of(name: Any, names: Sequence[Any]) -> list[int]:
    """Where a name stands among names; those of pandas may be anything that has a hash."""
    return [
        place
        for place, other in enumerate(names)
        if other is name or (hash(other) == hash(name) and bool(other == name))
    ]
