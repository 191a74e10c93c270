"""What is usual, measured on samples: the loss that few exceed, and the spread of each column."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from thresher.linalg import Array
from thresher.streams import Batch

FALSE_ALARM_RATE = 0.01
"""The default of `calibrate`, and what a model goes by that was not calibrated."""

_ROWS, _FEWEST, _ENTRIES = 512, 128, 1 << 18  # that are kept of the last samples; by judgement
_PER_MEDIAN = 1.4826  # of absolute values of normal numbers, to have their standard deviation
_PER_MEAN = 1.2533
_ROUNDING = 1e-5  # of a loss, so that the sample that set the threshold stays below it


class Usual(NamedTuple):
    """What normal samples are like."""

    threshold: float
    """The loss that few of them exceed."""
    scales: Array | None
    """Standard deviations of the residuals of each column; None where they were sparse."""


class RecentSamples:
    """A few of the last samples, and what they came to when they were last measured.

    Batches are copies of rows; there are never more of them than so many rows. Measuring waits
    until somebody asks, so that learning does not pay for it.
    """

    def __init__(self, batches: tuple[Batch, ...] = (), usual: Usual | None = None) -> None:
        self._batches, self._usual = batches, usual

    def after(self, batch: Batch) -> "RecentSamples":
        """With the rows of one more batch, without the oldest that are not needed any more."""
        kept = (*self._batches, rows_to_measure(batch))
        allowed = _rows_allowed(batch.X.shape[1])
        while sum(rows.n_samples for rows in kept[1:]) >= allowed:
            kept = kept[1:]
        return RecentSamples(kept)

    def usual(
        self, state: Any, measure: Callable[[Batch], tuple[Array, Array | None]]
    ) -> Usual | None:
        """What the samples are to a model in a state; None if there are none."""
        if self._usual is not None:
            return self._usual
        known = _MEASURED.get(self)
        if known is not None and known[0] is state:
            return known[1]
        batches = [batch for batch in self._batches if batch.n_samples]
        if not batches:
            return None
        parts = [measure(batch) for batch in batches]
        weights = [_weights(batch) for batch in batches]
        losses = np.concatenate([loss for loss, _ in parts])
        threshold = threshold_at(losses, np.concatenate(weights), FALSE_ALARM_RATE)
        threshold *= 1 + _ROUNDING
        distances = [rows for _, rows in parts if rows is not None]
        scales = column_scales(np.concatenate(distances)) if distances else None
        usual = Usual(threshold, scales)
        _MEASURED[self] = (state, usual)
        return usual


# What samples were to a model in a state, kept beside them: asking a model does not change it.
_MEASURED: WeakKeyDictionary[RecentSamples, tuple[Any, Usual]] = WeakKeyDictionary()


def _weights(batch: Batch) -> Array:
    return np.ones(batch.n_samples) if batch.sample_weight is None else batch.sample_weight


def _rows_allowed(n_features: int) -> int:
    return max(_FEWEST, min(_ROWS, _ENTRIES // n_features))


def rows_to_measure(batch: Batch) -> Batch:
    """A copy of some rows of a batch, evenly spread, without those that weigh nothing."""
    n, F = batch.X.shape
    given, weight = batch.sample_weight, batch.entry_weight
    rows = np.arange(n) if given is None else np.flatnonzero(given > 0)
    rows = rows[:: max(1, -(-len(rows) // _rows_allowed(F)))]
    return Batch(
        batch.X[rows],
        None if given is None else given[rows],
        None if weight is None else weight[rows],
    )


def threshold_at(losses: Array, weights: Array | None, rate: float, strict: bool = False) -> float:
    """The ``⌈(n + 1)(1 − rate)⌉``-th smallest of n losses; a weight of two is two of them.

    Where n is too small for the rate it is the largest, or refused if ``strict``.
    """
    order = np.argsort(losses, kind="stable")
    copies = np.ones(len(losses)) if weights is None else weights[order]
    places = np.cumsum(copies)
    wanted = np.ceil((places[-1] + 1) * (1 - rate))
    if strict and wanted > places[-1]:
        raise ValueError(
            f"{len(losses)} samples are too few for a false alarm rate of {rate}; give at least "
            f"{int(np.ceil(1 / rate)) - 1}, or a larger rate."
        )
    place = min(int(np.searchsorted(places, wanted)), len(losses) - 1)
    return float(losses[order[place]])


def thinned(parts: Iterable[Array]) -> Array | None:
    """Rows of all parts, evenly spread, in memory that does not grow; None of no parts."""
    kept: list[Array] = []
    step = 1
    for part in parts:
        kept.append(part[::step])
        while sum(map(len, kept)) > 2 * _rows_allowed(part.shape[1]):
            kept, step = [np.concatenate(kept)[::2]], 2 * step
    return np.concatenate(kept) if kept else None


def column_scales(distances: Array) -> Array:
    """A standard deviation for each column of absolute residuals (n, F), NaN at gaps.

    From their median; from their mean where most are zero, and from those of the other columns
    where nothing is known, or nothing differs. Always positive.
    """
    seen = ~np.isnan(distances)
    counts = seen.sum(axis=0)
    totals = np.sum(distances, axis=0, where=seen, dtype=np.float64)
    ordered = np.sort(distances, axis=0)  # gaps come last
    middle = np.take_along_axis(ordered, np.maximum(counts - 1, 0)[None] // 2, axis=0)[0]
    scales = _PER_MEDIAN * np.where(counts > 0, middle, 0).astype(np.float64)
    scales = np.where(scales > 0, scales, _PER_MEAN * totals / np.maximum(counts, 1))
    known = scales > 0
    others = float(np.median(scales[known])) if known.any() else 1.0
    return np.asarray(np.where(known, scales, others))
