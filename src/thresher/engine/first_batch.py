"""Properties of the first batch, by which solvers choose and atoms start."""

from typing import Any

import numpy as np
from scipy import sparse

from thresher.learning import weighted_quantile
from thresher.linalg import Array, is_sparse, load_block
from thresher.streams import Batch

_ROWS = 256  # to measure on
_DECADES = 10.0
_SHARE_OF_NONZEROS = 0.25  # of the entries are not zero, at most


def spans_decades(batch: Batch, power: float) -> bool:
    """Whether curvatures within a feature differ too much for one of them to serve all samples.

    They go with a ``power`` of the entries, for KL ``1/y``, for Itakura–Saito ``1/y²``; what is
    compared is the tenth and the ninetieth percentile of a feature, in the median feature. A
    feature that is zero in more than a tenth of the samples spans all decades.
    """
    some = batch.every(max(1, batch.n_samples // _ROWS))
    apart = max(1, batch.X.shape[1] // _ROWS)
    weight = None if some.entry_weight is None else some.entry_weight[:, ::apart]
    X, weight = load_block(some.X[:, ::apart], slice(None), np.dtype(np.float64), weight)
    given = some.sample_weight
    weights = np.ones(len(X)) if given is None or not given.any() else given
    ratios = []
    for f in range(X.shape[1]):
        seen = weights > 0 if weight is None else (weights > 0) & (weight[:, f] > 0)
        low, high, most = (weighted_quantile(X[seen, f], weights[seen], q) for q in (0.1, 0.9, 1))
        if most > 0:
            ratios.append(high / low if low > high * np.finfo(np.float64).eps else np.inf)
    if not ratios:
        return False
    return bool(np.median(ratios) > _DECADES ** (1 / power))


def is_mostly_zero(batch: Batch) -> bool:
    """Whether most entries that were seen are zero, however they are stored."""
    X: Any = batch.X
    n, n_features = X.shape
    seen = None if batch.entry_weight is None else batch.entry_weight > 0
    n_seen = np.full(n, n_features) if seen is None else np.count_nonzero(seen, axis=1)
    if is_sparse(X):
        rows = np.repeat(np.arange(n), np.diff(X.indptr))
        shown = np.ones(len(rows), bool) if seen is None else seen[rows, X.indices]
        gaps = shown & np.isnan(X.data)
        n_filled = np.bincount(rows, shown & (X.data != 0) & ~gaps, minlength=n)
        n_gaps = np.bincount(rows, gaps, minlength=n)
        if batch.only_stored:
            n_seen = np.bincount(rows, shown, minlength=n)
    else:
        shown = np.ones(X.shape, bool) if seen is None else seen
        gaps = shown & np.isnan(X)
        n_filled = np.count_nonzero(shown & (X != 0) & ~gaps, axis=1)
        n_gaps = np.count_nonzero(gaps, axis=1)
    weights = row_weights(batch)
    return bool(weights @ n_filled <= _SHARE_OF_NONZEROS * (weights @ (n_seen - n_gaps)))


def row_weights(batch: Batch) -> Array:
    """Weights of the samples; all are one if none is given."""
    return np.ones(batch.n_samples) if batch.sample_weight is None else batch.sample_weight


def without_gaps(batch: Batch) -> Any:
    """The rows as CSR, zero where an entry is missing."""
    X = sparse.csr_array(batch.X, dtype=np.float64, copy=True)
    if batch.entry_weight is not None:
        X = sparse.csr_array(X.multiply(batch.entry_weight > 0))
    X.data = np.nan_to_num(X.data)
    X.eliminate_zeros()
    return X


def sparse_mean(batch: Batch) -> Array:
    """Mean of the rows of a sparse batch, without expanding them."""
    weights = row_weights(batch)
    total = weights.sum()
    mean: Array = np.asarray(batch.X.T @ (weights / (total if total > 0 else 1)), dtype=np.float64)
    return mean
