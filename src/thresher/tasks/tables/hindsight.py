"""A whole table cleaned: first a rough look, then readings tried against all others, then gaps.

1. Readings far from the median of seven are set aside, for now, so that what is learned is sound.
2. Every reading is compared with what the rest says of it (`model`, `blending`); those too far off
   for chance (`alarms`) are glitches. As a glitch spoils what is said of its neighbours, that is
   done three times, without the glitches of the time before.
3. Gaps of the same kind are hidden at other times, to learn what is how good at filling them, and
   how far off it is.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import median_filter

from thresher.tasks.tables.alarms import Tail, activity, suspicion, valley
from thresher.tasks.tables.blending import Blend, hidden_entries, kinds_of_gap
from thresher.tasks.tables.model import Guesses, Model

_ROUNDS = 3
_MEDIAN = 7
_MOST = 100_000  # entries from which weights are learned
_UNKNOWN = 0.95  # of its variance is left: neither time nor neighbours know the entry


class Promises(NamedTuple):
    """What was asked for."""

    false_alarm_rate: float
    coverage: float
    low: NDArray[Any]  # of each column; -inf if nobody knows
    high: NDArray[Any]


class Found(NamedTuple):
    """A table of numbers, cleaned."""

    values: NDArray[Any]
    flags: NDArray[Any]
    scores: NDArray[Any]
    lower: NDArray[Any]
    upper: NDArray[Any]
    unknown: NDArray[Any]


def cleaned(
    X: NDArray[Any], times: NDArray[Any], promises: Promises, rng: np.random.Generator
) -> Found:
    """Clean a table with hindsight; its rows are in the order of their times, in steps."""
    observed = np.isfinite(X)
    allowed = observed & ~(promises.low > X) & ~(promises.high < X)
    trusted = allowed & ~_far_from_median(X, allowed)
    model = Model.learned(X, trusted, times)
    Z = (X - model.centre) / model.scale
    tail, limit = None, np.inf
    for _ in range(_ROUNDS):
        s = _suspicions(model, Z, trusted, times, rng)
        if trusted.any():
            tail = Tail.learned(s[trusted], limit)
            limit = min(tail.limit(promises.false_alarm_rate), valley(s[allowed], tail.start))
            trusted = allowed & (s <= limit)
    scores = np.where(observed, np.inf, np.nan)
    if tail is not None:
        scores[allowed] = tail.scores(s[allowed])
    model, blend = proved(model, X, ~observed, trusted, times, promises.coverage, rng)
    values, half, unknown = _filled(model, blend, X, trusted, times)
    low, high = limits(X, trusted, promises)
    replaced = ~trusted & ~unknown
    return Found(
        np.where(replaced, np.clip(values, low, high), np.where(trusted, X, np.nan)),
        observed & ~trusted,
        scores,
        np.where(replaced, np.clip(values - half, low, high), np.nan),
        np.where(replaced, np.clip(values + half, low, high), np.nan),
        unknown,
    )


def limits(
    X: NDArray[Any], trusted: NDArray[Any], promises: Promises
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Bounds of each column: as given, or else the range of what was trusted."""
    seen = np.where(trusted, X, np.nan)
    empty = ~trusted.any(0)
    seen[:, empty] = 0.0
    low = np.where(np.isfinite(promises.low), promises.low, np.nanmin(seen, axis=0))
    high = np.where(np.isfinite(promises.high), promises.high, np.nanmax(seen, axis=0))
    return low, high


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
    Z: NDArray[Any],
    trusted: NDArray[Any],
    times: NDArray[Any],
    rng: np.random.Generator,
) -> NDArray[Any]:
    """Of every reading, given the trusted ones."""
    guesses = model.guesses(Z, trusted, times)
    kinds = kinds_of_gap(trusted, times, guesses.beside, model.whole_row)
    blend = Blend.learned(Z, guesses, kinds, some_of(trusted, rng))
    mean, spread = blend.blended(guesses, kinds)
    errors = Z - mean
    return suspicion(errors, spread * activity(errors, spread, trusted))


def proved(
    before: Model | None,
    X: NDArray[Any],
    gaps: NDArray[Any],
    trusted: NDArray[Any],
    times: NDArray[Any],
    coverage: float,
    rng: np.random.Generator,
    causal: bool = False,
) -> tuple[Model, Blend]:
    """A model that never saw the hidden entries, and what they say of its guesses."""
    hidden = hidden_entries(gaps, trusted, rng)
    known = trusted & ~hidden
    model = Model.learned(X, known, times, causal, before)
    Z = (X - model.centre) / model.scale
    guesses = model.guesses(Z, known, times, causal)
    kinds = kinds_of_gap(known, times, guesses.beside, model.whole_row, causal)
    blend = Blend.learned(Z, guesses, kinds, some_of(hidden, rng))
    mean, spread = blend.blended(guesses, kinds)
    errors = Z - mean
    scale = spread * activity(errors, spread, known, causal)
    ratios = np.abs(errors[hidden]) / scale[hidden]
    return model, blend.with_quantiles(ratios, kinds[hidden], coverage)


def _filled(
    model: Model, blend: Blend, X: NDArray[Any], trusted: NDArray[Any], times: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Values for all entries, half their intervals, and where nothing is known."""
    Z = (X - model.centre) / model.scale
    guesses = model.guesses(Z, trusted, times)
    kinds = kinds_of_gap(trusted, times, guesses.beside, model.whole_row)
    mean, spread = blend.blended(guesses, kinds)
    half = blend.quantiles[kinds] * spread * activity(Z - mean, spread, trusted)
    unknown = ~trusted & is_unknown(model, guesses, trusted)
    return mean * model.scale + model.centre, half * model.scale, unknown


def is_unknown(model: Model, guesses: Guesses, trusted: NDArray[Any]) -> NDArray[Any]:
    """Where neither the column nor the row knows anything."""
    alone = trusted.sum(1, keepdims=True) == 0
    if model.levels is None:
        alone = np.ones_like(alone)
    constant = (trusted.sum(0) > 1) & ~model.alone.weights.any(1)
    few = trusted.sum(0) < 2
    return np.asarray(few | (~constant & alone & (guesses.around > _UNKNOWN)))


def some_of(entries: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    """As many entries as are enough to learn weights from, drawn at random."""
    count = entries.sum()
    if count <= _MOST:
        return entries
    return np.asarray(entries & (rng.random(entries.shape) < _MOST / count))
