"""Sources of mini-batches."""

from thresher.streams.batches import ArraySource, Batch, IterableSource, Source

__all__ = ["ArraySource", "Batch", "IterableSource", "Source"]
