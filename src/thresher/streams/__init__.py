"""Sources of mini-batches."""

from thresher.streams.batches import ArraySource, Batch, BatchSource
from thresher.streams.opening import as_source, is_stream, open
from thresher.streams.source import Source, rows_per_batch

__all__ = [
    "ArraySource",
    "Batch",
    "BatchSource",
    "Source",
    "as_source",
    "is_stream",
    "open",
    "rows_per_batch",
]
