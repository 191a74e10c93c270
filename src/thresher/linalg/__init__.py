"""Dense, sparse and masked access to samples, written once."""

from thresher.linalg.arrays import Array
from thresher.linalg.blocks import (
    block_slices,
    load_block,
    load_sparse_block,
    rows_per_block,
    sparse_block_slices,
)

__all__ = [
    "Array",
    "block_slices",
    "load_block",
    "load_sparse_block",
    "rows_per_block",
    "sparse_block_slices",
]
