"""Columns of tables made a matrix: chosen by name, numbers only, nulls as gaps."""

from collections.abc import Sequence
from typing import Any

import numpy as np

_SMALL = ("f2", "f4", "u1", "i1", "u2", "i2", "b1")


def chosen(columns: Any, there: Sequence[str], name: str) -> list[str]:
    """The columns that were asked for, all if none were; what is not there is refused."""
    if columns is None:
        return list(there)
    wanted = [columns] if isinstance(columns, str) else list(columns)
    missing = [str(column) for column in wanted if column not in there]
    if missing or not wanted:
        told = ", ".join(map(repr, there[:12])) + (", ..." if len(there) > 12 else "")
        raise ValueError(
            f"{name} has no column {', '.join(map(repr, missing)) or 'without a name'}; it has "
            f"{told}."
        )
    return wanted


class TextColumnsError(ValueError):
    """Some columns of a file are no numbers; ``good`` are the others."""

    def __init__(self, message: str, bad: Sequence[str], good: Sequence[str]) -> None:
        super().__init__(message)
        self.bad, self.good = list(bad), list(good)


def refuse_text(bad: Sequence[str], good: Sequence[str], name: str, kind: Any) -> None:
    """Say that some columns are no numbers, and how to leave them out."""
    if bad:
        some = ", ".join(map(repr, good[:6])) + (", ..." if len(good) > 6 else "")
        raise TextColumnsError(
            f"The column {bad[0]!r} of {name} has no numbers ({kind}); leave it out: "
            f"columns=[{some}].",
            bad,
            good,
        )


def common_dtype(dtypes: Sequence[Any]) -> np.dtype[Any]:
    """The type of a matrix of columns of these types."""
    return np.result_type(*dtypes) if dtypes else np.dtype(np.float64)


def matrix(columns: Sequence[Any], dtype: np.dtype[Any]) -> Any:
    """Arrow columns of one length as an array; with nulls in it, of floats, and NaN there."""
    if any(column.null_count for column in columns) and dtype.kind != "f":
        dtype = np.dtype(np.float32 if dtype.str[1:] in _SMALL else np.float64)
    X = np.empty((len(columns[0]), len(columns)), dtype=dtype)
    for j, column in enumerate(columns):
        values = column.to_numpy(zero_copy_only=False)
        if values.dtype == object:  # booleans with nulls
            values = np.array([np.nan if v is None else v for v in values], dtype=dtype)
        X[:, j] = values
    return X
