"""Gaps filled from a model: within what was ever seen, and left open where nothing is known."""

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from thresher.engine.state import FeatureRange
from thresher.linalg import Array


def filled(
    X: Array,
    predictions: Iterable[tuple[slice, Array]],
    seen: FeatureRange | None,
    bounds: Any,
) -> Array:
    """A copy of samples with their gaps filled.

    Parameters
    ----------
    X : array of shape (n, F)
        Samples, NaN where an entry is missing.
    predictions : iterable of (rows, array)
        What the model says of blocks of rows.
    seen : FeatureRange or None
        What the model has seen; None if that was not recorded.
    bounds : "seen", None, or a pair
        As in `impute`.
    """
    low, high = _bounds(bounds, seen, X.shape[1])
    unknown = np.asarray(np.isnan(X).all(axis=1))
    new = np.zeros(X.shape[1], dtype=bool) if seen is None else ~seen.observed
    for rows, samples in predictions:
        block = X[rows]
        missing = np.isnan(block) & ~unknown[rows, None] & ~new
        block[missing] = np.clip(samples, low, high)[missing]
    left = int(np.isnan(X).sum())
    if left:
        warnings.warn(
            f"{left} gaps stay NaN, since nothing is known of them: {int(unknown.sum())} samples "
            f"have no entry at all, and {int(new.sum())} features were never seen in learning. "
            "Leave these samples and features out, or fill them by other means.",
            UserWarning,
            stacklevel=3,
        )
    return X


def _bounds(bounds: Any, seen: FeatureRange | None, n_features: int) -> tuple[Any, Any]:
    if isinstance(bounds, str) and bounds == "seen":
        if seen is None:
            return -np.inf, np.inf
        return np.where(seen.observed, seen.low, -np.inf), np.where(
            seen.observed, seen.high, np.inf
        )
    if bounds is None:
        return -np.inf, np.inf
    try:
        low, high = (np.broadcast_to(np.asarray(b, dtype=np.float64), n_features) for b in bounds)
    except (TypeError, ValueError):
        low, high = np.array([1.0]), np.array([0.0])
    if not (low <= high).all():
        raise ValueError(
            f"bounds={bounds!r} is not known; use 'seen' for the range that was learned from, None "
            f"for no bounds, or a pair (low, high) of numbers or of {n_features} numbers each."
        )
    return low, high
