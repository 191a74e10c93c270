"""Calibration on reference samples: a loss quantile for alarms, a robust scale for each column."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from thresher.estimators.validation import computing_dtype
from thresher.linalg import Array
from thresher.streams import Batch

FALSE_ALARM_RATE = 0.01
"""The default of `calibrate`, and the rate of a model that was not calibrated."""

# Rows and entries of recent samples that are kept; heuristic.
_MAX_ROWS, _MIN_ROWS, _MAX_ENTRIES = 512, 128, 1 << 18
# Standard deviation over the median and over the mean of absolute values of a normal variable.
_PER_MEDIAN, _PER_MEAN = 1.4826, 1.2533
_ROUNDING = 1e-5  # of a loss, so that the sample that set the threshold stays below it


@dataclass(frozen=True)
class Calibration:
    """Threshold and scales of normal samples.

    Attributes
    ----------
    threshold : float
        The loss that few of them exceed.
    scales : array of shape (F,) or None
        Standard deviations of the residuals of each column; None if the samples were sparse.
    """

    threshold: float
    scales: Array | None


class RecentSamples:
    """A bounded number of recent samples, or the calibration that was measured on them.

    Batches are copies of rows.
    """

    def __init__(
        self, batches: tuple[Batch, ...] = (), calibration: Calibration | None = None
    ) -> None:
        self._batches, self._calibration = batches, calibration

    def after(self, batch: Batch) -> "RecentSamples":
        """Return these with rows of one more batch, without the oldest that are not needed."""
        kept = (*self._batches, rows_to_measure(batch))
        allowed = _rows_allowed(batch.X.shape[1])
        while sum(rows.n_samples for rows in kept[1:]) >= allowed:
            kept = kept[1:]
        return RecentSamples(kept)

    def calibration(
        self, measure: Callable[[Batch], tuple[Array, Array | None]]
    ) -> Calibration | None:
        """Return threshold and scales; None if there are no samples.

        ``measure`` returns losses, and distances of entries from their predictions.
        """
        if self._calibration is not None:
            return self._calibration
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
        return Calibration(threshold, scales)


def _weights(batch: Batch) -> Array:
    return np.ones(batch.n_samples) if batch.sample_weight is None else batch.sample_weight


def _rows_allowed(n_features: int) -> int:
    return max(_MIN_ROWS, min(_MAX_ROWS, _MAX_ENTRIES // n_features))


def rows_to_measure(batch: Batch) -> Batch:
    """Return a copy of evenly spread rows of a batch, without those of weight zero."""
    n, F = batch.X.shape
    given, weight = batch.sample_weight, batch.entry_weight
    rows = np.arange(n) if given is None else np.flatnonzero(given > 0)
    rows = rows[:: max(1, -(-len(rows) // _rows_allowed(F)))]
    return Batch(
        batch.X[rows],
        None if given is None else given[rows],
        None if weight is None else weight[rows],
    )


def distances_to(batch: Batch, coded: Iterator[tuple[slice, Any]]) -> tuple[Array, Array | None]:
    """Return losses, and the distances ``|x − cD|`` of entries, NaN where they are missing.

    ``coded`` yields rows with their losses and predictions; of sparse samples with their losses
    alone, and distances are None.
    """
    if sparse.issparse(batch.X):
        return np.concatenate([losses for _, losses in coded]), None
    losses, X = [], batch.X
    distances = np.array(X, dtype=computing_dtype(X), order="C")
    for rows, (loss, prediction) in coded:
        losses.append(loss)
        distances[rows] = np.abs(distances[rows] - prediction)
    if batch.entry_weight is not None:
        distances[batch.entry_weight == 0] = np.nan
    return np.concatenate(losses), distances


def threshold_at(losses: Array, weights: Array | None, rate: float, strict: bool = False) -> float:
    """Return the ``⌈(n + 1)(1 − rate)⌉``-th smallest of n losses; a weight of two counts twice.

    If n is too small for the rate it is the largest, or refused if ``strict``.
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
    """Return evenly spread rows of all parts, in bounded memory; None of no parts."""
    kept: list[Array] = []
    step = 1
    for part in parts:
        kept.append(part[::step])
        while sum(map(len, kept)) > 2 * _rows_allowed(part.shape[1]):
            kept, step = [np.concatenate(kept)[::2]], 2 * step
    return np.concatenate(kept) if kept else None


def column_scales(distances: Array) -> Array:
    """Return a positive standard deviation for each column of distances (n, F), NaN if missing.

    From their median; from their mean where most are zero, and from those of the other columns
    where all are missing or zero.
    """
    observed = ~np.isnan(distances)
    counts = observed.sum(axis=0)
    totals = np.sum(distances, axis=0, where=observed, dtype=np.float64)
    ordered = np.sort(distances, axis=0)  # NaN comes last
    middle = np.take_along_axis(ordered, np.maximum(counts - 1, 0)[None] // 2, axis=0)[0]
    scales = _PER_MEDIAN * np.where(counts > 0, middle, 0).astype(np.float64)
    scales = np.where(scales > 0, scales, _PER_MEAN * totals / np.maximum(counts, 1))
    positive = scales > 0
    others = float(np.median(scales[positive])) if positive.any() else 1.0
    return np.asarray(np.where(positive, scales, others))
