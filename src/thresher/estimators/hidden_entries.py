"""Entries that are hidden to score a model: which ones, and samples without them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from thresher.estimators.validation import computing_dtype
from thresher.linalg import Array, is_only_stored, is_sparse, stored_rows

Places = NDArray[np.int64]
"""Entries of a matrix of F columns, counted row by row: ``row · F + column``."""


def hidden_entries(X: Any, share: float, rng: np.random.Generator) -> tuple[Places, Array]:
    """Draw a share of the nonzero entries to hide, and at most as many zeros.

    Returns their places, in order, and their values. Missing values are never drawn, and of every
    sample one observed entry stays.
    """
    n, F = X.shape
    kept, values = _nonzeros(X)
    is_gap = np.isnan(values)
    seen, n_zeros = np.flatnonzero(~is_gap), n * F - len(kept)
    if is_only_stored(X):
        n_zeros = 0
    some = rng.choice(seen, round(share * len(seen)), replace=False)
    # The r-th zero comes after as many other entries as have r zeros, or fewer, before them.
    ranks = rng.choice(n_zeros, round(share * min(len(seen), n_zeros)), replace=False)
    zeros = ranks + np.searchsorted(kept - np.arange(len(kept)), ranks, side="right")
    places = np.concatenate([kept[some], zeros])
    truth = np.concatenate([values[some], np.zeros(len(zeros), dtype=values.dtype)])
    n_observed = F - np.bincount(kept[is_gap] // F, minlength=n)
    if is_only_stored(X):
        n_observed = np.diff(X.indptr)
    n_hidden = np.bincount(places // F, minlength=n)
    stays = (n_hidden < n_observed)[places // F]
    order = np.argsort(places[stays])
    if not order.size:
        raise ValueError(
            f"share={share:g} of these samples hides nothing: give more samples or a larger share, "
            "and samples with two observed entries at least, not all of them zero."
        )
    return places[stays][order], truth[stays][order]


def without_entries(X: Any, places: Places) -> Any:
    """Return a copy of samples with NaN at some places, CSR if they are."""
    dtype = computing_dtype(X)
    if is_only_stored(X):
        row = np.repeat(np.arange(X.shape[0], dtype=np.int64), np.diff(X.indptr))
        hidden = np.isin(row * X.shape[1] + X.indices, places)
        values = np.where(hidden, np.nan, X.data.astype(dtype))
        return stored_rows(sparse.csr_array((values, X.indices, X.indptr), shape=X.shape))
    if is_sparse(X):
        gaps = np.full(len(places), np.nan, dtype=dtype)
        return X.astype(dtype) + sparse.csr_array((gaps, divmod(places, X.shape[1])), X.shape)
    copy = np.array(X, dtype=dtype, order="C")
    copy.ravel()[places] = np.nan
    return copy


def _nonzeros(X: Any) -> tuple[Places, Array]:
    """Return places, in order, and values of all entries that are not zero, NaN included."""
    if not is_sparse(X):
        kept = np.flatnonzero(X)
        return kept, X.ravel()[kept].astype(computing_dtype(X))
    rows = sparse.csr_array(X, dtype=computing_dtype(X), copy=True)
    rows.sum_duplicates()  # in order, too
    if not is_only_stored(X):
        rows.eliminate_zeros()
    row = np.repeat(np.arange(rows.shape[0], dtype=np.int64), np.diff(rows.indptr))
    return row * rows.shape[1] + rows.indices, rows.data
