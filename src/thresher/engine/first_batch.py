"""The first batch: where the atoms start, and the properties of data that methods require."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from thresher.learning import (
    initial_atoms,
    mean_sample,
    median_atoms,
    positive_atoms,
    sample_length,
    weighted_quantile,
)
from thresher.linalg import Array, evenly, is_sparse, load_block
from thresher.streams import Batch

if TYPE_CHECKING:
    from thresher.engine.method import Method

_ROWS = 256  # to start from and to measure properties on
_DECADES = 10.0
_SHARE_OF_NONZEROS = 0.25  # of the entries are not zero, at most
_FEW_ENTRIES = 1 << 19
_MAX_ENTRIES = 1 << 23
_MAX_SPARSE_ENTRIES = 1 << 20
_DOCUMENTS = 2048


def first_atoms(
    method: Method,
    batch: Batch,
    init: str | None,
    n_components: int,
    dtype: np.dtype[Any],
    rng: np.random.Generator,
) -> Array:
    """Return feasible atoms from the first batch."""
    n_features, loss = batch.X.shape[1], method.loss(1.0)
    region = method.dictionary_set
    positive = loss.needs_positive_prediction
    stays_sparse = method.block_kind(batch) == "sparse"
    if init is None:
        init = method.default_init
    if init is None:
        init = "mean" if positive and stays_sparse else "samples"
        if not loss.smooth and loss.stays_sparse and is_mostly_zero(batch):
            init = "medians"
    # Some rows are enough to start from, and a wide sparse matrix stays sparse.
    limit = _MAX_SPARSE_ENTRIES if stays_sparse else _MAX_ENTRIES
    rows = max(min(_ROWS, limit // n_features), 2 * n_components)
    rows = max(rows, _FEW_ENTRIES // n_features)
    rows = _DOCUMENTS if init == "medians" else rows
    step = -(-batch.n_samples // rows)
    some = batch.every(step)
    given = some.sample_weight
    chosen = np.ones(some.n_samples) if given is None or not given.any() else given
    if init == "medians":
        some = Batch(without_gaps(some) / method.unit, chosen)
        D = region.project(median_atoms(n_components, some.X, chosen, rng))
        return region.project(positive_atoms(D, sparse_mean(some))) if positive else D
    X, weight, _ = method.load_dense(some, slice(0, some.n_samples), dtype)
    mean = sparse_mean(batch) / method.unit if stays_sparse else mean_sample(X, weight, chosen)
    length = sample_length(X, chosen) if method.bounds_codes else None
    D = initial_atoms(init, n_components, X, weight, chosen, region, rng, mean, length)
    return region.project(positive_atoms(D, mean)) if positive else D


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


def spread_rows(batch: Batch, count: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Random rows of a batch, spread out, by weight: two equal samples count as one of weight two.

    Sorted along a random direction, so that neither the order nor the repetition of rows matters.
    """
    direction = rng.standard_normal(batch.X.shape[1])
    if sparse.issparse(batch.X):
        place = without_gaps(batch) @ direction
    else:
        X, weight = load_block(batch.X, slice(None), np.dtype(np.float64), batch.entry_weight)
        place = (X if weight is None else np.where(weight > 0, X, 0)) @ direction
    order = np.argsort(place, kind="stable")
    weights = row_weights(batch)
    cumulated = np.cumsum(weights[order], dtype=np.float64)
    if not cumulated[-1] > 0:
        return np.resize(order, count)
    marks = (np.arange(count) + rng.random(count)) / count * cumulated[-1]
    chosen: NDArray[np.intp] = order[np.searchsorted(cumulated, marks, side="right")]
    return chosen


def entries(
    values: Array, weight: Array | None, sample_weight: Array | None, limit: int
) -> tuple[Array, Array]:
    """Some observed entries of a block, evenly spread, each with its weight."""
    some = evenly(values.shape, limit)
    sw = np.ones(len(values)) if sample_weight is None else sample_weight
    weights, taken = sw[some // values.shape[1]], values.ravel()[some]
    if weight is not None:
        weights = weights * weight.ravel()[some]
    positive = weights > 0
    return taken[positive], weights[positive]
