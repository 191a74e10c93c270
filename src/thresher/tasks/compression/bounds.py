"""How exact each column has to come back: what may be asked, and what it means for squared errors.

A number alone is the relative error of all columns together; ``"1%"`` alone is that of each column
by itself. For a single column, a number is a root mean square error in the column's own unit, and
``"1%"`` relative to the column's own root mean square. Columns that share a bound are a group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from thresher.estimators.parameters import is_number
from thresher.tasks.compression.arrays import Numbers

REST = "*"
"""In a dict of bounds, all columns that it does not name."""

FINEST = 1e-9
"""Relative errors below are not promised: dictionaries are orthogonal to some nine digits."""

USUAL = 0.02
"""Of the columns that a dict does not name."""


class Bound(NamedTuple):
    """An error in the unit of the data, or relative to their root mean square."""

    size: float
    relative: bool

    @property
    def is_exact(self) -> bool:
        """Whether no error is allowed."""
        return self.size == 0


@dataclass(frozen=True)
class Bounds:
    """For N columns in G groups: what squared error a group may have, and what a value may.

    Attributes
    ----------
    groups : array of shape (N)
        The group of each column.
    errors : list of Bound
        For each group.
    limits : list of Bound or None
        For each column, the largest error of a value.
    """

    groups: Numbers
    errors: list[Bound]
    limits: list[Bound | None]

    @property
    def exact(self) -> Numbers:
        """Which groups come back as they are."""
        return np.array([bound.is_exact for bound in self.errors])

    def summed(self, columns: Numbers) -> Numbers:
        """Sums over groups of numbers of columns."""
        return np.bincount(self.groups, columns, len(self.errors)).astype(np.float64)

    def allowed(self, counts: Numbers, squares: Numbers) -> Numbers:
        """The squared error of each group, with so many values of such squares in each column."""
        n, total = self.summed(counts), self.summed(squares)
        return np.array(
            [
                e.size**2 * (s if e.relative else k)
                for e, s, k in zip(self.errors, total, n, strict=True)
            ]
        )

    def excess(self, written: Numbers, Y: Numbers) -> float:
        """By how much values pass what is asked: 1 where they are just within it."""
        E, known = np.nan_to_num(written - Y), np.nan_to_num(Y)
        counts, squares = np.count_nonzero(~np.isnan(Y), axis=0), np.square(known).sum(axis=0)
        errors = self.summed(np.square(E).sum(axis=0))
        worst = 0.0
        pairs = [(np.sqrt(errors), np.sqrt(self.allowed(counts, squares)))]
        pairs.append((np.abs(E).max(axis=0, initial=0.0), self.largest(counts, squares)))
        for found, allowed in pairs:
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = np.where(found > 0, found / allowed, 0.0)
            worst = max(worst, float(ratio.max(initial=0.0)))
        return worst

    def largest(self, counts: Numbers, squares: Numbers) -> Numbers:
        """The largest error of a value in each column; infinite where nothing was asked."""
        own = np.sqrt(squares / np.maximum(counts, 1))
        return np.array(
            [
                np.inf if limit is None else limit.size * (size if limit.relative else 1.0)
                for limit, size in zip(self.limits, own, strict=True)
            ]
        )


def check_errors(error: Any, max_error: Any) -> None:
    """Refuse what cannot be meant, before the columns are known."""
    asked = [error, *_entries(error)]
    for value in asked if _is_single(error) else asked[1:]:
        checked_bound(value, "error", whole=_is_single(error))
    for value in [max_error] if _is_single(max_error) else _entries(max_error):
        if value is not None:
            checked_bound(value, "max_error", whole=False)


def checked_bound(value: Any, name: str, *, whole: bool) -> Bound:
    """A bound; ``whole`` is that of all columns together, for which a number is a share too."""
    text = value.strip() if isinstance(value, str) else ""
    share = _number(text[:-1]) / 100 if text.endswith("%") else None
    if share is not None:
        bound = Bound(share, True)
    else:
        number = _number(text) if text else value
        bound = Bound(float(number) if is_number(number) else np.nan, whole)
    fine = bound.size == 0 or (bound.size >= (FINEST if bound.relative else 0.0))
    if not (fine and np.isfinite(bound.size)) or (bound.relative and bound.size >= 1):
        what = "a share of the size of the data, such as 0.02 for 2 %" if whole else (
            "a number in the unit of the column, or a share of its size such as '2%'"
        )  # fmt: skip
        raise ValueError(
            f"{name}={value!r} must be {what}, and {FINEST:g} at least; or 0 for no loss at all."
        )
    return bound


def bounds_of(error: Any, max_error: Any, n_columns: int, names: Sequence[str] | None) -> Bounds:
    """What was asked, for columns that are known."""
    limits = _by_column(max_error, "max_error", n_columns, names, None)
    largest = [None if v is None else checked_bound(v, "max_error", whole=False) for v in limits]
    if _is_single(error) and not isinstance(error, str):
        whole = checked_bound(error, "error", whole=True)
        return _with_exact(np.zeros(n_columns, np.int64), [whole], largest)
    groups, errors = np.zeros(n_columns, np.int64), list[Bound]()
    rest = error.get(REST, USUAL) if isinstance(error, Mapping) else None
    shared = None
    for j, value in enumerate(_by_column(error, "error", n_columns, names, _SHARED)):
        if value is not _SHARED or isinstance(rest, str):
            groups[j] = len(errors)
            errors.append(checked_bound(rest if value is _SHARED else value, "error", whole=False))
        else:
            if shared is None:
                shared = len(errors)
                errors.append(checked_bound(rest, "error", whole=True))
            groups[j] = shared
    return _with_exact(groups, errors, largest)


def _with_exact(groups: Numbers, errors: list[Bound], limits: list[Bound | None]) -> Bounds:
    """Bounds in which columns whose values may have no error are in groups without error."""
    exact = np.array([limit is not None and limit.is_exact for limit in limits], bool)
    if exact.any():
        errors = [*errors, Bound(0.0, False)]
        used, groups = np.unique(np.where(exact, len(errors) - 1, groups), return_inverse=True)
        errors = [errors[group] for group in used]
    return Bounds(groups, errors, limits)


def asks_exact(error: Any, max_error: Any) -> bool:
    """Whether some column has to come back as it is."""
    single = [value for value in (error, max_error) if _is_single(value) and value is not None]
    asked = [*single, *_entries(error), *_entries(max_error)]
    return any(checked_bound(v, "error", whole=False).is_exact for v in asked if v is not None)


def asked_by_name(value: Any) -> set[str]:
    """The columns that a dict of bounds names."""
    return {key for key in value if key != REST} if isinstance(value, Mapping) else set()


def scaled(value: Any, by: float) -> Any:
    """The same bounds, times a number."""
    if isinstance(value, Mapping):
        return {key: scaled(bound, by) for key, bound in value.items()}
    if isinstance(value, str):
        number = float(value.strip().rstrip("%")) * by
        return f"{number!r}%" if value.strip().endswith("%") else number
    return [scaled(bound, by) for bound in value] if not _is_single(value) else (
        None if value is None else value * by
    )  # fmt: skip


_SHARED = object()


def _is_single(value: Any) -> bool:
    return value is None or isinstance(value, str) or not isinstance(value, Mapping | Sequence)


def _entries(value: Any) -> list[Any]:
    if _is_single(value):
        return []
    return list(value.values() if isinstance(value, Mapping) else value)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan


def _by_column(
    value: Any, name: str, n_columns: int, names: Sequence[str] | None, rest: Any
) -> list[Any]:
    """What is asked of each column; ``rest`` where nothing is."""
    if _is_single(value):
        return [value] * n_columns
    if isinstance(value, Mapping):
        found = [rest if rest is _SHARED else value.get(REST)] * n_columns
        for key, bound in value.items():
            if key != REST:
                found[_place(key, name, n_columns, names)] = bound
        return found
    if len(value) != n_columns:
        raise ValueError(f"{name} has {len(value)} entries for {n_columns} columns; give each one.")
    return list(value)


def _place(key: Any, name: str, n_columns: int, names: Sequence[str] | None) -> int:
    """The number of a column, from its name or its number."""
    known = [] if names is None else list(names)
    if key in known:
        return known.index(key)
    if isinstance(key, int) and 0 <= key < n_columns:
        return key
    there = ", ".join(map(repr, known[:8])) if known else f"0 to {n_columns - 1}"
    raise ValueError(
        f"{name} names {key!r}, which is no column of measurements; there are {there}."
    )
