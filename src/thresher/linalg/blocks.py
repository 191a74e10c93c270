"""Samples as row blocks: dense, CSR and missing values meet here, and nowhere else.

There are three kinds of blocks, see `kind_of`: dense floats with the weights of their entries, CSR
whose nonzeros alone are coded, and CSR of which only the stored entries are observed. CSR that a
method cannot code is expanded block by block, so that no array of the size of the data is made;
integers are converted the same way. Blocks of observed entries are cut into parts of few rows, each
on the features that its rows have. There they are dense with missing entries, as every solver takes
them, and the work grows with what is stored.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from thresher.linalg.arrays import Array, range_of_powers

# A block's rows, times the features, stay below this: large enough that a matrix product runs at
# full speed, small enough that a few such blocks fit in a core's cache. Sizes are heuristic.
_ENTRIES_PER_BLOCK = 1 << 16
_SMALLEST_BLOCK = 8
_LARGEST_BLOCK = 128
SPARSE_BLOCK = 512
STORED_BLOCK = 128
"""Rows of a block; each is summed up to as many numbers as the dictionary has."""

# A part is cut in two unless a quarter of it is stored, or it has so few entries that another call
# of a solver would take longer than they do. Heuristic, for speed: codes are the same.
_LEAST_SHARE = 0.25
_FEW_ENTRIES = 1 << 14


class StoredRows(sparse.csr_array):
    """CSR samples of which only the stored entries are observed, stored zeros included."""

    only_stored = True


def stored_rows(X: Any) -> StoredRows:
    """Samples, dense or CSR, by their stored entries; NaN, and zeros of dense ones, are missing.

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
        """All features: samples, and weights that are zero where an entry is missing."""
        return self._on(slice(0, self.shape[0]), np.arange(self.shape[1]))

    def entry_weights(self) -> Array:
        """The weight of every stored entry."""
        weights: Array = np.ones_like(self.values.data)
        return weights if self.weights is None else self.weights.data

    @cached_property
    def parts(self) -> list[ObservedPart]:
        """Cut the rows until a quarter of each part is stored, or it is small.

        Rows are coded independently, so where they are cut is a matter of
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


def is_sparse(X: Any) -> bool:
    """Whether samples are a sparse matrix; of an array that is known at once."""
    return not isinstance(X, np.ndarray) and sparse.issparse(X)


def kind_of(X: Any) -> Literal["dense", "sparse", "observed"]:
    """The kind of a block: an array, CSR, or CSR of which only stored entries are observed."""
    if isinstance(X, np.ndarray):
        return "dense"
    return "observed" if isinstance(X, ObservedBlock) else "sparse"


def stored_values(X: Any) -> Array:
    """The values that samples store: the nonzeros of CSR, all entries of an array."""
    values: Array = X if isinstance(X, np.ndarray) else X.data
    return values


def as_dense(X: Any, weight: Array | None = None) -> tuple[Array, Array | None]:
    """All features of a block, and the weights of its entries: zero where one is missing."""
    if isinstance(X, np.ndarray):
        return X, weight
    return X.dense() if isinstance(X, ObservedBlock) else (X.toarray(), None)


def absolute_sums(X: Any, weight: Array | None) -> tuple[Array, Array]:
    """``Σ w|x|`` and ``Σ w`` of every row of a block, in float64."""
    n, F = X.shape
    sizes: Any
    seen: Any
    if isinstance(X, ObservedBlock):
        weights = X.entry_weights().astype(np.float64)
        row = np.repeat(np.arange(n), np.diff(X.values.indptr))
        sizes = np.bincount(row, np.abs(X.values.data) * weights, n)
        seen = np.bincount(row, weights, n)
        return sizes, seen
    if weight is None:
        sizes = np.asarray(abs(X).sum(axis=1, dtype=np.float64))
        seen = np.full(n, F, dtype=np.float64)
        return sizes, seen
    sizes = np.einsum("nf,nf->n", np.where(weight > 0, np.abs(X), 0), weight, dtype=np.float64)
    return sizes, weight.sum(axis=1, dtype=np.float64)


def rows_per_block(n_features: int) -> int:
    """Rows of a block; depends on the width alone, so that sums do not depend on the threads."""
    rows = _ENTRIES_PER_BLOCK // max(n_features, 1)
    return int(min(max(rows, _SMALLEST_BLOCK), _LARGEST_BLOCK))


def block_slices(n_rows: int, n_features: int) -> Iterator[slice]:
    """Cut ``n_rows`` into consecutive blocks of `rows_per_block` rows; the last may be shorter."""
    step = rows_per_block(n_features)
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def sparse_block_slices(n_rows: int, step: int = SPARSE_BLOCK) -> Iterator[slice]:
    """Cut sparse rows into blocks whose size does not depend on the threads."""
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def load_sparse_block(X: Any, rows: slice, dtype: np.dtype[Any], unit: float = 1.0) -> Any:
    """Take a block of complete samples as CSR, with stored zeros and duplicates cleared.

    Entries are divided by ``unit``, a power of two.
    """
    if not is_sparse(X):
        X, rows = sparse.csr_array(X[rows]), slice(0, rows.stop - rows.start)
    begin, end = X.indptr[rows.start], X.indptr[rows.stop]
    data = np.multiply(X.data[begin:end], dtype.type(1 / unit), dtype=dtype, casting="unsafe")
    # A block is never so large; one type of index, so that kernels are compiled once.
    indices = X.indices[begin:end].astype(np.int32, copy=False)
    indptr = (X.indptr[rows.start : rows.stop + 1] - begin).astype(np.int32, copy=False)
    part = sparse.csr_array((data, indices, indptr), shape=(rows.stop - rows.start, X.shape[1]))
    if not part.has_canonical_format or not data.all():
        part = part.copy()  # these places may be the user's own memory
        part.sum_duplicates()
        part.eliminate_zeros()
    return part


def load_block(
    X: Any,
    rows: slice,
    dtype: np.dtype[Any],
    entry_weight: Array | None = None,
    unit: float = 1.0,
) -> tuple[Array, Array | None]:
    """Take a block of samples as a dense array and the weights of its entries.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, F)
        The samples; NaN marks a missing entry, and so does what `StoredRows` do not store.
    rows : slice
        The rows of the block.
    dtype : numpy dtype
        float32 or float64.
    entry_weight : array of shape (n, F), optional
        Nonnegative weights of the entries; None means that all weigh 1.
    unit : float
        A power of two, by which entries are divided.

    Returns
    -------
    block : array of shape (b, F)
        Zero where an entry is missing. It may be the user's own memory: not to be written to.
    weight : array of shape (b, F) or None
        The weights, with zeros where an entry is missing; None if all entries weigh 1.
    """
    part: Any = X[rows]
    block = part.toarray() if is_sparse(X) else np.asarray(part)
    if unit != 1:  # one pass converts and divides
        block = np.multiply(block, dtype.type(1 / unit), dtype=dtype, order="C", casting="unsafe")
    block = np.ascontiguousarray(block, dtype=dtype)
    weight = None
    if entry_weight is not None:
        weight = np.array(entry_weight[rows], dtype=dtype, order="C", copy=True)
    if type(X) is not np.ndarray and is_only_stored(X):
        places = part.indices, part.indptr
        seen = sparse.csr_array((np.ones_like(part.data, dtype), *places), shape=part.shape)
        seen.resize(part.shape)
        mask = seen.toarray()
        return block, mask if weight is None else weight * mask
    with np.errstate(all="ignore"):
        suspect = np.isnan(block.sum())  # a missing entry, or a sum that overflows
    if suspect and (missing := np.isnan(block)).any():
        block = np.where(missing, dtype.type(0), block)
        if weight is None:
            weight = np.ones_like(block)
        weight[missing] = 0
    return block, weight


def without_traces(block: Any) -> Any:
    """A block, dense or CSR, with zeros in the rows that are too small to compute with.

    Compared with samples of size one, rows whose squares underflow are negligible.
    """
    least, _ = range_of_powers(block.dtype)
    if is_sparse(block):
        if block.data.min(initial=least) < least:
            largest = abs(block).max(axis=1).toarray().ravel()
            block = block.copy()  # its places may be the user's own memory
            block.data[np.repeat(largest < least, np.diff(block.indptr))] = 0
            block.eliminate_zeros()
        return block
    largest = np.maximum.reduce(block, 1, initial=0)
    if np.minimum.reduce(largest, initial=least) < least:
        traces = np.abs(block).max(axis=1, initial=0, keepdims=True) < least
        return np.where(traces, block.dtype.type(0), block)
    return block


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
