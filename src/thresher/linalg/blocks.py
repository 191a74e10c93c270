"""Samples as row blocks of fixed size: dense, CSR and missing values meet here, and nowhere else.

A solver only ever sees a dense float block and the weight of its entries. CSR is expanded block by
block, so that no array of the size of the data is made; integers are converted the same way.
"""

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from scipy import sparse

from thresher.linalg.arrays import Array, range_of_powers
from thresher.linalg.stored import ObservedBlock, is_only_stored

# A block's rows, times the features, stay below this: large enough that a matrix product runs at
# full speed, small enough that a few such blocks fit in a core's cache. Sizes are by judgement.
_ENTRIES_PER_BLOCK = 1 << 16
_SMALLEST_BLOCK = 8
_LARGEST_BLOCK = 128
SPARSE_BLOCK = 512


def is_sparse(X: Any) -> bool:
    """Whether samples are a sparse matrix; of an array that is known at once."""
    return not isinstance(X, np.ndarray) and sparse.issparse(X)


def kind_of(X: Any) -> Literal["dense", "sparse", "observed"]:
    """The kind of a block: an array, CSR, or CSR of which only stored entries are observed."""
    if isinstance(X, np.ndarray):
        return "dense"
    return "observed" if isinstance(X, ObservedBlock) else "sparse"


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
    """Cut sparse rows, which are short, into blocks; again of a size that knows no threads."""
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def load_sparse_block(X: Any, rows: slice, dtype: np.dtype[Any], unit: float = 1.0) -> Any:
    """Take a block of samples without gaps as CSR, with stored zeros and duplicates cleared.

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
        suspect = np.isnan(block.sum())  # a gap, or a sum that overflows
    if suspect and (missing := np.isnan(block)).any():
        block = np.where(missing, dtype.type(0), block)
        if weight is None:
            weight = np.ones_like(block)
        weight[missing] = 0
    return block, weight


def without_traces(block: Any) -> Any:
    """A block, dense or CSR, with zeros in the rows that are too small to compute with.

    Beside samples of size one, what is so small that its square vanishes is nothing.
    """
    least, _ = range_of_powers(block.dtype)
    if hasattr(block, "indptr"):
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
