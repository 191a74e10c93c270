"""Dense, sparse and masked access to samples, written once; polar factors, rotations."""

from thresher.linalg.arrays import (
    Array,
    evenly,
    has_gram,
    is_finite,
    length,
    range_of_powers,
    row_lengths,
    squared_lengths,
)
from thresher.linalg.blocks import (
    SPARSE_BLOCK,
    absolute_sums,
    as_dense,
    block_slices,
    is_sparse,
    kind_of,
    load_block,
    load_sparse_block,
    rows_per_block,
    sparse_block_slices,
    without_traces,
)
from thresher.linalg.few_nonzeros import thinned
from thresher.linalg.givens import (
    from_givens,
    givens_angles,
    n_givens_angles,
)
from thresher.linalg.polar import approach, newton_schulz, polar
from thresher.linalg.stored import (
    STORED_BLOCK,
    ObservedBlock,
    ObservedPart,
    StoredRows,
    is_only_stored,
    load_stored_block,
    stored_rows,
    with_gaps,
)

__all__ = [
    "SPARSE_BLOCK",
    "STORED_BLOCK",
    "Array",
    "ObservedBlock",
    "ObservedPart",
    "StoredRows",
    "absolute_sums",
    "approach",
    "as_dense",
    "block_slices",
    "evenly",
    "from_givens",
    "givens_angles",
    "has_gram",
    "is_finite",
    "is_only_stored",
    "is_sparse",
    "kind_of",
    "length",
    "load_block",
    "load_sparse_block",
    "load_stored_block",
    "n_givens_angles",
    "newton_schulz",
    "polar",
    "range_of_powers",
    "row_lengths",
    "rows_per_block",
    "sparse_block_slices",
    "squared_lengths",
    "stored_rows",
    "thinned",
    "with_gaps",
    "without_traces",
]
