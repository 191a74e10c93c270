"""How far a column may go: where it has met a natural limit, and where its range is mere chance.

What is filled in may lie beyond all that a sensor has read: a storm may come while it is off. But
dust is never below zero, nor humidity above a hundred. Guesses of readings tell the two apart. A
reading exceeds its guess g by more than x typical errors σ with some chance 1 − F(x), which is seen
in all readings of the table. So if the upper end h of a column's range were mere chance, all its
readings would stay below it with the chance

    p = Π_v min_{t in v} F((h − g_t) / σ_t),

over the visits v to the upper half of the range: errors of one visit may be alike, so that only
the one that tells most of each counts. Of the highest of all readings, p is anything from 0 to 1.
Where it is tiny, readings have come up to the end again and again, and stopped there: it is a
limit, and one for all columns that end there too. The lower end is the same, upside down.

An end that is also the most frequent reading, such as no rain, is a limit whatever p.

Zero is a limit before any end of a range is: a column that was never negative stays so if the
column most like it was never negative either, or if p, with zero for h, says that by chance it
would have been negative more likely than not.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_LIKELY = 0.5  # for zero: as likely as not


def natural_limits(
    X: NDArray[Any],
    trusted: NDArray[Any],
    guess: NDArray[Any],
    spread: NDArray[Any],
    like: NDArray[Any],
    chance: float,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The lowest and highest possible value of each column; infinite where nothing tells of one.

    ``guess`` and ``spread`` are g and σ, ``like`` is the column most like each one, or -1. An end
    of a range is a limit if p is below ``chance``.
    """
    off = np.sort((X[trusted] - guess[trusted]) / spread[trusted])
    columns, rows = np.nonzero(trusted.T)
    x, g, s = (part[rows, columns] for part in (X, guess, spread))
    middle = np.array(
        [np.median(X[read, j]) if read.any() else 0 for j, read in enumerate(trusted.T)]
    )
    above, below = x >= middle[columns], x <= middle[columns]
    high = _upper_limits(Readings(x, g, s, columns, above), like, chance, off)
    low = -_upper_limits(Readings(-x, -g, s, columns, below), like, chance, -off[::-1])
    return low + 0.0, high  # never -0


class Readings(NamedTuple):
    """All that was read, column after column."""

    x: NDArray[Any]
    guess: NDArray[Any]
    spread: NDArray[Any]
    columns: NDArray[Any]
    upper: NDArray[Any]  # whether in the upper half of the column's range


def _upper_limits(
    read: Readings, like: NDArray[Any], chance: float, off: NDArray[Any]
) -> NDArray[Any]:
    ends = np.full(len(like), -np.inf)
    np.maximum.at(ends, read.columns, read.x)
    known = np.isfinite(ends)
    limits = np.full(len(like), np.inf)
    alike = (like >= 0) & (ends[like] <= 0)
    by_chance = _by_chance(read, np.zeros(len(like)), off) if (ends <= 0).any() else ends
    limits[known & (ends <= 0) & (alike | (by_chance < _LIKELY))] = 0.0
    met = _most_frequent(read, ends) | (_by_chance(read, ends, off) < chance)
    limits[known & met] = ends[known & met]
    shared = np.isin(ends, limits[limits == ends])
    return np.where(shared, ends, limits)


def _most_frequent(read: Readings, ends: NDArray[Any]) -> NDArray[Any]:
    """Of each column, whether its end is read more often than anything else; more than once."""
    at_end = read.x == ends[read.columns]
    counts = np.bincount(read.columns[at_end], minlength=len(ends))
    for j in np.flatnonzero(counts > 1):
        others = read.x[(read.columns == j) & ~at_end]
        often = np.unique(others, return_counts=True)[1].max(initial=0)
        counts[j] = counts[j] if counts[j] > often else 0
    return np.asarray(counts > 1)


def _by_chance(read: Readings, ends: NDArray[Any], off: NDArray[Any]) -> NDArray[Any]:
    """Each column's p, above; F grows, so that of a visit the one nearest to the end counts."""
    before = np.diff(read.columns, prepend=-1) == 0
    before[1:] &= read.upper[:-1]
    visits = np.flatnonzero(read.upper & ~before)
    p = np.ones(len(ends))
    if len(visits):
        room = (ends[read.columns] - read.guess) / read.spread
        least = np.minimum.reduceat(np.where(read.upper, room, np.inf), visits)
        stays = np.searchsorted(off, least, side="right") / len(off)
        np.multiply.at(p, read.columns[visits], stays)
    return p
