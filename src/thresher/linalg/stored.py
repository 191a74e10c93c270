"""Sparse samples whose unstored entries are missing: what is not stored was not seen.

Blocks of them are cut into parts of few rows, each on the features that its rows have. There they
are dense with gaps, as every solver takes them, and the work grows with what is stored.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from thresher.linalg.arrays import Array, range_of_powers

STORED_BLOCK = 128
"""Rows of a block; each is summed up to as many numbers as the dictionary has."""

# A part is cut in two unless a quarter of it is stored, or it has so few entries that another call
# of a solver would take longer than they do. By judgement, for speed: codes are the same.
_LEAST_SHARE = 0.25
_FEW_ENTRIES = 1 << 14


class StoredRows(sparse.csr_array):
    """CSR samples of which the stored entries were seen, zeros among them, and no others."""

    only_stored = True


def stored_rows(X: Any) -> StoredRows:
    """Samples, dense or CSR, by what is stored of them; NaN, and zeros of dense ones, are gaps.

    The memory may be the user's own: not to be written to.
    """
    rows: Any = X if sparse.issparse(X) else sparse.csr_array(X)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    seen = ~np.isnan(rows.data) if rows.dtype.kind == "f" else np.ones(1, dtype=bool)
    if seen.all():
        return StoredRows((rows.data, rows.indices, rows.indptr), shape=rows.shape)
    before = np.concatenate([[0], np.cumsum(seen)])
    places = rows.data[seen], rows.indices[seen], before[rows.indptr]
    return StoredRows(places, shape=rows.shape)


def is_only_stored(X: Any) -> bool:
    """Whether what samples do not store is missing."""
    return bool(getattr(X, "only_stored", False))


def with_gaps(X: StoredRows, dtype: np.dtype[Any]) -> Array:
    """Samples as a dense array, NaN where nothing is stored."""
    dense: Array = np.full(X.shape, np.nan, dtype=dtype)
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    dense[rows, X.indices] = X.data
    return dense


@dataclass(frozen=True)
class ObservedPart:
    """Some rows on the features that they have, zero and of weight zero where nothing is stored."""

    rows: slice
    features: NDArray[np.intp]
    X: Array
    weight: Array


@dataclass(frozen=True)
class ObservedBlock:
    """A block of samples and the weights of their stored entries, if any, in one precision."""

    values: Any
    weights: Any = None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        n, n_features = self.values.shape
        return n, n_features

    @property
    def dtype(self) -> np.dtype[Any]:
        """That of the values."""
        kind: np.dtype[Any] = self.values.dtype
        return kind

    def __getitem__(self, rows: Any) -> "ObservedBlock":
        return ObservedBlock(
            self.values[rows], None if self.weights is None else self.weights[rows]
        )

    def dense(self) -> tuple[Array, Array]:
        """All features: samples, and weights that are zero in the gaps."""
        return self._on(slice(0, self.shape[0]), np.arange(self.shape[1]))

    def entry_weights(self) -> Array:
        """The weight of every stored entry."""
        weights: Array = np.ones_like(self.values.data)
        return weights if self.weights is None else self.weights.data

    @cached_property
    def parts(self) -> list[ObservedPart]:
        """Cut the rows until a quarter of each part is stored, or it is small.

        Rows are coded one by one, whatever they stand beside, so where they are cut is a matter of
        speed alone.
        """
        parts, waiting = [], [slice(0, self.shape[0])]
        while waiting:
            rows = waiting.pop()
            begin, end = self.values.indptr[[rows.start, rows.stop]]
            stored = np.sort(self.values.indices[begin:end])
            features = stored[np.diff(stored, prepend=-1) > 0]
            count = rows.stop - rows.start
            entries = count * len(features)
            if count > 1 and entries > max(_FEW_ENTRIES, (end - begin) / _LEAST_SHARE):
                half = rows.start + count // 2
                waiting += [slice(half, rows.stop), slice(rows.start, half)]
            else:
                parts.append(ObservedPart(rows, features, *self._on(rows, features)))
        return parts

    def _on(self, rows: slice, features: NDArray[np.intp]) -> tuple[Array, Array]:
        begin, end = self.values.indptr[[rows.start, rows.stop]]
        counts = np.diff(self.values.indptr[rows.start : rows.stop + 1])
        row = np.repeat(np.arange(rows.stop - rows.start), counts)
        column = np.searchsorted(features, self.values.indices[begin:end])
        X = np.zeros((rows.stop - rows.start, len(features)), dtype=self.dtype)
        weight = np.zeros_like(X)
        X[row, column] = self.values.data[begin:end]
        weight[row, column] = 1 if self.weights is None else self.weights.data[begin:end]
        return X, weight


def load_stored_block(
    X: StoredRows, rows: slice, dtype: np.dtype[Any], entry_weight: Any, unit: float
) -> ObservedBlock:
    """Take a block of samples, divided by ``unit``, a power of two."""
    part = X[rows]
    values = np.multiply(part.data, dtype.type(1 / unit), dtype=dtype, casting="unsafe")
    places = part.indices, part.indptr
    least, _ = range_of_powers(dtype)
    if np.abs(values).min(initial=least) < least:  # see `without_traces`; here zeros stay stored
        sizes = abs(sparse.csr_array((values, *places), shape=part.shape)).max(axis=1).toarray()
        values[np.repeat(sizes.ravel() < least, np.diff(part.indptr))] = 0
    weights = None
    if entry_weight is not None:
        row = np.repeat(np.arange(part.shape[0]), np.diff(part.indptr))
        given = np.asarray(entry_weight[rows][row, part.indices], dtype=dtype)
        weights = sparse.csr_array((given, *places), shape=part.shape)
    return ObservedBlock(sparse.csr_array((values, *places), shape=part.shape), weights)
