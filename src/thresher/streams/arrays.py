"""Arrays, in memory or mapped into it, dense or CSR."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from thresher.streams.fingerprint import fingerprint
from thresher.streams.reader import Reader


class ArrayReader(Reader):
    """Rows of an array; pictures in an array of more dimensions are flattened."""

    jumps = True

    def __init__(self, X: Any) -> None:
        if X.ndim > 2:
            self.shape = tuple(map(int, X.shape[1:]))
            X = X.reshape(len(X), -1)
        elif X.ndim < 2:
            raise ValueError(
                f"A source has one row for each sample; an array of the shape {X.shape} has none. "
                "Reshape it with X.reshape(-1, 1) if it is one feature."
            )
        self._X = X

    @property
    def n_rows(self) -> int:
        """Rows of the array."""
        return int(self._X.shape[0])

    @property
    def n_features(self) -> int:
        """Columns of the array."""
        return int(self._X.shape[1])

    def read(self, start: int, rows: int) -> Iterator[Any]:
        """Slices; those of a memory map are copied, so that they are read now and not later."""
        mapped = isinstance(self._X, np.memmap)
        for at in range(start, self.n_rows, rows):
            piece = self._X[at : at + rows]
            yield np.array(piece) if mapped else piece

    def origin(self) -> str:
        """Type, shape and checksum of the array."""
        return fingerprint(self._X)
