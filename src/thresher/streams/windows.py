"""Rows in random order where only some of them fit in memory.

Rows are cut into windows, each of which is shuffled by itself; of data that can be read from
anywhere, the windows come in random order too. Where windows begin differs from pass to pass. All
is drawn from the seed, the pass and the number of the window, so that a pass can be taken up in its
middle with no more to remember than how many rows it gave.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from thresher.streams.pieces import cut, length
from thresher.streams.reader import Reader


def shuffled(reader: Reader, window: int, seed: int, pass_index: int, start: int) -> Iterator[Any]:
    """The rows of a pass in its order, after the first ``start`` of them, a window at a time."""
    rng = np.random.default_rng([seed, pass_index])
    first = int(rng.integers(1, window + 1))
    n = reader.n_rows
    if not (reader.jumps and n is not None):
        skipped = 0 if start < first else 1 + (start - first) // window
        begins = _begin(skipped, first, window)
        sizes = (first, window) if skipped == 0 else (window, window)
        pieces = cut(reader.read(begins, window), sizes[1], sizes[0])
        for number, piece in enumerate(pieces, skipped):
            yield _mixed(piece, [seed, pass_index, number])[max(start - begins, 0) :]
            begins += length(piece)
        return
    count = 1 + max(0, -(-(n - first) // window))
    passed = 0
    for number in rng.permutation(count).tolist():
        begins = _begin(number, first, window)
        size = min(_begin(number + 1, first, window), n) - begins
        if passed + size > start:
            rows = next(cut(reader.read(begins, size), size))
            yield _mixed(rows, [seed, pass_index, number])[max(start - passed, 0) :]
        passed += size


def _begin(number: int, first: int, window: int) -> int:
    return 0 if number == 0 else first + (number - 1) * window


def _mixed(piece: Any, seed: list[int]) -> Any:
    order = np.random.default_rng([*seed, 1]).permutation(length(piece))
    return [piece[i] for i in order] if isinstance(piece, list) else piece[order]
