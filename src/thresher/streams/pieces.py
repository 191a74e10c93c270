"""Pieces of data, dense, CSR, frames or lists of texts: how long, joined, and cut to a size."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from thresher.linalg import is_only_stored, stored_rows


def length(piece: Any) -> int:
    """Number of rows, or of texts; what is no list of them counts as one."""
    shape = getattr(piece, "shape", None)
    if shape is not None:
        return int(shape[0]) if len(shape) else 1
    return len(piece) if hasattr(piece, "__len__") and not isinstance(piece, str | bytes) else 1


def joined(parts: Sequence[Any]) -> Any:
    """Some pieces of one kind as one."""
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], list):
        return [text for part in parts for text in part]
    if sparse.issparse(parts[0]):
        rows = sparse.vstack(parts, format="csr")
        return stored_rows(rows) if all(map(is_only_stored, parts)) else rows
    return np.concatenate(parts)


def cut(pieces: Iterable[Any], size: int, first_size: int | None = None) -> Iterator[Any]:
    """Cut pieces of any length into batches; no more than a batch and one piece is held.

    Parameters
    ----------
    pieces : iterable
        Arrays, CSR matrices or lists; empty ones are passed over.
    size, first_size : int
        Rows of a batch, and of the first one. The last may be shorter.
    """
    held: list[Any] = []
    n_held, wanted = 0, first_size or size
    for piece in pieces:
        if length(piece) == 0:
            continue
        held.append(piece)
        n_held += length(piece)
        if n_held < wanted:
            continue
        whole, start = joined(held), 0
        while n_held - start >= wanted:
            yield whole[start : start + wanted]
            start, wanted = start + wanted, size
        held, n_held = [whole[start:]] if start < n_held else [], n_held - start
    if held:
        yield joined(held)


def from_row(pieces: Iterable[Any], start: int) -> Iterator[Any]:
    """Pieces without their first rows, for what can only be read from its beginning."""
    for piece in pieces:
        n = length(piece)
        if start < n:
            yield piece[start:] if start else piece
        start = max(start - n, 0)
