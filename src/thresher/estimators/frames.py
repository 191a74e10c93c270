"""Data frames of any library as matrices, and matrices as frames of the kind that came in.

narwhals distinguishes the libraries, and imports none of them: pandas, polars, Arrow tables and
others that it supports.
"""

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.utils._set_output import ADAPTERS_MANAGER

from thresher.linalg import Array

_NO_NUMBERS = (
    *(nw.String, nw.Categorical, nw.Enum, nw.Binary),
    *(nw.Date, nw.Datetime, nw.Duration, nw.Time),
    *(nw.List, nw.Array, nw.Struct),
)


def is_frame(X: Any) -> bool:
    """Whether X is a table in memory, of whatever library."""
    return nw.dependencies.is_into_dataframe(X)


def refuse_lazy(X: Any, name: str) -> None:
    """Refuse a query that was not run yet: to collect it here could exceed the memory."""
    if nw.dependencies.is_polars_lazyframe(X):
        raise TypeError(
            f"{name} takes samples, not a lazy frame: give frame.collect(), or, if that is larger "
            "than memory, write it with frame.sink_parquet(path) and give thresher.open(path)."
        )


def numbers_of(frame: Any, name: str) -> Any:
    """What scikit-learn's checks can read: numbers, and NaN where there are none.

    Columns that have no numbers are refused by their names. Frames of pandas stay frames: they have
    kinds of columns, such as sparse ones, that scikit-learn converts.
    """
    columns, names = with_plain_names(frame)
    if len(set(names)) < len(names):
        raise ValueError("Two columns have the same name; rename one of them.")
    schema = dict(columns.schema)
    bad = {
        column: name
        for (column, kind), name in zip(schema.items(), names, strict=True)
        if not _is_numeric(columns, column, kind)
    }
    if bad:
        listed = ", ".join(f"{bad[column]!r} ({schema[column]})" for column in list(bad)[:5])
        listed += ", ..." if len(bad) > 5 else ""
        raise ValueError(
            f"{name} takes numbers, and could not convert these columns to float: {listed}. Leave "
            "them out, or make numbers of them first."
        )
    if nw.dependencies.is_pandas_dataframe(frame):
        return frame
    return _matrix([_values(columns[column]) for column in schema], len(columns))


def like(frame: Any, values: Array, columns: Sequence[Any]) -> Any:
    """Values as a frame of the library of another, with its index if it has one."""
    if nw.dependencies.is_pandas_dataframe(frame):
        return ADAPTERS_MANAGER.adapters["pandas"].create_container(values, frame, columns)
    backend = nw.from_native(frame, eager_only=True).implementation
    series = {
        str(column): nw.new_series(str(column), values[:, place], backend=backend)
        for place, column in enumerate(columns)
    }
    return nw.from_dict(series, backend=backend).to_native()


def with_plain_names(frame: Any) -> tuple[Any, list[Any]]:
    """A frame for narwhals, whose columns have different strings as names; and their own names.

    Names of pandas may be anything, and those of Arrow may repeat; narwhals takes neither.
    """
    is_pandas = nw.dependencies.is_pandas_dataframe(frame)
    if not is_pandas and not nw.dependencies.is_pyarrow_table(frame):
        columns = nw.from_native(frame, eager_only=True)
        return columns, list(columns.columns)
    names = list(frame.columns if is_pandas else frame.column_names)
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        plain = [f"column {place}" for place in range(len(names))]
        frame = frame.set_axis(plain, axis=1) if is_pandas else frame.rename_columns(plain)
    return nw.from_native(frame, eager_only=True), names


def columns_of(frame: Any) -> Any:
    """The names of its columns; those of pandas may be anything."""
    if nw.dependencies.is_pandas_dataframe(frame):
        return frame.columns
    return with_plain_names(frame)[1]


def _is_numeric(columns: Any, column: Any, kind: Any) -> bool:
    if not isinstance(kind, nw.Object):
        return not isinstance(kind, _NO_NUMBERS) or _is_empty(columns[column])
    try:  # Python objects, which may be numbers, None or pandas.NA
        columns[column].to_native().to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        return False
    return True


def _is_empty(column: Any) -> bool:
    return bool(column.null_count() == len(column))


def _values(column: Any) -> Array:
    """A column as numbers, NaN for null."""
    if _is_empty(column):
        return np.full(len(column), np.nan, dtype=np.float32)
    if isinstance(column.dtype, nw.Decimal):
        column = column.cast(nw.Float64)
    elif isinstance(column.dtype, nw.Boolean) and column.null_count():
        column = column.cast(nw.Float32)
    values: Array = column.to_numpy()
    return values


def _matrix(columns: Sequence[Array], n_rows: int) -> Array:
    dtype = np.result_type(*columns) if columns else np.dtype(np.float64)
    X: Array = np.empty((n_rows, len(columns)), dtype=dtype)
    for j, values in enumerate(columns):
        X[:, j] = values
    return X
