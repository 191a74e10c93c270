"""A whole table cleaned: first a rough look, then readings tried against all others, then gaps.

1. Readings far from the median of seven are set aside, for now, so that what is learned is sound.
2. Every reading is compared with what the rest says of it (`model`, `blending`); those too far off
   for chance (`alarms`) are glitches. As a glitch spoils what is said of its neighbours, that is
   done three times, without the glitches of the time before. What is neither a glitch nor sound
   beyond doubt is kept, but not learned from.
3. Gaps of the same kind are hidden at other times, to learn what is how good at filling them, and
   how far off it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import median_filter
from scipy.stats import binomtest

from thresher.tasks.tables.alarms import Tail, activity, suspicion
from thresher.tasks.tables.blending import Blend, kinds_of_gap, some_of
from thresher.tasks.tables.looking import Found, Promises, found, limits, looked, proved, scored
from thresher.tasks.tables.model import Model

_BACK = 0.01  # of readings not set aside are more suspicious than one that comes back; by judgement
_MEDIAN = 7
STEPS = 6  # that are told of


class OfflineFit(NamedTuple):
    """What is known once each reading was tried against all others."""

    model: Model  # learned from a first, rough choice of what is sound
    trusted: NDArray[Any]  # what is sound beyond doubt, and is learned from
    kept: NDArray[Any]  # what is no glitch
    suspicions: NDArray[Any]
    tail: Tail | None  # None if there is nothing to learn from


def cleaned(
    X: NDArray[Any],
    times: NDArray[Any],
    promises: Promises,
    rng: np.random.Generator,
    tell: Callable[[int], None] = lambda done: None,
) -> Found:
    """Clean a table with hindsight; its rows are in the order of their times, in steps."""
    model, trusted, kept, s, tail = judged(X, times, promises, rng, tell)
    model = Model.learned(X, trusted, times, before=model)
    blend = proved(model, X, np.isnan(X), trusted, times, promises.among_trusted, rng)
    tell(STEPS - 1)
    look = looked(model, blend, X, trusted, times)
    ends = limits(promises, model, X, trusted, look)
    return found(X, promises.allowed(X), kept, look, scored(tail, s), model, ends)


def judged(
    X: NDArray[Any],
    times: NDArray[Any],
    promises: Promises,
    rng: np.random.Generator,
    tell: Callable[[int], None] = lambda done: None,
) -> OfflineFit:
    """Steps 1 and 2: which readings are sound."""
    allowed = promises.allowed(X)
    near = allowed & ~_far_from_median(X, allowed)
    trusted = kept = near
    model = Model.learned(X, trusted, times)
    tell(1)
    tail, s, rate = None, np.zeros(X.shape), promises.false_alarm_rate
    if near.any():
        for number, back in enumerate((_BACK, rate)):
            s = _suspicions(model, X, trusted, times, rng)
            trusted = _trusted(s, near, allowed & ~near, rate, back)
            tell(2 + number)
        s = _suspicions(model, X, trusted, times, rng)
        tail = Tail.learned(s[allowed], s[near])
        kept = allowed & (s <= tail.limit(rate))
        trusted = kept & (s <= tail.level(rate))
        for j in np.flatnonzero(resting(X, allowed, rate)):
            own = s[allowed[:, j], j]
            level = max(Tail.learned(own, own).level(rate), tail.limit(rate))
            kept[:, j] = allowed[:, j] & (s[:, j] <= level)
    tell(STEPS - 2)
    return OfflineFit(model, trusted, kept, s, tail)


def resting(X: NDArray[Any], allowed: NDArray[Any], rate: float) -> NDArray[Any]:
    """Columns that rest at one value, and leave it to one side only: rain, which is mostly 0.

    What else they read are events, which come at once and are far off, as glitches are; so how far
    off a sound reading may be is told by the column alone. Of glitches half lie on either side: if
    a column leaves its rest to one side, so often that chance does that in but ``rate`` of all
    columns, these are none.
    """
    rests = np.zeros(X.shape[1], dtype=bool)
    for j in range(X.shape[1]):
        read = X[allowed[:, j], j]
        away = np.sign(read - np.median(read)) if len(read) else read
        n_up, n_down = np.sum(away > 0), np.sum(away < 0)
        if 0 < n_up + n_down < len(read) / 2:
            rests[j] = binomtest(int(n_up), int(n_up + n_down)).pvalue < rate
    return rests


def _trusted(
    s: NDArray[Any], near: NDArray[Any], aside: NDArray[Any], rate: float, back: float
) -> NDArray[Any]:
    """Which readings are trusted by their suspicions s, before the last round.

    Where glitches are many, their tail hides that of sound readings. So readings that were never
    set aside tell of it alone; others come back if so large a share, or more, of these is more
    suspicious.
    """
    tail = Tail.learned(s[near], s[near])
    return np.asarray((near & (s <= tail.limit(rate))) | (aside & (s <= tail.level(back))))


def _far_from_median(X: NDArray[Any], allowed: NDArray[Any]) -> NDArray[Any]:
    """Readings further from the median of seven than the column's medians are spread."""
    if len(X) < _MEDIAN:
        return np.zeros(X.shape, dtype=bool)
    filled = np.zeros(X.shape)
    rows = np.arange(len(X))
    for j in range(X.shape[1]):
        read = np.flatnonzero(allowed[:, j])
        if len(read):
            filled[:, j] = np.interp(rows, read, X[read, j])
    medians = median_filter(filled, (_MEDIAN, 1), mode="nearest")
    size = np.abs(medians).max(0)
    size[size == 0] = 1.0
    spread = size * np.std(medians / size, axis=0)
    return np.asarray(allowed & (np.abs(filled - medians) > spread) & (spread > 0))


def _suspicions(
    model: Model,
    X: NDArray[Any],
    trusted: NDArray[Any],
    times: NDArray[Any],
    rng: np.random.Generator,
) -> NDArray[Any]:
    """Of every reading, given the other trusted ones; each is a gap of its own."""
    Z = model.standardised(X)
    guesses = model.guesses(Z, trusted, times, filling=False)
    kinds = kinds_of_gap(guesses, model.whole_row)
    blend = Blend.learned(Z, guesses, kinds, some_of(trusted, rng))
    mean, spread = blend.blended(guesses, kinds)
    errors = Z - mean
    return suspicion(errors, spread * activity(errors, spread, trusted))
