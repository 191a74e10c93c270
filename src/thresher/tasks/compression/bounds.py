"""The error that each column may have, and what that means for squared errors.

A number alone is the relative error of all columns together, ``"1%"`` alone that of each column by
itself. For a single column, a number is a root mean square error in the column's own unit, and
``"1%"`` is relative to the column's own root mean square. Columns that share a bound are a group.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from thresher.estimators.parameters import is_number
from thresher.tasks.compression.wire import Array

REST = "*"
"""In a dict of bounds, all columns that it does not name."""
DEFAULT = 0.02
"""The relative error of columns that a dict does not name: the default of `SensorCodec`."""
_FINEST = 1e-9  # of relative errors: squares of smaller ones are lost in sums of doubles


class Bound(NamedTuple):
    """An error in the unit of the data, or relative to their root mean square."""

    size: float
    relative: bool


@dataclass(frozen=True)
class Bounds:
    """The squared error that groups of columns may have, and the largest error of a value.

    Attributes
    ----------
    groups : array of shape (N)
        The group of each column.
    errors : list of Bound
        For each group.
    limits : list of Bound or None
        For each column.
    """

    groups: Array
    errors: list[Bound]
    limits: list[Bound | None]

    @property
    def exact(self) -> Array:
        """Which groups are lossless."""
        return np.array([bound.size == 0 for bound in self.errors])

    def summed(self, columns: Array) -> Array:
        """Return sums over groups of numbers of columns."""
        return np.bincount(self.groups, columns, len(self.errors)).astype(np.float64)

    def allowed(self, counts: Array, squares: Array) -> Array:
        """Return the squared error of each group, given counts and squares of the columns."""
        size = np.array([bound.size for bound in self.errors])
        relative = np.array([bound.relative for bound in self.errors])
        return size**2 * np.where(relative, self.summed(squares), self.summed(counts))

    def largest(self, counts: Array, squares: Array) -> Array:
        """Return the largest error of a value in each column; infinite where unbounded."""
        own = np.sqrt(squares / np.maximum(counts, 1))
        pairs = zip(self.limits, own, strict=True)
        return np.array(
            [np.inf if b is None else b.size * (s if b.relative else 1.0) for b, s in pairs]
        )

    def times(self, factor: float) -> Bounds:
        """Return bounds that are so many times as large."""
        errors = [bound._replace(size=factor * bound.size) for bound in self.errors]
        limits = [b and b._replace(size=factor * b.size) for b in self.limits]
        return Bounds(self.groups, errors, limits)

    def excess(self, decoded: Array, Y: Array) -> float:
        """Return the largest ratio of an error to its bound."""
        E, known = np.nan_to_num(decoded - Y), np.nan_to_num(Y)
        counts, squares = np.count_nonzero(~np.isnan(Y), axis=0), np.square(known).sum(axis=0)
        errors = np.sqrt(self.summed(np.square(E).sum(axis=0)))
        found = np.concatenate([errors, np.abs(E).max(axis=0, initial=0.0)])
        bound = [np.sqrt(self.allowed(counts, squares)), self.largest(counts, squares)]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where(found > 0, found / np.concatenate(bound), 0.0)
        return float(ratios.max(initial=0.0))


def check_errors(error: Any, max_error: Any) -> None:
    """Refuse invalid bounds before the columns are known."""
    checked_bound(error, "error", shared=True) if _is_single(error) else None
    for name, value in (("error", error), ("max_error", max_error)):
        for bound in () if name == "error" and _is_single(error) else _entries(value):
            checked_bound(bound, name)


def checked_bound(value: Any, name: str, *, shared: bool = False) -> Bound:
    """Return a bound; a number that is ``shared`` by all columns is a relative error."""
    text = value.strip() if isinstance(value, str) else ""
    is_share = text.endswith("%")
    size = _number(text.rstrip("%")) / (100 if is_share else 1) if text else value
    bound = Bound(float(size) if is_number(size) else np.nan, is_share or shared)
    is_valid = bound.size == 0 or (bound.size >= (_FINEST if bound.relative else 0.0))
    if not (is_valid and np.isfinite(bound.size)) or (bound.relative and bound.size >= 1):
        what = "a relative error, such as 0.02 for 2 %" if shared else (
            "a number in the unit of the column, or a share of its size such as '2%'"
        )  # fmt: skip
        raise ValueError(
            f"{name} must be {what}, at least {_FINEST:g}, or 0 for lossless, got {value!r}."
        )
    return bound


def bounds_of(error: Any, max_error: Any, n_columns: int, names: Sequence[str] | None) -> Bounds:
    """Return the bounds of columns that are known."""
    limits: list[Bound | None] = [
        None if value is None else checked_bound(value, "max_error")
        for value in _by_column(max_error, "max_error", n_columns, names)
    ]
    rest = error.get(REST, DEFAULT) if isinstance(error, Mapping) else error
    is_shared = is_number(rest)  # by all columns that have no bound of their own
    each = [None] * n_columns if _is_single(error) else _by_column(error, "error", n_columns, names)
    exact = [limit is not None and limit.size == 0 for limit in limits]
    groups, errors = np.zeros(n_columns, np.int64), list[Bound]()
    numbers = dict[Any, int]()
    for j, value in enumerate(each):
        if exact[j]:
            bound, key = Bound(0.0, False), "exact"
        elif value is None and is_shared:
            bound, key = checked_bound(rest, "error", shared=True), "shared"
        else:
            bound = checked_bound(rest if value is None else value, "error")
            key = "exact" if bound.size == 0 else str(j)
        if key not in numbers:
            numbers[key] = len(errors)
            errors.append(bound)
        groups[j] = numbers[key]
    return Bounds(groups, errors, limits)


def named_columns(value: Any) -> set[str]:
    """Return the columns that a dict of bounds names."""
    return {key for key in value if key != REST} if isinstance(value, Mapping) else set()


def _is_single(value: Any) -> bool:
    return value is None or isinstance(value, str) or not isinstance(value, Mapping | Sequence)


def _entries(value: Any) -> Iterator[Any]:
    """Yield all bounds of a single one, a sequence or a dict."""
    found = [value] if _is_single(value) else (
        value.values() if isinstance(value, Mapping) else value
    )  # fmt: skip
    return (bound for bound in found if bound is not None)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan


def _by_column(value: Any, name: str, n_columns: int, names: Sequence[str] | None) -> list[Any]:
    """Return the bound of each column; for ``error``, None where a dict names nothing."""
    if _is_single(value):
        return [value] * n_columns
    if isinstance(value, Mapping):
        found = [value.get(REST) if name == "max_error" else None] * n_columns
        for key, bound in value.items():
            if key != REST:
                found[_index(key, name, n_columns, names)] = bound
        return found
    if len(value) != n_columns:
        raise ValueError(f"{name} has {len(value)} entries for {n_columns} columns.")
    return list(value)


def _index(key: Any, name: str, n_columns: int, names: Sequence[str] | None) -> int:
    """Return the number of a column, from its name or its number."""
    known = [] if names is None else list(names)
    if key in known:
        return known.index(key)
    if isinstance(key, int) and 0 <= key < n_columns:
        return key
    columns = ", ".join(map(repr, known[:8])) if known else f"0 to {n_columns - 1}"
    raise ValueError(f"{name} names {key!r}, which is no measured column; there are {columns}.")
