"""Dask arrays and data frames, as rows: how many each chunk has, and how to come by them."""

from collections.abc import Iterator
from functools import cached_property
from itertools import accumulate
from typing import Any

import dask
import numpy as np
from scipy import sparse

from thresher.streams.fingerprint import fingerprint
from thresher.streams.reader import Reader

_TOLD_BY = 64  # rows that tell data from others; by judgement


class CollectionReader(Reader):
    """Rows of a Dask array, dense or with CSR blocks, or of a data frame, chunk by chunk.

    Read by itself, it computes one chunk after the other with whatever scheduler Dask has; on a
    cluster, `chunks` stay with the workers.
    """

    jumps = True

    def __init__(self, X: Any) -> None:
        check_is_table(X)
        self._lengths: list[Any]
        if hasattr(X, "columns"):
            columns = list(X.columns)
            self.names = columns if all(isinstance(name, str) for name in columns) else None
            self._width = len(columns)
            self.chunks, self._lengths = X.to_delayed(), [None] * X.npartitions
        else:
            if X.numblocks[1] > 1:
                X = X.rechunk({1: -1})
            self._width = int(X.shape[1])
            self.chunks, self._lengths = X.to_delayed().ravel().tolist(), list(X.chunks[0])

    @cached_property
    def lengths(self) -> list[int]:
        """Rows of every chunk; those that Dask does not know are counted, which computes them."""
        known = all(length == length and length is not None for length in self._lengths)
        if known:
            return [int(length) for length in self._lengths]
        count = dask.delayed(n_rows_of, pure=True)
        return list(dask.compute(*map(count, self.chunks)))

    @cached_property
    def ends(self) -> list[int]:
        """The row after the last one of every chunk."""
        return list(accumulate(self.lengths))

    @property
    def n_rows(self) -> int:
        """Rows of all chunks."""
        return sum(self.lengths)

    @property
    def n_features(self) -> int:
        """Columns."""
        return self._width

    def overlapping(self, start: int, stop: int) -> Iterator[tuple[int, int, int]]:
        """Which chunks have the rows of a range, and which of their rows these are."""
        first = int(np.searchsorted(self.ends, start, side="right"))
        for number in range(first, len(self.ends)):
            begins = self.ends[number] - self.lengths[number]
            if begins >= stop:
                return
            if self.lengths[number]:
                yield number, max(start - begins, 0), min(stop, self.ends[number]) - begins

    def read(self, start: int, rows: int) -> Iterator[Any]:
        """One chunk after the other."""
        for number, begin, end in self.overlapping(start, self.n_rows):
            (chunk,) = dask.compute(self.chunks[number])
            yield as_rows(chunk, begin, end)

    def origin(self) -> str:
        """Shape, and a checksum of the first rows."""
        if not self.n_rows:
            return "nothing"
        number, begin, end = next(self.overlapping(0, _TOLD_BY))
        take = dask.delayed(as_rows, pure=True)
        (head,) = dask.compute(take(self.chunks[number], begin, end))
        return f"{self.n_rows} rows, {fingerprint(head)}"


def check_is_table(X: Any) -> None:
    """Refuse bags, series, and arrays of other dimensions."""
    if getattr(X, "ndim", 0) != 2:
        raise ValueError(
            "Samples are a Dask array or data frame of two dimensions, with a row for each sample; "
            f"got {type(X).__name__} of the shape {getattr(X, 'shape', '()')}."
        )


def n_rows_of(chunk: Any) -> int:
    """Rows of a chunk, whatever it is."""
    return int(chunk.shape[0])


def as_rows(chunk: Any, begin: int, end: int) -> Any:
    """Some rows of a chunk as an array or CSR; columns of a frame become those of an array."""
    if hasattr(chunk, "iloc"):
        frame = chunk.iloc[begin:end]
        plain = all(isinstance(kind, np.dtype) for kind in frame.dtypes)
        return frame.to_numpy() if plain else frame.astype(np.float64).to_numpy()
    if sparse.issparse(chunk):
        rows: Any = chunk
        return sparse.csr_array(rows)[begin:end]
    return np.asarray(chunk)[begin:end]
