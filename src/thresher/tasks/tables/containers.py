"""Tables of any kind as numbers and times, and numbers as tables of the kind that came in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from thresher.estimators.frames import is_frame, refuse_lazy

_TIMES = (nw.Datetime, nw.Date)


@dataclass(frozen=True)
class SensorColumns:
    """The measured columns of a table, its rows in the order of their times."""

    given: Any
    X: NDArray[Any]  # rows in order, float64, NaN in gaps
    seconds: NDArray[Any] | None  # of the rows, in order; None if there are no times
    names: list[Any]
    order: NDArray[Any]  # X[i] is row order[i] of what was given

    @classmethod
    def of(cls, table: Any, time: Any = None) -> SensorColumns:
        """From a frame of pandas, polars or Arrow, or from an array."""
        refuse_lazy(table, "clean")
        if is_frame(table):
            frame = nw.from_native(table, eager_only=True)
            names = [name for name in frame.columns if name != time and is_measured(frame[name])]
            X = np.empty((len(frame), len(names)))
            for place, name in enumerate(names):
                X[:, place] = _numbers(frame[name])
            seconds = _times_of_frame(table, frame, time)
        else:
            X, names, seconds = _of_array(table, time)
        if X.shape[1] == 0:
            raise ValueError("The table has no columns of numbers; there is nothing to clean.")
        if len(X) == 0:
            raise ValueError("The table has no rows; there is nothing to clean.")
        if np.isinf(X).any():
            raise ValueError("The table has infinite numbers; make them NaN, which is a gap.")
        if seconds is None:
            return cls(table, X, None, names, np.arange(len(X)))
        if not np.isfinite(seconds).all():
            raise ValueError("Some rows have no time; fill or drop them, or leave time= out.")
        order = np.argsort(seconds, kind="stable")
        return cls(table, X[order], seconds[order], names, order)

    @property
    def times(self) -> NDArray[Any]:
        """Of the rows, in steps: the usual distance of two is 1."""
        if self.seconds is None:
            return np.arange(float(len(self.X)))
        return in_steps(self.seconds)

    def back(self, values: NDArray[Any]) -> NDArray[Any]:
        """Rows in the order in which they were given."""
        given = np.empty_like(values)
        given[self.order] = values
        return given

    def with_values(self, values: NDArray[Any], replaced: NDArray[Any]) -> Any:
        """The table with other numbers where some were replaced; all else as it was, types too."""
        values, replaced = self.back(values), self.back(replaced)
        if not is_frame(self.given):
            return _like_array(self.given, values, replaced, self.names)
        frame = nw.from_native(self.given, eager_only=True)
        changed = []
        for place, name in enumerate(self.names):
            if replaced[:, place].any():
                changed.append(_mended(frame[name], values[:, place], replaced[:, place]))
        return frame.with_columns(*changed).to_native() if changed else frame.clone().to_native()

    def frame(self, values: NDArray[Any]) -> Any:
        """Something about each reading: a table of the same kind, measured columns only."""
        values = self.back(values)
        if not is_frame(self.given):
            return values
        frame = nw.from_native(self.given, eager_only=True)
        columns = [
            nw.new_series(str(name), values[:, place], backend=frame.implementation)
            for place, name in enumerate(self.names)
        ]
        made = nw.DataFrame.from_dict(
            {column.name: column for column in columns}, backend=frame.implementation
        ).to_native()
        if nw.dependencies.is_pandas_dataframe(made):
            made.columns, made.index = self.given[self.names].columns, self.given.index
        return made


def shown_times(table: Any, time: Any) -> NDArray[Any] | None:
    """Times of the rows as people read them (datetime64), or a column of numbers; None if none."""
    if not is_frame(table):
        return None if time is None else np.asarray(table)[:, time]
    index: Any = getattr(table, "index", None)
    if time is None and nw.dependencies.is_pandas_dataframe(table) and hasattr(index, "tz"):
        return np.asarray(index.tz_localize(None), dtype="datetime64[s]")
    frame = nw.from_native(table, eager_only=True)
    kinds = [name for name in frame.columns if isinstance(frame[name].dtype, _TIMES)]
    for name in kinds[:1] if time is None else [time]:
        column = frame[name]
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


def is_measured(column: Any) -> bool:
    """Whether a column has numbers; truth values, words and times are carried through."""
    return bool(column.dtype.is_numeric()) and not isinstance(column.dtype, nw.Boolean)


def _numbers(column: Any) -> NDArray[Any]:
    if column.null_count() == len(column):
        return np.full(len(column), np.nan)
    return np.asarray(column.cast(nw.Float64).to_numpy(), dtype=np.float64)


def _times_of_frame(table: Any, frame: Any, time: Any) -> NDArray[Any] | None:
    """Seconds of each row: of a column that was named, the index, or the first one of times."""
    if time is not None:
        if time not in frame.columns:
            raise ValueError(f"There is no column {time!r} to be the time=.")
        return _seconds(frame[time])
    index: Any = getattr(table, "index", None)
    if nw.dependencies.is_pandas_dataframe(table) and index.dtype.kind in "mM":
        return np.asarray(index.asi8, dtype=np.float64)
    if nw.dependencies.is_pandas_dataframe(table) and hasattr(index, "tz"):  # with a time zone
        return np.asarray(index.asi8, dtype=np.float64)
    for name in frame.columns:
        if isinstance(frame[name].dtype, _TIMES):
            return _seconds(frame[name])
    return None


def _seconds(column: Any) -> NDArray[Any]:
    if isinstance(column.dtype, nw.Date):
        column = column.cast(nw.Datetime("us"))
    if isinstance(column.dtype, nw.Datetime):
        stamps = column.dt.timestamp("us")
        return np.asarray(stamps.cast(nw.Float64).to_numpy(), dtype=np.float64) / 1e6
    if not column.dtype.is_numeric():
        raise ValueError(f"time={column.name!r} has neither times nor numbers ({column.dtype}).")
    return _numbers(column)


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
