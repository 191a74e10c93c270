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

from typing import Any

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
    off = np.sort(((X - guess) / spread)[trusted])
    high = _upper_limits(X, trusted, guess, spread, like, chance, off)
    low = -_upper_limits(-X, trusted, -guess, spread, like, chance, -off[::-1])
    return low + 0.0, high  # never -0


def _upper_limits(
    X: NDArray[Any],
    trusted: NDArray[Any],
    guess: NDArray[Any],
    spread: NDArray[Any],
    like: NDArray[Any],
    chance: float,
    off: NDArray[Any],
) -> NDArray[Any]:
    limits = np.full(X.shape[1], np.inf)
    ends = np.where(trusted, X, -np.inf).max(0)
    for j in np.flatnonzero(np.isfinite(ends)):
        read = trusted[:, j]
        of = (X[read, j], guess[read, j], spread[read, j])
        alike = like[j] >= 0 and ends[like[j]] <= 0
        if ends[j] <= 0 and (alike or _by_chance(*of, 0.0, off) < _LIKELY):
            limits[j] = 0.0
        if _most_frequent(of[0], ends[j]) or _by_chance(*of, ends[j], off) < chance:
            limits[j] = ends[j]
    shared = np.isin(ends, limits[limits == ends])
    return np.where(shared, ends, limits)


def _most_frequent(x: NDArray[Any], end: float) -> bool:
    count = np.count_nonzero(x == end)
    others = np.unique(x[x != end], return_counts=True)[1] if count > 1 else np.ones(1)
    return bool(count > others.max(initial=0))


def _by_chance(
    x: NDArray[Any], g: NDArray[Any], s: NDArray[Any], end: float, off: NDArray[Any]
) -> float:
    """p, above; F grows, so that of each visit the one nearest to the end tells most."""
    upper = x >= np.median(x)
    visits = np.flatnonzero(np.diff(upper, prepend=False) & upper)
    room = np.minimum.reduceat(np.where(upper, (end - g) / s, np.inf), visits)
    return float(np.prod(np.searchsorted(off, room, side="right") / len(off)))
