"""A table looked at, entry by entry: what was asked for, what is expected, and what was found.

It is the same with hindsight and live; only what is known, and the rows asked for, differ.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.tasks.tables.alarms import Tail, activity, suspicion
from thresher.tasks.tables.blending import Blend, hidden_entries, kinds_of_gap, some_of
from thresher.tasks.tables.limits import natural_limits
from thresher.tasks.tables.model import Guesses, Model
from thresher.tasks.tables.ratios import LARGEST

_UNKNOWN = 0.95  # of its variance is left: neither time nor neighbours know the entry
_STRETCHES = 8  # of the table, in turn in one half or the other


class Promises(NamedTuple):
    """What was asked for."""

    false_alarm_rate: float
    coverage: float
    low: NDArray[Any]  # of each column; -inf if nobody knows
    high: NDArray[Any]

    @property
    def among_trusted(self) -> float:
        """The coverage to ask of trusted readings, among which false alarms are missing."""
        return min(self.coverage / (1 - self.false_alarm_rate), 0.9999)

    def allowed(self, X: NDArray[Any]) -> NDArray[Any]:
        """Readings within the bounds, and of a size that may be measured."""
        within = (np.abs(X) <= LARGEST) & ~(self.low > X) & ~(self.high < X)
        return np.asarray(within)


class Found(NamedTuple):
    """A table of numbers, cleaned."""

    values: NDArray[Any]
    flags: NDArray[Any]
    scores: NDArray[Any]
    lower: NDArray[Any]
    upper: NDArray[Any]
    unknown: NDArray[Any]


class EntryPredictions(NamedTuple):
    """What is said of each entry of some rows, in standardised columns."""

    mean: NDArray[Any]
    scale: NDArray[Any]  # its typical error, just now
    half: NDArray[Any]  # of its interval
    suspicions: NDArray[Any]
    unknown: NDArray[Any]  # neither its column nor its row knows anything
    left: NDArray[Any]  # what rows left of readings, these rows and all before


def looked(
    model: Model,
    blend: Blend,
    X: NDArray[Any],
    trusted: NDArray[Any],
    times: NDArray[Any],
    causal: bool = False,
    first: int = 0,
    left: NDArray[Any] | None = None,
) -> EntryPredictions:
    """Predictions at rows from ``first`` on; see `Model.guesses`."""
    Z = model.standardised(X)
    guesses = model.guesses(Z, trusted, times, causal, first, left)
    kinds = kinds_of_gap(guesses, model.whole_row)
    mean, spread = blend.blended(guesses, kinds)
    errors = Z[first:] - mean
    scale = spread * activity(errors, spread, trusted[first:], causal)
    unknown = _unknown(model, guesses, trusted)
    half = blend.quantiles[kinds] * scale
    return EntryPredictions(mean, scale, half, suspicion(errors, scale), unknown, guesses.left)


def proved(
    before: Model,
    X: NDArray[Any],
    gaps: NDArray[Any],
    trusted: NDArray[Any],
    times: NDArray[Any],
    coverage: float,
    rng: np.random.Generator,
    causal: bool = False,
) -> Blend:
    """What guesses are worth, from entries that were hidden, by a model that never saw them.

    How far off they are is told by weights that come from the other half of the table, so that it
    is as for gaps that nobody knows.
    """
    hidden = hidden_entries(gaps, trusted, rng)
    known = trusted & ~hidden
    model = Model.learned(X, known, times, causal, before)
    Z = model.standardised(X)
    guesses = model.guesses(Z, known, times, causal)
    kinds = kinds_of_gap(guesses, model.whole_row)
    hidden = some_of(hidden, rng)
    ratios = np.zeros(Z.shape)
    halves = (np.arange(len(Z)) * _STRETCHES // len(Z) % 2).astype(bool)[:, None]
    for half in (halves, ~halves):
        blend = Blend.learned(Z, guesses, kinds, hidden & ~half)
        mean, spread = blend.blended(guesses, kinds)
        errors = Z - mean
        scale = spread * activity(errors, spread, known, causal)
        ratios = np.where(half, np.abs(errors) / scale, ratios)
    blend = Blend.learned(Z, guesses, kinds, hidden)
    return blend.with_quantiles(ratios[hidden], kinds[hidden], coverage)


def limits(
    promises: Promises, model: Model, X: NDArray[Any], trusted: NDArray[Any], look: EntryPredictions
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Bounds of each column: as given, or else its natural limits."""
    guess, spread = look.mean * model.scale + model.centre, look.scale * model.scale
    rate = promises.false_alarm_rate
    low, high = natural_limits(X, trusted, guess, spread, model.most_like(), rate)
    low = np.where(np.isfinite(promises.low), promises.low, low)
    return low, np.where(np.isfinite(promises.high), promises.high, high)


def _unknown(model: Model, guesses: Guesses, trusted: NDArray[Any]) -> NDArray[Any]:
    """Where neither the column nor the row knows anything."""
    first = len(trusted) - len(guesses.around)
    alone = trusted[first:].sum(1, keepdims=True) == 0
    if model.levels is None:
        alone = np.ones_like(alone)
    constant = (trusted.sum(0) > 1) & ~model.alone.weights.any(1)
    few = trusted.sum(0) < 2
    return np.asarray(few | (~constant & alone & (guesses.around > _UNKNOWN)))


def found(
    X: NDArray[Any],
    allowed: NDArray[Any],
    trusted: NDArray[Any],
    look: EntryPredictions,
    scores: NDArray[Any],
    model: Model,
    limits: tuple[NDArray[Any], NDArray[Any]],
) -> Found:
    """Readings kept where they are trusted, and else replaced, within limits."""
    low, high = limits
    values, half = look.mean * model.scale + model.centre, look.half * model.scale
    unknown = ~trusted & look.unknown
    replaced = ~trusted & ~unknown
    observed = np.isfinite(X)
    return Found(
        np.where(replaced, np.clip(values, low, high), np.where(trusted, X, np.nan)),
        observed & ~trusted,
        np.where(allowed, scores, np.where(observed, np.inf, np.nan)),
        np.where(replaced, np.clip(values - half, low, high), np.nan),
        np.where(replaced, np.clip(values + half, low, high), np.nan),
        unknown,
    )


def scored(tail: Tail | None, suspicions: NDArray[Any]) -> NDArray[Any]:
    """Scores of all entries; nothing is unlikely as long as nothing was learned."""
    if tail is None:
        return np.zeros(suspicions.shape)
    return tail.scores(np.nan_to_num(suspicions))
